#!/bin/bash
# sbatch slurm/maskrcnn_8node.sh [ARGUMENTS OF ttt_maskrcnn]: time to target on eight nodes of four ranks.
# The site's settings: slurm/site.sh. What a job does, step by step: slurm/README.md.
#SBATCH --job-name=maskrcnn_8node
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

job_begin
preflight
stage
train maskrcnn "$nodes" "$@"
