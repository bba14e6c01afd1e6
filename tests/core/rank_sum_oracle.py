"""Lines of "n values...", the first n of one sample: prints the two-sided p of the Mann-Whitney test and its tolerance.
Samples of up to 12 with ties: all splits. Larger ones with ties: random splits, whose share has a standard error."""
import math
import sys

import numpy as np
from scipy.stats import PermutationMethod, mannwhitneyu

for line in sys.stdin:
    n, *values = line.split()
    values = np.array([float.fromhex(v) for v in values])
    a, b = values[: int(n)], values[int(n) :]
    tied, splits = len(set(values)) < len(values), 20000
    if len(values) > 50:
        p, tolerance = mannwhitneyu(a, b, method="asymptotic").pvalue, 1e-9
    elif not tied:
        p, tolerance = mannwhitneyu(a, b, method="exact").pvalue, 1e-9
    else:
        method = PermutationMethod(n_resamples=splits, rng=np.random.default_rng(1))
        p, tolerance = mannwhitneyu(a, b, method=method).pvalue, 1e-9
        if math.comb(len(values), len(a)) > splits:
            tolerance = 5 * math.sqrt(p / splits) + 1e-9
    print(p, tolerance)
