#!/bin/sh
# run_parity.sh PYTHON SCRIPT ARGUMENTS...: 77, which ctest takes for "skipped", where there is no such interpreter.
if [ ! -x "$1" ]; then
  echo "skipped: no Python environment at $1: run scripts/setup"
  exit 77
fi
exec "$@"
