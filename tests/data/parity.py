#!/usr/bin/env python3
"""The input path beside h5py, h5dump, PIL, torchvision and pycocotools, on real COCO images.

Usage: parity.py PROBE PACK_COCO SHARED_DATA CASE. Exit code 77: something needed is missing (the reason is printed).
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


try:
    import h5py
    import numpy as np
    import torch
    import torch.nn.functional as F
    from PIL import Image
    from pycocotools import mask as mask_utils
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    from torchvision.models.detection.transform import GeneralizedRCNNTransform
except ImportError as e:
    skip(f"{e}: run scripts/setup")

PROBE, PACK, SHARED, CASE = sys.argv[1:5]
COCO_SET = os.path.join(SHARED, "coco_permissive")
SETS = {  # name: images, annotations
    "train": (COCO_SET + "/train2017", COCO_SET + "/instances_train2017.json"),
    "val": (COCO_SET + "/val2017", COCO_SET + "/instances_val2017.json"),
    "dali": (SHARED + "/dali_coco/images", SHARED + "/dali_coco/instances.json"),
}
if not os.path.isdir(COCO_SET):
    skip(f"no real images in {SHARED}")
TMP = tempfile.mkdtemp(prefix="ttt-data-")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE).stdout


def pack(name, *more):
    images, annotations = SETS[name]
    run(PACK, "--images", images, "--annotations", annotations, "--out", TMP + "/" + name, "--split", name, "--quiet",
        *more)
    return TMP + "/" + name


def arrays(blob):
    kinds, out, at = {"f": "f4", "i": "i4", "l": "i8", "b": "u1"}, {}, 0
    while at < len(blob):
        end = blob.index(b"\n", at)
        name, kind, *dims = blob[at:end].decode().split()
        dims = [int(d) for d in dims]
        size = int(np.prod(dims)) * np.dtype(kinds[kind]).itemsize
        out[name] = np.frombuffer(blob[end + 1:end + 1 + size], "<" + kinds[kind]).reshape(dims)
        at = end + 1 + size
    return out


def batches(folder, split, count, per_rank, *settings):
    found = arrays(run(PROBE, "batch", folder, split, count, per_rank, 3, *settings))
    return [{k.split(".", 1)[1]: v for k, v in found.items() if k.startswith(f"{b}.")} for b in range(count)]


def load_coco(name):
    coco = COCO(SETS[name][1])
    return coco, {c: i + 1 for i, c in enumerate(sorted(coco.getCatIds()))}


def rgb(name, coco, image_id):
    return np.asarray(Image.open(os.path.join(SETS[name][0], coco.imgs[image_id]["file_name"])).convert("RGB"))


def pasted_mask(batch, image, g):
    """The packed bitmap of an object on the whole padded image."""
    x, y, w, h = batch["bitmap_box"][image, g]
    at = batch["bitmap_offset"][image, g]
    out = np.zeros(batch["images"].shape[1:3], np.uint8)
    out[y:y + h, x:x + w] = batch["bitmap_bytes"][at:at + w * h].reshape(h, w)
    if w * h:  # the box is tight
        assert out[y].any() and out[y + h - 1].any() and out[:, x].any() and out[:, x + w - 1].any()
    return out


def case_h5py():
    """h5py and h5dump read the shards, and what they read is the JSON and the files."""
    assert shutil.which("h5dump"), "h5dump is missing"
    for name in SETS:
        folder = pack(name, "--shard-bytes", "3M")
        source = json.load(open(SETS[name][1]))
        of_image = {}
        for a in source["annotations"]:
            of_image.setdefault(a["image_id"], []).append(a)
        images = iter(source["images"])
        manifest = json.load(open(folder + "/shards.json"))
        assert [s["file"] for s in manifest["shards"]] == sorted(f for f in os.listdir(folder) if f.endswith(".h5"))
        for entry in manifest["shards"]:
            path = os.path.join(folder, entry["file"])
            assert run("sha256sum",
                       path).split()[0].decode() == entry["sha256"] and os.path.getsize(path) == entry["size_bytes"]
            with h5py.File(path) as f:
                assert f.attrs["format"] == b"ttt-coco-shard" and f.attrs["format_version"] == 1 and f.attrs[
                    "split"].decode() == name
                assert f.attrs["source_sha256"].decode() == run("sha256sum", SETS[name][1]).split()[0].decode()
                assert json.loads(f.attrs["category_map"]) == [
                    dict(id=c["id"], name=c["name"]) for c in sorted(source["categories"], key=lambda c: c["id"])
                ]
                d = {k: f[k] for k in ["bytes", "img/offset", "img/id", "ann/bbox"]}
                assert all(v.chunks is None and v.compression is None for v in d.values())
                at = d["bytes"].id.get_offset()
                raw = np.memmap(path, np.uint8, "r")
                ids = [c["id"] for c in sorted(source["categories"], key=lambda c: c["id"])]
                assert f["category/id"][:].tolist() == ids
                assert entry["images"] == len(f["img/id"])
                for i in range(entry["images"]):
                    image = next(images)
                    assert (f["img/id"][i], f["img/width"][i], f["img/height"][i]) == (image["id"], image["width"],
                                                                                       image["height"])
                    o, n = int(f["img/offset"][i]), int(f["img/length"][i])
                    file = open(os.path.join(SETS[name][0], image["file_name"]), "rb").read()
                    assert o % 64 == 0 and f["bytes"][o:o + n].tobytes() == file == raw[at + o:at + o + n].tobytes()
                    found = of_image.get(image["id"], [])
                    lo, hi = f["ann/start"][i:i + 2]
                    assert hi - lo == len(found)
                    for a, want in zip(range(lo, hi), found):
                        assert f["ann/id"][a] == want["id"] and ids[f["ann/category"][a]] == want["category_id"]
                        assert f["ann/bbox"][a].tolist() == want["bbox"] and f["ann/area"][a] == want["area"] and f[
                            "ann/iscrowd"][a] == want["iscrowd"]
                        p, q = f["poly/ann_start"][a:a + 2]
                        r, s = f["rle/ann_start"][a:a + 2]
                        if isinstance(want["segmentation"], list):
                            starts = f["poly/start"][p:q + 1]
                            assert [f["poly/xy"][x:y].reshape(-1).tolist()
                                    for x, y in zip(starts, starts[1:])] == want["segmentation"] and r == s
                        else:
                            assert f["rle/counts"][r:s].tolist() == want["segmentation"]["counts"] and p == q
                            assert f["rle/hw"][a].tolist() == want["segmentation"]["size"]
                listed = run("h5dump", "-y", "-w", "1", "-d", "/img/id", path).decode().split("DATA {")[1].split("}")[0]
                assert [int(v) for v in listed.replace(",", " ").split()] == f["img/id"][:].tolist()
                assert "SUPERBLOCK_VERSION 2" in run("h5dump", "-B", "-H", path).decode()
        assert next(images, None) is None


def case_truth():
    """The data set rebuilt from shards is the JSON: every number, and AP with pycocotools."""
    for name in SETS:
        source, rebuilt = json.load(open(SETS[name][1])), json.loads(run(PROBE, "truth", pack(name), name))
        keep = ("id", "image_id", "category_id", "bbox", "area", "iscrowd", "segmentation")
        # The shard has annotations image by image, in the file's order within each.
        place = {im["id"]: i for i, im in enumerate(source["images"])}
        want = sorted(([a[k] for k in keep] for a in source["annotations"]), key=lambda a: place[a[1]])
        assert [[a[k] for k in keep] for a in rebuilt["annotations"]] == want
        assert [(i["id"], i["height"], i["width"]) for i in rebuilt["images"]] == [(i["id"], i["height"], i["width"])
                                                                                   for i in source["images"]]
        path = TMP + "/rebuilt.json"
        json.dump(rebuilt, open(path, "w"))
        rng = np.random.default_rng(1)
        found = []
        for a in source["annotations"]:
            x, y, w, h = (np.array(a["bbox"]) * rng.uniform(0.8, 1.2, 4)).tolist()
            found.append(
                dict(image_id=a["image_id"], category_id=a["category_id"], bbox=[x, y, w, h],
                     score=float(rng.uniform())))
        results = []
        for truth in (SETS[name][1], path):
            gt = COCO(truth)
            e = COCOeval(gt, gt.loadRes(found), "bbox")
            e.evaluate(), e.accumulate(), e.summarize()
            results.append((e.stats.tobytes(), e.eval["precision"].tobytes()))
        assert results[0] == results[1]


def case_decode():
    """Pixels equal PIL's (its own copy of libjpeg-turbo): colour, grey, CMYK, progressive, odd sizes, shrunk."""
    rng = np.random.default_rng(0)
    base = np.asarray(Image.fromarray(rng.integers(0, 256, (12, 17, 3), np.uint8)).resize((149, 101), Image.BICUBIC))
    files = []
    for mode in ("RGB", "L", "CMYK"):
        for options in (dict(quality=90), dict(quality=75, progressive=True), dict(quality=95, subsampling=0)):
            files.append(f"{TMP}/{len(files)}.jpg")
            Image.fromarray(base).convert(mode).save(files[-1], **options)
    files += [os.path.join(SETS["train"][0], f) for f in sorted(os.listdir(SETS["train"][0]))[:20]]
    for f in files:
        ours = arrays(run(PROBE, "decode", f, 1))["pixels"]
        theirs = np.asarray(Image.open(f).convert("RGB"))
        assert np.array_equal(ours, theirs), f
        image = Image.open(f)
        if image.mode == "RGB":
            image.draft("RGB", (max(1, image.width // 2), max(1, image.height // 2)))
            if image.size != theirs.shape[1::-1]:
                ours = arrays(run(PROBE, "decode", f, 2))["pixels"]
                assert np.array_equal(ours, np.asarray(image)), f


def check_torchvision(batch, coco, label_of, name, lo, hi):
    transform = GeneralizedRCNNTransform(lo, hi, MEAN, STD)
    objects = 0
    for k, image_id in enumerate(batch["image_id"]):
        source = torch.from_numpy(rgb(name, coco, image_id).copy()).permute(2, 0, 1).float() / 255
        anns = [a for a in coco.loadAnns(coco.getAnnIds(image_id)) if not a["iscrowd"]]
        box = torch.tensor([[x, y, x + w, y + h] for x, y, w, h in (a["bbox"] for a in anns)],
                           dtype=torch.float32).reshape(-1, 4)
        mask = torch.from_numpy(np.stack([coco.annToMask(a) for a in anns])) if anns else torch.zeros(
            0, *source.shape[1:], dtype=torch.uint8)
        want, target = transform.resize(transform.normalize(source), dict(boxes=box, masks=mask))
        flip = bool(batch["flipped"][k])
        h, w = want.shape[1:]
        assert (batch["image_size"][k].tolist(),
                batch["original_size"][k].tolist()) == ([h, w], list(source.shape[1:])), (image_id, h, w, source.shape,
                                                                                          batch["image_size"][k])
        want = want.flip(-1) if flip else want
        got = torch.from_numpy(batch["images"][k].copy()).permute(2, 0, 1)
        # A source position is a float32 of up to the image's side: torch fuses its product and sum, we round between,
        # so weights differ by up to 2^-24 of the side, times the step between neighbours (at most 4.8 of normalised
        # range). On average neighbours differ far less.
        difference = (got[:, :h, :w] - want).abs()
        assert difference.max().item() <= max(source.shape) * 2 ** -24 * 4.8 + 2e-6, (image_id, difference.max().item())
        assert difference.mean().item() <= 1e-6, (image_id, difference.mean().item())
        assert not got[:, h:].any() and not got[:, :, w:].any()
        n = int(batch["gt_count"][k])
        assert n == len(anns) and batch["gt_label"][k, :n].tolist() == [label_of[a["category_id"]] for a in anns]
        assert not batch["gt_label"][k, n:].any() and not batch["gt_box"][k, n:].any()
        boxes = target["boxes"]
        if flip:
            boxes = torch.stack([w - boxes[:, 2], boxes[:, 1], w - boxes[:, 0], boxes[:, 3]], 1)
        assert np.array_equal(batch["gt_box"][k, :n], boxes.numpy())  # to the bit
        for g, a in enumerate(anns):
            m = target["masks"][g].flip(-1) if flip else target["masks"][g]
            assert np.array_equal(pasted_mask(batch, k, g)[:h, :w], m.numpy()), (image_id, a["id"])
            slot = k * batch["gt_label"].shape[1] + g
            p, q = batch["object_polygon"][slot:slot + 2]
            polygons = a["segmentation"] if isinstance(a["segmentation"], list) else []
            assert q - p == len(polygons)
            for i, polygon in zip(range(p, q), polygons):
                xy = np.array(polygon, np.float32).reshape(-1, 2) * np.array(
                    [np.float32(w) / np.float32(source.shape[2]),
                     np.float32(h) / np.float32(source.shape[1])], np.float32)
                if flip:
                    xy[:, 0] = np.float32(w) - xy[:, 0]
                assert np.array_equal(batch["vertices"][batch["polygon_vertex"][i]:batch["polygon_vertex"][i + 1]], xy)
            objects += 1
    return objects


def case_torchvision():
    """Images, boxes, polygons and masks of GeneralizedRCNNTransform: enlarged, at the cap, shrunk; flipped or not."""
    coco, label_of = load_coco("train")
    folder = pack("train")
    for lo, hi in ((800, 1333), (320, 320), (96, 160)):
        objects = flips = 0
        for batch in batches(folder, "train", 10, 4, f"short_side={lo}", f"long_side={hi}"):
            objects += check_torchvision(batch, coco, label_of, "train", lo, hi)
            flips += int(batch["flipped"].sum())
        assert objects > 200 and 5 < flips < 35, (objects, flips)
    coco, label_of = load_coco("dali")
    folder = pack("dali")
    for batch in batches(folder, "dali", 3, 4, "short_side=800", "long_side=1333", "padding=batch"):
        assert batch["images"].shape[1] % 32 == 0 and batch["images"].shape[1] < batch["image_size"][:, 0].max() + 32
        check_torchvision(batch, coco, label_of, "dali", 800, 1333)


def mlperf_size(h, w, short, long):
    """The size rule of maskrcnn-benchmark's Resize, from its description."""
    if max(h, w) / min(h, w) * short > long:
        short = int(round(long * min(h, w) / max(h, w)))
    if min(h, w) == short:
        return h, w
    return (int(short * h / w), short) if w < h else (short, int(short * w / h))


def case_mlperf():
    """MLPerf's sizes, legacy boxes, BGR 0..255; PIL's antialiased shrinking to one level of its two roundings."""
    rng = np.random.default_rng(0)
    for h, w in rng.integers(20, 1500, (200, 2)):
        got = run(PROBE, "size", h, w, "resize=mlperf").split()
        assert tuple(int(v) for v in got) == mlperf_size(int(h), int(w), 800, 1333), (h, w)
    coco, _ = load_coco("train")
    folder = pack("train")
    mean = np.array([102.9801, 115.9465, 122.7717], np.float32)
    for lo, hi in ((800, 1333), (150, 240)):
        settings = [
            "resize=mlperf", "antialias=true", f"short_side={lo}", f"long_side={hi}", "channels=bgr", "pixel_divisor=1",
            "mean=" + ",".join(str(m) for m in mean.tolist()), "std=1,1,1", "boxes=legacy"
        ]
        for batch in batches(folder, "train", 6, 4, *settings):
            for k, image_id in enumerate(batch["image_id"]):
                source, flip = rgb("train", coco, image_id), bool(batch["flipped"][k])
                H, W = source.shape[:2]
                h, w = mlperf_size(H, W, lo, hi)
                assert batch["image_size"][k].tolist() == [h, w]
                want = np.asarray(Image.fromarray(source).resize((w, h), Image.BILINEAR)).astype(np.float32)
                want = want[:, ::-1] if flip else want
                got = (batch["images"][k][:h, :w] + mean)[:, :, ::-1]
                # PIL rounds to bytes after the horizontal and after the vertical pass, with weights of 22 bits.
                assert np.abs(got - want).max() <= 1.01, np.abs(got - want).max()
                # torch's antialiased resize computes weights in float32 too: four roundings of a position (centre,
                # first tap, distance, sum), steps of up to 255.
                exact = F.interpolate(
                    torch.from_numpy(source.copy()).permute(2, 0, 1)[None].float(), (h, w), mode="bilinear",
                    antialias=True)[0]
                exact = exact.flip(-1) if flip else exact
                difference = np.abs(got - exact.permute(1, 2, 0).numpy())
                assert difference.max() <= 255 * (max(H, W) * 2**-24 * 4 + 1e-6) and difference.mean() <= 1e-4, (
                    difference.max(), difference.mean())
                boxes = []
                for a in coco.loadAnns(coco.getAnnIds(image_id)):
                    x, y, bw, bh = np.array(a["bbox"], np.float32)
                    one, zero = np.float32(1), np.float32(0)
                    x1, y1 = np.clip(x, 0, W - 1), np.clip(y, 0, H - 1)
                    x2, y2 = np.clip(x + max(bw - one, zero), 0, W - 1), np.clip(y + max(bh - one, zero), 0, H - 1)
                    if a["iscrowd"] or x2 <= x1 or y2 <= y1:
                        continue
                    rx, ry = np.float32(w) / np.float32(W), np.float32(h) / np.float32(H)
                    x1, x2, y1, y2 = x1 * rx, x2 * rx, y1 * ry, y2 * ry
                    boxes.append([w - x2 - one, y1, w - x1 - one, y2] if flip else [x1, y1, x2, y2])
                n = int(batch["gt_count"][k])
                assert n == len(boxes) and np.array_equal(batch["gt_box"][k, :n],
                                                          np.array(boxes, np.float32).reshape(-1, 4))


def case_no_resize():
    """An image that already has its size is only normalised: torch's float32 result to the bit."""
    coco, _ = load_coco("train")
    folder = pack("train")
    seen = 0
    for batch in batches(folder, "train", 10, 8, "short_side=480", "long_side=640"):
        for k, image_id in enumerate(batch["image_id"]):
            if batch["image_size"][k].tolist() != batch["original_size"][k].tolist():
                continue
            source = torch.from_numpy(rgb("train", coco, image_id).copy()).permute(2, 0, 1).float() / 255
            want = (source - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
            want = want.flip(-1) if batch["flipped"][k] else want
            h, w = batch["image_size"][k]
            assert np.array_equal(batch["images"][k][:h, :w], want.permute(1, 2, 0).numpy())
            seen += 1
    assert seen > 10, seen


try:
    globals()["case_" + CASE]()
    print("equal:", CASE)
finally:
    shutil.rmtree(TMP)
