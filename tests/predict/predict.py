#!/usr/bin/env python3
"""predict from outside: AP of its detections is that of the training's evaluation, pictures show what the detections
say, and what cannot be done is said.

  predict.py PREDICT PROGRAM
"""
import contextlib, glob, json, os, pathlib, subprocess, sys, tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "telemetry"), str(pathlib.Path(__file__).parents[2] / "data")]
try:
    import h5py
    import numpy as np
    from PIL import Image
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    from convert_weights import write as write_weights
    from telemetry import colour_of, outline_share
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def sh(*line):
    return subprocess.run(line, capture_output=True, text=True, timeout=600)


def train(program, folder):
    """One epoch on two ranks: enough that some objects are found."""
    out, weights = folder + "/run.json", folder + "/weights.h5"
    done = sh("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", program, "--quiet", "--out", out, "--set",
              "train.epochs=1", "--set", "train.target_box_ap=0", "--set", "train.target_mask_ap=0", "--set",
              f"train.save_weights={weights}")
    assert done.returncode == 0, done.stderr
    assert ", 1,600 generated images, target " in done.stdout, done.stdout
    with open(out) as f:
        return json.load(f)["accuracy"][-1], weights


def average_precision(truth, detections, kind):
    with contextlib.redirect_stdout(None):
        truth = COCO(truth)
        evaluation = COCOeval(truth, truth.loadRes(detections), kind)
        evaluation.evaluate(), evaluation.accumulate(), evaluation.summarize()
    return evaluation.stats


def check_accuracy(predict, folder, data, evaluation, weights):
    """All evaluation images, one by one: AP is that of the run, which took them in batches of eight on two ranks.
    Rounding differs by the size of the batch, and moves a detection over a limit now and then: of some 1,000 objects
    one is worth about 0.001."""
    images = sorted(glob.glob(data + "/val/*.jpg"))
    done = sh(predict, *images, "--weights", weights, "--json", folder + "/all.json")
    assert done.returncode == 0, done.stderr
    assert sum(line.startswith(data) for line in done.stdout.splitlines()) == len(images)
    for kind in ("bbox", "segm"):
        ap, ran = average_precision(data + "/instances_val.json", folder + "/all.json",
                                    kind), list(evaluation[kind].values())
        print(f"{kind}: AP {ap[0]:.4f}, of the run {ran[0]:.4f}; AP50 {ap[1]:.4f}, {ran[1]:.4f}")
        assert ran[0] > 0.01, "nothing was learned: the comparison says nothing"
        assert abs(ap[0] - ran[0]) < 0.003 and abs(ap[1] - ran[1]) < 0.005


