"""Checks the rules of the source tree that a compiler does not: who may include whom, where each third-party library is
at home, how long a file may be, and that nothing names a machine.

  check_layout.py [ROOT]     prints one line for each violation and exits 1 if there is any

Allowed edges, downwards only: core <- settings <- {comm, coco, data, result, kernels} <- cuda <- models <- eval <- train
<- {checkpoint, telemetry, health, faults, mlperf} <- run <- measure <- benchmarks. Beside them app on {core, settings, comm,
result}, reports on {core, settings, result}, eval/coco on {core, coco}, eval/draw on those and data.
"""

import pathlib
import re
import sys

# Folder -> folders whose headers it may include; None: any. The longest matching folder counts.
BASE = ["src/core", "src/settings"]
INPUT = BASE + ["src/coco", "src/data"]
MIDDLE = INPUT + ["src/comm", "src/result"]
MODELS = ["src/models", "src/models/mask_rcnn", "src/models/ops"]
EVAL = ["src/eval", "src/eval/coco"]
TRAIN = MIDDLE + MODELS + EVAL + ["kernels", "src/cuda", "src/train"]
FEATURES = ["src/checkpoint", "src/telemetry", "src/health", "src/faults", "src/mlperf"]
RUN = TRAIN + FEATURES + ["src/eval/draw", "src/app", "src/run"]
ALLOWED = {
    "src/core": ["src/core"],
    "src/settings": BASE,
    "src/coco": BASE + ["src/coco"],
    "src/comm": BASE + ["src/comm"],
    "src/data": INPUT,
    "src/result": BASE + ["src/result"],
    "kernels": ["src/core", "kernels"],
    "src/cuda": BASE + ["src/comm", "kernels", "src/cuda"],
    "src/models": MIDDLE + MODELS,
    "src/models/ops": MIDDLE + MODELS + ["kernels", "src/cuda"],  # the models' only way to kernels
    "src/eval": MIDDLE + MODELS + EVAL + ["kernels"],
    "src/eval/coco": BASE + ["src/coco", "src/eval/coco"],
    "src/eval/draw": INPUT + ["src/eval/coco", "src/eval/draw"],
    "src/train": TRAIN,
    **{feature: TRAIN + FEATURES + ["src/eval/draw"] for feature in FEATURES},
    "src/run": RUN,
    "src/measure": RUN + ["src/measure"],
    "src/app": BASE + ["src/comm", "src/result", "src/app"],
    "reports": BASE + ["src/result", "reports"],
    "data": MIDDLE + ["src/app", "data"],
    "tools": None,
    "benchmarks": None,
    "tests": None,
}

# Third-party header -> folders (or files) that may include it, beside tests.
TORCH = ["src/models", "src/eval", "src/train", "src/cuda", *FEATURES, "src/run", "src/measure", "benchmarks", "tools"]
HOMES = [
    (r"mpi\.h", ["src/comm", "src/cuda", "benchmarks/micro"]),  # there as the peer
    (r"nccl\.h", ["src/comm/nccl.cc", "src/cuda"]),
    (r"(hdf5|hdf5_hl|H5\w+)\.h", ["src/data"]),
    (r"nlohmann/.*", ["src/settings"]),
    (r"simdjson\.h", ["src/coco"]),
    (r"toml\+\+/.*", ["src/settings"]),
    (r"CLI/.*", ["src/app", "data", "reports", "tools", "benchmarks"]),
    (r"(jpeglib|turbojpeg|jerror)\.h", ["src/data", "benchmarks/micro"]),
    (r"png\.h", ["src/data"]),
    (r"stb/.*", ["src/eval/draw"]),
    (r"isa-l.*", ["benchmarks/micro"]),
    (r"(torch|ATen|c10|caffe2)/.*", TORCH),
    (r"(cuda|cuda_runtime|cuda_runtime_api|nvtx3/.*)\.h", ["kernels", "src/cuda", "src/comm/nccl.cc", "src/models/ops/cuda_ops.cc", "benchmarks/micro/cuda_timing.h"]),
    (r"benchmark/.*", ["benchmarks"]),
    (r"(gtest|gmock)/.*", []),
]

