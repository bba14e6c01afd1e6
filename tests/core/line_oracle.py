"""Lines of hexadecimal floats: "t q degrees value" is a quantile of Student's t, "line confidence level estimate low
high noise x... y..." a crossing. scipy's line must meet the level at the estimate, and its band's edges at low and
high. Prints how many lines were checked."""
import sys

import numpy as np
from scipy.stats import linregress, t

checked = 0
for text in sys.stdin:
    kind, *words = text.split()
    values = np.array([float.fromhex(w) for w in words])
    if kind == "t":
        q, degrees, ours = values
        # The last bits are the solver's and scipy's own.
        assert abs(ours - t.ppf(q, degrees)) <= 1e-9 * ours, (text, t.ppf(q, degrees))
    else:
        confidence, level, estimate, low, high, noise = values[:6]
        x, y = np.split(values[6:], 2)
        fit = linregress(x, y)
        line = lambda at: fit.intercept + fit.slope * at
        residual = np.sqrt(np.sum((y - line(x)) ** 2) / (len(x) - 2))
        spread = np.sum((x - x.mean()) ** 2)
        deviations = t.ppf((1 + confidence) / 2, len(x) - 2) * residual
        edge = lambda at: deviations * np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / spread)
        close = lambda a, b: abs(a - b) <= 1e-7 * (1 + abs(b))
        assert close(noise, residual) and close(line(estimate), level), text
        # Below the crossing the line is under the level by as much as the band is wide, above it over it.
        assert close(line(low) + edge(low), level) and close(line(high) - edge(high), level), text
    checked += 1
print(checked)
