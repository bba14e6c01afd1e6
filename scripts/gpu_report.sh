# Sourced by gpu_check: the report of what is in its folder, whatever that is and at any time.
# shellcheck shell=bash disable=SC2154
# included TITLE FILE COMMAND...: a section with what the command says, where FILE is there.
included() {
  local title=$1 file=$2
  shift 2
  [ -s "$out/$file" ] || return 0
  printf '\n## %s\n\n' "$title"
  "$@" 2>&1 || say "(no such report: $*)"
}
fenced() { printf '```\n%s\n```\n' "$(cat "$1")"; }
# described FILE WORDS
described() { [ ! -s "$out/$1" ] || say "| [$1]($1) | $2 |"; }
write_index() {
  local part images file
  say "# $(basename "$out"), device $device"
  printf '\n| part | | outcome |\n| --- | --- | --- |\n'
  for part in "${PARTS[@]}"; do say "| $part | ${TITLES[$part]} | $(cat "$out/$part.state" 2> /dev/null ||
    echo 'not tried') |"; done
  printf '\n| file | what it is |\n| --- | --- |\n'
  described report.html "all results in a browser: tables, plots, the files themselves"
  for part in "${PARTS[@]}"; do described "$part.log" "what part $part said"; done
  for part in "${PARTS[@]}"; do for file in "$out/$part".*.txt; do if [ -e "$file" ]; then
    described "${file##*/}" "what one of its steps said"
  fi; done; done
  described first.md "times of the first steps, without cuDNN's tuning and with it"
  for file in "$out"/first_*.json; do [ ! -e "$file" ] || described "${file##*/}" "result of those steps"; done
  described cudnn_device.json "what cuDNN knows of the GPU, for questions without one"
  described bits.md "which runs had the same losses and weights"
  for file in "$out"/bits_*.json; do [ ! -e "$file" ] ||
    described "${file##*/}" "losses and hashes of weights of one of those runs"; done
  described speed.txt "images a second of every run below, and which heights were missed"
  for file in "$out"/speed_*.json; do [ ! -e "$file" ] ||
    described "${file##*/}" "result of a run of some steps: precision, graphs, images a step, tuned or not"; done
  for file in "$out"/torchvision_*.txt; do [ ! -e "$file" ] ||
    described "${file##*/}" "torchvision's step: precision, images"; done
  for images in 12 1 12_tuned 1_tuned; do described "profile_$images.json" \
    "result of a run, images: ${images/_/, }; with the GPU's time by kernel"; done
  described fit.json "result of the training that must fit its images"
  described micro_cuda.json "times of the kernels, as Google Benchmark writes them"
  described peaks.json "what this GPU multiplies and copies at best, measured by torch"
  described limits.md "times of kernels and steps as shares of that"
  local -a ablations=()
  for file in "$out"/ablation_*.json; do if [ -e "$file" ]; then
    described "${file##*/}" "result of one ablation"
    ablations+=("$file")
  fi; done
  included "The first steps" first.md cat "$out/first.md"
  included "Kernels and steps against torchvision" twins.log fenced "$out/twins.log"
  included "The same bits" bits.md cat "$out/bits.md"
  included "Images a second" speed.txt fenced "$out/speed.txt"
  included "Shares of the limits" limits.md cat "$out/limits.md"
  for images in 12 1 12_tuned 1_tuned; do included "Where a step's time goes, images: ${images/_/, }" \
    "profile_$images.json" "$build/bin/report" show --format md "$out/profile_$images.json"; done
  included "The training that must fit" fit.json "$build/bin/report" show --format md "$out/fit.json"
  included "Times of kernels" micro_cuda.json "$build/bin/report" bench --format md "$out/micro_cuda.json"
  included "Kernels beside torchvision's operators" kernel_speed.torchvision.txt fenced \
    "$out/kernel_speed.torchvision.txt"
  [ ${#ablations[@]} -eq 0 ] || included "Ablations" "${ablations[0]##*/}" "$build/bin/report" ablations --format md \
    "${ablations[@]}"
}
write_report() {
  local -a existing=()
  local result
  for result in "$out"/first_*.json "$out"/speed_*.json "$out"/profile_*.json "$out"/fit.json "$out"/ablation_*.json \
    "$out"/micro_cuda.json; do
    if [ -e "$result" ]; then existing+=("$result"); fi
  done
  if [ ${#existing[@]} -gt 0 ]; then "$build/bin/report" html "${existing[@]}" --out "$out/report.html" \
    --force > "$out/scratch/report.log" 2>&1 || say "not all of the report: see $out/scratch/report.log"; fi
  "$python" tests/gpu_check/limits.py "$out" "$build/step_cost.json" > "$out/scratch/limits.md" ||
    say "no shares of the limits"
  mv "$out/scratch/limits.md" "$out/limits.md"
  write_index > "$out/scratch/index.md"
  mv "$out/scratch/index.md" "$out/index.md"
}