def threshold_between(folder, images):
    """A score that half of the images reach, whatever this training has learned."""
    with open(folder + "/all.json") as f:
        found = json.load(f)
    best = sorted(max(d["score"] for d in found if d["image_id"] == int(pathlib.Path(image).stem)) for image in images)
    return (best[len(best) // 2 - 1] + best[len(best) // 2]) / 2


def check_pictures(predict, folder, data, weights):
    images = sorted(glob.glob(data + "/val/*.jpg"))[:6]
    out, threshold = folder + "/new/pictures", threshold_between(folder, images)
    done = sh(predict, *images, "--weights", weights, "--json", folder + "/six.json", "--out", out, "--threshold",
              str(threshold))
    assert done.returncode == 0, done.stderr
    with open(folder + "/six.json") as f, open(data + "/instances_val.json") as truth:
        found, names = json.load(f), {c["id"]: c["name"] for c in json.load(truth)["categories"]}
    shown_in_all = pictures_without = 0
    for image in images:
        name = pathlib.Path(image).stem
        source, picture = np.asarray(Image.open(image)), np.asarray(Image.open(f"{out}/{name}.png"))
        magnify = max(1, 400 // min(source.shape[:2]))
        stroke = max(1, (min(source.shape[:2]) * magnify + 128) // 256)
        assert picture.shape == (source.shape[0] * magnify, source.shape[1] * magnify, 3)
        shown = [d for d in found if d["image_id"] == int(name) and d["score"] >= threshold]
        said = ", ".join(f"{names[d['category_id']]} {d['score']:.2f}"
                         for d in sorted(shown, key=lambda d: -d["score"])) or "no object with this score"
        assert f"{image}: {said}\n" in done.stdout and f"TTT result: {out}/{name}.png\n" in done.stdout, done.stdout
        colours = [colour_of(d["category_id"]) for d in shown] + [[0, 0, 0], [255, 255, 255]]
        for d in shown:
            assert outline_share(picture, d["bbox"], magnify, stroke, colours) > 0.97, (name, d["bbox"])
        if not shown:
            pictures_without += 1
            assert np.abs(picture.astype(int) - source.repeat(magnify, 0).repeat(magnify, 1)).max() <= 2
        shown_in_all += len(shown)
    assert shown_in_all > 0 and pictures_without == len(images) // 2, (threshold, shown_in_all, pictures_without)
    # A PNG of the same pixels gives the same objects; its name is no number, so images are numbered by their places.
    Image.open(images[0]).save(folder + "/same pixels.png")
    done = sh(predict, folder + "/same pixels.png", images[0], "--weights", weights, "--json", folder + "/png.json")
    assert done.returncode == 0, done.stderr
    with open(folder + "/png.json") as f:
        pairs = json.load(f)
    png, jpeg = ([d for d in pairs if d["image_id"] == i] for i in (1, 2))
    assert len(png) == len(jpeg) > 0 and all(
        np.allclose(a["bbox"], b["bbox"], atol=0.5) and abs(a["score"] - b["score"]) < 0.02 for a, b in zip(png, jpeg))
    print(f"ok: {shown_in_all} objects in {len(images)} pictures")


def check_refusals(predict, folder, data, weights):
    image = sorted(glob.glob(data + "/val/*.jpg"))[0]

    def says(code, words, *arguments, using=weights):
        done = sh(predict, *arguments, "--weights", using)
        assert done.returncode == code and all(w in done.stderr
                                               for w in words), (code, words, done.returncode, done.stderr)
        print("ok:", done.stderr.strip().splitlines()[-1][:150])

    out = ["--json", folder + "/x.json", "--force"]
    says(2, ["Nothing would be written", "--out"], image)
    says(2, ["Cannot read", "none.jpg"], folder + "/none.jpg", *out)
    with open(folder + "/text.jpg", "w") as f:
        f.write("no image")
    with open(image, "rb") as f, open(folder + "/torn.jpg", "wb") as torn:
        torn.write(f.read()[:2000])
    says(3, ["text.jpg' is neither a JPEG nor a PNG"], folder + "/text.jpg", *out)
    says(3, ["torn.jpg' is not a whole JPEG"], folder + "/torn.jpg", image, *out)
    with open(folder + "/x.json") as f:
        assert json.load(f), "the good image is there"
    says(2, ["exists already", "--force"], image, "--json", folder + "/x.json")
    says(2, ["Two images would be written to"], image, image, "--out", folder + "/twice")
    says(2, ["no recipe 'defualt'", "nearest is 'default'"], image, "--recipe", "defualt", *out)
    says(2, ["model.roi.scor_threshold", "model.roi.score_threshold"], image, "--set", "model.roi.scor_threshold=1",
         *out)
    says(2, ["w.h5"], image, *out, using=folder + "/w.h5")
    write_weights(folder + "/other.h5", {"fc.weight": np.zeros(3, np.float32)})
    says(3, ["other.h5", "not those of a Mask R-CNN"], image, *out, using=folder + "/other.h5")
    says(3, ["weights.h5", "backbone"], image, "--recipe", "torchvision", *out)  # weights of another architecture
    with open(folder + "/plain.h5", "w") as f:
        f.write("no HDF5")
    says(3, ["plain.h5"], image, *out, using=folder + "/plain.h5")


def main():
    predict, program = sys.argv[1:]
    cache = os.environ.get("TTT_CACHE") or os.path.expanduser("~/.cache/ttt")
    with tempfile.TemporaryDirectory() as folder:
        evaluation, weights = train(program, folder)
        (data,) = [d for d in glob.glob(cache + "/shapes-*-n1600-200-s128-c6-seed0") if os.path.isdir(d)]
        check_accuracy(predict, folder, data, evaluation, weights)
        check_pictures(predict, folder, data, weights)
        check_refusals(predict, folder, data, weights)


if __name__ == "__main__":
    main()
