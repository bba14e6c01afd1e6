"""resources.py FOLDER TABLE VERSION [--write]: resources of each kernel, as ptxas reported them, against the table.

FOLDER holds the objects and beside each the report that cmake/ptxas_resources kept. A row: kernel, architecture,
registers of a thread, bytes of a thread's stack, bytes spilled, static shared memory of a block [byte]. Always checked:
no kernel spills more bytes than the table says (none, where it has no such row). Compared row by row where the compiler
is the table's; another version of nvcc may allocate otherwise, and then, where all else holds, the exit code is 77 and
the last line says what was not compared. --write makes the table anew.
"""

import pathlib
import re
import sys

KERNEL = re.compile(r"Compiling entry function '(\S+)' for 'sm_(\d+)'")
MEMORY = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def short(mangled):
    """The kernel's own name: the last identifier of its nested name, with its template arguments."""
    rest, parts = mangled.removeprefix("_ZN"), []
    while rest and rest[0].isdigit():
        digits = re.match(r"\d+", rest)[0]
        end = len(digits) + int(digits)
        parts.append(rest[len(digits):end])
        rest = rest[end:]
    if flag := re.match(r"ILb([01])E", rest):
        return parts[-1] + ("<true>" if flag[1] == "1" else "<false>")
    if packed := re.match(r"I(?:(f)|N\w*?_\d+(Bfloat16|Float16)E)Li(\d+)EE", rest):
        return f"{parts[-1]}<{packed[2] or 'float'}, {packed[3]}>"
    return parts[-1]


def read(folder):
    rows = {}
    for path in sorted(pathlib.Path(folder).rglob("*.resources")):
        key = memory = None
        for line in path.read_text().splitlines():
            if found := KERNEL.search(line):
                key = (short(found[1]), int(found[2]))
            elif found := MEMORY.search(line):
                memory = (int(found[1]), int(found[2]) + int(found[3]))
            elif (found := USED.search(line)) and key:
                shared = SHARED.search(line)
                rows[key] = (int(found[1]), *memory, int(shared[1]) if shared else 0)
                key = None
    return rows


def table(rows, version):
    lines = [f"# nvcc {version}", "# kernel\tsm\tregisters\tstack\tspilled\tshared"]
    return lines + ["\t".join(map(str, (*key, *rows[key]))) for key in sorted(rows)]


def spilled(lines):
    """(kernel, architecture): bytes, of a table's lines."""
    fields = [line.split("\t") for line in lines if not line.startswith("#")]
    return {(kernel, int(arch)): int(spill) for kernel, arch, _, _, spill, _ in fields}


def wrong(rows, known):
    for (kernel, arch), (_, _, spill, _) in sorted(rows.items()):
        if spill > known.get((kernel, arch), 0):
            yield f"{kernel} sm_{arch}: {spill} bytes are spilled, {known.get((kernel, arch), 0)} in the table"


def judged(ours, kept, failures, holds):
    """The exit code, of this build's table, the kept one and what is wrong whichever the compiler."""
    built = {line.split("\t")[1] for line in ours[2:]}
    print(f"{len(ours) - 2} rows, architectures {sorted(built)}")
    same_compiler = kept[0] == ours[0]
    if same_compiler:
        theirs = {line for line in kept[2:] if line.split("\t")[1] in built}
        failures += [f"not in the table: {line}" for line in sorted(set(ours[2:]) - theirs)]
        failures += [f"only in the table: {line}" for line in sorted(theirs - set(ours[2:]))]
    if failures:
        print("\n".join(failures))
        return 1
    print(holds)
    if not same_compiler:
        print(f"skipped: the table is of {kept[0][2:]}, the build of {ours[0][2:]}: rows are not compared")
        return 77
    print("every row is as in the table")
    return 0


def main():
    folder, path, version = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    rows = read(folder)
    if not rows:
        print(f"nothing beside the objects in {folder}: build ttt_kernels_cuda")
        return 1
    ours = table(rows, version)
    if "--write" in sys.argv:
        path.write_text("\n".join(ours) + "\n")
    kept = path.read_text().splitlines()
    return judged(ours, kept, list(wrong(rows, spilled(kept))),
                  "no kernel spills more than the table says")


if __name__ == "__main__":
    sys.exit(main())
