# Sourced by the job scripts of this folder, with TTT_ROOT set: what every job does. README.md describes the steps.
# shellcheck shell=bash
set -uo pipefail # not -e: a failing run must still be reported

say() { printf '%s %s\n' "$(date -u +%H:%M:%S)" "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# The usual end of a script that nobody told of the signal; from here on it is remembered (sbatch --signal=B:USR1@s:
# time is nearly up).
asked=no
trap 'asked=yes' USR1

[ -n "${SLURM_JOB_ID:-}" ] ||
  die "this is a job's script: start it with sbatch, or see slurm/README.md for mpirun without Slurm"
nodes=$SLURM_JOB_NUM_NODES
ranks_per_node=${SLURM_NTASKS_PER_NODE:-1}
restarts=${SLURM_RESTART_COUNT:-0}
# A rank's share of its node, as Slurm counts (CPUs: hardware threads) and as mpirun does (cores).
cpus_per_rank=${SLURM_CPUS_PER_TASK:-$((SLURM_CPUS_ON_NODE / ranks_per_node))}
cores_per_rank=$(($(lscpu --parse=CORE,SOCKET | grep -v '^#' | sort -u | wc -l) / ranks_per_node))
[ "$cpus_per_rank" -gt 0 ] || cpus_per_rank=1
[ "$cores_per_rank" -gt 0 ] || cores_per_rank=1

TTT_SITE=${TTT_SITE:-$TTT_ROOT/slurm/site.sh}
[ -r "$TTT_SITE" ] || die "there is no site file '$TTT_SITE': correct TTT_SITE, or unset it to take slurm/site.sh"
# shellcheck source=slurm/site.sh
source "$TTT_SITE"


choose_launcher() {
  if [ "$TTT_LAUNCHER" = auto ]; then
    TTT_LAUNCHER=mpirun
    [[ $(srun --mpi=list 2>&1) != *"$TTT_SRUN_MPI"* ]] || TTT_LAUNCHER=srun
  fi
  case $TTT_LAUNCHER in
    srun | mpirun) command -v "$TTT_LAUNCHER" > /dev/null ||
      die "TTT_LAUNCHER=$TTT_LAUNCHER is not on the PATH: load its module in $TTT_SITE" ;;
    *) die "TTT_LAUNCHER=$TTT_LAUNCHER is neither srun, mpirun nor auto: correct it in $TTT_SITE" ;;
  esac
  case ${TTT_CONTAINER:+$TTT_CONTAINER_RUNTIME} in
    "") ;;
    apptainer) command -v apptainer > /dev/null || die \
      "TTT_CONTAINER is set, but there is no apptainer on the PATH: load its module in $TTT_SITE" ;;
    pyxis) [ "$TTT_LAUNCHER" = srun ] || die \
      "pyxis is a part of srun: set TTT_LAUNCHER=srun beside TTT_CONTAINER_RUNTIME=pyxis" ;;
    *) die "TTT_CONTAINER_RUNTIME=$TTT_CONTAINER_RUNTIME is neither apptainer nor pyxis: correct it in $TTT_SITE" ;;
  esac
}

# The job's folder `out`, one for all tasks of an array, with what Slurm says of it; what an earlier start left is set
# aside.
job_begin() {
  out=$TTT_RESULTS/$SLURM_JOB_NAME-${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}
  mkdir -p "$out" || die "the result folder $out cannot be made: correct TTT_RESULTS in $TTT_SITE"
  choose_launcher
  scontrol show hostnames "$SLURM_JOB_NODELIST" > "$out/hosts-$SLURM_JOB_ID.txt"
  scontrol show job "$SLURM_JOB_ID" > "$out/job-$SLURM_JOB_ID.txt"
  say "job $SLURM_JOB_ID, start $((restarts + 1)): $nodes nodes of $ranks_per_node ranks by $TTT_LAUNCHER, results" \
    "in $out"
}

