execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
set(dirty false)
if(changes)
  set(dirty true)
endif()
string(STRIP "${FLAGS}" FLAGS)
if(NOT CUDA)
  set(CUDA_VERSION "")
endif()
file(WRITE ${OUT}.new "#pragma once
namespace ttt::provenance {
inline constexpr const char* kVersion = \"${VERSION}\";
inline constexpr const char* kCommit = \"${commit}\";
inline constexpr bool kDirty = ${dirty};
inline constexpr const char* kCompiler = \"${COMPILER}\";
inline constexpr const char* kFlags = \"${FLAGS}\";
inline constexpr const char* kBuildType = \"${BUILD_TYPE}\";
inline constexpr const char* kSanitize = \"${SANITIZE}\";
inline constexpr const char* kCudaCompiler = \"${CUDA_VERSION}\";
}
")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUT}.new ${OUT})
