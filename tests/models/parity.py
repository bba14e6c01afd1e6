#!/usr/bin/env python3
"""The model against torchvision's Mask R-CNN, live: same weights, same batch of real images, same sampled anchors and
RoIs.

Compares the five losses, the gradient of every parameter, predictions, ten SGD steps and the weights after them;
weights are carried over in the HDF5 files that data/convert_weights.py and the trainer write. The tolerance is what
float32 itself costs: the reference also runs in float64, and our distance from it may be a small multiple of the
distance of torchvision's own float32 run. With --device cuda both run on the GPU.

  parity.py PROBE DATA [--arch small|resnet50] [--size N] [--images N] [--steps N] [--precision fp32|bf16|fp16]
  [--device cpu|cuda]
PROBE is tests/model_probe, DATA a folder with instances_train2017.json and train2017/. Exit code 77: something needed
is missing.
"""
import argparse, copy, json, os, subprocess, sys, tempfile

try:
    import h5py
    import numpy as np
    import torch
    from PIL import Image, ImageDraw
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.models.detection import MaskRCNN, maskrcnn_resnet50_fpn
    from torchvision.models.detection.backbone_utils import BackboneWithFPN
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
    from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
    from torchvision.models.detection.rpn import AnchorGenerator
    from torchvision.models.resnet import BasicBlock, ResNet
    from torch import nn
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CONVERT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/convert_weights.py")
LOSSES = ["loss_objectness", "loss_rpn_box_reg", "loss_classifier", "loss_box_reg", "loss_mask"]
CLASSES = 91
# How many times torchvision's own float32 error ours may be. Both are sums of the same products in different orders;
# over the layers of the network the two errors are draws from one distribution, and the largest of some 100 parameters
# is compared.
FACTOR = 8.0
# One unit of float32 rounding on the scale of the compared tensor, times the length of the longest chain of dependent
# sums.
FLOOR = 64 * 2.0 ** -24
# In bfloat16 (8 bits) one rounding is 2^-8, in float16 (11 bits) 2^-11. A loss in which torchvision's roundings happen
# to cancel may be off by that.
FLOORS = {"bf16": 2.0 ** -8 / FACTOR, "fp16": 2.0 ** -11 / FACTOR}
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
# In float16 both sides multiply the loss: a mask's pixel has a gradient of at most 1 / (32 x 28 x 28) = 4e-5, and
# there, below 6e-5, float16 loses bits one by one. The recipes' 65536 is no measure here: steps that overflow are
# skipped in a training, and a comparison has no other step. A power of two changes nothing else.
LOSS_SCALES = {"bf16": 1.0, "fp16": 1024.0}


def small_model(size, detections):
    w, c, hidden = 16, 64, 128
    r = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=1)
    r.inplanes, r.conv1, r.bn1 = w, nn.Conv2d(3, w, 7, 2, 3, bias=False), nn.BatchNorm2d(w)
    for i in range(4):
        setattr(r, f"layer{i + 1}", r._make_layer(BasicBlock, w << i, 1, 1 if i == 0 else 2))
    body = BackboneWithFPN(r, {f"layer{i + 1}": str(i) for i in range(4)}, [w << i for i in range(4)], c)
    return MaskRCNN(
        body, None, min_size=size, max_size=size, rpn_anchor_generator=AnchorGenerator(
            ((8, ), (16, ), (32, ), (64, ), (128, )), ((0.5, 1.0, 2.0), ) * 5), rpn_pre_nms_top_n_train=400,
        rpn_post_nms_top_n_train=100, rpn_pre_nms_top_n_test=200, rpn_post_nms_top_n_test=50,
        rpn_batch_size_per_image=64, box_batch_size_per_image=64, box_detections_per_img=detections,
        box_score_thresh=0.005, box_head=TwoMLPHead(c * 49, hidden), box_predictor=FastRCNNPredictor(hidden, CLASSES),
        mask_head=MaskRCNNHeads(c, (c, ) * 4, 1), mask_predictor=MaskRCNNPredictor(c, c, CLASSES))


def text(s):
    return torch.tensor(list(s.encode()), dtype=torch.uint8)