# What a command needs to run in the site's container: `inside` stands before the program, `with_image` among srun's
# flags.
container() {
  inside=() with_image=()
  case ${TTT_CONTAINER:+$TTT_CONTAINER_RUNTIME} in
    apptainer) inside=(apptainer exec "${TTT_CONTAINER_FLAGS[@]}" "$TTT_CONTAINER") ;;
    pyxis) with_image=(--container-image="$TTT_CONTAINER" "${TTT_CONTAINER_FLAGS[@]}") ;;
  esac
}

# report ARGUMENTS...: the report, on this node.
report() {
  container
  if [ ${#with_image[@]} -gt 0 ]; then
    srun --mpi=none --nodes=1 --ntasks=1 --ntasks-per-node=1 "${with_image[@]}" "$TTT_BIN/report" "$@"
  else
    "${inside[@]}" "$TTT_BIN/report" "$@"
  fi
}

# launch NODES PROGRAM ARGUMENTS...: a program of the suite on the first NODES nodes of the job.
launch() {
  local on=$1 program=$TTT_BIN/$2
  shift 2
  local line ranks=$((on * ranks_per_node))
  container
  case $TTT_LAUNCHER in
    srun)
      line=(srun "--mpi=$TTT_SRUN_MPI" --kill-on-bad-exit=1 "--nodes=$on" "--ntasks=$ranks" \
        "--ntasks-per-node=$ranks_per_node"
        "--cpus-per-task=$cpus_per_rank" "${TTT_SRUN_FLAGS[@]}" "${with_image[@]}")
      ;;
    mpirun)
      # mpirun passes on nothing but its own variables.
      local name
      line=(mpirun -n "$ranks" "${TTT_MPIRUN_FLAGS[@]}")
      for name in $(compgen -e | grep -E '^(TTT|NCCL|UCX|OMP|MKL)_'); do line+=(-x "$name"); done
      ;;
  esac
  exec "${line[@]}" "${inside[@]}" "$program" "$@"
}

# wait_for PID: its exit code, whatever signals arrive meanwhile.
wait_for() {
  while :; do
    wait "$1"
    kill -0 "$1" 2> /dev/null || break
  done
  wait "$1" # once more: the wait before may have ended with a signal to this shell, and the process right after it
}

# run NODES PROGRAM ARGUMENTS... --out FILE ...: launch, up to three times where the ranks die before the program begins
# (neither a result nor a journal is there): in MPI_Init, launcher and MPI may miss each other (site.sh, TTT_SRUN_MPI).
# Returns the exit code.
run() {
  local tries=1 rc word previous="" file=""
  for word in "$@"; do
    [ "$previous" != --out ] || file=$word
    previous=$word
  done
  while :; do
    run_once "$@"
    rc=$?
    if [ "$rc" -le 128 ] || [ "$asked" = yes ] || [ -e "$file" ] || [ -e "$file.journal" ] || [ "$tries" -ge 3 ]; then
      return "$rc"; fi
    tries=$((tries + 1))
    say "the ranks died before $2 began (exit code $rc): start number $tries"
  done
}

# run_once NODES PROGRAM ARGUMENTS...: launch, with SIGUSR1 and SIGTERM passed on. Returns its exit code. srun's is
# not always the program's (exit code 3 of a rank may come as 143): the result file is what says why.
run_once() {
  local pid="" rc ended=no
  # Set before the launch: a signal that comes between the two is passed on after it.
  trap 'asked=yes; [ -z "$pid" ] || ask_to_stop "$pid"' USR1
  trap 'ended=yes; [ -z "$pid" ] || kill -TERM "$pid" 2> /dev/null' TERM
  launch "$@" &
  pid=$!
  [ "$asked" = no ] || ask_to_stop "$pid"
  [ "$ended" = no ] || kill -TERM "$pid" 2> /dev/null
  wait_for "$pid"
  rc=$?
  trap 'asked=yes' USR1
  trap - TERM
  return "$rc"
}

