#!/usr/bin/env python3
"""Our kernels beside torchvision's and torch's operators: same shapes, same boxes, alternating; the host's on one
thread of a CPU, or those for CUDA on a GPU.

Usage: compare_kernels.py MICRO [--rounds 3] [--only SUBSTRING]
       compare_kernels.py MICRO_CUDA --device cuda [...]
Prints for each row both medians over the rounds and peer / ours: CPU time of the one thread, so that a busy machine
disturbs less; with --device cuda the time between two of the GPU's events, so that what torchvision asks of the host
counts. A round is the best of three means over at least 0.1 s, on both sides. A row on which the program's own sides
disagree has no times, and the exit code is then 1. Needs torch and torchvision. (What ATen, ISA-L or libjpeg-turbo have
is a peer inside the program itself.)

paste_mask: torchvision pastes every mask into an image of its own, ours into the bitmap of its box alone, which is what
RLE needs; on a device ours encodes it too, without a bitmap. The peer therefore does more: most of its time is the
filling of images. The program's paste_mask/*/aten has no image either.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import torch
from torchvision.models.detection import _utils, roi_heads, rpn
from torchvision.ops import MultiScaleRoIAlign, boxes as box_ops

torch.set_num_threads(1)
DEVICE = "cpu"  # set by main


def mix64(x):
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def uniform(key, n):
    """core/rng.h's Stream(key).uniform(), n draws."""
    return (mix64(np.uint64(key) ^ mix64(np.arange(n, dtype=np.uint64))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def values(key, shape, lo, hi):
    return torch.from_numpy(
        (lo + (hi - lo) * uniform(key, int(np.prod(shape)))).astype(np.float32).reshape(shape)).to(DEVICE)


def boxes(key, n, height, width, smallest):
    u = uniform(key, 4 * n).reshape(n, 4)
    w, h = smallest * (width / smallest) ** u[:, 0], smallest * (height / smallest) ** u[:, 1]
    x, y = u[:, 2] * (width - w), u[:, 3] * (height - h)
    return torch.from_numpy(np.stack([x, y, x + w, y + h], 1).astype(np.float32)).to(DEVICE)


def anchors(height, width):
    out, counts = [], []
    for stride in (4, 8, 16, 32, 64):
        y, x = np.meshgrid(
            np.arange(-(-height // stride)) * stride,
            np.arange(-(-width // stride)) * stride, indexing="ij")
        c = np.stack([x, y, x, y], 2).reshape(-1, 1, 4)
        r = np.sqrt(np.array([0.5, 1.0, 2.0]))
        half = np.stack([-4 * stride / r, -4 * stride * r, 4 * stride / r, 4 * stride * r], 1)
        out.append((c + half).reshape(-1, 4).astype(np.float32))
        counts.append(len(out[-1]))
    return torch.from_numpy(np.concatenate(out)).to(DEVICE), counts


def roi_align_rows():
    for row, n, h, w, c, r, pooled in [("default_box", 4, 128, 128, 64, 256, 7),
                                       ("default_mask", 4, 128, 128, 64, 64, 14),
                                       ("mlperf_box", 2, 800, 1344, 256, 1024, 7),
                                       ("mlperf_mask", 2, 800, 1344, 256, 256, 14)]:
        f = {
            str(l): values(l, (n, c, -(-h // s), -(-w // s)), -1, 1).requires_grad_()
            for l, s in enumerate((4, 8, 16, 32))
        }
        rois = list(boxes(100, r, h, w, 8 if h < 200 else 16).split(r // n))
        m = MultiScaleRoIAlign(list(f), pooled, 2)
        with torch.no_grad():
            out = m(f, rois, [(h, w)] * n)

        def forward():
            with torch.no_grad():
                m(f, rois, [(h, w)] * n)
        yield f"roi_align_forward/{row}", forward
        graph, grad = m(f, rois, [(h, w)] * n), torch.ones_like(out)
        yield f"roi_align_backward/{row}", lambda: torch.autograd.grad(graph, list(f.values()), grad, retain_graph=True)


def detection_rows():
    for row, n, h, w, pre, post, sampled, classes, r, detections, positives in [
        ("default", 4, 128, 128, 400, 100, 64, 7, 50, 20, 16),
        ("mlperf", 2, 800, 1344, 2000, 1000, 256, 81, 1000, 100, 128)
    ]:
        a, counts = anchors(h, w)
        gt = boxes(1, n * 20, h, w, 12).view(n, 20, 4)[:, :10]
        matcher = _utils.Matcher(0.7, 0.3, True)
        yield f"match/{row}", lambda: [matcher(box_ops.box_iou(g, a)) for g in gt]
        labels = [
            torch.where(m >= 0, 1, torch.where(m == -1, 0, -1)) for m in (matcher(box_ops.box_iou(g, a)) for g in gt)
        ]
        sampler = _utils.BalancedPositiveNegativeSampler(sampled, 0.5)
        yield f"sample/{row}", lambda: sampler(labels)
        logits, deltas = values(2, (n, len(a)), -4, 4), values(3, (n, len(a), 4), -0.3, 0.3)
        me = SimpleNamespace(min_size=1e-3, score_thresh=0.0, nms_thresh=0.7, pre_nms_top_n=lambda: pre,
                             post_nms_top_n=lambda: post)
        me._get_top_n_idx = lambda o, k: rpn.RegionProposalNetwork._get_top_n_idx(me, o, k)
        coder = _utils.BoxCoder((1.0, 1.0, 1.0, 1.0))
        yield f"proposals/{row}", lambda: rpn.RegionProposalNetwork.filter_proposals(
            me, coder.decode(deltas.view(-1, 4), [a] * n).view(n, -1, 4), logits, [(h, w)] * n, counts)
        p = values(5, (n * r, classes), 0, 1)
        p = torch.where(p > 0.96, p, p * 0.05)
        box_deltas, rois = values(6, (n * r, classes * 4), -1, 1), boxes(7, n * r, h, w, 16)
        me2 = SimpleNamespace(box_coder=_utils.BoxCoder((10.0, 10.0, 5.0, 5.0)), score_thresh=0.05, nms_thresh=0.5,
                              detections_per_img=detections)

        def detect():
            softmax, roi_heads.F.softmax = roi_heads.F.softmax, lambda x, *_: x  # the scores are given, as ours are
            roi_heads.RoIHeads.postprocess_detections(me2, p, box_deltas, list(rois.split(r)), [(h, w)] * n)
            roi_heads.F.softmax = softmax
        yield f"detections/{row}", detect
        hh, ww = h // 2, w // 2
        i = torch.arange(hh * ww, device=DEVICE)
        mask = torch.zeros(1, h, w, dtype=torch.uint8, device=DEVICE)
        mask[0, hh // 2:hh // 2 + hh, ww // 2:ww // 2 + ww] = ((i % ww + i // ww) % 97 < 60).view(hh, ww)
        positive, at = boxes(8, positives * n, h, w, 30), torch.zeros(positives, dtype=torch.int64, device=DEVICE)
        yield f"mask_targets/{row}", lambda: [
            roi_heads.project_masks_on_boxes(mask, b, at, 28) for b in positive.split(positives)
        ]
        prob, found = values(9, (1, 1, 28, 28), 0, 1).expand(detections, 1, 28, 28), boxes(10, detections, h, w, 16)
        yield f"paste_mask/{row}", lambda: roi_heads.paste_masks_in_image(prob, found, (h, w)) > 0.5
    for k in (400, 2000):
        b, s = boxes(4, k, 800, 1344, 100), torch.linspace(1, 0, k, device=DEVICE)
        yield f"nms/{k}_boxes", lambda: box_ops.nms(b, s, 0.7)


REPETITIONS, AT_LEAST_S = 3, 0.1  # of a round, on both sides


def mean_us(f):
    """Mean of as many calls as take AT_LEAST_S."""
    if DEVICE == "cuda":
        return mean_us_of_gpu(f)
    calls, begin = 0, time.process_time()
    while True:
        f()
        calls += 1
        taken = time.process_time() - begin
        if taken >= AT_LEAST_S:
            return taken / calls * 1e6


def mean_us_of_gpu(f):
    f()
    calls = 10
    while True:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            f()
        end.record()
        end.synchronize()
        ms = begin.elapsed_time(end)
        if ms >= AT_LEAST_S * 1e3:
            return ms / calls * 1e3
        calls *= 2


def peer_us(f):
    return min(mean_us(f) for _ in range(REPETITIONS))


class NoTime(Exception):
    """The program has no time for a row, and why."""


def ours_us(program, name):
    done = subprocess.run([
        program, "--benchmark_format=json", f"--benchmark_repetitions={REPETITIONS}",
        f"--benchmark_min_time={AT_LEAST_S}", f"--benchmark_filter=^{name}(/iterations:1/manual_time)?$"
    ], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    rows = [
        b for b in (json.loads(done.stdout)["benchmarks"] if done.stdout.strip() else [])
        if b["run_type"] == "iteration"
    ]
    if not rows:
        raise NoTime(f"{program} has no benchmark '{name}'")
    for b in rows:
        if b.get("error_occurred"):
            raise NoTime(b["error_message"])
    return min(b["real_time" if DEVICE == "cuda" else "cpu_time"] for b in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/bin/micro or micro_cuda")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    global DEVICE
    DEVICE = a.device
    print(f"{'row':32} {'ours us':>12} {'peer us':>12} {'peer/ours':>10}")
    untimed = 0
    for rows in (roi_align_rows, detection_rows):
        for name, f in rows():
            if a.only not in name:
                continue
            mine, theirs = [], []
            try:
                for _ in range(a.rounds):
                    mine.append(ours_us(a.program, f"{name}/ours"))
                    theirs.append(peer_us(f))
            except NoTime as why:
                untimed += 1
                print(f"{name:32} not timed: {why}", flush=True)
                continue
            m, t = statistics.median(mine), statistics.median(theirs)
            print(f"{name:32} {m:12.1f} {t:12.1f} {t / m:10.2f}", flush=True)
    return 1 if untimed else 0


if __name__ == "__main__":
    sys.exit(main())
