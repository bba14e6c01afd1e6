"""Reads lines "q x x x ..." in hexadecimal floats; prints numpy's quantile and math.fsum of each, as hexadecimal floats."""
import math
import sys

import numpy

for line in sys.stdin:
    q, *samples = map(float.fromhex, line.split())
    print(float(numpy.quantile(numpy.array(samples), q)).hex(), math.fsum(samples).hex())
