#!/usr/bin/env python3
"""step_cost from outside: flops against torch's own count of torchvision's model, the line through one and two images,
refusals.

  step_cost.py PROGRAM CHECK_SCHEMA SCHEMA
"""
import json, subprocess, sys, tempfile

SMALL = ["data.short_side=128", "data.long_side=128", "model.roi.sample=32", "model.rpn.sample=32"]


def run(program, folder, name, *settings, code=0):
    out = f"{folder}/{name}.json"
    done = subprocess.run([
        program, "--recipe", "mlperf", "--quiet", "--out", out,
        *[w for s in {s.split("=")[0]: s for s in [*SMALL, *settings]}.values() for w in ("--set", s)]
    ], capture_output=True, text=True, timeout=200)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    if code:
        return done.stderr
    with open(out) as f:
        return json.load(f)["built"]["step_cost"], done.stdout, out


def forward_flops(side):
    """Of the backbone and the pyramid on one image, and of the RPN's head, which is most of what is not per RoI."""
    import torch
    import torchvision
    from torch.utils.flop_counter import FlopCounterMode
    model = torchvision.models.detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=81)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.rpn.head(list(model.backbone(torch.rand(1, 3, side, side)).values()))
    return counter.get_total_flops()


def main():
    program, check_schema, schema = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        cost, said, out = run(program, folder, "cost")
        subprocess.run([sys.executable, check_schema, schema, out], check=True)
        # Twice the side: four times the pixels, so what the backbone's flops grow by is three times those of the
        # smaller image (whose sides 32 divides).
        large, _, _ = run(program, folder, "large", "data.short_side=256", "data.long_side=256")
        grown, forward = large["image_flops"] - cost["image_flops"], 3 * forward_flops(128)
        # Backward costs twice the forward pass where weights and inputs have gradients; the stem and the first stage
        # (frozen) have neither.
        assert 2 * forward < grown < 3 * forward, (grown, forward)
        # Bounds are those of the numbers beside them.
        by = {(b["machine"], b["images"]): b for b in cost["bounds"]}
        for (machine, images), b in by.items():
            flops, moved = cost["image_flops"] * images + cost["step_flops"], cost["image_bytes"] * images + cost[
                "step_bytes"]
            assert b["step_s"] >= max(flops / b["flop_per_s"], moved / b["bytes_per_s"]) * 0.999, (machine, images)
            assert b["step_s"] <= (flops / b["flop_per_s"] +
                                   moved / b["bytes_per_s"]) * 1.001 and b["melted_step_s"] < b["step_s"], (machine,
                                                                                                            images)
        assert by["H200", 12]["step_s"] < by["H100", 12]["step_s"] < by["A100 80 GB", 12]["step_s"]
        assert f'{cost["operators"]} operators' in said, said
        assert "Set model.shapes=static" in run(program, folder, "dynamic", "model.shapes=dynamic", code=2)
        print(
            f"ok: {cost['operators']} operators; three quarters of a 256 x 256 image cost {grown / 1e9:.1f} GFLOP, "
            f"torch counts {forward / 1e9:.1f} forward"
        )


if __name__ == "__main__":
    main()
