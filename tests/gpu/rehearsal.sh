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
grep -q '^passed in ' "$folder/out/speed.state" || fail "speed: $(cat "$folder/out/speed.state")"
for part in kernels fit kernel_speed sanitizer; do grep -Eq '^(skipped: .|passed in )' "$folder/out/$part.state" || fail "$part"; done
[ -s "$folder/out/report.html" ] || fail "no report"
grep -Eq '^ +2 +fp32 +none +[0-9.]+' "$folder/out/speed.log" || fail "no images a second in speed.log"

# What passed is not done again, unless that is asked for; what was skipped is tried again.
result=$folder/out/speed_fp32_none_2.json
before=$(stat -c %Y.%i "$result")
check --only speed --only sanitizer > "$folder/second.log"
grep -q 'torchvision.s: passed.*(done before)' "$folder/second.log" || fail "speed was done again"
[ "$before" = "$(stat -c %Y.%i "$result")" ] || fail "a result was made again"
[ "$(grep -c 'done before' "$folder/second.log")" = 1 ] || fail "what was skipped was not tried again"
check --only speed --again > "$folder/again.log"
if [ ! -e "$result" ] || [ "$before" = "$(stat -c %Y.%i "$result")" ]; then fail "--again did not make it anew"; fi

# A run that fails is no time, and fails the part.
mkdir -p "$folder/broken/bin"
for program in make_shapes pack_coco report; do ln -s "$build/bin/$program" "$folder/broken/bin/$program"; done
printf '#!/bin/bash\nexit 4\n' > "$folder/broken/bin/ttt_maskrcnn"
chmod +x "$folder/broken/bin/ttt_maskrcnn"
if "$source/scripts/gpu_check" --device cpu --build "$folder/broken" --out "$folder/none" --only speed > "$folder/third.log" 2>&1; then fail "a part without a result passed"; fi
grep -q 'no time for 2 fp32 none: exit code 4' "$folder/none/speed.log" || fail "$(cat "$folder/none/speed.log")"

# The settings that a GPU's parts are run with: keys that exist, and what they come to.
"$source/scripts/gpu_check" --device cuda --build "$build" --out "$folder/settings" --inner settings > "$folder/settings.log" || { cat "$folder/settings.log"; fail "the GPU's settings"; }
for wanted in 'global_batch = 12' 'precision = "bf16"' 'graphs = "full"' 'warmup_steps = 50' 'freeze_at = 0' 'images_per_rank = 4' 'budget_s = 380'; do
  grep -q "^$wanted" "$folder/settings.log" || fail "the GPU's settings lack $wanted"
done

if "$source/scripts/gpu_check" --only nothing > /dev/null 2> "$folder/error.log"; then fail "an unknown part was taken"; fi
grep -q 'needs one of: kernels' "$folder/error.log" || fail "$(cat "$folder/error.log")"
mkdir "$folder/precious"
if "$source/scripts/gpu_check" --pack "$folder/precious" > /dev/null 2> "$folder/error.log"; then fail "a folder of somebody's was packed over"; fi
[ -d "$folder/precious" ] || fail "a folder of somebody's was removed"
echo "ok"
