# Sourced by the other scripts: where things are, how steps are told and timed, and how Open MPI is run here.
# shellcheck shell=bash
set -euo pipefail
TTT_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TTT_CACHE_DIR=${TTT_CACHE:-$HOME/.cache/ttt}

say() { printf '%s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# The comment at the head of the script that was started.
show_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

# step TITLE COMMAND...: announces, runs, tells how long it took. A failing command ends the script (set -e holds inside
# functions only where nothing asks for their exit code, so this does not).
step_title='' step_begin=0
step() {
  step_title=$1 step_begin=$SECONDS
  shift
  say "== $step_title"
  "$@"
  say "== $step_title: done in $((SECONDS - step_begin)) s"
  step_title=''
}
tell_failed_step() {
  local rc=$?
  if [ "$rc" -ne 0 ] && [ -n "$step_title" ]; then
    say "== $step_title: failed with exit code $rc after $((SECONDS - step_begin)) s"
  fi
}
trap tell_failed_step EXIT

# Open MPI on one machine: idle ranks give way (32 ranks on 2 cores are a thousand times slower without), more ranks
# than cores are allowed, and root is asked to say so twice.
open_mpi_environment() {
  export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}

# Compilers of torch's headers take up to 2 GB each: as many at once as cores and memory allow.
build_jobs() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  local jobs=$((memory_gb / 2))
  [ "$jobs" -gt "$cores" ] && jobs=$cores
  [ "$jobs" -lt 1 ] && jobs=1
  echo "$jobs"
}
