#!/usr/bin/env python3
"""compare_kernels.py: how it times, and what it makes of a program whose sides disagree.

  compare.py COMPARE_KERNELS
"""
import contextlib, importlib.util, io, json, os, sys, tempfile

try:
    import torchvision  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def load(script):
    spec = importlib.util.spec_from_file_location("compare_kernels", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(folder, rows):
    """A program that writes these benchmarks, whatever it is asked."""
    path = os.path.join(folder, "program")
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\ncat <<'END'\n{json.dumps({'benchmarks': rows})}\nEND\n")
    os.chmod(path, 0o755)
    return path


def main(script):
    kernels = load(script)

    class Clock:
        now = 0.0

        @staticmethod
        def process_time():
            return Clock.now

    kernels.time = Clock
    calls = []

    def alternating():  # 1 ms and 3 ms: ours is a mean too, so the best single call would be no peer of it
        calls.append(None)
        Clock.now += 0.001 if len(calls) % 2 else 0.003

    assert abs(kernels.peer_us(alternating) - 2000) < 50, kernels.peer_us(alternating)

    kernels.roi_align_rows, kernels.detection_rows = lambda: [], lambda: [("nms/400_boxes", alternating)]

    def run(path):
        sys.argv = ["compare_kernels.py", path, "--rounds", "1"]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return kernels.main(), out.getvalue()

    row = {"name": "nms/400_boxes/ours", "run_type": "iteration", "cpu_time": 3.0}
    with tempfile.TemporaryDirectory() as folder:
        rows = [row, {**row, "cpu_time": 2.0}, {**row, "run_type": "aggregate", "cpu_time": 1.0}]
        code, text = run(program(folder, rows))
        assert code == 0 and text.split()[-4] == "nms/400_boxes" and text.split()[-3] == "2.0", text
        code, text = run(
            program(folder,
                    [{**row, "cpu_time": 0.0, "error_occurred": True, "error_message": "nms: 1 of 2 results differ"}]))
        assert code == 1 and "not timed: nms: 1 of 2 results differ" in text, text
        code, text = run(program(folder, []))
        assert code == 1 and "has no benchmark 'nms/400_boxes/ours'" in text, text
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
