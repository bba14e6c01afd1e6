#!/usr/bin/env python3
"""The roofline program from outside: its result, its schema, the work that its rates are made of, the report.

  roofline.py PROGRAM REPORT CHECK_SCHEMA SCHEMA
"""
import json, re, subprocess, sys, tempfile

import torch
from torch.utils.flop_counter import FlopCounterMode


def flops_of(peak):
    """The same work, counted by torch."""
    numbers = list(map(int, re.findall(r"\d+", peak["work"])))
    with FlopCounterMode(display=False) as counter, torch.device("meta"):
        if peak["name"] == "matrix_multiply":
            _, n, m = numbers  # fp32 matrices of n x m
            torch.mm(torch.empty(n, m), torch.empty(m, n))
        else:
            # fp32 3x3, in to out channels, batch x height x width
            _, _, _, channels_in, channels_out, batch, height, width = numbers
            torch.conv2d(torch.empty(batch, channels_in, height, width), torch.empty(channels_out, channels_in, 3, 3),
                         None, 1, 1)
    return counter.get_total_flops()


def measure(program, folder, ranks):
    out = f"{folder}/{ranks}.json"
    line = [
        "mpirun", "--oversubscribe", "--timeout", "100", "-n",
        str(ranks), program, "--quiet", "--out", out, "--set", "seconds_each=0.02", "--set", "threads=1"
    ]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(out) as f:
        return out, json.load(f)


def main():
    program, report, check_schema, schema = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as folder:
        for ranks in (1, 2):
            out, result = measure(program, folder, ranks)
            checked = subprocess.run([sys.executable, check_schema, schema, out], capture_output=True, text=True)
            assert checked.returncode == 0, checked.stderr
            assert result["kind"] == "roofline" and result["verdict"] == "passed" and result["built"]["ranks"] == ranks
            peaks = {p["name"]: p for p in result["peaks"]}
            assert list(peaks) == ["matrix_multiply", "convolution", "memory_copy", "memory_triad"
                                   ] + ["all_reduce"] * (ranks > 1), list(peaks)
            for name in ("matrix_multiply", "convolution"):
                assert flops_of(peaks[name]) == peaks[name]["per_call"], peaks[name]
            assert peaks["memory_triad"]["per_call"] == 1.5 * peaks["memory_copy"]["per_call"]
            if ranks == 2:  # 2 (n - 1) / n is 1
                assert peaks["all_reduce"]["per_call"] == 16 << 20, peaks["all_reduce"]
            shown = subprocess.run([report, "show", out, "--width", "200"], capture_output=True, text=True).stdout
            best = max(peaks["memory_triad"]["samples"]) / 1e9
            assert "Peaks of this machine" in shown and re.search(rf"memory_triad +{best:.4g} GB/s", shown), shown
            assert "Accuracy" not in shown, shown
            print("ok:", ranks, {k: f"{max(p['samples']):.3g} {p['unit']}" for k, p in peaks.items()})
    refused = subprocess.run([program, "--set", "seconds_each=0"], capture_output=True, text=True)
    assert refused.returncode == 2 and "seconds_each" in refused.stderr, refused.stderr


if __name__ == "__main__":
    main()
