"""Test of resources.py: each planted fault of a kernel's resources is found, by the table's compiler and by another."""
import pathlib
import subprocess
import sys
import tempfile

RESOURCES = pathlib.Path(__file__).with_name("resources.py")
# As ptxas -v says it of two kernels, the first of which spills what the table knows of.
BUILT = """ptxas info    : Compiling entry function '_ZN3ttt7kernels8backwardE' for 'sm_90'
ptxas info    : Function properties for _ZN3ttt7kernels8backwardE
    112 bytes stack frame, 30 bytes spill stores, 22 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 2436 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN3ttt7kernels7forwardE' for 'sm_90'
ptxas info    : Function properties for _ZN3ttt7kernels7forwardE
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, 400 bytes cmem[0]
"""
TABLE = ("# nvcc 13.0\n# "
         "kernel\tsm\tregisters\tstack\tspilled\tshared\nbackward\t90\t48\t112\t52\t2436\nforward\t90\t40\t0\t0\t0\n")


def judged(built, version, table=TABLE):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "a.resources").write_text(built)
        (path / "table").write_text(table)
        done = subprocess.run([sys.executable, RESOURCES, folder, folder + "/table", version], capture_output=True,
                              text=True)
        return done.returncode, done.stdout + done.stderr


def expect(code, words, built, version, table=TABLE):
    got, said = judged(built, version, table)
    assert got == code and words in said, (got, words, said)


def main():
    assert BUILT.count("    0 bytes stack frame, 0 bytes spill stores") == 1
    expect(0, "every row is as in the table", BUILT, "13.0")
    expect(77, "skipped: the table is of nvcc 13.0, the build of nvcc 13.1: rows are not compared", BUILT, "13.1")
    new = BUILT.replace("    0 bytes stack frame, 0 bytes spill stores",
                        "    0 bytes stack frame, 8 bytes spill stores")
    more = BUILT.replace("30 bytes spill stores", "34 bytes spill stores")
    other = BUILT.replace("Used 40 registers", "Used 41 registers")
    for version in ("13.0", "13.1"):
        expect(1, "forward sm_90: 8 bytes are spilled, 0 in the table", new, version)
        expect(1, "backward sm_90: 56 bytes are spilled, 52 in the table", more, version)
        expect(1, "backward sm_90: 52 bytes are spilled, 0 in the table", BUILT, version,
               TABLE.replace("backward\t90", "backward\t80"))
    expect(1, "not in the table: forward\t90\t41", other, "13.0")
    expect(77, "rows are not compared", other, "13.1")
    expect(1, "nothing beside the objects", "", "13.0")
    print("ok: spills, registers and rows are judged")


if __name__ == "__main__":
    main()
