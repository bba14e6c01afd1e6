#!/usr/bin/env python3
"""convert.py RUNS.csv > mlperf_v3.0_maskrcnn.json: published runs, one line for each system, with the number of its
accelerators.

RUNS.csv has one line for each run: submitter, system, run, status, global_batch, epochs, run_min, init_s,
epoch_s_median, throughput_median, base_lr, warmup_steps, final, division. Read from the logs in the public repository
mlcommons/training_results_v3.0 (Apache-2.0).
"""
import csv
import json
import sys

SOURCE = ("result logs of mlcommons/training_results_v3.0 (Apache-2.0), each submitter's "
          "results/SYSTEM/maskrcnn/result_*.txt")

# Nodes, accelerators of each, accelerator: from SUBMITTER/systems/SYSTEM.json of the same repository, and from the
# system's name where that says it.
SYSTEMS = {
    "16xXE8545x4A100-SXM-40GB": (16, 4, "A100-SXM-40GB"),
    "8xXE8545x4A100-SXM-40GB": (8, 4, "A100-SXM-40GB"),
    "4xXE8545x4A100-SXM-40GB": (4, 4, "A100-SXM-40GB"),
    "2xXE8545x4A100-SXM-40GB": (2, 4, "A100-SXM-40GB"),
    "XE8545x4A100-SXM-40GB": (1, 4, "A100-SXM-40GB"),
    "4xXE8545x4A100-SXM-80GB": (4, 4, "A100-SXM-80GB"),
    "2xXE8545x4A100-SXM-80GB": (2, 4, "A100-SXM-80GB"),
    "XE8545x4A100-SXM-80GB": (1, 4, "A100-SXM-80GB"),
    "R750xax4A100-PCIE-80GB": (1, 4, "A100-PCIe-80GB"),
    "R750xax4H100-PCIE-80GB": (1, 4, "H100-PCIe-80GB"),
    "R760xax4H100-PCIE-80GB": (1, 4, "H100-PCIe-80GB"),
    "XE9680x8A100-SXM-80GB": (1, 8, "A100-SXM-80GB"),
    "XE9680x8H100-SXM-80GB": (1, 8, "H100-SXM-80GB"),
    "ESC4000-E11-4xA100-PCIE-80GB-NVBridge": (1, 4, "A100-PCIe-80GB"),
    "ESC4000-E11-4xA100-PCIE-80GB": (1, 4, "A100-PCIe-80GB"),
    "ESC8000A-E12-8xH100-PCIE-80GB": (1, 8, "H100-PCIe-80GB"),
    "ND_H100_v5_pytorch": (1, 8, "H100-SXM-80GB"),
    "G593-SD0_pytorch": (1, 8, "H100-SXM-80GB"),
    "nf5468m6_pytorch": (1, 8, "A40"),
    "SR670v2-8xH100_PCIe_310W": (1, 8, "H100-PCIe-80GB"),
    "SR670v2-8xA100_PCIe_80GB_300W": (1, 8, "A100-PCIe-80GB"),
    "SR670v2-4xA100_SXM4_40GB_400W": (1, 4, "A100-SXM-40GB"),
    "dgxh100_ngc23.04_pytorch": (1, 8, "H100-SXM-80GB"),
    "dgxh100_n8_ngc23.04_pytorch": (8, 8, "H100-SXM-80GB"),
    "dgxh100_n48_ngc23.04_pytorch": (48, 8, "H100-SXM-80GB"),  # 16 of the nodes only evaluate
    "D74H-7U_preview": (1, 8, "H100-SXM-80GB"),
    "SYS-821GE-TNHR": (1, 8, "H100-SXM-80GB"),
    "SYS-421GU-TNX": (1, 4, "H100-SXM-80GB"),
    "AS-8125GS-TNHR": (1, 8, "H100-SXM-80GB"),
    "AS-4125GS-TNRT_8_H100-PCIe-80GB": (1, 8, "H100-PCIe-80GB"),
    "G5500V7x8xL40": (1, 8, "L40"),
    "G5500V7x10xL40": (1, 10, "L40"),
}


def one(runs, key, kind):
    """The value that all runs of a system share."""
    values = {kind(run[key]) for run in runs}
    assert len(values) == 1, (runs[0]["system"], key, values)
    return values.pop()


def system(runs):
    nodes, each, accelerator = SYSTEMS[runs[0]["system"]]
    finals = [json.loads(run["final"]) for run in runs]
    return {
        "submitter": runs[0]["submitter"],
        "system": runs[0]["system"],
        "nodes": nodes,
        "accelerators": nodes * each,
        "accelerator": accelerator,
        "division": one(runs, "division", str),
        "global_batch": one(runs, "global_batch", int),
        "base_lr": one(runs, "base_lr", float),
        "warmup_steps": one(runs, "warmup_steps", int),
        "status": [run["status"] for run in runs],
        "epochs": [int(run["epochs"]) for run in runs],
        "run_min": [float(run["run_min"]) for run in runs],
        "init_s": [float(run["init_s"]) for run in runs],
        "epoch_s": [float(run["epoch_s_median"]) for run in runs],
        "images_per_s": [float(run["throughput_median"]) for run in runs],
        "bbox_ap": [round(f["BBOX"], 5) for f in finals],
        "segm_ap": [round(f["SEGM"], 5) for f in finals],
    }


def main():
    systems = {}
    with open(sys.argv[1], newline="") as f:
        for run in csv.DictReader(f):
            systems.setdefault((run["submitter"], run["system"]), []).append(run)
    lines = [json.dumps(system(sorted(runs, key=lambda run: int(run["run"])))) for _, runs in sorted(systems.items())]
    head = {
        "published_results": "MLPerf Training v3.0, Mask R-CNN", "source": SOURCE,
        "target": {"bbox_ap": 0.377, "segm_ap": 0.339}
    }
    text = json.dumps(head)[:-1] + ',\n "systems": [\n  ' + ",\n  ".join(lines) + "\n ]}\n"
    json.loads(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
