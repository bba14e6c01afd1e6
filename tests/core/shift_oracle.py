"""Lines of "low high n a... b..." with n values a: the Mann-Whitney test must reject shifts just outside [low, high]
and none just inside."""
import sys

import numpy as np
from scipy.stats import mannwhitneyu

for line in sys.stdin:
    low, high, n, *values = line.split()
    low, high, values, step = float.fromhex(low), float.fromhex(high), np.array([float.fromhex(v)
                                                                                 for v in values]), 1e-9
    a, b = values[: int(n)], values[int(n) :]
    p = lambda shift: mannwhitneyu(b - shift, a, method="exact").pvalue
    inside, outside = (p(low + step), p(high - step)), (p(low - step), p(high + step))
    assert min(inside) > 0.05 >= max(outside), (len(a), len(b), inside, outside)
    print(len(a), len(b), inside, outside)
