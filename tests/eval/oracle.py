"""Random inputs and what pycocotools makes of them, for live_test.cc.

oracle.py polygons SEED COUNT OUT.json
oracle.py sets SEED COUNT FOLDER     writes <i>.gt.json, <i>.dt.json and expected.json
"""
import contextlib
import copy
import hashlib
import io
import json
import sys

import numpy as np
from pycocotools import mask as mask_api
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def random_polygon(rng, h, w):
    n = int(rng.integers(3, 30))
    kind = int(rng.integers(6))
    if kind == 0:  # anything, partly outside
        p = rng.uniform(-0.5, 1.5, (n, 2)) * [w, h]
    elif kind == 1:  # a blob, as annotators draw
        angle = np.sort(rng.uniform(0, 2 * np.pi, n))
        radius = rng.uniform(0.1, 0.6) * min(h, w) * rng.uniform(0.7, 1.2, n)
        p = rng.uniform(0, 1, 2) * [w, h] + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    elif kind == 2:  # halves and fifths: ties of the rounding
        p = rng.integers(-10, 10 * max(h, w), (n, 2)) / rng.choice([1.0, 2.0, 5.0, 10.0])
    elif kind == 3:  # two decimals, repeated vertices
        p = np.round(rng.uniform(0, 1, (n, 2)) * [w, h], 2).repeat(2, axis=0)
    elif kind == 4:  # thin
        p = rng.uniform(0, 1, (n, 2)) * [w, 1.0] + [0, rng.uniform(0, h)]
    else:  # far outside
        p = rng.normal(0, 30, (n, 2)) * [w, h]
    return p.reshape(-1).tolist()


def polygons(seed, count, out):
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(count):
        h, w = (int(v) for v in rng.integers(1, rng.choice([8, 60, 700]), 2))
        parts = [random_polygon(rng, h, w) for _ in range(int(rng.choice([1, 1, 1, 2, 4])))]
        rle = mask_api.merge(mask_api.frPyObjects(parts, h, w))
        cases.append(dict(h=h, w=w, polygons=parts, counts=rle["counts"].decode(), area=int(mask_api.area(rle)),
                          bbox=mask_api.toBbox(rle).tolist()))
    json.dump(cases, open(out, "w"))


def box_mask(rng, box, h, w):
    """A rough ellipse in the box, sometimes empty, as compressed run lengths."""
    m = np.zeros((h, w), np.uint8, order="F")
    x, y, bw, bh = box
    if rng.random() > 0.05:
        yy, xx = np.ogrid[:h, :w]
        inside = ((xx - x - bw / 2) / (bw / 2 + 0.3))**2 + ((yy - y - bh / 2) / (bh / 2 + 0.3))**2 <= rng.choice([1, 2])
        m[inside] = 1
    return m


def segmentation(rng, box, h, w, forms):
    form = rng.choice(forms)
    x, y, bw, bh = box
    if form == "polygon":
        corners = [x, y, x, y + bh, x + bw, y + bh, x + bw, y]
        return [corners] if rng.random() < 0.6 else [corners, random_polygon(rng, h, w)]
    rle = mask_api.encode(box_mask(rng, box, h, w))
    if form == "compressed":
        return dict(size=[h, w], counts=rle["counts"].decode())
    flat = mask_api.decode(rle).reshape(-1, order="F")
    change = np.flatnonzero(np.diff(np.concatenate([[0], flat])))
    edges = np.concatenate([[0], change, [h * w]])
    return dict(size=[h, w], counts=np.diff(edges).tolist())


