#!/usr/bin/env python3
"""programs.py BIN: every program answers bad arguments alike: one line on stderr, its name first, and exit code 2."""
import os, subprocess, sys, tempfile

# What each lacks when it is started without arguments; None: it needs none.
PROGRAMS = {
    "ablate": "NAME", "coco_eval": "GT.json", "input_pipeline": "--data", "make_shapes": "--out",
    "pack_coco": "--images", "predict": "images", "preflight": None, "report": "subcommand", "roofline": None,
    "step_cost": None, "ttt_maskrcnn": None
}


def refused(bin, name, arguments, folder):
    done = subprocess.run([f"{bin}/{name}", *arguments], capture_output=True, text=True, cwd=folder, timeout=120)
    lines = done.stderr.splitlines()
    assert done.returncode == 2, (name, arguments, done.returncode, done.stderr)
    assert len(lines) == 1 and lines[0].startswith(f"{name}: "), (name, arguments, done.stderr)
    assert not done.stdout and not os.listdir(folder), (name, arguments, done.stdout, os.listdir(folder))
    return lines[0]


built = [name for name in PROGRAMS if os.path.exists(f"{sys.argv[1]}/{name}")]
with tempfile.TemporaryDirectory() as folder:
    for name in built:
        line = refused(sys.argv[1], name, ["--no-such-flag"], folder)
        assert "help" in line, line
        if PROGRAMS[name] is not None:
            line = refused(sys.argv[1], name, [], folder)
            assert PROGRAMS[name] in line, line
print(f"ok: {len(built)} programs")
