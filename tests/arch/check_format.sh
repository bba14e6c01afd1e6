#!/bin/bash
# check_format.sh ROOT CLANG_FORMAT: every C, C++ and CUDA source is as .clang-format would have it, and a source that
# is not is noticed. Exit code 77 without clang-format.
set -euo pipefail
root=$1 clang_format=$2
cd "$root"
command -v "$clang_format" > /dev/null || { echo "skipped: no $clang_format (scripts/setup --tests)"; exit 77; }
planted=$(mktemp -d)
trap 'rm -r "$planted"' EXIT
cp .clang-format "$planted"
echo 'int  f( ) {return 1;}' > "$planted/planted.cc"
if "$clang_format" --dry-run -Werror "$planted/planted.cc" 2> /dev/null; then
  echo "a source with two spaces passed" >&2
  exit 1
fi
find benchmarks data kernels reports src tests tools -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.inc' \
  -o -name '*.c' | sort | xargs "$clang_format" --dry-run -Werror
echo "ok: $("$clang_format" --version)"
