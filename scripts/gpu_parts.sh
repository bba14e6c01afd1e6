# Sourced by gpu_check: its parts, each a function that runs in a process of its own, and the settings of their runs.
# What they use of it: $build, $device, $out, $python, within, $each_s and $cut.
# shellcheck shell=bash disable=SC2154

# Each ends with 0 (passed), 77 (skipped, its last line says why), 124 (out of time) or else.
skip() {
  say "skipped: $*"
  exit 77
}
# tried COMMAND...: runs it, for verdict to say later how all of them went.
passed=0 broken=0
tried() {
  local rc=0
  say "-- $*"
  if [[ $(type -t "$1") == function ]]; then "$@" || rc=$?; else within "$@" || rc=$?; fi
  case $rc in
    0) passed=1 ;;
    77 | 124) ;;
    *) broken=$rc ;;
  esac
}
# kept NAME COMMAND...: what the command says is in NAME.txt, which is there where it passed; it is not run again then.
# NAME.failed.txt: where it failed. NAME.part.txt: until then, and where it was cut off.
kept() {
  local text=$out/$1 rc=0
  shift
  if [ -e "$text.txt" ]; then
    cat "$text.txt"
    say "(passed before)"
    return 0
  fi
  rm -f "$text.failed.txt"
  if [[ $(type -t "$1") == function ]]; then "$@" || rc=$?; else within "$@" || rc=$?; fi > "$text.part.txt" 2>&1
  cat "$text.part.txt"
  case $rc in
    0) mv "$text.part.txt" "$text.txt" ;;
    77) rm "$text.part.txt" ;;
    124) ;;
    *) mv "$text.part.txt" "$text.failed.txt" ;;
  esac
  return "$rc"
}
verdict() {
  [ "$broken" -eq 0 ] || return "$broken"
  [ "$cut" -eq 0 ] || return 124
  [ "$passed" -eq 1 ] || return 77
}
# What cuDNN knows of the GPU, with which a later build asks it for plans without one; and five eager steps without its
# tuning, then with it: what tuning costs, before other parts spend their time in it.
part_first() {
  local images=12 precision=bf16
  [ "$device" = cuda ] || images=2 precision=fp32
  if command -v nvidia-smi > /dev/null; then kept first.nvidia_smi nvidia-smi -q || true; fi
  if [ "$device" = cuda ] && [ ! -e "$out/cudnn_device.json" ]; then
    tried within "$python" tests/gpu_check/cudnn_properties.py save "$out/cudnn_device.json"
  fi
  timing_data
  tried first_steps "$images" "$precision" untuned
  tried first_steps "$images" "$precision" tuned
  verdict
}
first_steps() { # first_steps IMAGES PRECISION untuned|tuned
  local result=$out/first_$3.json rc=0
  local -a settings
  [ ! -e "$result" ] || return 0
  mapfile -t settings < <(speed_settings "$1" "$2" none "$3" 5)
  train "$result" "${settings[@]}" --data "$out/scratch/shards" || rc=$?
  "$python" tests/gpu_check/first.py "$out" > "$out/scratch/first.md"
  mv "$out/scratch/first.md" "$out/first.md"
  cat "$out/first.md"
  return "$rc"
}
part_kernels() {
  local test
  [ -e "$build/tests/kernels_gpu_boxes" ] || skip "this build has no CUDA"
  # shellcheck disable=SC2034  # within reads it
  each_s=100 # one that hangs leaves time for the others
  for test in "$build"/tests/kernels_gpu_* "$build"/tests/nccl_test; do
    tried kept "kernels.${test##*/}" "$test" --gtest_brief=1
  done
  if [ "$device" = cpu ] && [ -e "$build/packed" ]; then # elsewhere they are tests of the build
    for test in "$build"/tests/kernels_emulated_* "$build"/tests/kernels_host_test; do
      if [ -e "$test" ]; then tried kept "kernels.${test##*/}" "$test" --gtest_brief=1; fi
    done
  fi
  verdict
}
# -u: what is known is written at once.
parity() {
  within "$python" -u tests/models/parity.py "$build/tests/model_probe" "$TTT_COCO" --device "$device" "$@"
}
part_twins() {
  local small=(--arch small --size 256 --images 2)
  if [ "$device" = cpu ]; then
    tried kept twins.small parity "${small[@]}" --steps 1
  else
    tried kept twins.small parity "${small[@]}" --steps 10
    tried kept twins.small_bf16 parity "${small[@]}" --steps 1 --precision bf16
    tried kept twins.resnet50 parity --arch resnet50 --size 800 --steps 1
    tried kept twins.small_fp16 parity "${small[@]}" --steps 1 --precision fp16
  fi
  verdict
}

