# What was built: commit, dirty flag, compiler and flags, as a header that is refreshed at every build.
string(TOUPPER "${CMAKE_BUILD_TYPE}" ttt_build_type)
add_custom_target(ttt_provenance
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/generated/provenance.h
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          "-DFLAGS=${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${ttt_build_type}}" -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
          "-DSANITIZE=${TTT_SANITIZE}" -DCUDA=${TTT_HAS_CUDA} "-DCUDA_VERSION=${CMAKE_CUDA_COMPILER_VERSION}"
          -DVERSION=${PROJECT_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/write_provenance.cmake
  BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/provenance.h
  COMMENT "Recording provenance" VERBATIM)
