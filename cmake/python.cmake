# ttt_python_test(name TIMEOUT s COMMAND script arguments... [PROCESSORS n]): a test with the Python of the cache folder
# (scripts/setup --tests); exit code 77, or no such Python, is a skip with a printed reason.
function(ttt_python_test name)
  cmake_language(DEFER CALL ttt_label_tests)
  cmake_parse_arguments(arg "" "TIMEOUT;PROCESSORS" "COMMAND" ${ARGN})
  ttt_time_limit(arg_TIMEOUT)
  add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/support/with_python ${ttt_cache}/venv/bin/python ${arg_COMMAND})
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_rmaps_base_oversubscribe=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 PROCESSORS ${arg_PROCESSORS}
    ENVIRONMENT "${environment}")
endfunction()
