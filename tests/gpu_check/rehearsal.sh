#!/bin/bash
# rehearsal.sh SOURCE BUILD: scripts/gpu_check without a GPU. On the CPU: every part has an outcome, what was done is
# not done again, and a program that is missing is seen. With --device cuda and fake programs: what a GPU's parts are
# run with, in which order, and what is left when they are cut off.
set -euo pipefail
source=$1 build=$2
python=${TTT_CACHE:-$HOME/.cache/ttt}/venv/bin/python
if [ -x "$python" ]; then export TTT_PYTHON=${TTT_PYTHON:-$python}; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
check() { "$source/scripts/gpu_check" --device cpu --build "$build" --out "$folder/out" "$@"; }
fail() {
  echo "FAILED: $*"
  exit 1
}

if command -v shellcheck > /dev/null; then (cd "$source" &&
  shellcheck --severity=warning --external-sources --source-path=scripts scripts/gpu_* tests/gpu_check/*.sh); fi
parts=(first kernels profile twins bits speed fit kernel_speed ablations sanitizer matrix)
[ "$("$source/scripts/gpu_check" --list | cut -d: -f1 | tr '\n' ' ')" = "${parts[*]} " ] ||
  fail "--list has other parts"
check --full-matrix > "$folder/first.log" || { cat "$folder/first.log" "$folder"/out/*.log; fail "the rehearsal"; }
for part in first speed matrix ablations; do grep -q '^passed in ' "$folder/out/$part.state" ||
  fail "$part: $(cat "$folder/out/$part.state")"; done
for part in "${parts[@]}"; do grep -Eq '^(skipped: .|passed in )' "$folder/out/$part.state" ||
  fail "$part: $(cat "$folder/out/$part.state")"; done
[ -s "$folder/out/report.html" ] || fail "no report"
grep -Eq '^ +2 +fp32 +none +no +[0-9.]+' "$folder/out/speed.log" || fail "no images a second in speed.log"
grep -Eq '^ +1 +fp32 +none +no +[0-9.]+' "$folder/out/matrix.log" || fail "no images a second in matrix.log"
if grep -q '^passed' "$folder/out/bits.state"; then
  grep -q '^| fp32 | again | yes | 0 |' "$folder/out/bits.md" ||
    fail "the same command twice: $(cat "$folder/out/bits.md")"
  grep -q '^| fp32 | doubled | no |' "$folder/out/bits.md" ||
    fail "twice the learning rate: $(cat "$folder/out/bits.md")"
fi
# The index names every file that a reader may want, and has the parts' reports in it.
for file in "$folder"/out/*.{json,txt,md,html,log}; do
  case ${file##*/} in index.md | limits.md | '*'.*) continue ;; esac # itself, empty
  grep -q "](${file##*/})" "$folder/out/index.md" || fail "the index does not name ${file##*/}"
done
grep -Eq '^\| tuned \| [0-9.]+ \| ([0-9.]+, ){3}[0-9.]+ \|$' "$folder/out/first.md" ||
  fail "$(cat "$folder/out/first.md")"
for section in 'The first steps' 'Images a second' 'Ablations'; do grep -q "^## $section" "$folder/out/index.md" ||
  fail "the index lacks: $section"; done

for minutes in 10 30 45; do "$source/scripts/gpu_check" --help | grep -q "^With $minutes minutes: --minutes " ||
  fail "--help does not say what to run with $minutes minutes"; done

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
if "$source/scripts/gpu_check" --device cpu --build "$folder/broken" --out "$folder/none" --only speed \
  > "$folder/third.log" 2>&1; then fail "a part without a result passed"; fi
grep -q 'no time for 2 fp32 none: exit code 4' "$folder/none/speed.log" || fail "$(cat "$folder/none/speed.log")"

# The settings that a GPU's parts are run with: keys that exist, and what they come to.
"$source/scripts/gpu_check" --device cuda --build "$build" --out "$folder/settings" --inner settings \
  > "$folder/settings.log" || { cat "$folder/settings.log"; fail "the GPU's settings"; }
for wanted in 'global_batch = 12' 'post_nms_train = 12000' \
  'precision = "bf16"' 'graphs = "full"' 'warmup_steps = 50' 'freeze_at = 0' \
  'images_per_rank = 4' 'builds = 8' 'strict_sync = true' \
  'precision = "fp16"' 'initial = 1024.0' 'cudnn_autotune = false' 'cudnn_autotune = true' 'max_steps = 5' \
  'lr = 0.02'; do
  grep -q "^$wanted" "$folder/settings.log" || fail "the GPU's settings lack $wanted"
