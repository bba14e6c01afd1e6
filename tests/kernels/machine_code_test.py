"""Test of machine_code.py: planted faults of machine code are found, by the table's compiler and another."""
import pathlib
import subprocess
import sys
import tempfile

MACHINE_CODE = pathlib.Path(__file__).with_name("machine_code.py")
KERNEL = "_ZN3ttt7kernels5scaleINS0_8Bfloat16ELi8EEEvPKT_"
# As cuobjdump prints a kernel over packs of eight. A predicate, a uniform register and shared memory count for nothing.
SASS = f"""arch = sm_90
	code for sm_90
		Function : {KERNEL}
        /*0000*/                   LDC R1, c[0x0][0x28] ;                  /* 0x00000a00ff017b82 */
                                                                           /* 0x000fe20000000800 */
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, [R2.64] ;        /* 0x0000000402047981 */
        /*0020*/                   LDG.E R8, [R2.64+0x10] ;                /* 0x0000100402087981 */
        /*0030*/                   LDS.U16 R9, [R3] ;                      /* 0x0000000003097984 */
        /*0040*/                   ULDC.64 UR4, c[0x0][0x168] ;            /* 0x00005a0000047ab9 */
        /*0050*/               @P1 STG.E.128 [R2.64], R4 ;                 /* 0x0000000402007986 */
"""
ELF = f"""arch = sm_90
.nv.info.{KERNEL}
	Attribute:	EIATTR_MAX_THREADS
	Format:	EIFMT_SVAL
	Value:	0x100 0x1 0x1
"""
RESOURCES = f"""ptxas info    : Compiling entry function '{KERNEL}' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, 400 bytes cmem[0]
"""
# 40 registers: 51 warps, which are six blocks of eight.
TABLE = ("# nvcc 13.0\n# kernel\tsm\twarps\tloads\tstores\tgeneric\tlocal\n"
         "scale<Bfloat16, 8>\t90\t48\t128x1 32x1\t128x1\t0\t0\n")


def judged(sass, version, table=TABLE, resources=RESOURCES, elf=ELF):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "a.cu.o.resources").write_text(resources)
        (path / "table").write_text(table)
        cuobjdump = path / "cuobjdump"
        cuobjdump.write_text(
            f"#!/bin/sh\ncase $1 in -sass) cat <<'END'\n{sass}END\n;; *) cat <<'END'\n{elf}END\nesac\n")
        cuobjdump.chmod(0o755)
        done = subprocess.run([sys.executable, MACHINE_CODE, folder, folder + "/table", version, cuobjdump],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def expect(code, words, *arguments, **more):
    got, said = judged(*arguments, **more)
    assert got == code and words in said, (got, words, said)


def main():
    expect(0, "every row is as in the table", SASS, "13.0")
    expect(77, "rows are not compared", SASS, "13.1")
    split = SASS.replace("LDG.E.128.CONSTANT", "LDG.E.U16.CONSTANT")
    stored = SASS.replace("STG.E.128", "STG.E.U16")
    generic = SASS.replace("LDG.E R8", "LD.E R8")
    spilled = SASS.replace("LDS.U16", "LDL.U16")
    hungry = RESOURCES.replace("Used 40", "Used 255")
    large = ELF.replace("0x100", "0x400")
    for version in ("13.0", "13.1"):
        expect(1, "scale<Bfloat16, 8> sm_90: 255 registers x 1024 threads do not fit", SASS, version, resources=hungry,
               elf=large)
        expect(1, "scale<Bfloat16, 8> sm_90: no loads of whole packs", split, version)
        expect(1, "scale<Bfloat16, 8> sm_90: 1 loads of 16 bits beside packs of 128", split, version)
        expect(1, "scale<Bfloat16, 8> sm_90: no stores of whole packs", stored, version)
        expect(1, "scale<Bfloat16, 8> sm_90: 1 generic accesses, 0 in the table", generic, version)
        expect(1, "scale<Bfloat16, 8> sm_90: 1 local accesses, 0 in the table", spilled, version)
    expect(1, "not in the table: scale<Bfloat16, 8>\t90\t48\t128x1\t", SASS.replace("LDG.E R8", "LDC R8"), "13.0")
    expect(1, "not in the table: scale<Bfloat16, 8>\t90\t32\t", SASS, "13.0",
           resources=RESOURCES.replace("Used 40", "Used 64"))
    print("ok: loads, stores, generic and local accesses and warps are judged")


if __name__ == "__main__":
    main()
