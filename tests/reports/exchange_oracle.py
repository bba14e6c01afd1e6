#!/usr/bin/env python3
"""exchange_oracle.py REPORT RESULTS: steps to equal accuracy of published trainings, by numpy and scipy.

Progress, its common slope and Fieller's interval are computed anew from the samples, with scipy's Student's t; the mean
difference and its interval by scipy.stats.ttest_1samp.
"""
import itertools, json, math, subprocess, sys
from pathlib import Path

import numpy as np
from scipy import stats


def progress(point, target):
    def value(name):
        group, _, metric = name.partition("_")
        inner = point["metrics"]
        return inner[name] if name in inner else inner[group][metric.upper()]

    return min(value(name) / bound for name, bound in target.items())


def curves_of(row):
    return {(t["variant"], t["seed"]): [(p["epochs"], progress(p, row["target"])) for p in t["accuracy"]]
            for t in row["trainings"]}


def exchange(row, weights):
    """Seeds, steps, low, high [relative], by the formulas of METRICS.md. weights: of each variant's mean progress."""
    curves = curves_of(row)
    seeds = sorted({s for _, s in curves if all((v, s) in curves for v in weights)})
    d = np.array([sum(w * np.mean([y for _, y in curves[v, s]]) for v, w in weights.items()) for s in seeds])
    # the slope as a regression with a constant for each training
    x, y = [], []
    for v in weights:
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


def contrasts(combinations):
    """Weights of each main effect and interaction of a full two-level design, by name."""
    factors = [c["factors"][0] for c in combinations if len(c["factors"]) == 1]
    for size in (1, 2):
        for chosen in itertools.combinations(factors, size):
            sign = {c["variant"]: math.prod(1 if f in c["factors"] else -1 for f in chosen) for c in combinations}
            share = len(combinations) / 2**size  # combinations of the other factors
            yield " x ".join(chosen), {v: s / share for v, s in sign.items()}


def comparisons(row):
    """Column and name of each comparison that the report prints of it, and its weights."""
    for variant in dict.fromkeys(t["variant"] for t in row["trainings"]):
        if variant != row["baseline"]:
            yield "variant", variant, {variant: 1, row["baseline"]: -1}
    for name, weights in contrasts(row.get("combinations", [])):
        yield "factor", name, weights


compared = {"variant": 0, "factor": 0}
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
        for column, name, weights in comparisons(row):
            pairs, estimate, low, high = exchange(row, weights)
            (ours,) = [r for r in rows if r.get(column) == name]
            assert int(ours["pairs" if column == "variant" else "n"]) == pairs, (ours, pairs)
            for key, theirs in (("", estimate), (" low", low), (" high", high)):
                assert abs(ours["steps to equal accuracy" + key] / 100 - theirs) < 1e-9, (key, ours, theirs)
            compared[column] += 1
assert all(compared.values()), f"nothing to compare: {compared}"
print(f"ok: {compared['variant']} variants and {compared['factor']} effects of factors as scipy")
