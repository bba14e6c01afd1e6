"""peer_oracle.py REPORT FILE: `report bench` on FILE against scipy: ratios, their intervals, the geometric mean.

The Mann-Whitney test on logarithms of the rates must reject ratios just outside of an interval and none just inside.
"""
import csv, io, json, subprocess, sys
from collections import defaultdict

import numpy as np
from scipy.stats import gmean, mannwhitneyu

report, file = sys.argv[1:]
with open(file) as f:
    entries = json.load(f)["benchmarks"]
rates = defaultdict(list)
for entry in entries:
    rates[entry["run_name"]].append(entry["boxes/s"])
command = [report, "bench", file, "--format", "csv", "--table", file]
text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
rows = [row for row in csv.reader(io.StringIO(text)) if row]
header = next(row for row in rows if "operation" in row)
ratios = []
for fields in rows[rows.index(header) + 1:]:
    row = dict(zip(header, fields))
    ratio = float(row["ours / peer"])
    if row["operation"] == "geometric mean":
        assert abs(ratio / gmean(ratios) - 1) < 1e-12, (ratio, gmean(ratios))
        break
    ours, peer = (np.log(rates[f"{row['operation']}/{side}"]) for side in ("ours", "peer"))
    assert abs(np.log(ratio) - np.median(np.subtract.outer(ours, peer))) < 1e-12, row
    low, high = (float(row[f"95 % interval {end}"]) for end in ("low", "high"))
    p = lambda bound, step: mannwhitneyu(ours - np.log(bound) - step, peer, method="exact").pvalue
    assert min(p(low, 1e-9), p(high, -1e-9)) > 0.05 >= max(p(low, -1e-9), p(high, 1e-9)), row
    ratios.append(ratio)
print(len(ratios), "ratios")
