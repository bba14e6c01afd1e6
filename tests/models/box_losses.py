#!/usr/bin/env python3
"""box_losses.py BOX_LOSS_PROBE: GIoU, DIoU and CIoU, values and gradients, are torchvision's within float32's error."""
import subprocess, sys, tempfile

import torch
from torchvision.models.detection._utils import BoxCoder
from torchvision.ops import complete_box_iou_loss, distance_box_iou_loss, generalized_box_iou_loss

LOSSES = {"giou": generalized_box_iou_loss, "diou": distance_box_iou_loss, "ciou": complete_box_iou_loss}
WEIGHTS = (10.0, 10.0, 5.0, 5.0)
ROWS = 1000


def boxes(generator, around=None, by=20.0):
    centre = 100 * torch.rand(ROWS, 2, generator=generator, dtype=torch.float64)
    if around is not None:
        centre = (around[:, :2] + around[:, 2:]) / 2 + by * torch.randn(ROWS, 2, generator=generator,
                                                                       dtype=torch.float64)
    half = 2 + 20 * torch.rand(ROWS, 2, generator=generator, dtype=torch.float64)
    return torch.cat([centre - half, centre + half], 1).float()


def theirs(loss, dtype, deltas, reference, target):
    """Of each row, and the gradient of their sum."""
    deltas = deltas.to(dtype).requires_grad_()
    predicted = BoxCoder(WEIGHTS).decode_single(deltas, reference.to(dtype))
    each = loss(predicted, target.to(dtype), reduction="none")
    return each.detach(), torch.autograd.grad(each.sum(), deltas)[0]


generator = torch.Generator().manual_seed(1)
reference = boxes(generator)
target = boxes(generator, reference)  # many overlap, many do not
deltas = torch.randn(ROWS, 4, generator=generator)
with tempfile.TemporaryDirectory() as folder:
    torch.save({"deltas": deltas, "reference": reference, "target": target, "coder_weights": torch.tensor(WEIGHTS)},
               folder + "/in.pt")
    subprocess.run([sys.argv[1], folder + "/in.pt", folder + "/out.pt"], check=True, timeout=120)
    out = torch.load(folder + "/out.pt", weights_only=False)  # our own file; C++ pickles carry a type tag
for kind, loss in LOSSES.items():
    exact, float32 = (theirs(loss, t, deltas, reference, target) for t in (torch.float64, torch.float32))
    for what, mine, is_, of32 in zip(("value", "gradient"), (out[kind], out[kind + ".gradient"]), exact, float32):
        # eight times the distance of torchvision's own float32 from its float64: other roundings, of the same size
        allowed = 8 * (of32.double() - is_).abs().max().item()
        worst = (mine.double() - is_).abs().max().item()
        print(f"{kind} {what}: {worst:.2e} of {allowed:.2e}")
        assert 0 < allowed < 1e-3 and worst <= allowed, (kind, what, worst, allowed)
    disjoint = (loss(BoxCoder(WEIGHTS).decode_single(deltas, reference), target, reduction="none") > 1).sum().item()
    assert ROWS / 10 < disjoint < 9 * ROWS / 10, disjoint  # both cases are there