def config_of(arch, detections, precision):
    c = {
        "classes": CLASSES, "shapes": text("static"), "precision": text(precision), "roi.score_threshold": 0.005,
        "roi.detections": detections
    }
    if arch == "small":
        c |= {
            "backbone.block": text("basic"), "backbone.blocks": [1, 1, 1, 1], "backbone.width": 16,
            "backbone.fpn_channels": 64, "rpn.anchor_sizes": [8, 16, 32, 64, 128], "rpn.sample": 64,
            "rpn.pre_nms_train": 400, "rpn.post_nms_train": 100, "rpn.pre_nms_test": 200, "rpn.post_nms_test": 50,
            "roi.sample": 64, "roi.box_hidden": 128, "roi.mask_channels": 64
        }
    return {"config." + k: v if isinstance(v, torch.Tensor) else torch.tensor(v) for k, v in c.items()}


def filled(polygons, info):
    """The polygons as a mask of the image's size. Both sides get the same, so any rule for the pixels at the edge will
    do."""
    mask = Image.new("1", (info["width"], info["height"]))
    for polygon in polygons:
        ImageDraw.Draw(mask).polygon(polygon, fill=1)
    return np.array(mask, dtype=np.uint8)


def load(data, count):
    with open(os.path.join(data, "instances_train2017.json")) as f:
        coco = json.load(f)
    images, targets, ids = [], [], []
    for info in sorted(coco["images"], key=lambda i: i["id"]):
        image_id = info["id"]
        anns = [
            a for a in coco["annotations"]
            if a["image_id"] == image_id and not a["iscrowd"] and a["bbox"][2] > 1 and a["bbox"][3] > 1
        ]
        if not 2 <= len(anns) <= 12:
            continue
        image = decode_image(read_file(os.path.join(data, "train2017", info["file_name"])), mode=ImageReadMode.RGB)
        images.append(image.float() / 255)
        targets.append(
            dict(
                boxes=torch.tensor([[x, y, x + w, y + h] for x, y, w, h in (a["bbox"] for a in anns)],
                                   dtype=torch.float32), labels=torch.tensor([a["category_id"] for a in anns]),
                masks=torch.from_numpy(np.stack([filled(a["segmentation"], info) for a in anns]))))
        ids.append(image_id)
        if len(images) == count:
            break
    return images, targets, torch.tensor(ids)


def probe_input(model, config, images, targets, ids, steps, lr):
    batch, scaled = model.transform([i.clone() for i in images], [dict(t) for t in targets])
    # one row more than needed: fillers are part of the test
    n, capacity = len(images), max(len(t["labels"]) for t in targets) + 1
    box, label = torch.zeros(n, capacity, 4), torch.zeros(n, capacity, dtype=torch.int32)
    crop, offset, pool = torch.zeros(n * capacity, 4, dtype=torch.int32), torch.zeros(n * capacity,
                                                                                      dtype=torch.int64), []
    used = 0
    for i, t in enumerate(scaled):
        g = len(t["labels"])
        box[i, :g], label[i, :g] = t["boxes"], t["labels"].int()
        for j, m in enumerate(t["masks"]):
            ys, xs = torch.where(m)
            if len(ys):
                y0, y1, x0, x1 = ys.min().item(), ys.max().item() + 1, xs.min().item(), xs.max().item() + 1
                crop[i * capacity + j] = torch.tensor([x0, y0, x1 - x0, y1 - y0])
                offset[i * capacity + j] = used
                pool.append(m[y0:y1, x0:x1].contiguous().flatten())
                used += len(pool[-1])
    out = dict(config)
    out |= {
        "images": batch.tensors, "image_size": torch.tensor(batch.image_sizes,
                                                            dtype=torch.int32), "image_id": ids, "gt_box": box,
        "gt_label": label, "gt_count": torch.tensor([len(t["labels"]) for t in targets],
                                                    dtype=torch.int32), "bitmap_box": crop, "bitmap_offset": offset,
        "bitmap_bytes": torch.cat(pool), "steps": torch.tensor(steps), "lr": torch.tensor(lr, dtype=torch.float64)
    }
    return out, batch, scaled


