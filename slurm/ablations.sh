#!/bin/bash
# sbatch slurm/ablations.sh [ARGUMENTS OF ablate]: what each technique is worth, on one node of four ranks.
# All ablations unless arguments name some. They are not resumed: give them time.
# The site's settings: slurm/site.sh. What a job does, step by step: slurm/README.md.
#SBATCH --job-name=ablations
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --exclusive
#SBATCH --time=08:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --no-requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
TTT_ROOT=${TTT_ROOT:-${SLURM_SUBMIT_DIR:-.}}
# shellcheck source=slurm/lib.sh
source "$TTT_ROOT/slurm/lib.sh" ||
  { echo "error: submit from the root of the suite, or set TTT_ROOT to it" >&2; exit 2; }

[ $# -gt 0 ] || set -- --all
job_begin
preflight
run "$nodes" ablate "$@" --out "$out/ablations.json" # names stand first
rc=$?
report_on ablations
[ ! -e "$out/ablations.json" ] || report ablations "$out/ablations.json" --details --format json > "$out/tables.json"
exit "$rc"