def random_set(rng):
    """Small ids in no order, ties of scores and overlaps, crowds, images and categories without anything."""
    images = rng.permutation(np.concatenate([rng.choice(300, int(rng.integers(1, 25)), False), [10**12]]))
    categories = rng.permutation(rng.choice(90, int(rng.integers(1, 6)), False))
    grid = float(rng.choice([1, 8, 16]))  # a coarse grid gives equal overlaps
    fine = rng.random() < 0.4
    first_id = int(rng.choice([0, 1, 500]))
    gts, dts, sizes = [], [], {}
    with_box = rng.choice(["both", "box", "mask"])
    levels = int(rng.choice([2, 5, 1000000]))
    for image in images.tolist():
        h, w = sizes[image] = (int(rng.integers(40, 160)), int(rng.integers(40, 160)))

        def box():
            b = rng.uniform(0, 1, 4) * [w, h, w / 2, h / 2]
            return (b if fine else np.round(b / grid) * grid + [0, 0, grid, grid]).tolist()

        here = []
        for _ in range(int(rng.choice([0, 1, 3, 12]))):
            b = box()
            crowd = int(rng.random() < 0.15)
            area = float(rng.choice([b[2] * b[3], 1024, 9216, 1023.99, 9216.01, 0, b[2] * b[3] * 0.8]))
            here.append(b)
            gts.append(
                dict(id=first_id + len(gts), image_id=image, category_id=int(rng.choice(categories)), bbox=b, area=area,
                     iscrowd=crowd, segmentation=segmentation(rng, b, h, w, ["polygon", "compressed", "counts"])))
            if rng.random() < 0.1:
                gts[-1]["ignore"] = 1
        for _ in range(int(rng.choice([0, 2, 20, 130 if rng.random() < 0.2 else 5]))):
            b = box()
            if here and rng.random() < 0.6:
                b = list(here[int(rng.integers(len(here)))])
                if rng.random() < 0.7:
                    b[0] += float(rng.integers(-2, 3)) * (1 if fine else grid / 4)
            category = int(rng.choice(categories)) if rng.random() < 0.97 else 1000
            d = dict(image_id=image, category_id=category, score=float(rng.integers(0, levels + 1)) / levels)
            if with_box != "mask":
                d["bbox"] = b
            if with_box != "box":
                forms = ["compressed"] if with_box == "mask" else ["polygon", "compressed"]
                seg_h, seg_w = (h, w) if rng.random() < 0.97 else (h + 1, w)
                d["segmentation"] = segmentation(rng, b, seg_h, seg_w, forms)
            dts.append(d)
    if not dts:
        image = int(images[0])
        dts.append(dict(image_id=image, category_id=int(categories[0]), score=0.5, bbox=[0.0, 0.0, 10.0, 10.0]))
        with_box = "box"
    order = rng.permutation(len(gts))
    gts = [gts[i] for i in order]
    if len(gts) > 2 and rng.random() < 0.15:
        gts[0]["id"] = gts[-1]["id"]  # of two with one id, the last stands for both
    dts = [dts[i] for i in rng.permutation(len(dts))]
    truth = dict(
        images=[dict(id=int(i), height=sizes[i][0], width=sizes[i][1], file_name=f"{i}.jpg") for i in images.tolist()],
        categories=[dict(id=int(c), name=str(c)) for c in categories],
        annotations=gts)
    return truth, dts


def evaluate(truth, dts):
    out = {}
    gt = COCO()
    gt.dataset = copy.deepcopy(truth)
    gt.createIndex()
    dt = gt.loadRes(copy.deepcopy(dts))
    for kind in ("bbox", "segm"):
        e = COCOeval(gt, dt, kind)
        e.evaluate()
        e.accumulate()
        e.summarize()
        arrays = {k: np.ascontiguousarray(e.eval[k], "<f8") for k in ("precision", "recall", "scores")}
        out[kind] = dict(stats=[float(v) for v in e.stats], shape=list(arrays["precision"].shape),
                         **{k: hashlib.sha256(v.tobytes()).hexdigest() for k, v in arrays.items()})
    return out


def sets(seed, count, folder):
    rng = np.random.default_rng(seed)
    expected = []
    for i in range(count):
        truth, dts = random_set(rng)
        json.dump(truth, open(f"{folder}/{i}.gt.json", "w"))
        json.dump(dts, open(f"{folder}/{i}.dt.json", "w"))
        with contextlib.redirect_stdout(io.StringIO()):
            expected.append(evaluate(truth, dts))
    json.dump(dict(numpy=np.__version__, sets=expected), open(f"{folder}/expected.json", "w"))


if __name__ == "__main__":
    dict(polygons=polygons, sets=sets)[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