ask_to_stop() {
  say "time is nearly up: the run is asked to stop"
  kill -USR1 "$1" 2> /dev/null
}

# Looks at the nodes before the run; ends the job where something is wrong.
preflight() {
  [ "$TTT_PREFLIGHT" = yes ] || return 0
  local file
  file=$out/preflight${SLURM_ARRAY_TASK_ID:+-$SLURM_ARRAY_TASK_ID}$(leg).json
  local arguments=(--out "$file" --force "${TTT_PREFLIGHT_FLAGS[@]}")
  [ -z "$TTT_DATA" ] || arguments+=(--data "$TTT_DATA")
  # What is staged is hashed then, on every node; here the shared file system would have to give every byte to every
  # node.
  [ -z "$TTT_LOCAL" ] || [[ " ${arguments[*]}" = *" shards="* ]] || arguments+=(--set shards=size)
  [[ " ${arguments[*]}" = *" ranks_per_node="* ]] || arguments+=(--set "ranks_per_node=$ranks_per_node")
  run "$nodes" preflight "${arguments[@]}" && return 0
  local rc=$?
  [ "$asked" = no ] || requeue "time was up before the run began"
  requeue_where_a_node_failed
  say "preflight failed with exit code $rc: the run is not started; report show $file says more"
  exit "$rc"
}

# Copies the shards to each node's own disk, verified, and points TTT_DATA there.
stage() {
  if [ -z "$TTT_DATA" ] || [ -z "$TTT_LOCAL" ]; then return 0; fi
  say "staging $TTT_DATA to $TTT_LOCAL on each node"
  on_each_node "$TTT_ROOT/slurm/stage" "$TTT_DATA" "$TTT_LOCAL" || {
    requeue_where_a_node_failed
    die "the shards could not be staged to $TTT_LOCAL: see above, correct TTT_LOCAL or leave it empty"
  }
  TTT_DATA=$TTT_LOCAL
}

on_each_node() { srun --mpi=none --kill-on-bad-exit=1 "--nodes=$nodes" "--ntasks=$nodes" --ntasks-per-node=1 \
  --cpu-bind=none "$@"; }

# "" of a job's first start, "-start2" of the next.
leg() { [ "$restarts" -eq 0 ] || echo "-start$((restarts + 1))"; }

# What stands in the way of a training of this name is of an earlier start of this job: kept, under another name. A
# training whose MLPerf log names a division is to be submitted, and its clock does not pause: its checkpoints are set
# aside too, and it starts anew.
set_aside() {
  local file until=-until-start$((restarts + 1))
  if is_submission "$1"; then
    say "$1 is to be submitted (mlperf.division), so it starts anew: its clock does not pause"
    mv "$out/$1.checkpoint" "$out/$1$until.checkpoint"
  fi
  for file in json json.journal mllog.txt; do
    [ ! -e "$out/$1.$file" ] || mv "$out/$1.$file" "$out/$1$until.$file"
  done
}
is_submission() { [ -d "$out/$1.checkpoint" ] && grep -qs '"submission_division"' "$out/$1.mllog.txt"; }

# Flushes the nodes' caches of the shards, where the site says that it is to be done (MLPerf asks for it), and tells the
# program so.
clear_caches() {
  [ "$TTT_CLEAR_CACHES" = yes ] || return 0
  [ -n "$TTT_DATA" ] ||
    die "TTT_CLEAR_CACHES=yes, but TTT_DATA names no shards whose pages could be dropped: set it in $TTT_SITE, or" \
      "unset TTT_CLEAR_CACHES"
  on_each_node "$TTT_ROOT/slurm/clear_caches" "$TTT_DATA" || {
    requeue_where_a_node_failed
    die "the caches could not be cleared of $TTT_DATA: see above, or unset TTT_CLEAR_CACHES in $TTT_SITE"
  }
}

