#!/bin/bash
# setup_test.sh SOURCE: scripts/setup in front of stand-ins for apt-get, dpkg-query, python3 and pip that log what they
# are asked. Nothing is installed and nothing is fetched.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
# With an nvcc among the system's programs the slim variant must be asked for.
slim=()
if PATH=/usr/bin:/bin command -v nvcc > /dev/null; then slim=(TTT_CUDA=OFF); fi

fakes() {
  rm -rf "$work/fake" "$work/cache" "$work/log"
  mkdir -p "$work/fake"
  : > "$work/log"
  cat > "$work/fake/dpkg-query" <<'FAKE'
#!/bin/bash
case " $MISSING " in *" ${*: -1} "*) exit 1 ;; *) printf installed ;; esac
FAKE
  cat > "$work/fake/apt-get" <<'FAKE'
#!/bin/bash
echo "apt-get $*" >> "$WORK/log"
FAKE
  cat > "$work/fake/sudo" <<'FAKE'
#!/bin/bash
exec "$@"
FAKE
  # python3 -m venv DIR makes a Python that logs, and "installs" by making the libraries that are looked for.
  cat > "$work/fake/python3" <<'FAKE'
#!/bin/bash
echo "python3 $*" >> "$WORK/log"
mkdir -p "$3/bin"
touch "$3/bin/pip"
chmod +x "$3/bin/pip"
cat > "$3/bin/python" <<'INNER'
#!/bin/bash
[ "$1 $2" = "-c pass" ] && exit 0
echo "python $*" >> "$WORK/log"
case "$*" in *"$BREAK_AT"*) [ -n "$BREAK_AT" ] && exit 9 ;; esac
lib=$(dirname "$0")/../lib/python3.11/site-packages/torch/lib
mkdir -p "$lib"
touch "$lib/libtorch_cpu.so" "$lib/libc10.so"
INNER
chmod +x "$3/bin/python"
FAKE
  chmod +x "$work/fake/"*
}

# setup [variable=value ...] -- arguments of scripts/setup; leaves the exit code in rc and the output in $work/out.
setup() {
  local variables=()
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  rc=0
  # Only the system's own folders: an nvcc on the caller's PATH must not choose the variant.
  env -u TTT_CUDA -u TTT_TORCH_ROOT PATH="$work/fake:/usr/bin:/bin" WORK="$work" MISSING= BREAK_AT= \
    TTT_CACHE="$work/cache" \
    "${slim[@]}" "${variables[@]}" "$source/scripts/setup" "$@" > "$work/out" 2>&1 || rc=$?
}

expect() { # TITLE CONDITION...
  local title=$1
  shift
  if "$@"; then
    echo "ok: $title"
  else
    failures=$((failures + 1))
    echo "FAILED: $title (exit code $rc)"
    sed 's/^/  out: /' "$work/out"
    sed 's/^/  log: /' "$work/log"
  fi
}
logged() { [ "$rc" -eq 0 ] && grep -qE -- "$1" "$work/log"; }
logged_times() { [ "$(grep -cE -- "$1" "$work/log")" -eq "$2" ]; }
said() { grep -qE -- "$1" "$work/out"; }
failed_with() { [ "$rc" -eq "$1" ]; }

fakes
setup --
expect "the slim variant without nvcc" logged \
  "pip .*--no-deps torch==2.11.0 nvidia-cuda-runtime==[0-9.]+ nvidia-cuda-cupti==[0-9.]+$"
expect "no apt-get where nothing is missing" logged_times "apt-get" 0
: > "$work/log"
setup --
expect "a second run installs nothing" logged_times "." 0
expect "and ends well" failed_with 0
setup -- --tests
expect "tests take the full variant" logged "pip .* torch==2.11.0$"
expect "and what they compare with" logged \
  "pip .* torchvision==0.26.0 pycocotools h5py numpy scipy jsonschema pillow pyyaml requests clang-format==14.0.6$"
alone="mlperf-logging|tensorboard|protobuf|absl-py|ReFrame-HPC|ClusterShell|fasteners|semver|timm"
expect "and of MLPerf's checkers, TensorBoard, ReFrame and timm only what is used" logged \
  "pip .*--no-deps( ($alone)==\S+){9}$"
expect "in the environment that is there" logged_times "python3 -m venv" 0
echo "fewer packages" > "$work/cache/venv/ttt-tests"
: > "$work/log"
setup -- --tests
expect "an environment with other packages for the tests is completed" logged \
  "pip .* jsonschema pillow pyyaml requests clang-format==14.0.6$"
: > "$work/log"
setup -- --tests
expect "and then left alone" logged_times "." 0
: > "$work/log"
setup --
expect "the full variant serves for slim" logged_times "." 0

fakes
setup TTT_CUDA=ON --
expect "TTT_CUDA=ON takes the full variant" logged "pip .* torch==2.11.0$"

fakes
setup MISSING="mold libcli11-dev" --
expect "one update" logged_times "apt-get .* update$" 1
expect "installs what is missing, no more" logged "apt-get .* install -y --no-install-recommends mold libcli11-dev$"

fakes
setup MISSING="slurmctld" --
expect "Slurm is not needed for a build" logged_times "apt-get" 0
setup MISSING="slurmctld" -- --tests
expect "but the tests try the job scripts in one" logged "apt-get .* install -y --no-install-recommends slurmctld$"

fakes
setup BREAK_AT=torch==2.11.0 --
expect "a failing pip fails the set-up" failed_with 9
expect "and says in which step" said "LibTorch: failed with exit code 9"
: > "$work/log"
touch "$work/cache/venv/left-over"
setup --
expect "an environment that was cut off is made anew" logged "python3 -m venv"
expect "and nothing of it is kept" test ! -e "$work/cache/venv/left-over"
expect "and said" said "incomplete"

fakes
setup TTT_TORCH_ROOT=/opt/libtorch --
expect "a LibTorch of one's own: no environment" logged_times "." 0
setup -- --test
expect "an unknown argument is refused" failed_with 1
expect "by name" said "unknown argument '--test'"

[ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
