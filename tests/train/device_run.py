#!/usr/bin/env python3
"""A whole run on the fake device, with the device's kernels, against the same run on the CPU: losses, accuracy
and weights, to the bit.

  device_run.py DOUBLE_RUN TTT_MASKRCNN
"""
import json, os, subprocess, sys, tempfile

import h5py
import numpy as np

# Small enough for kernels that are executed thread by thread.
TINY = [
    "data.short_side=64", "data.long_side=64", "data.workers=1", "train.threads=1", "train.global_batch=2",
    "model.backbone.width=8", "model.backbone.fpn_channels=16", "model.rpn.sample=32", "model.rpn.pre_nms_train=60",
    "model.rpn.post_nms_train=40", "model.rpn.pre_nms_test=60", "model.rpn.post_nms_test=30", "model.roi.sample=16",
    "model.roi.box_hidden=32", "model.roi.mask_channels=16", "model.roi.detections=10", "train.epochs=1",
    "train.eval_every_epochs=0.5", "train.eval_batch=2", "train.target_box_ap=1", "train.target_mask_ap=1",
    "train.check_replicas_every=0"
]
NOT_CONVERGED = 6


def run(program, data, folder, name, ranks, shapes="static", watched=False, graphs=None, settings=(),
        expected=NOT_CONVERGED):
    out, weights = f"{folder}/{name}.json", f"{folder}/{name}.h5"
    line = [
        "mpirun", "--oversubscribe", "--bind-to", "none", "-n",
        str(ranks), program, "--quiet", "--data", data, "--out", out
    ]
    # Telemetry waits for the steps it samples, on rank 0 alone; a checkpoint after each step needs all ranks at every
    # one of them.
    watch = [
        f"train.telemetry.folder={folder}/{name}.events", "train.telemetry.every_steps=3",
        "train.telemetry.histograms_every=3", "train.telemetry.pictures=0",
        f"train.checkpoint.folder={folder}/{name}.checkpoints", "train.checkpoint.every_epochs=0.125",
        "train.checkpoint.keep=20"
    ]
    changed = {s.split("=")[0] for s in settings}
    common = [s for s in TINY if s.split("=")[0] not in changed]
    for s in [
            *common, f"train.save_weights={weights}", f"model.shapes={shapes}", *(watch if watched else []),
            *([f"train.graphs={graphs}"] if graphs else []), *settings
    ]:
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True, timeout=400)
    assert done.returncode == expected, (done.returncode, done.stderr)
    if expected != NOT_CONVERGED:
        return done.stderr
    with open(out) as f, h5py.File(weights) as w:
        return json.load(f), {name: w[name][()] for name in w}


def check_copies(device, ranks):
    """No memory goes back while another stream uses it. In evaluations the host waits for copies of no batch: for the
    table of the preprocessor, and for the boxes and sizes of the masks that it encodes."""
    assert device["built"]["early_returns"] == 0, device["built"]["early_returns"]
    if ranks > 1:  # they share their statistics through the host first
        return
    copies = device["built"]["evaluation_waits"]["copy from the host"]
    assert copies == len(device["accuracy"]) * (1 + 2 * 2), device["built"]["evaluation_waits"]  # two batches each


def strip_times(value):
    if isinstance(value, dict):
        return {k: strip_times(v) for k, v in value.items() if not k.endswith("_s")}
    return value


def check_graphs(built, graphs, ranks):
    """Of 8 steps of one shape all but the first three are replays, of one recording or of another with more room for
    outlines."""
    if graphs == "none":
        assert built == "none", built
        return
    (shape,) = built["shapes"]
    parts = {p["part"]: p for p in shape["parts"]}
    assert built["level"] == graphs and shape["steps"] == 8, built
    assert (graphs == "full") == (list(parts) == ["step"]) and ("all_reduce" in parts) == (ranks > 1), parts
    for name, part in parts.items():
        assert part.get("not_recorded") == "gradients travel through the host (mpi)" if name == "all_reduce" else part[
            "replays"] == 5 or 0 < built["recorded_again"] <= 2 and part["replays"] > 0, (part, built)


def check_same(device, device_weights, host, host_weights, steps=8):
    assert len(device["steps"]["step"]) == steps and device["steps"]["step"] == host["steps"]["step"]
    assert device["steps"]["loss"] == host["steps"]["loss"], (device["steps"]["loss"], host["steps"]["loss"])
    accuracy = [strip_times({"all": [strip_times(e) for e in r["accuracy"]]}) for r in (device, host)]
    assert len(device["accuracy"]) == 2 and accuracy[0] == accuracy[1], accuracy
    assert device_weights.keys() == host_weights.keys()
    for name, values in host_weights.items():
        assert np.array_equal(values.view(np.uint32), device_weights[name].view(np.uint32)), name


def over_ranks_too(double, program, data, folder, alone):
    """`alone`: losses where each rank keeps its own statistics."""
    # Statistics and counts over all ranks, which the ranks exchange within the step.
    over_ranks = ["model.backbone.norm=sync", "model.loss_mean=global"]
    for graphs in ("none", "parts"):
        device, device_weights = run(double, data, folder, f"double-sync-{graphs}", 2, graphs=graphs,
                                     settings=[*over_ranks, "train.strict_sync=true"])
        if graphs == "none":
            host, host_weights = run(program, data, folder, "host-sync", 2, settings=over_ranks)
            assert host["steps"]["loss"] != alone
        else:
            parts = {p["part"]: p for p in device["built"]["graphs"]["shapes"][0]["parts"]}
            assert "through the host (mpi)" in parts["backbone"]["not_recorded"] and parts["optimizer"][
                "replays"] > 0, parts
        check_same(device, device_weights, host, host_weights)
    print("2 ranks, statistics and counts over both: the CPU's bits")


