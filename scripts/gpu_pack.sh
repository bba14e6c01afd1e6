# Sourced by gpu_check for --pack: one archive of programs, libraries, scripts and images.
# What it uses of gpu_check: PROGRAMS and count_step.
# shellcheck shell=bash disable=SC2154
PACK_LIMIT_MIB=${TTT_PACK_LIMIT_MIB:-44} # what a machine without network takes in one file, with room to spare
PACK_IMAGES=${TTT_PACK_IMAGES:-80}       # of COCO's, the first ones by number, which part twins takes too

# What the parts start and read of the source.
PACKED_SOURCES=(scripts/common.sh scripts/gpu_check scripts/gpu_parts.sh scripts/gpu_report.sh
  tests/gpu_check/{bits,cudnn_properties,first,heights,limits,merge_micro,peaks}.py tests/models/parity.py
  data/convert_weights.py benchmarks/train/torchvision_step.py benchmarks/micro/compare_kernels.py)
# Libraries that the other machine has: the C library's, the driver's, CUDA's and torch's.
OF_THE_MACHINE='/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|util|cuda|nvidia-ml|cudart|nccl|torch[^/]*|'
OF_THE_MACHINE+='c10[^/]*|gomp[^/]*|cublas[^/]*|cudnn[^/]*|cufft|curand|cusolver|cusparse[^/]*|nvrtc|nvJitLink|cupti|'
OF_THE_MACHINE+='cufile|nvshmem[^/]*)\.so[^/]*)$|/site-packages/'

