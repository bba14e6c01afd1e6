"""builds_oracle.py ROW.json: lines "name estimate low high" of a phase, of "step" (the whole step) or of "log" (its
logarithm).

From the row's samples by numpy, the estimate must come out the same, and scipy's signed-rank test must reject centres
just outside [low, high] and none just inside, at the level that the row says is left for the last look at its
precision.
"""
import json
import sys

import numpy as np
from scipy.stats import wilcoxon

samples = json.load(open(sys.argv[1]))["samples"]
level = 1 - samples["confidence"]
build, number = np.array(samples["build"]), np.array(samples["round"])
rounds = sorted(set(zip(build, number)))
build_of_round = np.array([b for b, _ in rounds])


def of_rounds(steps):
    return np.array([steps[(build == b) & (number == r)].mean() for b, r in rounds])


def centre(x):
    return np.median([(x[i] + x[j]) / 2 for i in range(len(x)) for j in range(i + 1)])


def differences(name):
    baseline, variant = np.array(samples["baseline_s"]), np.array(samples["variant_s"])
    if name == "log":
        return of_rounds(np.log(variant) - np.log(baseline))
    if name == "step":
        return of_rounds(variant - baseline)
    phase = samples["phase_s"]["values"][name]
    return np.array(phase["variant"]) - np.array(phase["baseline"])


for line in sys.stdin:
    name, *numbers = line.split()
    estimate, low, high = map(float.fromhex, numbers)
    x = differences(name)
    builds = sorted(set(build_of_round))
    if len(builds) > 1:
        x = np.array([centre(x[build_of_round == b]) for b in builds])
    assert 6 <= len(x) < 50, len(x)
    assert abs(centre(x) - estimate) < 1e-13, (name, centre(x), estimate)
    step = 1e-12
    p = lambda shift: wilcoxon(x - shift, mode="exact").pvalue
    inside, outside = (p(low + step), p(high - step)), (p(low - step), p(high + step))
    assert min(inside) > level >= max(outside), (name, level, len(x), inside, outside)
    print(name, len(x), inside, outside)
