#!/usr/bin/env python3
"""Inputs and expected outputs of the detection kernels, computed by torchvision, torch and pycocotools.

Usage: peer.py FOLDER. Writes one file per case, <kernel>-<name>.case: for each array a line "name type dims..." and
its bytes (little endian, C order). Where torchvision has no such function (the legacy box convention) the expression of
maskrcnn-benchmark is written out here in torch.

Long file: an oracle for each kernel, none of them long by itself.
"""
import os
import sys
from types import SimpleNamespace

import numpy as np
import torch
import torchvision
from torchvision.models.detection import _utils, roi_heads, rpn
from torchvision.ops import MultiScaleRoIAlign, boxes as box_ops, roi_align

FOLDER = sys.argv[1]
torch.set_num_threads(1)
# Without the trick that moves levels and classes apart by an offset, which rounds the coordinates.
box_ops.batched_nms = box_ops._batched_nms_vanilla


def write(case, **arrays):
    with open(os.path.join(FOLDER, case + ".case"), "wb") as f:
        for name, value in arrays.items():
            a = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
            if a.dtype == np.float64:
                a = a.astype(np.float32)
            if a.dtype == bool:
                a = a.astype(np.uint8)
            a = np.ascontiguousarray(a)
            kind = {"float32": "f", "int32": "i", "int64": "l", "uint8": "b", "uint64": "u"}[a.dtype.name]
            f.write(f"{name} {kind} {' '.join(map(str, a.shape))}\n".encode())
            f.write(a.tobytes())


def generator(seed):
    return torch.Generator().manual_seed(seed)


def random_boxes(n, height, width, g, smallest=1.0, largest=1.0):
    """Boxes inside the image, sides from `smallest` pixels to `largest` of the image, log-uniform."""
    def side(extent):
        lo, hi = np.log(smallest), np.log(extent * largest)
        return torch.exp(torch.rand(n, generator=g) * (hi - lo) + lo)
    w, h = side(width), side(height)
    x, y = torch.rand(n, generator=g) * (width - w), torch.rand(n, generator=g) * (height - h)
    return torch.stack([x, y, x + w, y + h], 1)


# ---------------------------------------------------------------------------------------------------------- RoIAlign

def odd_rois(height, width):
    """Borders, corners, beyond the image, no size, inverted, whole image."""
    h, w = float(height), float(width)
    return torch.tensor([[0, 0, w, h], [0, 0, 1, 1], [w - 1, h - 1, w, h], [-w, -h, 2 * w, 2 * h], [w, h, w + 9, h + 9],
                         [-20, -20, -10, -10], [5, 5, 5, 5], [9, 9, 4, 4], [3.5, 0, 4.5, h], [0, 7.25, w, 7.75],
                         [-3.999, -3.999, 4.001, 4.001], [w - 4, 0, w + 4, 8]], dtype=torch.float32)


def legacy_levels(boxes, low, high):
    area = (boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1)
    level = torch.floor(4 + torch.log2(torch.sqrt(area) / 224 + 1e-6))
    return torch.clamp(level, min=low, max=high).to(torch.int64) - low


def pyramid_roi_align(features, rois, image, scales, p):
    if p["legacy_area"]:
        level = legacy_levels(rois, p["min_level"], p["min_level"] + len(features) - 1)
    elif len(features) == 1:
        level = torch.zeros(len(rois), dtype=torch.int64)
    else:
        mapper = torchvision.ops.poolers.initLevelMapper(p["min_level"], p["min_level"] + len(features) - 1)
        level = mapper([rois])
    out = torch.zeros(len(rois), features[0].shape[1], p["pooled"], p["pooled"])
    for l, (f, s) in enumerate(zip(features, scales)):
        at = torch.where(level == l)[0]
        r = torch.cat([image[at, None].float(), rois[at]], 1)
        out = out.index_put((at,), roi_align(f, r, p["pooled"], s, p["sampling_ratio"] or -1, p["aligned"]))
    return out


