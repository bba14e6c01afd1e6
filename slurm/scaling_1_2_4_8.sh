#!/bin/bash
# sbatch slurm/scaling_1_2_4_8.sh [ARGUMENTS OF ttt_maskrcnn]: what more nodes bring, from one to eight of four ranks
# each. Weak scaling (the images of a rank stay) and strong (the global batch stays, $TTT_STRONG_BATCH), 200 steps of
# each unless arguments say otherwise. Runs that an earlier start of the job has finished are not repeated.
# The site's settings: slurm/site.sh. What a job does, step by step: slurm/README.md.
#SBATCH --job-name=scaling_1_2_4_8
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=4
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
TTT_ROOT=${TTT_ROOT:-${SLURM_SUBMIT_DIR:-.}}
# shellcheck source=slurm/lib.sh
source "$TTT_ROOT/slurm/lib.sh" ||
  { echo "error: submit from the root of the suite, or set TTT_ROOT to it" >&2; exit 2; }

[ $# -gt 0 ] || set -- --set train.max_steps=200
: "${TTT_STRONG_BATCH:=128}"
worst=0
job_begin
preflight
stage
for sharing in weak strong; do
  batch=()
  [ "$sharing" = weak ] || batch=(--set "train.global_batch=$TTT_STRONG_BATCH")
  results=()
  for some in 1 2 4 8; do
    [ "$some" -le "$nodes" ] || continue
    train "$sharing-$some" "$some" "$@" "${batch[@]}" || worst=$?
    results+=("$out/$sharing-$some.json")
  done
  report scaling "${results[@]}" --width 150 || worst=$?
  report scaling "${results[@]}" --format md > "$out/$sharing.md"
done
exit "$worst"
