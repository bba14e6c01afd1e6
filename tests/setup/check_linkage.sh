#!/bin/bash
# check_linkage.sh FOLDER: no program in FOLDER needs the CUDA driver, libtorch_cuda or NCCL to start, and each finds
# all the libraries that it needs.
set -euo pipefail
checked=0 failures=0
for program in "$1"/*; do
  if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
  checked=$((checked + 1))
  if found=$(ldd "$program" | grep -E 'libcuda\.so|libtorch_cuda|libc10_cuda|libnccl|not found'); then
    echo "$program: $found"
    failures=$((failures + 1))
  fi
done
echo "$checked programs, $failures with a library they must not need or cannot find"
[ "$failures" -eq 0 ] && [ "$checked" -gt 0 ]
