#!/usr/bin/env python3
"""slowed_runs.py BIN TESTS: ten slow-downs planted in real runs on two ranks, and what `report diagnose` names first.

The fastest of three undisturbed runs is the reference. At least nine of ten must be named.
"""
import os, signal, subprocess, sys, tempfile, time

BIN, TESTS = (os.path.abspath(p) for p in sys.argv[1:3])
STEPS = ["--set", "train.max_steps=60"]


def run(folder, name, *arguments, launcher=(), environment=None):
    out = f"{folder}/{name}.json"
    line = [*launcher, "mpirun", "--bind-to", "none", "-n", "2", f"{BIN}/ttt_maskrcnn", "--quiet", "--out", out,
            *(arguments or STEPS)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=200,
                          env={**os.environ, **(environment or {})})
    assert os.path.exists(out), (name, done.stderr)
    return out


def beside(folder, name, processes):
    """Beside processes that do nothing but compute."""
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        return run(folder, name)
    finally:
        for load in loads:
            load.kill(), load.wait()


def set_to(*settings):
    return [word for s in settings for word in ("--set", s)]


SHIM = {"LD_PRELOAD": f"{TESTS}/slow_reads.so"}
PLANTED = {
    # name: (what makes it, what may be named first)
    "slow_disk": (lambda f, n: run(f, n, environment={**SHIM, "SLOW_READS_MS": "80"}), {"slow_reading"}),
    "no_worker": (lambda f, n: run(f, n, *STEPS, *set_to("data.workers=0"),
                                   environment={**SHIM, "SLOW_READS_MS": "10"}), {"no_worker"}),
    "one_core": (lambda f, n: run(f, n, launcher=("taskset", "-c", "0")), {"ranks_share_cores"}),
    "other_processes": (lambda f, n: beside(f, n, 2), {"slow_processors"}),
    "slow_rank": (lambda f, n: run(f, n, *STEPS, "--inject", "rank=1,step=1,kind=slow,factor=1.6"), {"slow_rank"}),
    "too_many_threads": (lambda f, n: run(f, n, *STEPS, *set_to("train.threads=8")), {"more_threads_than_cores"}),
    "fillers": (lambda f, n: run(f, n, *STEPS, *set_to("model.shapes=static")), {"fillers"}),
    "old_instructions": (lambda f, n: run(f, n, environment={"ONEDNN_MAX_CPU_ISA": "SSE41"}), {"older_instructions"}),
    "evaluations": (lambda f, n: run(f, n, *set_to("train.epochs=1", "train.eval_every_epochs=0.04")),
                    {"frequent_evaluations"}),
    "checkpoints": (lambda f, n: run(
        f, n, *STEPS, *set_to(f"train.checkpoint.folder={f}/saved", "train.checkpoint.every_epochs=0.005")),
                    {"frequent_checkpoints"}),
}

with tempfile.TemporaryDirectory() as folder:
    references = [run(folder, f"reference_{i}") for i in range(3)]
    named = 0
    for name, (make, expected) in PLANTED.items():
        shown = subprocess.run([f"{BIN}/report", "diagnose", make(folder, name), *references, "--width", "200"],
                               capture_output=True, text=True, check=True).stdout
        first = [line.split(": ")[1].split(".")[0] for line in shown.splitlines() if line.startswith("First suspect: ")]
        found = bool(first) and first[0] in expected
        named += found
        print(f"{name}: {first[0] if first else 'nothing'}{'' if found else ', NOT as planted'}")
        print("    " + shown.splitlines()[0])
        if not found:
            print(shown)
    print(f"{named} of {len(PLANTED)} named first")
    assert named >= 9, named
