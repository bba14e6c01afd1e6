# The settings of one cluster, read by every script here, on the job's first node. Values that are set already (in the
# environment of sbatch, or by a file of yours that TTT_SITE names and that ends by sourcing this one) stay. Arrays
# cannot come from the environment: set them in a file.
# shellcheck shell=bash disable=SC2034

# What sbatch itself reads must be in its environment, before a script runs. Either export it, or `source slurm/site.sh`
# in the shell that calls sbatch:
# export SBATCH_PARTITION=gpu SBATCH_ACCOUNT=project SBATCH_QOS=normal SBATCH_CONSTRAINT=a100 SBATCH_RESERVATION=...
# Not per task: a rank that cannot see its node's other GPUs cannot copy to them directly.
# export SBATCH_GPUS_PER_NODE=4
# export SBATCH_TIMELIMIT=02:00:00       # instead of the script's

# --- programs and folders
: "${TTT_BIN:=$TTT_ROOT/build/bin}"            # of the programs; on a file system that all nodes share
: "${TTT_RESULTS:=$TTT_ROOT/results/jobs}"     # a folder for each job is made there; shared too
: "${TTT_DATA:=}"                              # folder of shards (pack_coco); empty: the generated data set
: "${TTT_RECIPE:=}"                            # a name or a TOML file; empty: default
# folder on a disk of each node, where shards are copied before the run; empty: read from TTT_DATA
: "${TTT_LOCAL:=}"
# what runs make once and keep (the generated data set); shared or of each node
: "${TTT_CACHE:=${HOME:-/tmp}/.cache/ttt}"
# module load gcc/13 openmpi/4.1.6 hdf5        # whatever the build needed

# --- starting ranks
# srun, mpirun, or auto: srun where `srun --mpi=list` has TTT_SRUN_MPI, else mpirun
: "${TTT_LAUNCHER:=auto}"
: "${TTT_SRUN_MPI:=pmix}"
# With Slurm 22.05 and Open MPI 4.1.4, srun --mpi=pmix now and then ends in MPI_Init with a segmentation fault (a
# message comes before the rank can take it): seldom on idle nodes, often where many ranks share few cores
# (slurm/README.md has the counts). Not with mpirun, and not where Slurm's PMIx waits for all ranks by ring. A start
# that ends so is tried again, three times in all.
export SLURM_PMIX_FENCE="${SLURM_PMIX_FENCE:-ring}"
[ -v TTT_SRUN_FLAGS ] || TTT_SRUN_FLAGS=(--cpu-bind=cores)
[ -v TTT_MPIRUN_FLAGS ] || TTT_MPIRUN_FLAGS=(--bind-to core --map-by "slot:PE=$cores_per_rank")
: "${OMP_NUM_THREADS:=$cores_per_rank}"
export OMP_NUM_THREADS TTT_CACHE

# --- container: an image that every node can read; empty: none
# containers/ttt.def builds ttt.sif, containers/Containerfile an image for enroot and pyxis
: "${TTT_CONTAINER:=}"
: "${TTT_CONTAINER_RUNTIME:=apptainer}"        # apptainer, or pyxis (then TTT_LAUNCHER=srun)
[ -v TTT_CONTAINER_FLAGS ] || TTT_CONTAINER_FLAGS=()   # e.g. (--nv) with GPUs

# --- before the run
# yes: each node drops the pages of its shards right before a training (MLPerf: mlperf.cache_cleared)
: "${TTT_CLEAR_CACHES:=no}"
: "${TTT_PREFLIGHT:=yes}"                      # no: start without looking
# e.g. (--set gpus_per_node=4 --set least_bus_bytes_per_s=1e9); preflight --print-recipe lists them
[ -v TTT_PREFLIGHT_FLAGS ] || TTT_PREFLIGHT_FLAGS=()

# --- time limits and failures
: "${TTT_CHECKPOINT:=yes}"                     # no: an interrupted run starts anew
[ -v TTT_CHECKPOINT_FLAGS ] || TTT_CHECKPOINT_FLAGS=() # e.g. (--set train.checkpoint.every_s=600)
# a job that comes back more often is ended: its time limit does not suffice for any progress
: "${TTT_MOST_REQUEUES:=20}"
# after a failed run with a silent node: how long Slurm may take to call the node down (SlurmdTimeout)
: "${TTT_NODE_WAIT_S:=330}"
: "${TTT_COMM_TIMEOUT_S:=120}"                 # a collective in which nothing arrives for so long ends the run
export TTT_COMM_TIMEOUT_S

# --- seconds that mpirun leaves the other ranks of one that died to write the result (1): more for a slow file system
# export OMPI_MCA_odls_base_sigkill_timeout=5

# --- interconnect: recorded in every result, set by nobody else
# export NCCL_SOCKET_IFNAME=ib0 NCCL_IB_HCA=mlx5 NCCL_DEBUG=WARN
# export OMPI_MCA_btl_tcp_if_include=ib0 OMPI_MCA_pml=ucx UCX_NET_DEVICES=mlx5_0:1
