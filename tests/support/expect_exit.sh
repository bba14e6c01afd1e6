#!/bin/bash
# expect_exit.sh CODE SECONDS PATTERN COMMAND...: the command ends with exit code CODE, in at most SECONDS, having
# printed a line that matches the extended regular expression PATTERN. No process of it is left.
set -u
code=$1 seconds=$2 pattern=$3
shift 3
output=$(mktemp)
trap 'rm -f "$output"' EXIT
begin=$(date +%s%N)
timeout --kill-after=5 $((seconds + 20)) "$@" > "$output" 2>&1
rc=$?
took_ms=$((($(date +%s%N) - begin) / 1000000))
cat "$output"
echo "exit code $rc after $took_ms ms"
if [ "$rc" != "$code" ]; then echo "FAILED: expected exit code $code"; exit 1; fi
if [ "$took_ms" -gt $((seconds * 1000)) ]; then echo "FAILED: expected at most $seconds s"; exit 1; fi
if ! grep -Eq -- "$pattern" "$output"; then echo "FAILED: expected a line matching: $pattern"; exit 1; fi