# train NAME NODES [ARGUMENTS OF ttt_maskrcnn]: one training with its result $out/NAME.json, resumed where an earlier
# start of the job left a checkpoint. Does not return where the job goes back to the queue. Exit code: the run's.
train() {
  local name=$1 on=$2 rc
  shift 2
  if [ -e "$out/$name.done" ]; then
    say "$name was finished by an earlier start of this job"
    return 0
  fi
  [ "$asked" = no ] || requeue "time was up before $name began"
  local result=$out/$name.json checkpoint=$out/$name.checkpoint
  local arguments=(--out "$result")
  set_aside "$name"
  [ -z "$TTT_RECIPE" ] || arguments+=(--recipe "$TTT_RECIPE")
  [ -z "$TTT_DATA" ] || arguments+=(--data "$TTT_DATA")
  if [ "$TTT_CHECKPOINT" = yes ]; then
    mkdir -p "$checkpoint"
    rm -f "$checkpoint/REQUEUE"
    arguments+=(--set "train.checkpoint.folder=$checkpoint" --set train.checkpoint.resume=auto \
      "${TTT_CHECKPOINT_FLAGS[@]}")
  fi
  clear_caches
  [ "$TTT_CLEAR_CACHES" != yes ] || arguments+=(--set mlperf.cache_cleared=true)
  run "$on" ttt_maskrcnn "${arguments[@]}" "$@"
  rc=$?
  if [ -e "$checkpoint/REQUEUE" ]; then # the program stopped as asked, whatever became of its launcher
    rm "$checkpoint/REQUEUE"
    ! is_submission "$name" ||
      die "$name did not reach its end in the time of this job, and a run to be submitted is not resumed:" \
        "give it more (sbatch --time)"
    requeue "the run stopped at a checkpoint before the time limit"
  fi
  if [ "$rc" -eq 0 ]; then
    touch "$out/$name.done"
  else
    [ "$asked" = no ] || [ -e "$result" ] || requeue "time was up before $name could stop by itself"
    requeue_where_a_node_failed
  fi
  report_on "$name"
  return "$rc"
}

# Prints the result for people and writes it as Markdown and as a page.
report_on() {
  local result=$out/$1.json
  if [ ! -e "$result" ]; then
    say "there is no result $result; where there is $result.journal, 'report recover' makes one of it"
    return
  fi
  report show "$result" --width 150
  report show "$result" --format md > "$out/$1.md"
  report html "$result" --out "$out/$1.html" --force
  say "result: $result, $out/$1.md, $out/$1.html"
}

requeue() {
  [ "$restarts" -lt "$TTT_MOST_REQUEUES" ] || die \
    "$1, but the job came back $restarts times already (TTT_MOST_REQUEUES): give it more time"
  say "$1: back to the queue"
  scontrol requeue "$SLURM_JOB_ID" || die \
    "Slurm does not requeue this job: submit it again with sbatch --requeue; its checkpoints are in $out"
  sleep 300 # Slurm ends this script
  exit 1
}

# A rank that dies with its node looks to the others like any broken connection. So after a failure each node is asked
# to run a program: where one stays silent, Slurm is given time to see it, and the job goes back to the queue instead of
# ending. A job that Slurm saw first is requeued by Slurm.
requeue_where_a_node_failed() {
  timeout 30 srun --mpi=none --immediate=20 "--nodes=$nodes" "--ntasks=$nodes" --ntasks-per-node=1 --cpu-bind=none \
    --overlap true 2> /dev/null && return 0
  local waited=0 down
  while [ "$waited" -lt "$TTT_NODE_WAIT_S" ]; do
    down=$(sinfo --noheader --nodes="$SLURM_JOB_NODELIST" --states=down,fail,no_respond --format=%N | sort -u |
      paste -sd,)
    [ -z "$down" ] || requeue "node $down failed"
    sleep 2
    waited=$((waited + 2))
  done
  say "a node did not answer, but Slurm called none down within $TTT_NODE_WAIT_S s (TTT_NODE_WAIT_S)"
}