# A program of a packed folder starts with the folder's libraries, and nothing else does: not the Python that starts it.
wrapper() {
  cat << 'END'
#!/bin/bash
# TTT_TORCH_LIBS: the folders of torch's libraries, as scripts/gpu_check finds them.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LD_LIBRARY_PATH=$here/lib:${TTT_TORCH_LIBS:-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_mca_base_component_show_load_errors=0
export OMPI_MCA_mca_base_component_path=$here/lib/openmpi
exec "$here/exe/$(basename "${BASH_SOURCE[0]}")" "$@"
END
}
pack_programs() { # pack_programs BUILD TO
  local program file programs=("${PROGRAMS[@]}")
  # The kernels on a processor, which --device cpu runs.
  for program in "$1"/tests/kernels_emulated_* "$1/tests/kernels_host_test"; do
    if [[ -e $program && $program != *_shapes ]]; then programs+=("${program#"$1/"}"); fi # shapes reads the source
  done
  for program in "${programs[@]}"; do
    [ -e "$1/$program" ] || fail "$1/$program is not there: build first (scripts/test --no-sanitizers)"
    file=$2/exe/${program##*/}
    if [[ $program == *.so ]]; then file=$2/$program; fi
    cp -L "$1/$program" "$file"
    strip --strip-unneeded "$file"
    if [[ $program == *.so ]]; then continue; fi
    wrapper > "$2/$program"
    chmod +x "$2/$program"
  done
}
# What everything in the folder is linked with, Open MPI's plugins too, which it opens by itself.
pack_libraries() { # pack_libraries TO
  local plugins missing
  plugins=$(ompi_info --parsable --path pkglibdir | cut -d: -f3)
  mkdir "$1/lib/openmpi"
  cp -L "$plugins"/*.so "$1/lib/openmpi/"
  find "$1/exe" "$1/lib" -type f -print0 | xargs -0 ldd > "$1/ldd" 2> /dev/null || true # 1 where one is not dynamic
  missing=$(awk '$2 == "=>" && $3 == "not" {print $1}' "$1/ldd" | sort -u | sed 's,^,/,' |
    grep -vE "$OF_THE_MACHINE" | tr -d '\n/' || true)
  [ -z "$missing" ] || fail "this machine lacks libraries of the programs or of Open MPI's plugins: $missing"
  awk '$2 == "=>" && $3 ~ /^\// {print $3}' "$1/ldd" | sort -u | grep -vE "$OF_THE_MACHINE" |
    xargs -I{} cp -Ln {} "$1/lib/"
  find "$1/lib" -name '*.so*' -type f -exec strip --strip-unneeded {} +
  rm "$1/ldd"
}
pack_images() { # pack_images TO: the first images with their annotations
  [ -e "$TTT_COCO/instances_train2017.json" ] || return 0
  mkdir -p "$1/train2017"
  python3 - "$TTT_COCO" "$1" "$PACK_IMAGES" << 'END'
import json, shutil, sys
source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(source + "/instances_train2017.json") as f:
    coco = json.load(f)
coco["images"] = sorted(coco["images"], key=lambda image: image["id"])[:count]
kept = {image["id"] for image in coco["images"]}
coco["annotations"] = [a for a in coco["annotations"] if a["image_id"] in kept]
with open(target + "/instances_train2017.json", "w") as f:
    json.dump(coco, f)
for image in coco["images"]:
    shutil.copy(f"{source}/train2017/{image['file_name']}", target + "/train2017/")
END
}
# torch_of PROGRAM: the version of torch that it was linked with, as its folder says.
torch_of() {
  local library
  library=$(ldd "$1" | awk '$1 == "libtorch_cpu.so" {print $3}')
  sed -n "s/^__version__ = '\(.*\)'/\1/p" "${library%/lib/*}/version.py" 2> /dev/null ||
    cat "${library%/lib/*}/build-version" 2> /dev/null || true
}

# pack BUILD TO: TO is the archive, or a folder for it.
pack() {
  local build=$1 to=$2 stage file mib
  if [ -d "$to" ] || [[ $to != *.tar.xz ]]; then to=$to/pack.tar.xz; fi
  [ ! -d "$to" ] || fail "$to is a folder. Name another"
  mkdir -p "$(dirname "$to")"
  stage=$(mktemp -d "$to.XXXXXX")
  # shellcheck disable=SC2064  # now: it is local
  trap "rm -rf '$stage'" EXIT
  mkdir -p "$stage"/pack/build/{bin,exe,lib,tests}
  pack_programs "$build" "$stage/pack/build"
  pack_libraries "$stage/pack/build"
  count_step "$build"
  cp "$build/step_cost.json" "$stage/pack/build/"
  pack_images "$stage/pack/coco"
  for file in "${PACKED_SOURCES[@]}"; do
    mkdir -p "$stage/pack/$(dirname "$file")"
    cp "$file" "$stage/pack/$file"
  done
  # shellcheck disable=SC2016  # for the script
  printf '#!/bin/bash\nexec "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/scripts/gpu_check" "$@"\n' \
    > "$stage/pack/gpu_check"
  chmod +x "$stage/pack/gpu_check"
  torch_of "$build/bin/ttt_maskrcnn" > "$stage/pack/build/packed"
  # By name, so that programs with much in common stand together; a window of 64 MiB then finds it.
  tar --sort=name --owner=0 --group=0 --numeric-owner -C "$stage" -cf - pack |
    xz -9 --threads=1 > "$stage/packed.tar.xz"
  mib=$(mib_of "$stage/packed.tar.xz")
  if awk -v mib="$mib" -v limit="$PACK_LIMIT_MIB" 'BEGIN {exit !(mib > limit)}'; then
    say "the largest files, before compression:"
    find "$stage/pack" -type f -printf '%s %P\n' | sort -rn | head -12 |
      awk '{printf "  %.1f MiB %s\n", $1 / 1048576, $2}'
    fail "the archive would have $mib MiB, and $PACK_LIMIT_MIB are allowed. Pack fewer images (TTT_PACK_IMAGES) or" \
      "programs"
  fi
  mv "$stage/packed.tar.xz" "$to"
  say "packed $mib MiB (of $PACK_LIMIT_MIB allowed) into $to"
  say "there: tar xf ${to##*/} && pack/gpu_check"
}
mib_of() { stat -c %s "$1" | awk '{printf "%.1f", $1 / 1048576}'; }
