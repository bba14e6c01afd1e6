#!/usr/bin/env python3
"""schedules.py TTT_MASKRCNN: the rate of every iteration is torch's, for every kind of schedule with a warm-up."""
import json, os, pathlib, subprocess, sys, tempfile, warnings

import torch
from torch.optim import lr_scheduler

LR, WARMUP, START, STEPS = 0.001, 6, 0.25, 24
BASE = ["data.short_side=64", "data.long_side=64", "data.generated_images=12", "data.generated_held_out=2",
        "train.global_batch=1", "train.epochs=2", f"train.max_steps={STEPS}", f"train.schedule.lr={LR}",
        "train.schedule.reference_batch=0",
        f"train.schedule.warmup_steps={WARMUP}", f"train.schedule.warmup_start={START}"]


def ours(folder, kind, *settings):
    line = [sys.argv[1], "--quiet", "--out", f"{folder}/{kind}.json", "--set", f"train.schedule.kind={kind}"]
    for s in [*BASE, *settings]:
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env={**os.environ, "TTT_CACHE": folder})
    assert done.returncode == 0, done
    return json.loads(pathlib.Path(f"{folder}/{kind}.json").read_text())["steps"]["learning_rate"]


def theirs(of_optimizer):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=LR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rates are wanted without steps between
        schedule = of_optimizer(optimizer)
        rates = []
        for _ in range(STEPS):
            schedule.step()  # before the optimizer, as MLPerf's reference does
            rates.append(schedule.get_last_lr()[0])
    return rates


def after_warmup(then):
    """Warm-up, then a schedule whose own counter begins at its end."""
    return lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, START, total_iters=WARMUP), then(o)], milestones=[WARMUP])


def with_warmup(o):
    """Both at once, as MLPerf's WarmupMultiStepLR: milestones count all iterations."""
    return lr_scheduler.ChainedScheduler(
        [lr_scheduler.LinearLR(o, START, total_iters=WARMUP), lr_scheduler.MultiStepLR(o, [10, 17], gamma=0.1)])


LEFT = STEPS - WARMUP
CASES = {
    "step_decay": (["train.schedule.decay_steps=10,17"], with_warmup),
    "cosine": (["train.schedule.final_fraction=0.05"],
               after_warmup(lambda o: lr_scheduler.CosineAnnealingLR(o, LEFT, eta_min=0.05 * LR))),
    "linear": (["train.schedule.final_fraction=0.05"],
               after_warmup(lambda o: lr_scheduler.LinearLR(o, 1, 0.05, total_iters=LEFT))),
    "poly": (["train.schedule.power=2"], after_warmup(lambda o: lr_scheduler.PolynomialLR(o, LEFT, power=2))),
}
with tempfile.TemporaryDirectory() as folder:
    for kind, (settings, of_optimizer) in CASES.items():
        mine, torchs = ours(folder, kind, *settings), theirs(of_optimizer)
        assert len(mine) == len(torchs) == STEPS, (kind, len(mine))
        for i, (a, b) in enumerate(zip(mine, torchs)):
            # torch multiplies rate by rate along the way: some roundings of float64 each
            assert abs(a - b) <= 1e-12 * LR, (kind, i + 1, a, b)
print("ok")
