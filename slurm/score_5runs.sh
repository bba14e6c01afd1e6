#!/bin/bash
# sbatch slurm/score_5runs.sh [ARGUMENTS OF ttt_maskrcnn]: five trainings that differ in their seed, one after the
# other, and their score. Seeds count from TTT_FIRST_SEED (1). The task that finds all results makes the score: the
# Olympic mean of five. The site's settings: slurm/site.sh. What a job does, step by step: slurm/README.md.
#SBATCH --job-name=score_5runs
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=4
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --array=0-4%1
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A_%a.out
TTT_ROOT=${TTT_ROOT:-${SLURM_SUBMIT_DIR:-.}}
# shellcheck source=slurm/lib.sh
source "$TTT_ROOT/slurm/lib.sh" ||
  { echo "error: submit from the root of the suite, or set TTT_ROOT to it" >&2; exit 2; }

seed=$((${TTT_FIRST_SEED:-1} + SLURM_ARRAY_TASK_ID))
job_begin
preflight
stage
train "seed-$seed" "$nodes" --seed "$seed" "$@"
rc=$?
finished=()
for task in $(seq "$SLURM_ARRAY_TASK_MIN" "$SLURM_ARRAY_TASK_MAX"); do
  result=$out/seed-$((${TTT_FIRST_SEED:-1} + task)).json
  [ ! -e "$result" ] || finished+=("$result")
done
if [ ${#finished[@]} -eq "$SLURM_ARRAY_TASK_COUNT" ]; then
  report score "${finished[@]}" --width 150
  report score "${finished[@]}" --format md > "$out/score.md"
fi
exit "$rc"
