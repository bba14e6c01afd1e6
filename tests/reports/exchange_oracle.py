#!/usr/bin/env python3
"""exchange_oracle.py REPORT RESULTS: steps to equal accuracy of published trainings, by numpy and scipy.

Progress, its common slope and Fieller's interval are computed anew from the samples, with scipy's Student's t; the mean
difference and its interval by scipy.stats.ttest_1samp.
"""
import json, math, subprocess, sys
from pathlib import Path

import numpy as np
from scipy import stats


def progress(point, target):
    def value(name):
        group, _, metric = name.partition("_")
        inner = point["metrics"]
        return inner[name] if name in inner else inner[group][metric.upper()]

    return min(value(name) / bound for name, bound in target.items())


def exchange(row, variant):
    """Steps, low, high [relative], by the formulas of METRICS.md."""
    target = row["target"]
    curves = {(t["variant"], t["seed"]): [(p["epochs"], progress(p, target)) for p in t["accuracy"]]
              for t in row["trainings"]}
    seeds = sorted(s for v, s in curves if v == variant and (row["baseline"], s) in curves)
    mean = lambda v, s: np.mean([y for _, y in curves[v, s]])
    d = np.array([mean(variant, s) - mean(row["baseline"], s) for s in seeds])
    # the slope as a regression with a constant for each training
    x, y = [], []
    for v in (row["baseline"], variant):
        for s in seeds:
            e, p = np.array(curves[v, s]).T
            x.append(np.log(e) - np.log(e).mean()), y.append(p - p.mean())
    trainings, x, y = len(x), np.concatenate(x), np.concatenate(y)
    slope = stats.linregress(x, y)
    assert abs(slope.intercept) < 1e-12
    freedom = len(x) - trainings - 1  # linregress takes one constant
    error = slope.stderr * math.sqrt((len(x) - 2) / freedom)
    test = stats.ttest_1samp(d, 0)
    ci = test.confidence_interval(row["confidence"])
    t = stats.t.ppf((1 + row["confidence"]) / 2, len(d) - 1)
    se = (ci.high - ci.low) / 2 / t
    b = slope.slope
    ends = np.roots([b * b - (t * error)**2, 2 * d.mean() * b, d.mean()**2 - (t * se)**2])
    return len(d), math.expm1(-d.mean() / b), *(math.expm1(r) for r in sorted(ends.real))


compared = 0
for file in sorted(Path(sys.argv[2]).glob("*/*_ablate_*/*.json")):
    result = json.loads(file.read_text())
    fixed = [row for row in result.get("convergence", []) if row.get("fixed_steps")]
    if not fixed:
        continue
    shown = json.loads(
        subprocess.run([sys.argv[1], "ablations", file, "--details", "--format", "json"], check=True,
                       capture_output=True, text=True).stdout)
    rows = [r for table in shown["tables"] for r in table["rows"] if "steps to equal accuracy" in r]
    for row in fixed:
        for variant in dict.fromkeys(t["variant"] for t in row["trainings"]):
            if variant == row["baseline"]:
                continue
            pairs, estimate, low, high = exchange(row, variant)
            (ours,) = [r for r in rows if r["variant"] == variant]
            assert int(ours["pairs"]) == pairs, (ours, pairs)
            for key, theirs in (("", estimate), (" low", low), (" high", high)):
                assert abs(ours["steps to equal accuracy" + key] / 100 - theirs) < 1e-9, (key, ours, theirs)
            compared += 1
assert compared, "nothing to compare"
print(f"ok: {compared} comparisons as scipy")
