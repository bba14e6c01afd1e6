"""machine_code.py FOLDER TABLE VERSION [--write] [CUOBJDUMP]: a kernel's accesses of memory, against the table.

FOLDER holds the objects and beside each the report that cmake/ptxas_resources kept. A row: kernel, architecture, warps
that a multiprocessor holds of it (of its static needs alone), global loads and stores as "bits x instructions", generic
accesses and accesses of local memory. Always checked: a kernel over packs (vector.h) loads and stores whole packs and
no single 16-bit value; no kernel has more generic or local accesses than the table says (none, where it has no such
row); a multiprocessor holds a block of it. Compared row by row where the compiler is the table's; with another one the
exit code is 77, where all else holds. --write makes the table anew. CUOBJDUMP: by default the one in the package
triton, which torch's wheel brings.

Limits of a multiprocessor: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

import collections
import dataclasses
import importlib.util
import pathlib
import re
import subprocess
import sys

import resources

FUNCTION = re.compile(r"Function : (\S+)|\.nv\.info\.(\S+)")
ARCHITECTURE = re.compile(r"code for sm_(\d+)|arch = sm_(\d+)")
# @P0 LDG.E.U16.CONSTANT R2, [R4.64] ;
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+ )?([A-Z][A-Z0-9]*)((?:\.\w+)*) ")
ACCESS = {"LDG": "loads", "STG": "stores", "LD": "generic", "ST": "generic", "LDL": "local", "STL": "local"}
PACKED = re.compile(r"<(float|Bfloat16|Float16), (\d+)>")
WARPS, BLOCKS, REGISTERS = 64, 32, 65536  # of a multiprocessor of compute capability 8.0, 9.0 and 10.0
SHARED = {80: 164 * 1024, 90: 228 * 1024, 100: 228 * 1024}
RESERVED = 1024  # bytes of shared memory that each block takes for the system


@dataclasses.dataclass
class Code:
    threads: int = 0
    loads: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by width [bit]
    stores: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    generic: int = 0
    local: int = 0


def width(modifiers):
    for m in modifiers.split("."):
        if m in ("U8", "S8", "U16", "S16", "64", "128"):
            return int(m.lstrip("US"))
    return 32


def counted(sass, codes):
    arch = code = None
    for line in sass.splitlines():
        if found := ARCHITECTURE.search(line):
            arch = int(found[1] or found[2])
        elif found := FUNCTION.search(line):
            code = codes[(resources.short(found[1]), arch)]
        elif (found := INSTRUCTION.search(line)) and (kind := ACCESS.get(found[1])):
            if kind in ("loads", "stores"):
                getattr(code, kind)[width(found[2])] += 1
            else:
                setattr(code, kind, getattr(code, kind) + 1)


def launch_bounds(elf, codes):
    """EIATTR_MAX_THREADS of each kernel: the value stands two lines behind the attribute's name."""
    arch = key = None
    lines = elf.splitlines()
    for i, line in enumerate(lines):
        if found := ARCHITECTURE.search(line):
            arch = int(found[1] or found[2])
        elif found := FUNCTION.search(line):
            key = (resources.short(found[1] or found[2]), arch)
        elif "EIATTR_MAX_THREADS" in line:
            codes[key].threads = int(lines[i + 2].split()[1], 16)


def read(folder, cuobjdump):
    codes = collections.defaultdict(Code)
    for report in sorted(pathlib.Path(folder).rglob("*.resources")):
        run = lambda what: subprocess.run([cuobjdump, what, report.with_suffix("")], capture_output=True, text=True,
                                          check=True).stdout
        counted(run("-sass"), codes)
        launch_bounds(run("-elf"), codes)
    return codes


def resident_warps(arch, threads, registers, shared):
    warps = -(-threads // 32)
    of_registers = REGISTERS // (-(-registers // 8) * 8 * 32)  # a warp takes them in units of 256
    blocks = min(BLOCKS, WARPS // warps, of_registers // warps, SHARED[arch] // (shared + RESERVED))
    return blocks * warps


# Kernels over packs that store a number for many packs.
NO_PACKS = {("mask_logits_forward_kernel", "stores")}


def described(counter):
    return " ".join(f"{bits}x{n}" for bits, n in sorted(counter.items(), reverse=True)) or "-"


def table(codes, known, version):
    lines = [f"# nvcc {version}", "# kernel\tsm\twarps\tloads\tstores\tgeneric\tlocal"]
    for (kernel, arch), c in sorted(codes.items()):
        registers, _, _, shared = known[kernel, arch]
        warps = resident_warps(arch, c.threads, registers, shared)
        lines.append("\t".join(map(str, (kernel, arch, warps, described(c.loads), described(c.stores), c.generic,
                                         c.local))))
    return lines


def wrong(codes, known, kept):
    rows = [line.split("\t") for line in kept if not line.startswith("#")]
    allowed = {(kernel, int(arch)): (int(generic), int(local)) for kernel, arch, _, _, _, generic, local in rows}
    for key, c in sorted(codes.items()):
        kernel, arch = key
        name = f"{kernel} sm_{arch}"
        for what, have, most in zip(("generic", "local"), (c.generic, c.local), allowed.get(key, (0, 0))):
            if have > most:
                yield f"{name}: {have} {what} accesses, {most} in the table"
        registers, _, _, shared = known[key]
        if resident_warps(arch, c.threads, registers, shared) == 0:
            yield f"{name}: {registers} registers x {c.threads} threads do not fit a multiprocessor"
        packed = PACKED.search(kernel)
        if not packed or packed[2] == "1":
            continue
        one = 32 if packed[1] == "float" else 16
        for what, have in (("loads", c.loads), ("stores", c.stores)):
            if not have[one * int(packed[2])] and (kernel.split("<")[0], what) not in NO_PACKS:
                yield f"{name}: no {what} of whole packs"
            if one == 16 and have[16]:
                yield f"{name}: {have[16]} {what} of 16 bits beside packs of {one * int(packed[2])}"


def own_cuobjdump():
    found = importlib.util.find_spec("triton")
    if found is None:
        sys.exit("No cuobjdump: the package triton is missing. scripts/setup --tests installs it.")
    return pathlib.Path(found.origin).parent / "backends/nvidia/bin/cuobjdump"


def main():
    write = "--write" in sys.argv
    folder, path, version, *given = (a for a in sys.argv[1:] if a != "--write")
    path = pathlib.Path(path)
    codes = read(folder, given[0] if given else own_cuobjdump())
    if not codes:
        print(f"nothing beside the objects in {folder}: build ttt_kernels_cuda")
        return 1
    known = resources.read(folder)
    ours = table(codes, known, version)
    if write:
        path.write_text("\n".join(ours) + "\n")
    kept = path.read_text().splitlines()
    return resources.judged(ours, kept, list(wrong(codes, known, kept)),
                            "packs are loaded and stored whole; generic and local accesses are those of the table")


if __name__ == "__main__":
    sys.exit(main())