class FedSampler:
    """Gives torchvision the choices that the probe made."""

    def __init__(self):
        self.rows, self.proposals, self.added, self.total = None, None, 0, 0

    def add_missing(self, proposals):
        """Which proposals survive NMS hangs on the last bits of scores and overlaps. RoIs that only the probe has are
        fed in too, and counted."""
        for i, boxes in enumerate(proposals):
            wanted = self.rows["roi.boxes"][i][:int(self.rows["roi.total"][i])].to(boxes)
            missing = wanted[torch.cdist(wanted, boxes, p=float("inf")).min(1).values > 0.02]
            proposals[i] = torch.cat([boxes, missing])
            self.added += len(missing)
            self.total += len(wanted)

    def anchors(self, matched):
        pos, neg = [], []
        for i, m in enumerate(matched):
            index, p, t = self.rows["anchor.index"][i].long(), int(self.rows["anchor.positives"][i]), int(
                self.rows["anchor.total"][i])
            a, b = torch.zeros_like(m, dtype=torch.uint8), torch.zeros_like(m, dtype=torch.uint8)
            a[index[:p]], b[index[p:t]] = 1, 1
            assert bool((m[index[:p]] >= 1).all()) and bool(
                (m[index[p:t]] == 0).all()), "sampled anchors carry other labels in torchvision"
            pos.append(a), neg.append(b)
        return pos, neg

    def rois(self, labels):
        chosen = []
        for i, proposals in enumerate(self.proposals):
            t = int(self.rows["roi.total"][i])
            boxes = self.rows["roi.boxes"][i][:t].to(proposals)
            distance = torch.cdist(boxes, proposals, p=float("inf"))
            worst, index = distance.min(1)
            assert worst.max() <= 0.02
            p = int(self.rows["roi.positives"][i])
            assert bool((labels[i][index[:p]] > 0).all()) and bool(
                (labels[i][index[p:]] == 0).all()), "sampled RoIs carry other labels"
            chosen.append(index)
        return chosen


def feed(model, sampler):
    heads = model.roi_heads
    assign = heads.assign_targets_to_proposals

    def stash(proposals, gt_boxes, gt_labels):
        sampler.add_missing(proposals)
        sampler.proposals = proposals
        return assign(proposals, gt_boxes, gt_labels)

    heads.assign_targets_to_proposals = stash
    heads.subsample = sampler.rois
    model.rpn.fg_bg_sampler = sampler.anchors


def reference(model, batch, scaled, trace, steps, lr, dtype, layout=torch.contiguous_format, mixed=None, own_rois=True):
    """Losses of each step, gradients of the first, by torchvision in `dtype`, `mixed`: with autocast to that precision
    and its scale of the loss; the layout chooses other convolution kernels. own_rois: nearly all RoIs that it is given
    must be among its own proposals."""
    start = {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    model = copy.deepcopy(model).to(dtype).to(memory_format=layout).train()
    sampler = FedSampler()
    feed(model, sampler)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=0.9,
                                weight_decay=1e-4)
    images = copy.copy(batch)
    images.tensors = batch.tensors.to(dtype).contiguous(memory_format=layout)
    targets = [dict(t, boxes=t["boxes"].to(dtype)) for t in scaled]
    losses, gradients = [], {}
    for step in range(steps):
        sampler.rows = {k.split(".", 1)[1]: v for k, v in trace.items() if k.startswith(f"step{step}.")}
        with torch.autocast(batch.tensors.device.type, AUTOCAST.get(mixed, torch.bfloat16), enabled=mixed is not None):
            features = model.backbone(images.tensors)
            proposals, l = model.rpn(images, features, targets)
            l |= model.roi_heads(features, proposals, images.image_sizes, targets)[1]
        losses.append(torch.stack([l[k].detach().double() for k in LOSSES]))
        optimizer.zero_grad()
        scale = LOSS_SCALES.get(mixed, 1.0)
        (sum(l.values()) * scale).backward()
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(scale)
        if step == 0:
            gradients = {k: p.grad.double().clone() for k, p in model.named_parameters() if p.requires_grad}
        optimizer.step()
        if step == 0 or step == steps - 1:
            print(
                f"     {mixed + ' and ' if mixed else ''}{dtype}: {sampler.added} of {sampler.total} RoIs are not "
                f"among torchvision's own proposals after step {step}"
            )
        # Training amplifies rounding, so late steps may differ in a few; that many more would be another algorithm.
        assert not own_rois or sampler.added <= (0.01 if step == 0 else 0.05) * sampler.total
    moved = {k: v.double() - start[k].double() for k, v in model.state_dict().items() if k in start}
    return torch.stack(losses), gradients, moved


def distance(a, b):
    """|a - b| / |b| over the whole tensor. Not the largest element: an activation within rounding of zero makes a ReLU
    decide one way or the other, in each implementation at other places, and then single elements of a gradient move by
    more than rounding."""
    scale = b.norm().item()
    return (a.double() - b).norm().item() / scale if scale > 0 else a.norm().item()


def instructions(precision):
    """Those with which a CPU multiplies in it, and whether this one has them."""
    name = {"bf16": "avx512_bf16", "fp16": "avx512_fp16"}[precision]
    with open("/proc/cpuinfo") as f:
        return name, name in f.read()