done

# A GPU's parts with fake programs.
mkdir -p "$folder/fake_programs/bin"
for program in make_shapes pack_coco report; do ln -s "$build/bin/$program" "$folder/fake_programs/bin/$program"; done
printf '#!/bin/bash\nexec "${TTT_PYTHON:-python3}" "%s" "$@"\n' "$source/tests/support/fake_run.py" \
  > "$folder/fake_programs/bin/ttt_maskrcnn"
chmod +x "$folder/fake_programs/bin/ttt_maskrcnn"
export FAKE_RUN_LOG=$folder/runs.log
# gpu NAME ARGUMENTS...: into a folder of that name, which gets the drawn images of the first one.
gpu() {
  local out=$folder/$1
  shift
  mkdir -p "$out/scratch"
  if [ -d "$folder/all/scratch/shards" ]; then cp -rn "$folder/all/scratch/shards" "$out/scratch/"; fi
  "$source/scripts/gpu_check" --device cuda --build "$folder/fake_programs" --out "$out" "$@"
}
times='--set model.precision=\([a-z0-9]*\).*--set train.global_batch=\([0-9]*\) .*--set train.graphs=\([a-z]*\).*'
tuned=$times'--set train.cudnn_autotune=\([a-z]*\).*'
# All combinations, each with the strict setting and once; and the ones that the heights are of before all others.
gpu all --only matrix > "$folder/all.log" || { cat "$folder/all/matrix.log"; fail "all combinations"; }
[ "$(sed "s/.*$times/\1 \2 \3/" "$FAKE_RUN_LOG" | sort -u | wc -l)" = 60 ] ||
  fail "$(wc -l < "$FAKE_RUN_LOG") runs for 60 combinations"
[ "$(grep -c 'strict_sync=true' "$FAKE_RUN_LOG")" = 60 ] || fail "runs without train.strict_sync"
[ "$(grep -c 'cudnn_autotune=false' "$FAKE_RUN_LOG")" = 60 ] || fail "runs that are tuned"
: > "$FAKE_RUN_LOG"
gpu speed --only speed > "$folder/speed.log" && fail "without torchvision's times all heights were reached"
[ "$(sed "s/.*$times/\1 \2 \3/" "$FAKE_RUN_LOG" | head -4 |
  tr '\n' ',')" = 'bf16 12 full,bf16 12 none,bf16 1 full,bf16 1 none,' ] ||
    fail "other runs come first: $(cat "$FAKE_RUN_LOG")"
grep -q '^MISSED times torchvision.s step with one image' "$folder/speed/speed.txt" ||
  fail "$(cat "$folder/speed/speed.txt")"
# The headlines alone are tuned, and say so.
[ "$(sed -n "s/.*$tuned/\1 \2 \3 \4/p" "$FAKE_RUN_LOG" | grep ' true$' | tr '\n' ,)" = \
  'bf16 12 full true,bf16 1 full true,' ] || fail "others are tuned: $(cat "$FAKE_RUN_LOG")"
grep -Eq '^ +12 +bf16 +full +yes +200.0' "$folder/speed/speed.txt" || fail "$(cat "$folder/speed/speed.txt")"
# The first part: five eager steps, not tuned and then tuned; the profiles: tuned ones last.
: > "$FAKE_RUN_LOG"
gpu first --only first > "$folder/first.log" || { cat "$folder/first/first.log"; fail "the first part"; }
[ "$(sed -n "s/.*$tuned/\1 \2 \3 \4/p" "$FAKE_RUN_LOG" | tr '\n' ,)" = 'bf16 12 none false,bf16 12 none true,' ] ||
  fail "the first part runs others: $(cat "$FAKE_RUN_LOG")"
[ "$(grep -c 'max_steps=5 ' "$FAKE_RUN_LOG")" = 2 ] || fail "not five steps: $(cat "$FAKE_RUN_LOG")"
: > "$FAKE_RUN_LOG"
gpu profile --only profile > "$folder/profile.log" || true # report shows no fake results
[ "$(sed -n "s/.*$tuned/\2 \4/p" "$FAKE_RUN_LOG" | tr '\n' ,)" = '12 false,1 false,12 true,1 true,' ] ||
  fail "other profiles: $(cat "$FAKE_RUN_LOG")"
