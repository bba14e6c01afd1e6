#!/usr/bin/env python3
"""A whole run on the double of a device, with the device's kernels, against the same run on the CPU: losses, accuracy and weights, to the bit.

  device_run.py DOUBLE_RUN TTT_MASKRCNN
"""
import json, os, subprocess, sys, tempfile

import h5py
import numpy as np

# Small enough for kernels that are executed thread by thread.
TINY = ["data.short_side=64", "data.long_side=64", "data.workers=1", "train.threads=1", "train.global_batch=2", "model.backbone.width=8", "model.backbone.fpn_channels=16",
        "model.rpn.sample=32", "model.rpn.pre_nms_train=60", "model.rpn.post_nms_train=40", "model.rpn.pre_nms_test=60", "model.rpn.post_nms_test=30", "model.roi.sample=16",
        "model.roi.box_hidden=32", "model.roi.mask_channels=16", "model.roi.detections=10", "train.epochs=1", "train.eval_every_epochs=0.5", "train.eval_batch=2",
        "train.target_box_ap=1", "train.target_mask_ap=1"]
NOT_CONVERGED = 6


def run(program, data, folder, name, ranks, shapes="static"):
    out, weights = f"{folder}/{name}.json", f"{folder}/{name}.h5"
    line = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), program, "--quiet", "--data", data, "--out", out]
    for s in [*TINY, f"train.save_weights={weights}", f"model.shapes={shapes}"]:
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True, timeout=400)
    assert done.returncode == NOT_CONVERGED, (done.returncode, done.stderr)
    with open(out) as f, h5py.File(weights) as w:
        return json.load(f), {name: w[name][()] for name in w}


def main():
    double, program = sys.argv[1:3]
    build = os.path.dirname(program)
    with tempfile.TemporaryDirectory() as folder:
        drawn, data = f"{folder}/drawn", f"{folder}/shards"
        subprocess.run([f"{build}/make_shapes", "--out", drawn, "--train", "16", "--val", "4", "--size", "64"], check=True, capture_output=True)
        for split in ("train", "val"):
            subprocess.run([f"{build}/pack_coco", "--quiet", "--images", f"{drawn}/{split}", "--annotations", f"{drawn}/instances_{split}.json", "--split", split, "--out", data],
                           check=True, capture_output=True)
        for ranks in (1, 2):
            (device, device_weights), (host, host_weights) = (run(p, data, folder, f"{os.path.basename(p)}-{ranks}", ranks) for p in (double, program))
            assert device["built"]["step"]["ops"] == "emulated" and host["built"]["step"]["ops"] == "host"
            assert device["built"]["waits"] == {}, device["built"]["waits"]
            assert len(device["steps"]["step"]) == 8 and device["steps"]["step"] == host["steps"]["step"]
            assert device["steps"]["loss"] == host["steps"]["loss"], (device["steps"]["loss"], host["steps"]["loss"])
            strip = lambda result: [{k: v for k, v in e.items() if not k.endswith("_s")} for e in result["accuracy"]]
            assert len(device["accuracy"]) == 2 and strip(device) == strip(host), (strip(device), strip(host))
            assert device_weights.keys() == host_weights.keys()
            for name, values in host_weights.items():
                assert np.array_equal(values.view(np.uint32), device_weights[name].view(np.uint32)), name
            print(f"{ranks} ranks: {len(device['steps']['step'])} steps and {len(device['accuracy'])} evaluations on the double of a device: the CPU's bits, and no wait in any step")
        # A step that waits is seen as one.
        dynamic, _ = run(double, data, folder, "dynamic", 1, "dynamic")
        assert dynamic["built"]["waits"] == {"nonzero": 7}, dynamic["built"]["waits"]
        print("the classical step: one wait in each of 7 steps (nonzero)")


if __name__ == "__main__":
    main()
