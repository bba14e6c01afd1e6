#!/bin/bash
# rehearsal.sh SOURCE BUILD: scripts/gpu_check on the CPU: every part has an outcome, what was done is not done again, and a program that is missing is seen.
set -euo pipefail
source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() { "$source/scripts/gpu_check" --device cpu --build "$build" --out "$folder/out" "$@"; }
fail() {
  echo "FAILED: $*"
  exit 1
}

check --only kernels --only speed --only fit --only kernel_speed --only sanitizer > "$folder/first.log" || { cat "$folder/first.log" "$folder"/out/*.log; fail "the rehearsal"; }
for part in speed fit; do grep -q '^passed in ' "$folder/out/$part.state" || fail "$part: $(cat "$folder/out/$part.state")"; done
for part in kernels kernel_speed sanitizer; do grep -Eq '^(skipped: |passed in )' "$folder/out/$part.state" || fail "$part"; done
[ -s "$folder/out/report.html" ] || fail "no report"
grep -Eq '^ +2 +fp32 +none +[0-9.]+' "$folder/out/speed.log" || fail "no images a second in speed.log"

before=$(stat -c %Y.%i "$folder"/out/speed_*.json)
check --only speed --only fit > "$folder/second.log"
[ "$(grep -c 'done before' "$folder/second.log")" = 2 ] || fail "parts were done again"
[ "$before" = "$(stat -c %Y.%i "$folder"/out/speed_*.json)" ] || fail "a result was made again"

if "$source/scripts/gpu_check" --device cpu --build "$folder" --out "$folder/none" --only fit > "$folder/third.log" 2>&1; then fail "a build without programs passed"; fi
if "$source/scripts/gpu_check" --only nothing > /dev/null 2> "$folder/error.log"; then fail "an unknown part was taken"; fi
grep -q 'needs one of: kernels' "$folder/error.log" || fail "$(cat "$folder/error.log")"
echo "ok"