# Steps that wait are found, and their time is taken all the same.
if FAKE_RUN_WAITS=train.graphs=parts gpu waits --only matrix > "$folder/waits.log"; then
  fail "steps that wait passed"; fi
grep -q '^MISSED 12 images, bf16, graphs parts: the host waited' "$folder/waits/speed.txt" ||
  fail "$(cat "$folder/waits/speed.txt")"
[ -e "$folder/waits/speed_bf16_parts_12.json" ] || fail "no time of a step that waits"
if FAKE_RUN_WAITS=epochs=200 gpu fit --only fit > "$folder/fit.log" && ! grep -q skipped "$folder/fit/fit.state"; then
  fail "a training whose steps wait passed"; fi
if ! grep -q skipped "$folder/fit/fit.state" && [ ! -s "$folder/fit/fit.json" ]; then
  fail "nothing of a training that waits"; fi
if "${TTT_PYTHON:-python3}" -c 'import h5py, numpy' 2> /dev/null; then
  gpu bits --only bits > "$folder/bits.log" || { cat "$folder/bits/bits.log"; fail "the same bits"; }
  [ "$(grep -c '| ok |$' "$folder/bits/bits.md")" = 12 ] || fail "$(cat "$folder/bits/bits.md")"
  [ -z "$(find "$folder/bits/scratch" -name 'bits_*.h5')" ] || fail "weights are left"
fi
# Kernels: what each test said is kept; one that fails is named and shown, and is run again alone.
mkdir -p "$folder/fake_programs/tests"
for test in kernels_gpu_boxes kernels_gpu_masks nccl_test; do
  printf '#!/bin/bash\necho "%s" >> "%s/tests.log"\necho "it is $RIGHT"\n[ "%s" != "$WRONG" ]\n' \
    "$test" "$folder" "$test" > "$folder/fake_programs/tests/$test"
  chmod +x "$folder/fake_programs/tests/$test"
done
export RIGHT=right WRONG=kernels_gpu_masks
if gpu kernels --only kernels > "$folder/kernels.log"; then fail "a kernel that fails passed"; fi
[ -s "$folder/kernels/kernels.kernels_gpu_boxes.txt" ] || fail "nothing of a test that passed"
grep -q 'it is right' "$folder/kernels/kernels.kernels_gpu_masks.failed.txt" || fail "nothing of a test that failed"
grep -q 'it is right' "$folder/kernels.log" || fail "what failed is not shown"
RIGHT=mended WRONG='' gpu kernels --only kernels > "$folder/kernels.log" || fail "$(cat "$folder/kernels.log")"
[ "$(tr '\n' ' ' < "$folder/tests.log")" = 'kernels_gpu_boxes kernels_gpu_masks nccl_test kernels_gpu_masks ' ] ||
  fail "other tests were run: $(cat "$folder/tests.log")"
