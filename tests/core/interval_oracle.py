"""Lines of "level low high samples...": the signed-rank test of that level must reject centres just outside [low, high]
and none just inside."""
import sys

import numpy as np
from scipy.stats import wilcoxon


def p(samples, centre):
    return wilcoxon(samples - centre, mode="exact").pvalue


for line in sys.stdin:
    level, low, high, *samples = map(float.fromhex, line.split())
    samples, step = np.array(samples), 1e-9
    inside, outside = (p(samples, low + step), p(samples, high - step)), (p(samples,
                                                                            low - step), p(samples, high + step))
    assert min(inside) > level >= max(outside), (level, len(samples), inside, outside)
    print(level, len(samples), inside, outside)