class Report:
    def __init__(self):
        self.failed = 0

    def check(self, name, ours, limit, note=""):
        ok = ours <= limit
        self.failed += not ok
        if not ok or not note.startswith("quiet"):
            print(f"{'ok  ' if ok else 'FAIL'} {name}: {ours:.3g} (limit {limit:.3g}) {note.removeprefix('quiet')}")


def compare_training(report, out, moved, r64, r32, other, floor=FLOOR):
    (l64, g64, m64), (l32, g32, m32), (_, gcl, _) = r64, r32, other
    ours = out["losses"].double()
    for i, name in enumerate(LOSSES):
        scale = max(l64[0, i].abs().item(), 1e-12)
        e, t = abs(ours[0, i] - l64[0, i]).item() / scale, abs(l32[0, i] - l64[0, i]).item() / scale
        report.check(name, e, FACTOR * max(t, floor),
                     f"ours {ours[0, i]:.7f}, torchvision {l32[0, i]:.7f}, its float32 error {t:.2g}")
    own32 = {k: max(distance(g32[k], g64[k]), distance(gcl[k], g64[k])) for k in g64}
    worst32 = max(own32.values())
    worst, where = 0.0, ""
    for name, g in g64.items():
        e = distance(out["grad." + name], g)
        # A gradient passes through the whole network, so float32 may cost any of them what it costs torchvision's
        # worst.
        report.check("gradient " + name, e, FACTOR * max(worst32, floor), "quiet")
        if e > worst:
            worst, where = e, name
    print(
        f"     {len(g64)} gradients, largest relative error {worst:.3g} ({where}); torchvision's own float32: "
        f"{worst32:.3g}"
    )
    # a step of SGD on a random network at most doubles a difference: measured growth is below that
    for step in range(len(l64)):
        e = ((ours[step] - l64[step]).abs() / l64[step].abs().clamp_min(1e-6)).max().item()
        t = ((l32[step] - l64[step]).abs() / l64[step].abs().clamp_min(1e-6)).max().item()
        report.check(f"step {step} losses", e, FACTOR * max(t, floor * 2**step), f"torchvision's float32 error {t:.2g}")
    # How far training has moved each tensor: parameters, and the running statistics of the normalisation.
    assert moved.keys() == m64.keys(), moved.keys() ^ m64.keys()
    own = max(distance(m32[k], m64[k]) for k in m64)
    for name, m in m64.items():
        report.check("movement of " + name, distance(moved[name], m), FACTOR * max(own, floor * 2**(len(l64) - 1)),
                     "quiet")
    print(
        f"     {len(m64)} tensors moved, largest relative error {max(distance(moved[k], m64[k]) for k in m64):.3g}; "
        f"torchvision's own float32: {own:.3g}"
    )


def predictions(model, batch, dtype):
    model = copy.deepcopy(model).to(dtype).eval()
    images = copy.copy(batch)
    images.tensors = batch.tensors.to(dtype)
    with torch.no_grad():
        features = model.backbone(images.tensors)
        proposals, _ = model.rpn(images, features)
        return model.roi_heads(features, proposals, images.image_sizes)[0]


def compare_predictions(report, out, model, batch):
    start = 0
    for i, (exact,
            single) in enumerate(zip(predictions(model, batch, torch.float64), predictions(model, batch,
                                                                                           torch.float32))):
        count = int(out["detected.count"][i])
        report.check(f"image {i}: detections", abs(count - len(exact["labels"])), 0, f"{count}")
        if count != len(exact["labels"]) or count == 0:
            continue
        report.check("  labels differ", int((out["detected.label"][i, :count].long() != exact["labels"]).sum()), 0)
        ours = {"scores": out["detected.score"][i, :count], "boxes": out["detected.boxes"][i, :count],
                "masks": out["detected.masks"][start:start + count].unsqueeze(1)}
        for name, value in ours.items():
            scale = exact[name].abs().max().item()
            own = (single[name].double() - exact[name]).abs().max().item() / scale if len(
                single["labels"]) == count else 0
            e = (value.double() - exact[name]).abs().max().item() / scale
            # Where its own float32 run lists two detections of nearly one score the other way round, own is no rounding
            # error: 1e-4 at most.
            report.check(f"  {name}", e, FACTOR * max(min(own, 1e-4), FLOOR), f"torchvision's float32 error {own:.2g}")
        start += count


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("probe"), p.add_argument("data")
    p.add_argument("--arch", choices=["small", "resnet50"], default="small")
    p.add_argument("--size", type=int, default=256)
    p.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    p.add_argument("--images", type=int, default=2), p.add_argument("--steps", type=int, default=10)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    return p.parse_args()


