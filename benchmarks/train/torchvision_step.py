#!/usr/bin/env python3
"""torchvision's Mask R-CNN (ResNet-50-FPN) taking training steps: the peer of ttt_maskrcnn's images a second.

Usage: torchvision_step.py --images N [--precision fp32|tf32|bf16] [--device cpu|cuda] [--steps 20] [--height 800]
[--width 1344] The same N images with ten objects each at every step; frozen batch normalisation and three stages of the
backbone trained, as torchvision's reference trains it; SGD with momentum; bf16: under torch.autocast. The weights are
random, the backbone's small enough that its frozen normalisation does not let activations grow.

On a GPU the steps are taken with cuDNN's search for algorithms and without. Its mask branch runs over the positives,
whose number varies, and each new number is a search. Prints one line of JSON, of the faster: the median time of a step
behind five that warm up, its spread, images a second; and the other's median.
"""
import argparse, json, math, statistics, sys, time

try:
    import torch
    from torchvision.models import resnet50
    from torchvision.models.detection import MaskRCNN
    from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
    from torchvision.ops.misc import FrozenBatchNorm2d
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(77)

OBJECTS, CLASSES, WARM_UP, TRAINED_STAGES = 10, 91, 5, 3


def model_of(a):
    backbone = resnet50(weights=None, norm_layer=FrozenBatchNorm2d)
    for module in backbone.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_uniform_(module.weight, a=math.sqrt(5))
    model = MaskRCNN(_resnet_fpn_extractor(backbone, TRAINED_STAGES), CLASSES, min_size=a.height, max_size=a.width)
    return model.to(a.device).train()


def batch_of(a):
    generator = torch.Generator().manual_seed(0)
    images, targets = [], []
    for _ in range(a.images):
        images.append(torch.rand(3, a.height, a.width, generator=generator).to(a.device))
        corner = torch.rand(OBJECTS, 2, generator=generator) * torch.tensor([a.width, a.height]) * 0.6
        side = (torch.rand(OBJECTS, 2, generator=generator) * 0.35 + 0.04) * torch.tensor([a.width, a.height])
        boxes = torch.cat([corner, corner + side], 1)
        masks = torch.zeros(OBJECTS, a.height, a.width, dtype=torch.uint8)
        for mask, (x1, y1, x2, y2) in zip(masks, boxes.long().tolist()):
            mask[y1:y2, x1:x2] = 1
        targets.append({
            "boxes": boxes.to(a.device), "labels": torch.randint(1, CLASSES, (OBJECTS, ),
                                                                 generator=generator).to(a.device),
            "masks": masks.to(a.device)
        })
    return images, targets


def timed(a, model, optimizer, batch, tunes):
    """Seconds of each step behind the warm-up, ascending."""
    torch.backends.cudnn.benchmark = tunes
    seconds = []
    for _ in range(WARM_UP + a.steps):
        begin = time.perf_counter()
        with torch.autocast(a.device, torch.bfloat16, enabled=a.precision == "bf16"):
            loss = sum(model(*batch).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if a.device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    assert math.isfinite(loss.item()), f"the loss is {loss.item()}"
    return sorted(seconds[WARM_UP:])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--images", type=int, required=True), p.add_argument("--precision", choices=["fp32", "tf32", "bf16"],
                                                                        default="fp32")
    p.add_argument("--device", choices=["cpu", "cuda"], default="cuda"), p.add_argument("--steps", type=int, default=20)
    p.add_argument("--height", type=int, default=800), p.add_argument("--width", type=int, default=1344)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = a.precision == "tf32"
    model = model_of(a)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-6, momentum=0.9,
                                weight_decay=1e-4)
    batch = batch_of(a)
    tuned = [False, True] if a.device == "cuda" else [False]
    steps = {tunes: timed(a, model, optimizer, batch, tunes) for tunes in tuned}
    median = {tunes: statistics.median(s) for tunes, s in steps.items()}
    best = min(median, key=median.get)
    print(
        json.dumps({
            "images": a.images, "precision": a.precision, "torch": torch.__version__, "cudnn_benchmark": best,
            "step_s": median[best], "fastest_s": steps[best][0], "slowest_s": steps[best][-1],
            "images_per_s": a.images / median[best],
            "other_step_s": [s for tunes, s in median.items() if tunes != best]
        }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
