# Compiler settings that hold for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Where scripts/setup installs and programs keep what they generate.
set(ttt_cache $ENV{TTT_CACHE})
if(NOT ttt_cache)
  set(ttt_cache $ENV{HOME}/.cache/ttt)
endif()
# One set of flags for libraries and programs alike (CMake would give programs -fPIE): so that all share one precompiled
# header.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Sources are short beside what they include, so a target's are compiled several at a time: eight libraries and a test
# took 60 s instead of 139. What they name in anonymous namespaces must differ. -DCMAKE_UNITY_BUILD=OFF compiles each by
# itself, for those who change one often.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Assertions of the standard library are cheap beside a decode or a convolution: keep them where tests run.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG -g1")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Binaries are copied between nodes together with lib/: find it from where they stand.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# No FMA contraction: the polygon rasteriser and the AP sums must give the same bits on every CPU
# (-ffp-contract=fast is gcc's default wherever FMA exists). Kernels that want FMA ask for it by name.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)

# Without TTT_SANITIZE_ALL: what reads foreign bytes or shares memory, in less time.
if(TTT_SANITIZE AND NOT TTT_SANITIZE_ALL)
  set(ttt_sanitize_short ON)
endif()
if(TTT_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TTT_SANITIZE}>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  # GCC 12 takes what a sanitizer adds for uses of what was never set, in its own library's std::function (GCC bug
  # 105562).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${TTT_SANITIZE})
endif()

find_program(TTT_CCACHE ccache)
if(TTT_CCACHE)
  # Precompiled headers are only cached with these freedoms (ccache manual, "Precompiled headers").
  set(launcher ${CMAKE_COMMAND} -E env "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
    ${TTT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${TTT_CCACHE})
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
find_program(TTT_MOLD mold)
if(TTT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