# pack_split FOLDER SPLIT IMAGES ANNOTATIONS
pack_split() { "$build/bin/pack_coco" --quiet --outside clip --images "$3" --annotations "$4" --split "$2" --out "$1"; }
# Images for times: drawn, so that they can be made anywhere; the recipe makes them as large as COCO's.
timing_data() {
  local side=640 count=96 split made=$out/scratch/shards.part
  [ "$device" = cuda ] || side=96 count=16
  [ ! -d "$out/scratch/shards" ] || return 0
  rm -rf "$out/scratch/drawn" "$made"
  "$build/bin/make_shapes" --out "$out/scratch/drawn" --train "$count" --val 4 --size "$side" > /dev/null
  for split in train val; do pack_split "$made" "$split" "$out/scratch/drawn/$split" \
    "$out/scratch/drawn/instances_$split.json"; done
  mv "$made" "$out/scratch/shards"
}
# mlperf_settings LR: of the timed runs, recipe mlperf from random weights, whose frozen normalisation would let
# activations grow from block to block, were they not started smaller.
mlperf_settings() {
  if [ "$device" = cpu ]; then
    printf '%s\n' --set data.workers=1 --set data.short_side=64 --set data.long_side=64
  else
    printf '%s\n' --recipe mlperf --set mlperf.log=false --set model.backbone.init=kaiming_uniform --set data.workers=12
  fi
  printf '%s\n' --set train.schedule.lr="$1"
}
# A run in which the host waits for the device within a step ends. A processor waits for nothing, and refuses the
# setting.
strict_settings() { [ "$device" = cpu ] || printf '%s\n' --set train.strict_sync=true; }
# precision_settings PRECISION: fp16's scale begins so low that no step is skipped on the way down from 65536, which
# would be no whole step.
precision_settings() {
  printf '%s\n' --set model.precision="$1"
  [ "$1" != fp16 ] || printf '%s\n' --set train.loss_scale.initial=1024
}
# speed_settings IMAGES PRECISION GRAPHS untuned|tuned [STEPS]
# Tuned: cuDNN times its algorithms in the first step.
speed_settings() {
  mlperf_settings 1e-6
  precision_settings "$2"
  # As published: so many proposals for each image of the batch.
  [ "$device" = cpu ] || printf '%s\n' --set model.rpn.post_nms_train="$((1000 * $1))"
  printf '%s\n' --set train.global_batch="$1" --set train.graphs="$3" \
    --set train.cudnn_autotune="$([ "$4" = tuned ] && echo true || echo false)" \
    --set train.max_steps="${5:-$([ "$device" = cuda ] && echo 60 || echo 8)}"
}
# bits_settings PRECISION GRAPHS LR: steps whose weights move. cuDNN chooses by rules, since two runs may find different
# algorithms the fastest.
bits_settings() {
  mlperf_settings "$3"
  strict_settings
  precision_settings "$1"
  printf '%s\n' --set train.global_batch=2 --set train.max_steps=12 --set train.graphs="$2" \
    --set train.cudnn_autotune=false \
    --set train.schedule.warmup_steps=0 --set train.schedule.reference_batch=0
}
# fit_settings IMAGES: what fits them from random weights, evaluated on them: batch statistics, nothing frozen, five
# steps an epoch.
fit_settings() {
  local batch=$(($1 / 5))
  if [ "$device" = cpu ]; then
    printf '%s\n' --set data.short_side=64 --set data.long_side=64 --set train.max_steps=4 --set data.workers=1
  else
    printf '%s\n' --recipe torchvision --set model.backbone.norm=batch --set model.backbone.freeze_at=0 \
      --set data.short_side=512 --set data.long_side=512 \
      --set train.global_batch="$batch" --set train.epochs=200 --set train.eval_every_epochs=20 \
      --set train.schedule.lr="$(awk -v batch="$batch" 'BEGIN {print 0.02 * batch / 16}')" \
      --set train.schedule.warmup_steps=50 --set train.cudnn_autotune=false \
      --set 'train.schedule.decay_epochs=[150,180]' --set train.target_box_ap=0.5 --set train.target_mask_ap=0.45 \
      --set model.precision=bf16 --set data.workers=12
  fi
}
ablation_settings() {
  mlperf_settings 1e-6
  if [ "$device" = cpu ]; then
    printf '%s\n' --set train.images_per_rank=1 --set ablate.limit_s=1 --set ablate.builds=1 --set ablate.gate_steps=2
  else
    printf '%s\n' --set train.global_batch=0 --set train.images_per_rank=4 --set ablate.limit_s=20
  fi
  # The peaks are the processor's. Each build of a pair would be tuned anew, in the pair's time.
  printf '%s\n' --set ablate.peaks_s=0 --set train.cudnn_autotune=false
}
# Shows what the settings above come to: no training.
part_settings() {
  local -a settings
  mapfile -t settings < <(speed_settings 12 bf16 full untuned)
  "$build/bin/ttt_maskrcnn" "${settings[@]}" --device "$device" --print-recipe
  mapfile -t settings < <(speed_settings 1 bf16 none tuned 5)
  "$build/bin/ttt_maskrcnn" "${settings[@]}" --device "$device" --print-recipe
  mapfile -t settings < <(bits_settings fp16 parts 2e-5)
  "$build/bin/ttt_maskrcnn" "${settings[@]}" --device "$device" --print-recipe
  mapfile -t settings < <(fit_settings 80)
  "$build/bin/ttt_maskrcnn" "${settings[@]}" --device "$device" --print-recipe
  mapfile -t settings < <(ablation_settings)
  "$build/bin/ablate" cuda_graphs "${settings[@]}" --device "$device" --print-recipe
}
# told: what the last run said. It stays in its file until then, and a signal asks for it too.
told() {
  [ -s "$out/scratch/run.err" ] || return 0
  cat "$out/scratch/run.err" >&2
}
# train RESULT ARGUMENTS...: a run whose result is RESULT; it says what became of it, and ends with its exit code.
train() {
  local result=$1 rc=0
  shift
  within "$build/bin/ttt_maskrcnn" "$@" --device "$device" --quiet --force --out "$out/scratch/run.json" \
    2> "$out/scratch/run.err" || rc=$?
  told
  [ "$rc" -ne 0 ] || mv "$out/scratch/run.json" "$result"
  return "$rc"
}
# part_bits: a run, the same again, replayed in parts and whole, and one with twice the learning rate, which must differ
# or nothing was compared.
one_bits() { # one_bits PRECISION GRAPHS VARIANT LR
  local name=bits_$1_$3 rc=0
  local -a settings
  [ ! -e "$out/$name.json" ] || return 0
  mapfile -t settings < <(bits_settings "$1" "$2" "$4")
  train "$out/scratch/$name.run.json" "${settings[@]}" --set train.save_weights="$out/scratch/$name.h5" \
    --data "$out/scratch/shards" || rc=$?
  if [ "$rc" -ne 0 ]; then
    say "no steps of $name: exit code $rc"
    return 0
  fi
  "$python" tests/gpu_check/bits.py digest "$out/scratch/$name.run.json" "$out/scratch/$name.h5" \
    > "$out/scratch/$name.json"
  mv "$out/scratch/$name.json" "$out/$name.json"
  rm "$out/scratch/$name.h5"
}
part_bits() {
  local precision rc=0
  timing_data
  "$python" -c 'import h5py, numpy' || skip "$python has no h5py and numpy, which read the weights"
  for precision in bf16 fp32 fp16; do
    if [ "$device" = cpu ]; then
      [ "$precision" = fp32 ] || continue
    else
      one_bits "$precision" full full 2e-5
      one_bits "$precision" parts parts 2e-5
    fi
    one_bits "$precision" none none 2e-5
    one_bits "$precision" none again 2e-5
    one_bits "$precision" none doubled 4e-5
  done
  "$python" tests/gpu_check/bits.py compare "$out" "$device" > "$out/scratch/bits.md" || rc=$?
  mv "$out/scratch/bits.md" "$out/bits.md"
  cat "$out/bits.md"
  [ "$cut" -eq 0 ] || return 124
  return "$rc"
}
# waited EXIT_CODE: whether the last run ended because a step waited for the device.
waited() { [ "$1" -ne 0 ] && grep -q 'train.strict_sync forbids' "$out/scratch/run.err"; }
one_speed() { # one_speed IMAGES PRECISION GRAPHS [tuned]
  local result=$out/speed_$2_$3_$1${4:+_$4}.json rc=0
  local -a settings strict
  [ ! -e "$result" ] || return 0
  mapfile -t settings < <(speed_settings "$1" "$2" "$3" "${4:-untuned}")
  mapfile -t strict < <(strict_settings)
  train "$result" "${settings[@]}" "${strict[@]}" --data "$out/scratch/shards" || rc=$?
  if waited "$rc"; then
    say "WAITED: a step of $* waits for the device. Its time follows; heights.py finds that it was not strict, and" \
      "this part fails"
    rc=0
    train "$result" "${settings[@]}" --data "$out/scratch/shards" || rc=$?
  fi
  [ "$rc" -eq 0 ] || say "no time for $*: exit code $rc"
}
torchvision_speed() { # torchvision_speed IMAGES PRECISION
  local result=$out/torchvision_$2_$1.txt made=$out/scratch/torchvision.txt rc=0
  [ ! -e "$result" ] || return 0
  within "$python" benchmarks/train/torchvision_step.py --images "$1" --precision "$2" --device "$device" > "$made" ||
    rc=$?
  if [ "$rc" -eq 0 ]; then mv "$made" "$result"; else say "no time of torchvision's for $*: exit code $rc"; fi
}
# heights [all]: the table of times, and whether they are as they should be.
heights() {
  local rc=0
  "$python" tests/gpu_check/heights.py "$out" "$device" "$@" > "$out/scratch/speed.txt" || rc=$?
  mv "$out/scratch/speed.txt" "$out/speed.txt"
  cat "$out/speed.txt"
  [ "$cut" -eq 0 ] || return 124
  return "$rc"
}
part_speed() {
  local images
  timing_data
  if [ "$device" = cpu ]; then
    one_speed 2 fp32 none
  else
    one_speed 12 bf16 full; one_speed 12 bf16 none; one_speed 1 bf16 full; one_speed 1 bf16 none
    one_speed 12 bf16 full tuned; one_speed 1 bf16 full tuned
    torchvision_speed 12 bf16; torchvision_speed 1 bf16
    one_speed 12 bf16 parts; one_speed 1 bf16 parts
    for images in 24 4 2; do one_speed "$images" bf16 full; done
    one_speed 12 fp16 full; one_speed 1 fp16 full; one_speed 12 tf32 full; one_speed 12 fp32 full
    torchvision_speed 12 fp32
    one_speed 1 fp32 full; one_speed 1 fp32 none
  fi
  heights
}
part_matrix() {
  local images precision graphs
  timing_data
  if [ "$device" = cpu ]; then # the loops, and the one kind of step that a processor has everywhere
    for images in 1 2; do one_speed "$images" fp32 none; done
  else
    for precision in bf16 fp16 tf32 fp32; do
      for graphs in full none parts; do
        for images in 12 1 24 4 2; do one_speed "$images" "$precision" "$graphs"; done
      done
    done
  fi
  heights all
}
# The noting makes the steps longer: part speed has their times. Tuned ones come last, so that tuning delays no other.
part_profile() {
  local images tuned result
  local -a settings
  [ "$device" = cuda ] || skip "device is cpu, of which nobody notes what runs on it"
  timing_data
  for tuned in untuned tuned; do
    for images in 12 1; do
      result=$out/profile_$images.json
      if [ "$tuned" = tuned ]; then result=$out/profile_${images}_tuned.json; fi
      mapfile -t settings < <(speed_settings "$images" bf16 full "$tuned")
      tried one_profile "$result" "${settings[@]}"
    done
  done
  verdict
}
one_profile() { # one_profile RESULT SETTINGS...
  [ ! -e "$1" ] || return 0
  train "$@" --set train.trace_from=30 --set train.profile_steps=10 --data "$out/scratch/shards" || return
  "$build/bin/report" show "$1"
}
part_fit() {
  local split images made=$out/scratch/coco.part rc=0
  local -a settings strict
  [ -d "$TTT_COCO" ] || skip "no real images in $TTT_COCO (TTT_COCO names another folder)"
  if [ ! -d "$out/scratch/coco" ]; then # trained and evaluated on the same images
    rm -rf "$made"
    for split in train val; do pack_split "$made" "$split" "$TTT_COCO/train2017" "$TTT_COCO/instances_train2017.json"; \
      done
    mv "$made" "$out/scratch/coco"
  fi
  images=$(find "$TTT_COCO/train2017" -name '*.jpg' | wc -l)
  mapfile -t settings < <(fit_settings "$images")
  mapfile -t strict < <(strict_settings)
  fit "${settings[@]}" "${strict[@]}" || rc=$?
  if waited "$rc"; then
    say "WAITED: a step of the training waits for the device, so this part fails. What it reaches all the same follows"
    fit "${settings[@]}" || true
  fi
  return "$rc"
}
fit() {
  local rc=0
  within "$build/bin/ttt_maskrcnn" "$@" --data "$out/scratch/coco" --device "$device" \
    --quiet --force --out "$out/fit.json" 2> "$out/scratch/run.err" || rc=$?
  told
  return "$rc"
}
part_kernel_speed() {
  [ -e "$build/bin/micro_cuda" ] || skip "this build has no CUDA"
  [ "$device" = cuda ] || skip "device is cpu, whose kernels benchmarks/micro times"
  local kind
  # One kind of kernel after the other, since the program writes its times at its end.
  for kind in $("$build/bin/micro_cuda" --benchmark_list_tests | cut -d/ -f1 | sort -u); do
    tried one_micro "$kind"
  done
  tried measured_peaks
  tried kept kernel_speed.torchvision beside_torchvision
  verdict
}
one_micro() { # one_micro KIND: its times, and all that are known by then in one file
  local times=$out/scratch/micro_cuda.$1.times
  [ ! -e "$times" ] || return 0
  within "$build/bin/micro_cuda" --benchmark_format=json --benchmark_repetitions=3 --benchmark_filter="^$1/" \
    > "$times.part" || return
  mv "$times.part" "$times"
  "$python" tests/gpu_check/merge_micro.py "$out"/scratch/micro_cuda.*.times > "$out/scratch/micro_cuda.json" || return
  mv "$out/scratch/micro_cuda.json" "$out/micro_cuda.json"
}
measured_peaks() {
  [ ! -e "$out/peaks.json" ] || return 0
  within "$python" tests/gpu_check/peaks.py > "$out/scratch/peaks.json" || return
  mv "$out/scratch/peaks.json" "$out/peaks.json"
}
beside_torchvision() {
  if ! "$python" -c 'import torchvision' 2> /dev/null; then
    say "skipped: $python has no torchvision"
    return 77
  fi
  within "$python" -u benchmarks/micro/compare_kernels.py "$build/bin/micro_cuda" --device cuda --rounds 1
}
# ablated NAME: unless it was done before.
ablated() {
  local file=ablation_$1.json rc=0
  local -a settings
  [ ! -e "$out/$file" ] || return 0
  mapfile -t settings < <(ablation_settings)
  within "$build/bin/ablate" "$1" "${settings[@]}" --data "$out/scratch/shards" --device "$device" \
    --quiet --force --out "$out/scratch/$file" || rc=$?
  # 4: this GPU can do none of its variants, and the result says why
  if [ "$rc" -eq 0 ] || [ "$rc" -eq 4 ]; then mv "$out/scratch/$file" "$out/$file"; fi
  [ "$rc" -ne 4 ] || return 77
  return "$rc"
}
# Each in a run of its own: eight builds of every pair take several times as long as the part has.
part_ablations() {
  local name names=(cuda_graphs precision rpn_gradient mask_predictor mask_rows feature_gradient stem_pool sync_free
    pinned_memory device_transform zero_grad optimizer cudnn_autotune) # the last: it times the tuning too
  [ "$device" = cuda ] || names=(zero_grad)
  timing_data
  for name in "${names[@]}"; do tried ablated "$name"; done
  verdict
}
sanitized() { # sanitized TOOL TEST
  kept "sanitizer.$1.${2##*/}" compute-sanitizer --target-processes all --tool "$1" --error-exitcode 9 "$2" \
    --gtest_brief=1
}
part_sanitizer() {
  local test tool
  command -v compute-sanitizer > /dev/null || skip "compute-sanitizer is not in the PATH"
  [ "$device" = cuda ] || skip "device is cpu"
  for tool in memcheck racecheck synccheck; do
    for test in "$build"/tests/kernels_gpu_*; do tried sanitized "$tool" "$test"; done
  done
  verdict
}
