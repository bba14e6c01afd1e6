"""resources.py LIBRARY TABLE VERSION [--write]: what each kernel takes, as ptxas compiled it, against the table.

Reads the device code in LIBRARY with cuobjdump (of the CUDA toolkit on PATH, or the one that triton's wheel brings). A row: kernel,
architecture, registers of a thread, stack of a thread [byte] (spills are in it), static shared memory of a block [byte].
Always checked: no kernel spills, and the registers of a whole block fit a multiprocessor's 65536 at the launch bounds. Compared row
by row where the compiler is the table's; another version of nvcc may allocate otherwise.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import tempfile

ROW = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
ARCH = re.compile(r"arch = sm_(\d+)")
THREADS = {  # launch bounds, where they are not 256
    "select_anchors": 1024, "finish_sample": 1024, "mask_targets_polygon_kernel": 128, "suppress_pairs": 64, "scan_suppressed": 32, "set_count": 1,
}


def find_cuobjdump():
    found = shutil.which("cuobjdump")
    if found:
        return found
    inside = pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/triton/backends/nvidia/bin/cuobjdump")
    return next((str(p) for p in inside), None)


def short(mangled):
    """The kernel's own name: the identifier after the last namespace, with its template argument."""
    rest = mangled.removeprefix("_ZN")
    parts = []
    while rest and rest[0].isdigit():
        length = re.match(r"\d+", rest)[0]
        parts.append(rest[len(length):len(length) + int(length)])
        rest = rest[len(length) + int(length):]
    argument = re.match(r"I(\w+?)E", rest)
    kinds = {"6float4": "<float4>", "f": "<float>", "Lb1": "<true>", "Lb0": "<false>"}
    return parts[-1] + (kinds.get(argument[1], "<" + argument[1] + ">") if argument else "")


def read(cuobjdump, library):
    # Not all versions read archives: one object at a time.
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["ar", "x", str(pathlib.Path(library).resolve())], cwd=folder, check=True)
        rows = {}
        for item in sorted(pathlib.Path(folder).iterdir()):
            text = subprocess.run([cuobjdump, "--dump-resource-usage", str(item)], check=True, capture_output=True, text=True).stdout
            arch = None
            for line in text.replace(":\n", ": ").splitlines():
                arch = ARCH.search(line)[1] if ARCH.search(line) else arch
                row = ROW.search(line)
                if row:
                    registers, stack, shared, local = map(int, row.groups()[1:])
                    rows[(short(row[1]), int(arch))] = (registers, stack + local, shared)
    return rows


def table(rows, version):
    lines = [f"# nvcc {version}", "# kernel\tsm\tregisters\tstack\tshared"]
    lines += ["\t".join(map(str, (*key, *rows[key]))) for key in sorted(rows)]
    return "\n".join(lines) + "\n"


def wrong(rows):
    for (kernel, arch), (registers, stack, _) in sorted(rows.items()):
        threads = THREADS.get(kernel.split("<")[0], 256)
        if -(-registers // 8) * 8 * threads > 65536:
            yield f"{kernel} sm_{arch}: {registers} registers x {threads} threads do not fit a multiprocessor"
        if stack > 0:
            yield f"{kernel} sm_{arch}: {stack} bytes of stack: registers are spilled, or an array is indexed at run time"


def main():
    library, path, version = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    cuobjdump = find_cuobjdump()
    if cuobjdump is None:
        print("skipped: no cuobjdump (CUDA toolkit, or triton's wheel)")
        return 77
    rows = read(cuobjdump, library)
    if "--write" in sys.argv:
        path.write_text(table(rows, version))
    failures = list(wrong(rows))
    architectures = sorted({arch for _, arch in rows})
    print(f"{len(rows)} rows, architectures {architectures}")
    if not rows:
        failures.append("no kernel was found in " + library)
    kept = path.read_text()
    if kept.splitlines()[0] == f"# nvcc {version}":
        theirs = {line for line in kept.splitlines() if line.split("\t")[1:2] and line.split("\t")[1].isdigit() and int(line.split("\t")[1]) in architectures}
        ours = set(table(rows, version).splitlines()[2:])
        failures += [f"the table lacks or differs: {line}" for line in sorted(ours - theirs)] + [f"only in the table: {line}" for line in sorted(theirs - ours)]
    else:
        print(f"another compiler than the table's ({kept.splitlines()[0][2:]}): rows are not compared")
    print("\n".join(failures) or "as in the table")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