def batches_of_two_sizes(double, program, data, folder):
    """Each size is recorded by itself, after three steps of its own."""
    settings = ["train.epochs=2", "train.eval_every_epochs=1", "train.phases.epochs=1,1",
                "train.phases.images_per_rank=2,4"]
    device, device_weights = run(double, data, folder, "double-phases", 1, graphs="full",
                                 settings=[*settings, "train.strict_sync=true"])
    check_same(device, device_weights, *run(program, data, folder, "host-phases", 1, settings=settings),
               steps=8 + 4)
    shapes = {shape["images"][0]: shape for shape in device["built"]["graphs"]["shapes"]}
    assert {n: (s["steps"], s["parts"][0]["replays"]) for n, s in shapes.items()} == {2: (8, 5), 4: (4, 1)}, shapes
    print("batches of 2 and then of 4 images: recorded for each, and the CPU's bits")


def mask_quarters(double, program, data, folder):
    """The host asks for the number of positives without a wait of the device."""
    host, host_weights = run(program, data, folder, "host-quarters", 1, "quarters")
    for graphs in ("none", "parts", "full"):
        device, device_weights = run(double, data, folder, f"double-quarters-{graphs}", 1, "quarters", graphs=graphs,
                                     settings=["train.strict_sync=true"])
        check_same(device, device_weights, host, host_weights)
        assert device["built"]["waits"] == {}, device["built"]["waits"]
    forms = {p.get("form") for p in device["built"]["graphs"]["shapes"][0]["parts"]}
    print(f"the mask branch over quarters of its rows, {sorted(forms - {None})}: the CPU's bits, no wait in any step")


def waits_are_seen(double, data, folder):
    # A step that waits is seen as one.
    dynamic, _ = run(double, data, folder, "dynamic", 1, "dynamic", settings=["train.cudnn_deterministic=false"])
    assert not dynamic["built"]["device"]["cudnn_deterministic"], dynamic["built"]["device"]
    assert dynamic["built"]["waits"] == {"nonzero": 7}, dynamic["built"]["waits"]
    failed = run(double, data, folder, "strict", 1, "dynamic", settings=["train.strict_sync=true"], expected=1)
    assert "step 1 " in failed and "nonzero" in failed and "train.strict_sync" in failed, failed
    print("the classical step: one wait in each of 7 steps (nonzero)")


def main():
    double, program = sys.argv[1:3]
    build = os.path.dirname(program)
    with tempfile.TemporaryDirectory() as folder:
        drawn, data = f"{folder}/drawn", f"{folder}/shards"
        subprocess.run([f"{build}/make_shapes", "--out", drawn, "--train", "16", "--val", "4", "--size", "64"],
                       check=True, capture_output=True)
        for split in ("train", "val"):
            subprocess.run([
                f"{build}/pack_coco", "--quiet", "--images", f"{drawn}/{split}", "--annotations",
                f"{drawn}/instances_{split}.json", "--split", split, "--out", data
            ], check=True, capture_output=True)
        cases = [
            (ranks, watched, graphs) for graphs in ("none", "full", "parts")
            for ranks, watched in ((1, False), (2, False), (2, True))
            # ranks that speak through the host cannot be recorded whole
            if graphs == "none" or (graphs == "full") == (ranks == 1)
        ]
        hosts = {}
        for ranks, watched, graphs in cases:
            # Where steps are recorded, the device also places the images, which are bytes until then.
            settings = ["train.strict_sync=true"] * (not watched) + ["data.transform=device"] * (
                graphs != "none") + ["train.eval_overlap=true"] * (graphs == "full")
            device, device_weights = run(double, data, folder, f"double-{ranks}-{watched}-{graphs}", ranks,
                                         watched=watched, graphs=graphs, settings=settings)
            if (ranks, watched) not in hosts:
                hosts[ranks, watched] = run(program, data, folder, f"host-{ranks}-{watched}", ranks, watched=watched)
            host, host_weights = hosts[ranks, watched]
            check_graphs(device["built"]["graphs"], graphs, ranks)
            assert device["built"]["device"]["cudnn_deterministic"], device["built"]["device"]
            assert device["built"]["step"]["ops"] == "emulated" and host["built"]["step"]["ops"] == "host"
            assert watched or device["built"]["waits"] == {}, device["built"]["waits"]
            check_copies(device, ranks)
            saved, series = ([c["step"] for c in r.get("checkpoints", [])]
                             for r in (device, host)), [r.get("telemetry") for r in (device, host)]
            assert list(saved) == [list(range(9)) if watched else []] * 2, (device.get("checkpoints"),
                                                                            host.get("checkpoints"))
            assert not watched or strip_times(series[0]) == strip_times(series[1]) and len(
                series[0]["step"]) == 3, series
            check_same(device, device_weights, host, host_weights)
            print(
                f"{ranks} ranks, graphs {graphs}: {len(device['steps']['step'])} steps and {len(device['accuracy'])} "
                f"evaluations on the fake device: the CPU's bits, "
                + ("with every step saved and every third looked at" if watched else "and no wait in any step"))
        over_ranks_too(double, program, data, folder, hosts[2, False][0]["steps"]["loss"])
        batches_of_two_sizes(double, program, data, folder)
        mask_quarters(double, program, data, folder)
        waits_are_seen(double, data, folder)


if __name__ == "__main__":
    main()
