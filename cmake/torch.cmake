# LibTorch by the names of its libraries. TorchConfig.cmake is not used: it links a stub of the CUDA driver, which keeps
# programs from starting where there is no driver, and it sets an architecture list of its own.
set(ttt_torch_root ${TTT_TORCH_ROOT})
if(NOT ttt_torch_root)
  file(GLOB wheels ${ttt_cache}/venv/lib/python3*/site-packages/torch)
  list(SORT wheels)
  list(POP_FRONT wheels ttt_torch_root)
endif()
if(NOT EXISTS ${ttt_torch_root}/include/ATen/ATen.h)
  message(FATAL_ERROR "No LibTorch at '${ttt_torch_root}': run scripts/setup, or set TTT_TORCH_ROOT to a folder with "
    "include/ and lib/.")
endif()
message(STATUS "LibTorch: ${ttt_torch_root}")

set(ttt_torch_includes ${ttt_torch_root}/include ${ttt_torch_root}/include/torch/csrc/api/include)
function(ttt_torch_library name)
  add_library(torch::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(torch::${name} PROPERTIES IMPORTED_LOCATION ${ttt_torch_root}/lib/lib${name}.so
    INTERFACE_COMPILE_DEFINITIONS AT_PER_OPERATOR_HEADERS INTERFACE_INCLUDE_DIRECTORIES "${ttt_torch_includes}"
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${ttt_torch_includes}")
endfunction()
ttt_torch_library(c10)
ttt_torch_library(torch_cpu)
# libtorch_* register their operators in static initialisers, and some programs refer to none of their symbols: each
# must stay needed. One option holds the whole bracket: CMake moves and merges separate --no-as-needed flags.
function(ttt_torch_keep target)
  list(TRANSFORM ARGN REPLACE "(.+)" "${ttt_torch_root}/lib/lib\\1.so")
  list(JOIN ARGN "," paths)
  target_link_libraries(${target} INTERFACE "-Wl,--push-state,--no-as-needed,${paths},--pop-state")
endfunction()
add_library(torch::cpu INTERFACE IMPORTED GLOBAL)
ttt_torch_keep(torch::cpu torch_cpu c10)
target_link_libraries(torch::cpu INTERFACE torch::torch_cpu torch::c10)
# The libraries that the wheel finds beside itself (libcudart, libcupti) are looked up through its own RPATH;
# the linker must not insist on them.
target_link_options(torch::cpu INTERFACE -Wl,--allow-shlib-undefined)
if(EXISTS ${ttt_torch_root}/lib/libtorch_cuda.so)
  ttt_torch_library(c10_cuda)
  ttt_torch_library(torch_cuda)
  add_library(torch::cuda INTERFACE IMPORTED GLOBAL)
  ttt_torch_keep(torch::cuda torch_cuda c10_cuda)
  target_link_libraries(torch::cuda INTERFACE torch::torch_cuda torch::c10_cuda torch::cpu)
endif()