CODE = {".h", ".cc", ".cu", ".cuh", ".inc", ".c"}
TEXT = CODE | {".py", ".sh", ".cmake", ".txt", ".md", ".toml", ".json", ".in", ""}
LONGEST = 400  # lines of a code file or script, unless one of its lines says "Long file: why"
MACHINE = [
    (r"(?<![\w.])/(?:root|work|home/\w+|Users/\w+)/", "names a folder of one machine"),
    (r"(?:pypi|pythonhosted|debian|ubuntu|npmjs|conda)\.(?:org|com)\b", "names a package registry's host"),
    (r"\b(?:gh[pousr]_\w{30,}|hf_\w{30,}|AKIA[0-9A-Z]{16}|xox[abp]-[\w-]{10,})", "holds what looks like a token"),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY", "holds a private key"),
]


def inside(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer(path):
    """The longest folder of ALLOWED that holds `path`, or None."""
    holders = [folder for folder in ALLOWED if inside(path, folder)]
    return max(holders, key=len) if holders else None


def files(root):
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(p.startswith(".") and p != ".ci" for p in parts)
        if hidden or parts[0].startswith("build") or "__pycache__" in parts or not path.is_file():
            continue
        if parts[0] == "results" or "golden" in parts or "corpus" in parts:
            continue  # data, not text of ours
        if path.suffix in TEXT:
            yield path


def included_path(root, path, name):
    """Where the quoted include `name` of `path` leads, relative to the root; None where there is no such file."""
    for base in (path.parent, root / "src", root):
        candidate = base / name
        if candidate.is_file():
            return candidate.resolve().relative_to(root.resolve()).as_posix()
    return None


def check_quoted(root, path, where, name):
    own = layer(where)
    target = included_path(root, path, name)
    if target is None or own is None:  # generated headers have no layer
        return
    theirs = layer(target)
    if theirs == "tests" and own != "tests":
        yield f'{own} may not include "{name}" (of tests)'
    if ALLOWED[own] is None:
        return
    if theirs != own and theirs not in ALLOWED[own]:
        yield f'{own} may not include "{name}" (of {theirs})'


def check_system(where, name):
    if inside(where, "tests"):
        return
    for pattern, homes in HOMES:
        if re.fullmatch(pattern, name) and not any(inside(where, home) for home in homes):
            yield f"<{name}> is at home in {', '.join(homes) or 'tests'} only"
    torch = re.fullmatch(r"(torch|ATen|c10)/.*", name)
    if torch and (where.endswith((".cu", ".cuh")) or any(inside(where, folder) for folder in ("src/eval/coco", "src/eval/draw"))):
        yield f"<{name}>: no torch headers in .cu files (compile time) or in eval/coco and eval/draw (usable without torch)"


def check_file(root, path):
    where = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    is_script = path.suffix in {".py", ".sh"} or text.startswith("#!")
    if (path.suffix in CODE or is_script) and len(lines) > LONGEST and "Long file: " not in text:
        yield 1, f'{len(lines)} lines, more than {LONGEST}: split it, or say "Long file: why" in a comment'
    for number, line in enumerate(lines, 1):
        for pattern, what in MACHINE:
            if re.search(pattern, line):
                yield number, what
        if path.suffix not in CODE:
            continue
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            quoted, name = match[1] == '"', match[2]
            found = check_quoted(root, path, where, name) if quoted else check_system(where, name)
            for message in found:
                yield number, message
            if quoted:  # "mpi.h" must not slip through in quotes
                for message in check_system(where, name) if included_path(root, path, name) is None else ():
                    yield number, message


def violations(root):
    for path in files(root):
        for number, message in check_file(root, path):
            yield f"{path.relative_to(root).as_posix()}:{number}: {message}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = list(violations(root))
    for line in found:
        print(line)
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