def roi_align_case(name, images, channels, size, strides, rois_n, seed, pooled=7, sampling_ratio=2, aligned=False,
                   legacy_area=False, min_level=2, odd=True):
    g = generator(seed)
    height, width = size
    p = dict(pooled=pooled, sampling_ratio=sampling_ratio, aligned=aligned, legacy_area=legacy_area,
             min_level=min_level)
    features = [
        torch.randn(images, channels, -(-height // s), -(-width // s), generator=g).requires_grad_() for s in strides
    ]
    rois = random_boxes(rois_n, height, width, g)
    if odd:
        rois = torch.cat([rois, odd_rois(height, width)])
    image = torch.randint(0, images, (len(rois),), generator=g)
    scales = [1.0 / s for s in strides]
    out = pyramid_roi_align(features, rois, image, scales, p)
    if not legacy_area and not aligned and len(strides) > 1:  # the pooler itself, where it has such a mode
        m = MultiScaleRoIAlign([str(l) for l in range(len(strides))], pooled, sampling_ratio or -1)
        m.scales, m.map_levels = scales, torchvision.ops.poolers.initLevelMapper(min_level,
                                                                                 min_level + len(strides) - 1)
        order = torch.argsort(image, stable=True)
        per_image = [rois[order][image[order] == i] for i in range(images)]
        pooled_all = m({str(l): f for l, f in enumerate(features)}, per_image, [size] * images)
        out2 = torch.empty_like(pooled_all).index_copy(0, order, pooled_all)
        assert torch.equal(out, out2)
    grad = torch.randn(out.shape, generator=g)
    # Also with |grad|, which is the sum of absolute terms that bounds the rounding of the sum.
    got = torch.autograd.grad(out, features, grad, retain_graph=True)
    absolute = torch.autograd.grad(out, features, grad.abs())
    arrays = dict(
        ints=np.array(
            [images, channels, len(strides), pooled, sampling_ratio, aligned, legacy_area, min_level], np.int32),
        sizes=np.array([f.shape[2:] for f in features], np.int32), scales=np.array(scales, np.float32), rois=rois,
        image=image.int(), out=out.permute(0, 2, 3, 1), grad=grad.permute(0, 2, 3, 1))
    for l in range(len(strides)):
        arrays[f"feature{l}"] = features[l].permute(0, 2, 3, 1)
        arrays[f"grad{l}"] = got[l].permute(0, 2, 3, 1)
        arrays[f"abs{l}"] = absolute[l].permute(0, 2, 3, 1)
    write("roi_align-" + name, **arrays)


def roi_align_cases():
    pyramid = (4, 8, 16, 32)
    roi_align_case("one_level", 2, 3, (52, 68), (4,), 20, 1, pooled=5)
    roi_align_case("one_level_aligned", 2, 3, (52, 68), (4,), 20, 2, pooled=5, aligned=True)
    roi_align_case("pyramid_c64", 2, 64, (320, 448), pyramid, 60, 3)
    roi_align_case("pyramid_c261_p14", 1, 261, (256, 320), pyramid, 12, 4, pooled=14)
    roi_align_case("adaptive_c37", 2, 37, (250, 330), pyramid, 20, 5, sampling_ratio=0)
    roi_align_case("adaptive_aligned_c8", 1, 8, (160, 90), (8,), 20, 6, sampling_ratio=0, aligned=True)
    roi_align_case("legacy_level_c16", 2, 16, (800, 704), pyramid, 60, 7, legacy_area=True)
    roi_align_case("three_samples_c20", 1, 20, (97, 131), pyramid, 15, 8, sampling_ratio=3, pooled=3)
    roi_align_case("no_rois", 1, 4, (64, 64), pyramid, 0, 9, odd=False)
    roi_align_case("one_pixel_map", 1, 5, (16, 16), (16,), 4, 10)


# ---------------------------------------------------------------------------------------------------------- matching

def legacy_iou(a, b):
    area = lambda x: (x[:, 2] - x[:, 0] + 1) * (x[:, 3] - x[:, 1] + 1)
    wh = (torch.min(a[:, None, 2:], b[:, 2:]) - torch.max(a[:, None, :2], b[:, :2]) + 1).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (area(a)[:, None] + area(b) - inter)


def match_case(name, counts, candidates_n, capacity, seed, high=0.7, low=0.3, quality=True, legacy=False, shared=True,
               grid=False, hidden=False):
    g = generator(seed)
    images = len(counts)
    gt = torch.zeros(images, capacity, 4)
    for n, c in enumerate(counts):
        gt[n, :c] = random_boxes(c, 120, 160, g, 4)
    candidates = torch.stack(
        [random_boxes(candidates_n, 160, 200, g, 4, 0.9) - 20 for _ in range(1 if shared else images)])
    if grid:  # many ties
        gt, candidates = torch.round(gt / 16) * 16, torch.round(candidates / 16) * 16
        gt[..., 2:] += 16
        candidates[..., 2:] += 16
        gt[:, 1] = gt[:, 0]  # the first of two equal objects wins
    visible = torch.rand(images, candidates_n, generator=g) < 0.7 if hidden else torch.ones(
        images, candidates_n, dtype=torch.bool)
    matched = torch.full((images, candidates_n), -1, dtype=torch.int64)
    matcher = _utils.Matcher(high, low, quality)
    for n, c in enumerate(counts):
        if c:
            iou = (legacy_iou if legacy else box_ops.box_iou)(gt[n, :c], candidates[0 if shared else n])
            matched[n] = matcher(iou)
    matched[~visible] = -2
    write("match-" + name, ints=np.array([images, candidates_n, capacity, shared, quality, legacy], np.int32),
          floats=np.array([high, low], np.float32), gt=gt, count=np.array(counts, np.int32), candidates=candidates,
          visible=visible, matched=matched.int())


def match_cases():
    match_case("anchors", [7, 0, 1, 20], 3001, 20, 1)
    match_case("anchors_ties", [5, 9], 2048, 10, 2, grid=True)
    match_case("anchors_hidden", [5, 2], 777, 6, 3, hidden=True)
    match_case("anchors_legacy", [6, 3], 1500, 6, 4, legacy=True)
    match_case("legacy_ties", [6, 3], 1500, 6, 5, legacy=True, grid=True)
    match_case("proposals", [4, 8], 513, 8, 6, high=0.5, low=0.5, quality=False, shared=False)
    match_case("single", [1], 1, 1, 7)
    match_case("crowded", [100], 256, 100, 8, high=0.5, low=0.4)


# ----------------------------------------------------------------------------------------------------------- sampling

def mix64(x):
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def random_bits(seed, purpose, a, b, c):
    """core/rng.h, written down again."""
    h = mix64(np.uint64(seed) ^ mix64(np.uint64(purpose)))
    return mix64(mix64(mix64(h ^ np.uint64(a)) ^ np.uint64(b)) ^ np.asarray(c, np.uint64))


def sample_case(name, matched, size, fraction, seed=11, purpose=3, step=5):
    """torchvision's sampler with a permutation that orders by the counter's bits instead of by randperm."""
    images, candidates = matched.shape
    ids = np.arange(images, dtype=np.int64) * 1000 + 139
    index, positives, total = np.zeros((images, size), np.int32), np.zeros(images, np.int32), np.zeros(images, np.int32)
    sampler = _utils.BalancedPositiveNegativeSampler(size, fraction)
    for n in range(images):
        labels = torch.where(matched[n] >= 0, 1, torch.where(matched[n] == -1, 0, -1))
        bits = random_bits(seed, purpose, step, ids[n], np.arange(candidates))
        pools = [torch.where(labels >= 1)[0].numpy(), torch.where(labels == 0)[0].numpy()]
        order = iter([torch.from_numpy(np.argsort(bits[pool], kind="stable")) for pool in pools])
        original, torch.randperm = torch.randperm, lambda *_, **__: next(order)
        pos, neg = sampler([labels])
        torch.randperm = original
        pos, neg = torch.where(pos[0])[0].numpy(), torch.where(neg[0])[0].numpy()
        index[n, :len(pos)], index[n, len(pos):len(pos) + len(neg)] = pos, neg
        positives[n], total[n] = len(pos), len(pos) + len(neg)
    write("sample-" + name, ints=np.array([images, candidates, size, seed, purpose, step],
                                          np.int64), floats=np.array([fraction], np.float32), matched=matched.int(),
          id=ids, index=index, positives=positives, total=total)


def sample_cases():
    g = generator(1)
    some = torch.randint(-2, 3, (3, 999), generator=g)
    sample_case("some", some, 256, 0.5)
    sample_case("quarter", some, 512, 0.25)
    sample_case("few_candidates", some[:, :40], 64, 0.5)
    sample_case("no_positive", torch.full((2, 500), -1), 64, 0.5)
    sample_case("no_negative", torch.zeros(2, 500, dtype=torch.int64), 64, 0.7)
    sample_case("all_ignored", torch.full((1, 33), -2), 16, 0.5)
    sample_case("fraction_0.7", some, 10, 0.7)
    sample_case("many", torch.where(torch.rand(1, 60000, generator=g) < 0.001, 4, -1), 256, 0.5)


# -------------------------------------------------------------------------------------------------------- box coding

def legacy_encode(gt, ref, w):
    size = lambda b: (b[:, 2] - b[:, 0] + 1, b[:, 3] - b[:, 1] + 1)
    (rw, rh), (gw, gh) = size(ref), size(gt)
    rx, ry, gx, gy = ref[:, 0] + 0.5 * rw, ref[:, 1] + 0.5 * rh, gt[:, 0] + 0.5 * gw, gt[:, 1] + 0.5 * gh
    return torch.stack(
        [w[0] * (gx - rx) / rw, w[1] * (gy - ry) / rh, w[2] * torch.log(gw / rw), w[3] * torch.log(gh / rh)], 1)


def legacy_decode(delta, ref, w, clamp=np.log(1000.0 / 16)):
    rw, rh = ref[:, 2] - ref[:, 0] + 1, ref[:, 3] - ref[:, 1] + 1
    rx, ry = ref[:, 0] + 0.5 * rw, ref[:, 1] + 0.5 * rh
    x, y = delta[:, 0] / w[0] * rw + rx, delta[:, 1] / w[1] * rh + ry
    pw = torch.exp(torch.clamp(delta[:, 2] / w[2], max=clamp)) * rw
    ph = torch.exp(torch.clamp(delta[:, 3] / w[3], max=clamp)) * rh
    return torch.stack([x - 0.5 * pw, y - 0.5 * ph, x + 0.5 * pw - 1, y + 0.5 * ph - 1], 1)


def box_coder_cases():
    for name, w, legacy in [("rpn", (1.0, 1.0, 1.0, 1.0), False), ("roi", (10.0, 10.0, 5.0, 5.0), False),
                            ("legacy_rpn", (1.0, 1.0, 1.0, 1.0), True), ("legacy_roi", (10.0, 10.0, 5.0, 5.0), True)]:
        g = generator(5)
        gt, ref = random_boxes(500, 600, 800, g, 2), random_boxes(500, 600, 800, g, 2)
        delta = torch.randn(500, 4, generator=g) * 0.8
        delta[:20, 2:] = 40.0  # beyond the clamp
        if legacy:
            encoded, decoded = legacy_encode(gt, ref, w), legacy_decode(delta, ref, w)
        else:
            coder = _utils.BoxCoder(w)
            encoded, decoded = coder.encode_single(gt, ref), coder.decode_single(delta, ref)
        write("box_coder-" + name, ints=np.array([legacy], np.int32), weights=np.array(w, np.float32), gt=gt,
              reference=ref, delta=delta, encoded=encoded, decoded=decoded)


# ------------------------------------------------------------------------------------------------- NMS and proposals

def legacy_nms(boxes, threshold):
    """Greedy NMS over boxes in descending order of score, boxes of x2 - x1 + 1 pixels."""
    alive, keep = torch.ones(len(boxes), dtype=torch.bool), []
    for i in range(len(boxes)):
        if alive[i]:
            keep.append(i)
            alive &= ~(legacy_iou(boxes[i:i + 1], boxes)[0] > threshold)
    return torch.tensor(keep, dtype=torch.int64)


def nms_case(name, boxes, threshold, legacy=False):
    scores = torch.linspace(1, 0, len(boxes)) if len(boxes) > 1 else torch.ones(len(boxes))
    keep = legacy_nms(boxes, np.float32(threshold)) if legacy else torchvision.ops.nms(
        boxes, scores, float(np.float32(threshold)))
    write("nms-" + name, ints=np.array([legacy], np.int32), floats=np.array([threshold], np.float32), boxes=boxes,
          keep=keep.int())


def nms_cases():
    g = generator(3)
    for threshold in (0.3, 0.5, 0.7):
        nms_case(f"random_{threshold}", random_boxes(1500, 200, 300, g, 10, 0.6), threshold)
        nms_case(f"grid_{threshold}", torch.cat([b := torch.randint(0, 12, (900, 2), generator=g).float(),
                                                b + torch.randint(1, 9, (900, 2), generator=g)], 1), threshold)
        nms_case(f"legacy_{threshold}", torch.round(random_boxes(400, 200, 300, g, 10, 0.6)), threshold, True)
    nms_case("none", torch.zeros(0, 4), 0.5)
    nms_case("one", torch.tensor([[1.0, 2, 3, 4]]), 0.5)
    nms_case("equal", torch.tensor([[1.0, 2, 3, 4]]).repeat(37, 1), 0.5)
    nms_case("exactly_half", torch.tensor([[0.0, 0, 2, 1], [0, 0, 1, 1], [0, 0, 4, 1], [0, 0, 3, 1]]), 0.5)
    nms_case("no_area", torch.tensor([[5.0, 5, 5, 5], [5, 5, 5, 5], [5, 5, 6, 6], [9, 9, 8, 8]]), 0.5)
    nms_case("zero_threshold", random_boxes(100, 200, 300, g, 10, 0.6), 0.0)


def legacy_proposals(logits, deltas, anchors, sizes, levels, p):
    """maskrcnn-benchmark: sigmoid scores; each level cut and suppressed by itself, then over levels or over the
    batch."""
    per_image = []
    for n in range(len(logits)):
        boxes, scores = [], []
        for a, b in zip(levels[:-1], levels[1:]):
            score, at = logits[n, a:b].topk(min(p["pre_nms"], b - a), sorted=True)
            box = legacy_decode(deltas[n, a:b][at], anchors[a:b][at], (1.0, 1.0, 1.0, 1.0))
            h, w = sizes[n]
            box[:, 0::2], box[:, 1::2] = box[:, 0::2].clamp(0, w - 1), box[:, 1::2].clamp(0, h - 1)
            ok = (box[:, 2] - box[:, 0] + 1 >= p["min_size"]) & (box[:, 3] - box[:, 1] + 1 >= p["min_size"])
            box, score = box[ok], score[ok]
            keep = legacy_nms(box, np.float32(p["nms"]))[:p["post_nms_per_level"]]
            boxes.append(box[keep]), scores.append(score[keep])
        per_image.append((torch.cat(boxes), torch.cat(scores)))
    if p["post_nms_batch"]:
        everything = torch.cat([s for _, s in per_image])
        least = everything.topk(min(p["post_nms_batch"], len(everything)))[0][-1]
        per_image = [(b[s >= least], s[s >= least]) for b, s in per_image]
    out = []
    for b, s in per_image:
        order = s.argsort(descending=True)[:p["post_nms"]]
        out.append((b[order], s[order]))
    return out


def proposal_case(name, seed, sizes, shapes, pre, post, legacy=False, per_level=0, batch=0, min_size=1e-3, nms=0.7):
    g = generator(seed)
    images, anchors, levels = len(sizes), [], [0]
    for l, (h, w) in enumerate(shapes):
        stride, scale = 4 << l, 16 << l
        y, x = torch.meshgrid(torch.arange(h) * stride, torch.arange(w) * stride, indexing="ij")
        for_cell = torch.tensor([[-scale, -scale / 2, scale, scale / 2], [-scale / 2, -scale / 2, scale / 2, scale / 2],
                                 [-scale / 2, -scale, scale / 2, scale]])
        anchors.append((torch.stack([x, y, x, y], 2).reshape(-1, 1, 4) + for_cell).reshape(-1, 4).float())
        levels.append(levels[-1] + len(anchors[-1]))
    a = torch.cat(anchors)
    # Distinct, also after torchvision's sigmoid, which merges close logits: the order of ties is not defined there.
    logits = torch.stack([(torch.randperm(len(a), generator=g) + n / images) / len(a) * 8 - 4 for n in range(images)])
    deltas = torch.randn(images, len(a), 4, generator=g) * 0.3
    assert all(len(torch.unique(torch.sigmoid(x))) == len(x) for x in logits)
    if legacy:
        result = legacy_proposals(
            logits, deltas, a, sizes, levels,
            dict(pre_nms=pre, post_nms=post, post_nms_per_level=per_level, post_nms_batch=batch, min_size=min_size,
                 nms=nms))
    else:
        coder = _utils.BoxCoder((1.0, 1.0, 1.0, 1.0))
        decoded = coder.decode(deltas.reshape(-1, 4), [a] * images).view(images, -1, 4)
        me = SimpleNamespace(min_size=min_size, score_thresh=0.0, nms_thresh=nms, pre_nms_top_n=lambda: pre,
                             post_nms_top_n=lambda: post)
        me._get_top_n_idx = lambda o, n: rpn.RegionProposalNetwork._get_top_n_idx(me, o, n)
        b, s = rpn.RegionProposalNetwork.filter_proposals(me, decoded, logits, sizes, list(np.diff(levels)))
        result = [(x, torch.logit(y.double()).float()) for x, y in zip(b, s)]
    boxes, scores = np.zeros((images, post, 4), np.float32), np.zeros((images, post), np.float32)
    for n, (b, s) in enumerate(result):
        boxes[n, :len(b)], scores[n, :len(b)] = b, s
    write("proposals-" + name, ints=np.array([images, len(a), pre, post, per_level, batch, legacy],
                                             np.int32), floats=np.array([min_size, nms], np.float32),
          levels=np.array(levels, np.int64), sizes=np.array(sizes, np.int32), logits=logits, deltas=deltas, anchors=a,
          boxes=boxes, scores=scores, count=np.array([len(b) for b, _ in result], np.int32))


def proposal_cases():
    pyramid = [(32, 40), (16, 20), (8, 10), (4, 5), (2, 3)]
    proposal_case("small", 1, [(128, 160), (100, 160), (128, 90)], pyramid, 400, 100)
    proposal_case("large", 2, [(256, 320)], [(64, 80), (32, 40), (16, 20), (8, 10), (4, 5)], 2000, 1000)
    proposal_case("big_min_size", 3, [(128, 160), (64, 64)], pyramid, 200, 300, min_size=12.0)
    proposal_case("one_level", 4, [(64, 64)], [(9, 7)], 1000, 50, nms=0.5)
    proposal_case("legacy_test", 5, [(128, 160), (100, 160)], pyramid, 300, 250, legacy=True, per_level=150, min_size=0)
    proposal_case("legacy_train", 6, [(128, 160), (100, 160), (128, 90)], pyramid, 300, 400, legacy=True, per_level=200,
                  batch=400, min_size=0)


# --------------------------------------------------------------------------------------------------------- detections

def detection_case(name, counts, capacity, classes, seed, detections=100, score=0.05, spread=2.0):
    g = generator(seed)
    images, sizes = len(counts), [(200 + 40 * n, 300) for n in range(len(counts))]
    logits = torch.randn(images, capacity, classes, generator=g) * spread
    deltas = torch.randn(images, capacity, classes, 4, generator=g)
    deltas[:, ::7, :, 2:] = -60.0  # boxes without size: dropped
    rois = torch.stack([random_boxes(capacity, 200, 300, g, 8, 0.6) for _ in counts])
    me = SimpleNamespace(box_coder=_utils.BoxCoder((10.0, 10.0, 5.0, 5.0)), score_thresh=score, nms_thresh=0.5,
                         detections_per_img=detections)
    valid = [torch.arange(c) for c in counts]
    b, s, l = roi_heads.RoIHeads.postprocess_detections(me, torch.cat([x[v] for x, v in zip(logits, valid)]),
                                                        torch.cat([x[v] for x, v in zip(deltas, valid)]).flatten(1),
                                                        [x[v] for x, v in zip(rois, valid)], sizes)
    boxes, scores = np.zeros((images, detections, 4), np.float32), np.zeros((images, detections), np.float32)
    labels = np.zeros((images, detections), np.int32)
    for n in range(images):
        k = len(b[n])
        boxes[n, :k], scores[n, :k], labels[n, :k] = b[n], s[n], l[n]
    write("detections-" + name, ints=np.array([images, capacity, classes, detections],
                                              np.int32), floats=np.array([score],
                                                                         np.float32), sizes=np.array(sizes, np.int32),
          probabilities=torch.softmax(logits, -1), deltas=deltas, rois=rois, roi_count=np.array(counts, np.int32),
          boxes=boxes, scores=scores, labels=labels, count=np.array([len(x) for x in b], np.int32))


def detection_cases():
    detection_case("coco", [300, 0, 150], 300, 81, 1, spread=4.0)
    detection_case("few_classes", [100, 64], 100, 7, 2)
    detection_case("fewer_than_wanted", [5], 8, 3, 3)
    detection_case("low_threshold", [200], 200, 11, 4, detections=20, score=1e-4)


# -------------------------------------------------------------------------------------------------------------- masks

def blobs(n, height, width, g):
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    out = torch.zeros(n, height, width, dtype=torch.uint8)
    boxes = random_boxes(n, height, width, g, 6)
    for i, (x1, y1, x2, y2) in enumerate(boxes.tolist()):
        inside = ((x - (x1 + x2) / 2) / ((x2 - x1) / 2)) ** 2 + ((y - (y1 + y2) / 2) / ((y2 - y1) / 2)) ** 2 <= 1
        out[i] = (inside & (torch.rand(height, width, generator=g) < 0.9)).byte()
    return out, boxes


def mask_bitmap_case(name, height, width, objects, rois_n, seed, size=28):
    g = generator(seed)
    masks, boxes = blobs(objects, height, width, g)
    masks[0] = 0
    masks[-1] = 1  # touches every border
    at = torch.randint(0, objects, (rois_n,), generator=g)
    rois = boxes[at] + torch.randn(rois_n, 4, generator=g) * 5
    rois[:, 0::2], rois[:, 1::2] = rois[:, 0::2].clamp(0, width), rois[:, 1::2].clamp(0, height)
    rois[0] = torch.tensor([0, 0, width, height])
    rois[1] = torch.tensor([3.0, 4, 3, 4])
    target = roi_heads.project_masks_on_boxes(masks, rois, at, size)
    at[2] = -1
    target[2] = 0
    box, offset, data = np.zeros((objects, 4), np.int32), np.zeros(objects, np.int64), b""
    for i, m in enumerate(masks.numpy()):
        rows, columns = np.where(m.any(1))[0], np.where(m.any(0))[0]
        offset[i] = len(data)
        if len(rows):
            y0, y1, x0, x1 = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
            box[i] = x0, y0, x1 - x0, y1 - y0
            data += m[y0:y1, x0:x1].tobytes()
    write("mask_bitmap-" + name, ints=np.array([size, height, width], np.int32), bytes=np.frombuffer(data, np.uint8),
          offset=offset, box=box, object=at.int(), rois=rois, target=target)


def mask_polygon_case(name, seed, rois_n, spread, size=28):
    import pycocotools.mask as coco
    g = np.random.default_rng(seed)
    object_polygon, polygon_vertex, vertices, polygons = [0], [0], [], []
    for _ in range(12):
        mine = []
        for _ in range(g.integers(1, 4)):
            n = int(g.integers(3, 30))
            angle = np.sort(g.random(n)) * 2 * np.pi
            radius = g.uniform(4, 80) * g.uniform(0.3, 1, n)
            at = g.uniform(20, 300, 2)
            v = np.stack([at[0] + radius * np.cos(angle), at[1] + radius * np.sin(angle)], 1).astype(np.float32)
            if g.random() < 0.3:
                v = np.round(v)
            if g.random() < 0.3:
                v = np.concatenate([v, v[-1:]])  # an edge of no length
            mine.append(v)
            vertices.append(v)
            polygon_vertex.append(polygon_vertex[-1] + len(v))
        mine_n = len(mine)
        object_polygon.append(object_polygon[-1] + mine_n)
        polygons.append(mine)
    at = g.integers(0, 12, rois_n)
    target, rois = np.zeros((rois_n, size, size), np.float32), np.zeros((rois_n, 4), np.float32)
    for r in range(rois_n):
        v = np.concatenate(polygons[at[r]])
        lo, hi = v.min(0), v.max(0)
        roi = np.concatenate([lo, hi]) + g.normal(0, spread, 4)
        if g.random() < 0.2:
            roi = np.round(roi)
        if r == 0:
            roi[2:] = roi[:2] + 0.25
        roi[2:] = np.maximum(roi[2:], roi[:2])
        rois[r] = roi
        w, h = (torch.tensor(rois[r, i + 2] - rois[r, i]).clamp(min=1) for i in (0, 1))
        scaled = []
        for p in polygons[at[r]]:
            q = torch.from_numpy(p.copy())
            q[:, 0] = (q[:, 0] - rois[r, 0]) * (size / float(w))
            q[:, 1] = (q[:, 1] - rois[r, 1]) * (size / float(h))
            scaled.append(q.numpy().astype(np.float64).reshape(-1).tolist())
        target[r] = coco.decode(coco.merge(coco.frPyObjects(scaled, size, size)))
    write("mask_polygon-" + name, ints=np.array([size], np.int32), object_polygon=np.array(object_polygon, np.int32),
          polygon_vertex=np.array(polygon_vertex, np.int32), vertices=np.concatenate(vertices),
          object=at.astype(np.int32), rois=rois, target=target)


def paste_case(name, seed, n, height, width, size=28):
    g = generator(seed)
    masks = torch.rand(n, 1, size, size, generator=g)
    masks = torch.nn.functional.avg_pool2d(masks, 5, 1, 2) * 1.2 - 0.1 if seed % 2 else masks
    boxes = random_boxes(n, height, width, g)
    boxes[0] = torch.tensor([0, 0, width, height])
    boxes[1] = torch.tensor([0.0, 0, 0.4, 0.4])
    boxes[2] = torch.tensor([width - 0.5, height - 0.5, width, height])
    pasted = roi_heads.paste_masks_in_image(masks, boxes, (height, width))[:, 0]
    write("paste-" + name, ints=np.array([size, height, width], np.int32), masks=masks[:, 0], boxes=boxes,
          pasted=pasted)


def mask_cases():
    mask_bitmap_case("small", 128, 160, 6, 40, 1)
    mask_bitmap_case("large", 600, 800, 5, 30, 2)
    mask_bitmap_case("size_7", 61, 47, 3, 20, 3, size=7)
    mask_polygon_case("near", 1, 150, 4)
    mask_polygon_case("far", 2, 150, 60)
    mask_polygon_case("size_14", 3, 60, 10, size=14)
    paste_case("coco", 1, 25, 480, 640)
    paste_case("noise", 2, 25, 97, 131)
    paste_case("size_14", 3, 10, 50, 60, size=14)


# ---------------------------------------------------------------------------------------------------------------- SGD

def sgd_cases():
    for name, n, decay, momentum in [("decay", 1003, 1e-4, 0.9), ("no_decay", 517, 0.0, 0.9),
                                     ("no_momentum", 7, 1e-2, 0.0), ("none", 0, 1e-4, 0.9)]:
        g = generator(7)
        w = torch.nn.Parameter(torch.randn(n, generator=g))
        start, grads = w.detach().clone(), torch.randn(6, n, generator=g)
        # A momentum of 0 is another code path of torch's (no buffer); ours is the limit of a tiny one.
        opt = torch.optim.SGD([w], lr=0.02, momentum=momentum, weight_decay=decay)
        for step in range(6):
            w.grad = grads[step].clone()
            opt.step()
        buffer = opt.state[w].get("momentum_buffer")
        if buffer is None:
            buffer = torch.zeros(0)
        write("sgd-" + name, floats=np.array([0.02, momentum, decay], np.float32), start=start, grads=grads, weight=w,
              momentum=buffer)


# ------------------------------------------------------------------------------------------ 16-bit types, scale and
# offset

def float16_cases():
    patterns = torch.arange(65536, dtype=torch.int32).to(torch.int16)
    g = generator(8)
    # Any float32; those half way between two neighbours of float16 and of bfloat16, and the numbers beside these.
    halves = patterns.view(torch.float16).float()
    halves = halves[torch.isfinite(halves) & (halves >= 0)].sort().values
    middles = torch.cat([(halves[1:] + halves[:-1]) / 2,
                         (torch.arange(0, 0x7F80, dtype=torch.int32) * 65536 + 32768).view(torch.float32),
                         torch.tensor([65519.0, 65520.0, 65536.0])])
    near = torch.cat(
        [middles,
         torch.nextafter(middles, torch.tensor(torch.inf)),
         torch.nextafter(middles, torch.tensor(0.0))])
    special = torch.tensor([0.0, torch.inf, torch.nan, 1e-45, 2.0**-25, 2.0**-24, 3e38])
    x = torch.cat(
        [torch.randint(-2**31, 2**31, (100000, ), generator=g).to(torch.int32).view(torch.float32), near, special])
    x = torch.cat([x, -x])
    bits = lambda t: t.view(torch.int16).to(torch.int32) & 0xFFFF
    write("float16-all", float16=patterns.view(torch.float16).float(), bfloat16=patterns.view(torch.bfloat16).float(),
          x=x, x_float16=bits(x.to(torch.float16)), x_bfloat16=bits(x.to(torch.bfloat16)))


def scale_offset_relu_cases():
    for name, kind in [("float32", torch.float32), ("bfloat16", torch.bfloat16), ("float16", torch.float16)]:
        g = generator(9)
        x, residual = (torch.randn(300, 37, generator=g).to(kind) for _ in range(2))
        offset = torch.randn(37, generator=g)
        x[5, 3] = torch.nan
        sums = x.float() + offset
        as_bits = lambda t: t.view(torch.int32) if kind == torch.float32 else t.view(torch.int16).to(torch.int32
                                                                                                     ) & 0xFFFF
        write("scale_offset_relu-" + name, x=as_bits(x), residual=as_bits(residual), offset=offset,
              plain=as_bits(sums.to(kind)), relu=as_bits(sums.relu().to(kind)), added=as_bits(
                  (sums + residual.float()).relu().to(kind)))


if __name__ == "__main__":
    for cases in (roi_align_cases, match_cases, sample_cases, box_coder_cases, nms_cases, proposal_cases,
                  detection_cases, mask_cases, sgd_cases, float16_cases, scale_offset_relu_cases):
        cases()
    print("torch", torch.__version__, "torchvision", torchvision.__version__)