def missing(a):
    """What this machine lacks, empty: nothing."""
    if not os.path.isdir(a.data):
        return f"no folder {a.data}"
    if a.device == "cuda" and not torch.cuda.is_available():
        return "torch sees no GPU"
    if a.device == "cpu" and a.precision != "fp32":
        name, there = instructions(a.precision)
        if not there:
            return f"this CPU has no instructions for {a.precision} ({name}), and would multiply them one by one"
    return ""


def torchvision_model(a, detections):
    model = small_model(a.size, detections) if a.arch == "small" else maskrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=CLASSES, min_size=a.size, max_size=a.size,
        box_detections_per_img=detections, box_score_thresh=0.005)
    for m in model.modules():  # statistics other than 0 and 1, so that the folded normalisation is tested
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1), m.running_var.uniform_(0.8, 1.2)
    # at its initial 0.01 all logits are nearly equal, and which 100 proposals are the highest hangs on the last bit
    with torch.no_grad():
        model.rpn.head.cls_logits.weight.mul_(30)
    return model


def probed(a, data, model):
    """What the probe computes of `data`, and the weights that it trained."""
    with tempfile.TemporaryDirectory() as folder:
        torch.save(data, folder + "/in.pt")
        torch.save(model.state_dict(), folder + "/model.pth")
        subprocess.run([sys.executable, CONVERT, folder + "/model.pth", folder + "/model.h5"], check=True)
        subprocess.run(
            [a.probe, folder + "/in.pt", folder + "/model.h5", folder + "/out.pt", folder + "/trained.h5", a.device],
            check=True)
        out = torch.load(folder + "/out.pt", weights_only=False)  # our own file; C++ pickles carry a type tag
        with h5py.File(folder + "/trained.h5") as f:
            return out, {name: torch.from_numpy(f[name][()]).to(a.device) for name in f}


def main():
    a = arguments()
    if reason := missing(a):
        print("skipped: " + reason)
        return 77
    if a.device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    detections = 20
    model = torchvision_model(a, detections)
    images, targets, ids = load(a.data, a.images)
    data, batch, scaled = probe_input(model, config_of(a.arch, detections, a.precision), images, targets, ids, a.steps,
                                      a.lr)
    data["loss_scale"] = torch.tensor(LOSS_SCALES.get(a.precision, 1.0), dtype=torch.float64)
    out, trained = probed(a, data, model)
    out = {name: value.to(a.device) for name, value in out.items()}
    model, batch = model.to(a.device), batch.to(a.device)
    scaled = [{name: value.to(a.device) for name, value in t.items()} for t in scaled]
    report = Report()
    if a.precision in FLOORS:
        # What rounding to 8 or 11 bits costs torchvision is the yardstick; its proposals are other ones, so it is given
        # ours.
        r64 = reference(model, batch, scaled, out, a.steps, a.lr, torch.float64, own_rois=False)
        rounded = reference(model, batch, scaled, out, a.steps, a.lr, torch.float32, mixed=a.precision, own_rois=False)
        r32 = reference(model, batch, scaled, out, a.steps, a.lr, torch.float32, own_rois=False)
        start = model.state_dict()
        compare_training(report, out, {k: v.double() - start[k].double() for k, v in trained.items()}, r64, rounded,
                         rounded, FLOORS[a.precision])
        # That it was done at all: float32 is at least ten times closer.
        off = lambda losses: ((losses[0] - r64[0][0]).abs() / r64[0][0].abs()).max().item()
        report.check("float32 against it", off(r32[0]), off(out["losses"].double()) / 10)
        print(f"{report.failed} comparisons failed")
        return 1 if report.failed else 0
    r64 = reference(model, batch, scaled, out, a.steps, a.lr, torch.float64)
    r32 = reference(model, batch, scaled, out, a.steps, a.lr, torch.float32)
    # A second float32 run through other kernels, as a second sample of what float32 costs. Not of the deep network:
    # torch's channels-last batch norm is so much less exact that there a third of torchvision's proposals are no longer
    # its own.
    other = reference(model, batch, scaled, out, 1, a.lr, torch.float32,
                      torch.channels_last) if a.arch == "small" else r32
    start = model.state_dict()
    compare_training(report, out, {k: v.double() - start[k].double() for k, v in trained.items()}, r64, r32, other)
    compare_predictions(report, out, model, batch)
    print(f"{report.failed} comparisons failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
