# ttt_library(name SOURCES ... LINKS ...): a static library of one folder; includes are written from src/ or the root.
function(ttt_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${arg_LINKS})
  endif()
endfunction()

# ttt_program(name SOURCES ... LINKS ...): a program in build/bin.
function(ttt_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
endfunction()

# ttt_rarely_run(name...): compiles start-up code (command line, settings, reports) with -O1, which takes 0.6 of the
# time. With sanitizers, where -O1 is the rule, with -O0.
function(ttt_rarely_run)
  set(level -O1)
  if(TTT_SANITIZE)
    set(level -O0)
  endif()
  foreach(name ${ARGN})
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${level}>)
  endforeach()
endfunction()

# ttt_unoptimised_with_sanitizers(name...): for targets that share a precompiled header with a ttt_rarely_run target.
# A precompiled header serves one level of optimisation only.
function(ttt_unoptimised_with_sanitizers)
  if(TTT_SANITIZE)
    ttt_rarely_run(${ARGN})
  endif()
endfunction()

# ttt_no_unity(name...): whose sources must be compiled one by one (cmake/settings.cmake).
function(ttt_no_unity)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD OFF)
endfunction()

# Environment of every test: Open MPI runs as root, with more ranks than cores. Sanitizers ignore other libraries.
set(ttt_test_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_rmaps_base_oversubscribe=1)
if(TTT_SANITIZE MATCHES "address")
  list(APPEND ttt_test_environment
    LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/sanitizers/lsan.supp:print_suppressions=0)
  set(ttt_mpi_test_environment ASAN_OPTIONS=fast_unwind_on_malloc=0)
elseif(TTT_SANITIZE MATCHES "thread")
  list(APPEND ttt_test_environment TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/sanitizers/tsan.supp)
endif()

# ttt_mpi_environment(variable ranks): the environment of a test of so many ranks, beside ttt_test_environment. The
# search for leaks stops all threads of an ending process, and now and then crashes in it ("Tracer caught signal 11")
# where eight processes share two cores. Fewer ranks run the same code.
function(ttt_mpi_environment variable ranks)
  set(environment ${ttt_mpi_test_environment})
  if(environment AND ranks GREATER 3)
    string(APPEND environment ":detect_leaks=0")
  endif()
  set(${variable} ${environment} PARENT_SCOPE)
endfunction()

# ttt_time_limit(variable): multiplies a test's limit in seconds by 6 with sanitizers. A program takes two to four times
# as long with them, and scripts/test gives it only the cores that other tests leave.
function(ttt_time_limit variable)
  if(TTT_SANITIZE)
    math(EXPR ${variable} "${${variable}} * 6")
    set(${variable} ${${variable}} PARENT_SCOPE)
  endif()
endfunction()

# ttt_label_tests(): gives every test of the current folder one of the labels fast (under 10 s), slow and long. Without
# a label of its own a test is slow where its limit is 300 s or more, else fast. ttt_test and ttt_python_test see to the
# call.
function(ttt_label_tests)
  set(limit 300)
  ttt_time_limit(limit)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    get_property(labels TEST ${test} PROPERTY LABELS)
    get_property(timeout TEST ${test} PROPERTY TIMEOUT)
    if(labels MATCHES "(^|;)(fast|slow|long)(;|$)")
      continue()
    elseif(timeout GREATER_EQUAL limit)
      set_property(TEST ${test} APPEND PROPERTY LABELS slow)
    else()
      set_property(TEST ${test} APPEND PROPERTY LABELS fast)
    endif()
  endforeach()
endfunction()

# Builds the tests labelled tsan: those with threads of the suite, without LibTorch.
add_custom_target(tsan_tests)

# ttt_test(name SOURCES ... LINKS ... [RANKS n] [TIMEOUT s] [ARGS ...] [LABELS ...] [PCH target] [OPTIMISED]): a
# GoogleTest program in build/tests, run by ctest, under mpirun where RANKS is given. The test's own code is compiled
# with -O0 unless OPTIMISED is given, which halves the compile time. PCH: another target's precompiled header and flags,
# ttt_model where LibTorch is linked.
function(ttt_test name)
  cmake_language(DEFER CALL ttt_label_tests)
  cmake_parse_arguments(arg "OPTIMISED" "RANKS;TIMEOUT;PCH" "SOURCES;LINKS;ARGS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  ttt_time_limit(arg_TIMEOUT)
  if(arg_SOURCES)
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gtest GTest::gtest_main)
    if(arg_PCH)
      target_precompile_headers(${name} REUSE_FROM ${arg_PCH})
    elseif(NOT arg_OPTIMISED)
      target_compile_options(${name} PRIVATE -O0)
      target_precompile_headers(${name} REUSE_FROM ttt_test_pch)
    endif()
  endif()
  if(arg_SOURCES AND "tsan" IN_LIST arg_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
  set(command $<TARGET_FILE:${name}> ${arg_ARGS})
  if(arg_RANKS)
    set(command ${MPIEXEC_EXECUTABLE} --oversubscribe --timeout ${arg_TIMEOUT} -n ${arg_RANKS} ${command})
    ttt_mpi_environment(environment ${arg_RANKS})
  endif()
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}"
    ENVIRONMENT "${ttt_test_environment};${environment}")
endfunction()