[ ! -e "$folder/kernels/kernels.kernels_gpu_masks.failed.txt" ] || fail "what failed before stays"
grep -q 'it is right' "$folder/kernels/kernels.log" || fail "what was said before is lost"
# micro_cuda: one kind of kernel after the other; what one had is there when the next fails.
cat > "$folder/fake_programs/bin/micro_cuda" << 'END'
#!/bin/bash
filter=${!#}
case $* in
  *list_tests*) printf '%s\n' nms/2000/ours match/default/ours nms/4000/ours sgd/all/ours ;;
  *^match/*) exit 3 ;;
  *) printf '{"context": {"copy_bytes_per_s": "4e12"}, "benchmarks": [{"run_type": "iteration", "run_name": "%s", ' \
    "${filter##*^}2000/ours"
    echo '"real_time": 2.0, "bytes/s": 2e12, "time_unit": "us"}]}' ;;
esac
END
chmod +x "$folder/fake_programs/bin/micro_cuda"
if gpu micro --only kernel_speed > "$folder/micro.log"; then fail "a kernel without a time passed"; fi
for kind in nms sgd; do grep -q "^| $kind/2000 | 2.0 | 2000 | 50.0 % |" "$folder/micro/limits.md" ||
  fail "$(cat "$folder/micro/limits.md" "$folder/micro/kernel_speed.log")"; done
# Cut off: by its time, and by a signal in the middle of a run. What was done is there, with an index; the same command
# resumes; nothing is left running.
if FAKE_RUN_S=7 gpu short --minutes 1 --only matrix --only fit > "$folder/short.log"; then
  fail "a run that was cut off passed"; fi
grep -q '^cut off after [0-9]* s: the same command resumes' "$folder/short/matrix.state" ||
  fail "$(cat "$folder/short/matrix.state")"
grep -q '^not begun: the 1 minutes were over' "$folder/short/fit.state" || fail "$(cat "$folder/short/fit.state")"
grep -Eq '^ +12 +bf16 +full +no +200.0' "$folder/short/speed.txt" ||
  fail "no table of what was timed: $(cat "$folder/short/speed.txt")"
grep -q '^| matrix | .* | cut off after' "$folder/short/index.md" || fail "$(cat "$folder/short/index.md")"
done_before=$(find "$folder/short" -name 'speed_*.json' | wc -l)
[ "$done_before" -ge 1 ] && [ "$done_before" -lt 12 ] || fail "$done_before runs in one minute"
: > "$FAKE_RUN_LOG"
gpu short --only matrix > "$folder/short.log" || fail "it did not resume: $(cat "$folder/short/matrix.log")"
[ "$(wc -l < "$FAKE_RUN_LOG")" = $((60 - done_before)) ] || fail "$(wc -l < "$FAKE_RUN_LOG") runs after $done_before"
: > "$FAKE_RUN_LOG"
mkdir -p "$folder/stopped/scratch"
cp -r "$folder/all/scratch/shards" "$folder/stopped/scratch/"
FAKE_RUN_S=1000 "$source/scripts/gpu_check" --device cuda --build "$folder/fake_programs" --out "$folder/stopped" \
  --only matrix > "$folder/stopped.log" &
stopped=$!
for ((i = 0; i < 300; i++)); do [ ! -s "$FAKE_RUN_LOG" ] || break; sleep 0.1; done
[ -s "$FAKE_RUN_LOG" ] || fail "no run began"
kill "$stopped"
rc=0
wait "$stopped" || rc=$?
[ "$rc" = 143 ] || fail "exit code $rc after SIGTERM"
grep -q '^cut off by a signal' "$folder/stopped/matrix.state" || fail "$(cat "$folder/stopped/matrix.state")"
grep -q '^| matrix | .* | cut off by a signal' "$folder/stopped/index.md" || fail "no index after SIGTERM"
if grep -als "$folder/stopped/scratch/run.json" /proc/[0-9]*/cmdline; then fail "a run continues after SIGTERM"; fi

if "$source/scripts/gpu_check" --only nothing > /dev/null 2> "$folder/error.log"; then
  fail "an unknown part was taken"; fi
grep -q 'needs one of: first' "$folder/error.log" || fail "$(cat "$folder/error.log")"
if "$source/scripts/gpu_check" --minutes soon > /dev/null 2> "$folder/error.log"; then
  fail "a time that is no number was taken"; fi

# A pack that is too large says so and leaves nothing. (bare_root.py tries one that is not.)
for script in $(grep -oh '[a-z_/]*\.py' "$source"/scripts/gpu_parts.sh "$source"/scripts/gpu_report.sh | sort -u); do
  name=$(basename "$script" .py)
  grep -Eq "/${name}\.py|[{,]${name}[,}]" "$source/scripts/gpu_pack.sh" || fail "no $script in the pack"
done
mkdir -p "$folder"/small/{bin,lib,tests} "$folder/packed"
pack() { TTT_COCO=$folder/no_images "$source/scripts/gpu_check" --pack "$folder/packed" --build "$folder/small"; }
if pack > "$folder/pack.log" 2>&1; then fail "a pack without programs"; fi
grep -q 'bin/ttt_maskrcnn is not there: build first' "$folder/pack.log" || fail "$(cat "$folder/pack.log")"
for program in bin/{ttt_maskrcnn,ablate,report,pack_coco,make_shapes,micro_cuda,step_cost} \
  tests/{model_probe,nccl_test} lib/libttt_cuda.so; do cp /bin/true "$folder/small/$program"; done
for test in "$source"/tests/kernels/cuda/*_test.cc; do
  test=${test##*/}
  cp /bin/true "$folder/small/tests/kernels_gpu_${test%_test.cc}"
done
echo '{}' > "$folder/small/step_cost.json"
export TTT_PACK_LIMIT_MIB=0.1
if pack > "$folder/pack.log" 2>&1; then fail "a pack that is too large was made"; fi
grep -Eq '^error: the archive would have [0-9.]+ MiB, and 0.1 are allowed' "$folder/pack.log" ||
  fail "$(cat "$folder/pack.log")"
[ -z "$(ls "$folder/packed")" ] || fail "left: $(ls "$folder/packed")"
echo "ok"
