#!/usr/bin/env python3
"""convert_dawnbench.py FOLDER > dawnbench_imagenet.json: one line for each entry of ImageNet training.

FOLDER is ImageNet/train of a copy of the public repository stanford-futuredata/dawn-bench-entries. An entry's time is
that of the first row of its log with a top-5 accuracy of 93 % or more, as DAWNBench scores it: without validation.
"""
import csv
import json
import pathlib
import sys


def first_at_target(path):
    with open(path, newline="") as f:
        for row in csv.DictReader(f, delimiter="\t"):
            if float(row["top5Accuracy"]) >= 93:
                return row
    raise SystemExit(f"{path}: no row reaches 93 %")


def system(path):
    entry = json.loads(path.read_text())
    row = first_at_target(path.with_suffix(".tsv"))
    out = {
        "submitter": entry["author"],
        "system": path.stem,
        "hardware": entry["hardware"],
        "framework": entry["framework"],
        "model": entry["model"],
        "date": entry["timestamp"],
        "epochs": float(row["epoch"]),
        "run_min": round(60 * float(row["hours"]), 4),
        "top5": round(float(row["top5Accuracy"]), 4),
    }
    if entry.get("costPerHour"):
        out["usd_per_hour"] = float(entry["costPerHour"])
        out["usd"] = round(float(row["hours"]) * out["usd_per_hour"], 2)
    return out


def main():
    head = {
        "published_facts": "DAWNBench, ImageNet training to 93 % top-5 accuracy",
        "source": "ImageNet/train of stanford-futuredata/dawn-bench-entries at fb27b82",
    }
    lines = [json.dumps(system(path)) for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json"))]
    text = json.dumps(head)[:-1] + ',\n "systems": [\n  ' + ",\n  ".join(lines) + "\n ]}\n"
    json.loads(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
