"""Reads lines "q x x x ..." in hexadecimal floats; prints numpy's quantile, math.fsum and, from five samples on,
scipy's mean without the smallest and the largest (else nan) of each, as hexadecimal floats."""
import math
import sys

import numpy
from scipy.stats import trim_mean

for line in sys.stdin:
    q, *samples = map(float.fromhex, line.split())
    n = len(samples)
    olympic = trim_mean(samples, 1.0000001 / n) if n >= 5 else math.nan  # the share is rounded down to whole samples
    print(float(numpy.quantile(numpy.array(samples), q)).hex(), math.fsum(samples).hex(), float(olympic).hex())
