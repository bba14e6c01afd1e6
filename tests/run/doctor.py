#!/usr/bin/env python3
"""doctor.py TTT_MASKRCNN: --doctor names mistakes of a real launch, leaves no file, and says so where it is refused."""
import os, subprocess, sys, tempfile


def doctor(folder, *arguments, ranks=1, environment=None):
    line = [sys.argv[1], "--doctor", *arguments]
    if ranks > 1:
        line = ["mpirun", "--bind-to", "none", "--oversubscribe", "-n", str(ranks), *line]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=100,
                          env={**os.environ, **(environment or {})})
    assert not os.listdir(folder), os.listdir(folder)
    return done


def named(done):
    return {line[2:].split(":")[0] for line in done.stdout.splitlines() if line.startswith("- ")}


# What the machine under the test does to itself; the tests of the rules have them.
OF_THE_MACHINE = {"busy_machine", "throttled", "sanitizer", "debug_build", "more_ranks_than_cores"}
with tempfile.TemporaryDirectory() as folder:
    done = doctor(folder, ranks=2)
    assert done.returncode in (0, 1) and named(done) <= OF_THE_MACHINE, done
    for key, rule in (("data.workers=0", "no_worker"), ("model.shapes=static", "fillers"),
                      ("data.read=hdf5", "hdf5_reads"), ("train.threads=999", "more_threads_than_cores")):
        done = doctor(folder, "--set", key)
        assert done.returncode == 1 and rule in named(done), (key, done)
    done = doctor(folder, environment={"ONEDNN_VERBOSE": "1"})
    assert "debug_environment" in named(done), done
    done = doctor(folder, "--set", "data.wrkers=0")
    assert done.returncode == 2 and "data.workers" in done.stderr and not done.stdout, done
print("ok")
