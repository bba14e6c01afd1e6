#!/usr/bin/env python3
"""Telemetry of whole runs: what TensorBoard reads is what the result says, and what the weights that the run leaves
say.

  telemetry.py series|norms|noise|split|groups|same_bits|pictures|resumed|refusals PROGRAM
"""
import glob, io, json, os, pathlib, subprocess, sys, tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("checkpoint", "train")]
# skips where TensorBoard is missing
from events import EVERYTHING, check_histogram, event_accumulator, events, io_wrapper, run_of, scalars

import h5py
import numpy as np
from PIL import Image

from restarted import NOT_CONVERGED, SMALL as RESTARTED, STEPS, Place
from runs import command, losses, train

SMALL = ["data.short_side=64", "data.long_side=64"]
GROUPS = ["stem", "layer1", "layer2", "layer3", "layer4", "fpn", "rpn", "box_head", "mask_head"]


def group_of(name):
    parts = name.split(".")
    if parts[:2] == ["backbone", "body"]:
        return parts[2] if parts[2].startswith("layer") else "stem"
    return {"backbone": "fpn", "rpn": "rpn"}.get(
        parts[0]) or ("box_head" if parts[1].startswith("box") else "mask_head")


def weights(path):
    """Trainable weights of each group, as one array."""
    out = {}
    with h5py.File(path) as f:
        for name in f:
            if not name.endswith(("running_mean", "running_var")):
                out.setdefault(group_of(name), []).append(f[name][()].astype(np.float64).ravel())
    return {group: np.concatenate(parts) for group, parts in out.items()}


def norms(telemetry, kind):
    return {g["name"]: np.array(g[kind]) for g in telemetry["groups"]}


def case_series(program, folder):
    """One rank: every scalar at every step, from the result's samples; histograms from the weights."""
    logs, saved, every = folder + "/logs", folder + "/w.h5", 5
    result = train(program, folder, 1, [
        *SMALL, f"train.telemetry.folder={logs}", f"train.telemetry.every_steps={every}",
        "train.telemetry.histograms_every=10", f"train.save_weights={saved}"
    ], 31)
    t, steps = result["telemetry"], result["steps"]
    sampled = list(range(0, 31, every))
    assert t["step"] == sampled and t["every_steps"] == every and [g["name"] for g in t["groups"]] == GROUPS
    assert all(c > 0 for c in t["cost_s"])
    assert os.path.relpath(run_of(logs), logs) == result["run_id"]
    read = events(run_of(logs))
    got = scalars(read)

    def means(values):
        """Over the steps since the sample before."""
        return [np.mean(values[max(0, s - every + 1): s + 1]) for s in sampled]

    want = {"learning_rate": [steps["learning_rate"][s] for s in sampled]}
    for name, values in losses(result).items():
        want["loss/" + name] = means(values)
    want["loss/total"] = np.sum([want["loss/" + n] for n in losses(result)], axis=0)
    for name, values in steps["phase_s"]["values"].items():
        want["phase_s/" + name] = means(values)
    images, seconds = means(steps["images"]), means(steps["step_s"]["values"])
    want["images_per_second"] = np.divide(images, seconds)
    want["telemetry/cost_s"] = t["cost_s"]
    kinds = {k: norms(t, k) for k in ("gradient_norm", "weight_norm", "update_norm")}
    for k in kinds:
        kinds[k]["all"] = np.sqrt(sum(v * v for v in kinds[k].values()))
    for g in [*GROUPS, "all"]:
        want["gradient_norm/" + g], want["weight_norm/" + g] = kinds["gradient_norm"][g], kinds["weight_norm"][g]
        want["update_to_weight/" + g] = kinds["update_norm"][g] / kinds["weight_norm"][g]
    assert got.keys() == want.keys(), got.keys() ^ want.keys()
    for tag, values in want.items():
        assert [s for s, _, _ in got[tag]] == sampled, tag
        assert np.allclose([v for _, v, _ in got[tag]], values, rtol=1e-6, atol=0), (tag, got[tag], values)
    # The last sample is that of the last step: its weights are in the file.
    left = weights(saved)
    assert set(left) == set(GROUPS)
    for g in t["groups"]:
        assert g["parameters"] == left[g["name"]].size, g["name"]
        assert np.isclose(g["weight_norm"][-1], np.linalg.norm(left[g["name"]]), rtol=1e-12), g["name"]
        for kind in ("weights/", "gradients/"):
            h = read.Histograms(kind + g["name"])
            assert [x.step for x in h] == [0, 10, 20, 30]
            assert h[-1].histogram_value.num == g["parameters"]
            if kind == "gradients/":
                assert np.isclose(np.sqrt(h[-1].histogram_value.sum_squares), g["gradient_norm"][-1], rtol=1e-6)
        check_histogram(read.Histograms("weights/" + g["name"])[-1].histogram_value, left[g["name"]].astype(np.float32))
    print(
        f"ok: {sum(map(len, got.values()))} scalars; a sample cost {np.median(t['cost_s']) * 1e3:.2f} ms of a step of "
        f"{np.median(steps['step_s']['values']) * 1e3:.1f} ms"
    )


def case_norms(program, folder):
    """Without momentum and decay an update is the rate times the gradient: both norms from the weights after n and
    after n + 1 steps."""
    plain = [
        *SMALL, "train.optimizer.momentum=0", "train.optimizer.weight_decay=0", "train.schedule.warmup_steps=0",
        "train.telemetry.every_steps=1", "train.telemetry.histograms_every=0",
        'train.telemetry.reductions=["l1", "mean", "std", "min", "max", "nonfinite"]'
    ]
    reductions = {"l1": lambda x: np.abs(x).sum(), "mean": np.mean, "std": np.std, "min": np.min, "max": np.max,
                  "nonfinite": lambda x: 0}
    for ranks in (1, 2):
        after = {}
        for n in (4, 5):
            result = train(
                program, folder, ranks,
                [*plain, f"train.telemetry.folder={folder}/{ranks}-{n}", f"train.save_weights={folder}/{ranks}-{n}.h5"],
                n)
            after[n] = weights(f"{folder}/{ranks}-{n}.h5")
        t, rate = result["telemetry"], result["steps"]["learning_rate"][4]
        gradient, update = norms(t, "gradient_norm"), norms(t, "update_norm")
        for g in GROUPS:
            change = np.linalg.norm(after[5][g] - after[4][g])
            assert np.isclose(update[g][4], change, rtol=1e-9), (g, update[g][4], change)
            # Weights are rounded to 24 bits: an update of a thousandth of a weight keeps 14.
            assert np.isclose(gradient[g][4], change / rate, rtol=2e-3), (ranks, g, gradient[g][4], change / rate)
        for g in t["groups"]:
            weight = after[5][g["name"]]
            by_update = (after[4][g["name"]] - weight) / rate
            lost = np.abs(weight).max() * 2**-24 / rate  # by a weight's rounding, of one number
            found = {(m["of"], m["kind"]): m["values"][4] for m in g["reductions"]}
            assert list(found) == [(of, r) for of in ("gradient", "weight") for r in reductions], found
            for r, function in reductions.items():
                assert np.isclose(found["weight", r], function(weight), rtol=1e-6, atol=1e-12), (g["name"], r, found)
                close = lost * (weight.size if r == "l1" else 1)
                wanted = function(by_update)
                assert np.isclose(found["gradient", r], wanted, rtol=1e-6, atol=close), (g["name"], r, found, wanted)
        for method in ("foreach", "per_tensor"):
            other = train(program, folder, ranks, [*plain, f"train.telemetry.folder={folder}/{ranks}-{method}",
                                                   f"train.telemetry.norms={method}"], 5)["telemetry"]
            # They sum in single precision: the box head's matrix, the largest of all, differed by 1.6e-5.
            for kind in ("gradient_norm", "weight_norm", "update_norm"):
                ours, theirs = norms(t, kind), norms(other, kind)
                assert all(np.allclose(ours[g], theirs[g], rtol=1e-4) for g in GROUPS), (method, kind, ours, theirs)
        print(f"ok: norms on {ranks} ranks:", " ".join(f"{g} {gradient[g][4]:.3g}" for g in GROUPS))


def case_noise(program, folder):
    """The part's norm is what a run of the part alone says of its first gradients: of one of two parts on one rank, and
    of one of two ranks."""
    plain = [*SMALL, "train.telemetry.every_steps=1", "train.telemetry.histograms_every=0"]

    def telemetry(name, ranks, settings):
        return train(program, folder, ranks, [*plain, f"train.telemetry.folder={folder}/{name}", *settings],
                     3)["telemetry"]

    def total(t):
        return np.sqrt(sum(v * v for v in norms(t, "gradient_norm").values()))

    wanted = "train.telemetry.noise_scale=true"
    alone = telemetry("alone", 1, ["train.images_per_rank=2"])
    assert "noise" not in alone, "nobody asked for it"
    parts = telemetry("parts", 1, ["train.images_per_rank=4", "train.accumulate=2", wanted])
    ranks = telemetry("ranks", 2, ["train.images_per_rank=2", "train.reducer.kind=flat_async", wanted])
    for t in (parts, ranks):
        noise = t["noise"]
        assert (noise["part_images"], noise["batch_images"]) == (2, 4) and len(noise["part_gradient_norm"]) == 3
        # the same images and the same kernels; sums of squares in another order
        assert np.isclose(noise["part_gradient_norm"][0], total(alone)[0], rtol=1e-6)
        assert abs(total(t)[0] / total(alone)[0] - 1) > 0.01, "the batch's gradient is another"
    got = scalars(events(run_of(f"{folder}/parts")))["gradient_norm_of_part/all"]
    assert np.allclose([v for _, v, _ in got], parts["noise"]["part_gradient_norm"], rtol=1e-6)
    watched = losses(train(program, folder, 1, [*plain, "train.images_per_rank=4", "train.accumulate=2", wanted,
                                                f"train.telemetry.folder={folder}/watched"], 3))
    assert watched == losses(train(program, folder, 1, [*SMALL, "train.images_per_rank=4", "train.accumulate=2"], 3))
    print(f"ok: the part's norm {parts['noise']['part_gradient_norm'][0]:.4g}, the batch's {total(parts)[0]:.4g}")


def case_split(program, folder):
    """The product of weights and gradients, from the weights after n and n + 1 steps of plain SGD with a decay."""
    rate_of = lambda result: result["steps"]["learning_rate"][4]
    decay, after = 0.01, {}
    for n in (4, 5):
        result = train(program, folder, 2, [
            *SMALL, "train.optimizer.momentum=0", f"train.optimizer.weight_decay={decay}",
            "train.optimizer.decay_bias=true", "train.schedule.warmup_steps=0", "train.telemetry.every_steps=1",
            "train.telemetry.histograms_every=0", "train.telemetry.weight_split=true",
            f"train.telemetry.folder={folder}/{n}", f"train.save_weights={folder}/{n}.h5"
        ], n)
        after[n] = weights(f"{folder}/{n}.h5")
    got, shares = norms(result["telemetry"], "weight_gradient"), []
    for g in GROUPS:
        gradient = (after[4][g] - after[5][g]) / rate_of(result) - decay * after[4][g]
        want, size = np.dot(after[4][g], gradient), np.linalg.norm(after[4][g]) * np.linalg.norm(gradient)
        # Weights are rounded to 24 bits, as in `norms`: the error is that of a product of so long vectors.
        assert abs(got[g][4] - want) < 2e-3 * size, (g, got[g][4], want, size)
        shares.append(abs(want) / size)
    assert max(shares) > 0.02, f"every product is within ten times its tolerance of nothing: {shares}"
    print("ok:", " ".join(f"{g} {got[g][4]:.3g}" for g in GROUPS))


def case_groups(program, folder):
    """Groups by expressions: each norm is the root of the squares of the layer groups that it holds."""
    plain = [*SMALL, "train.telemetry.every_steps=1", "train.telemetry.histograms_every=0"]

    def telemetry(name, *settings):
        return train(program, folder, 1, [*plain, f"train.telemetry.folder={folder}/{name}", *settings], 2)["telemetry"]

    layers = telemetry("layers")
    # The first expression that is found counts: biases of heads are in the first group.
    own = telemetry("own", 'train.telemetry.groups=["^roi_heads[.]", "bias$", "layer[12]"]')
    assert {g["name"] for g in own["groups"]} == {"^roi_heads[.]", "bias$", "layer[12]", "others"}
    want, got = norms(layers, "gradient_norm"), norms(own, "gradient_norm")
    heads = np.hypot(want["box_head"], want["mask_head"])
    assert np.allclose(got["^roi_heads[.]"], heads, rtol=1e-9), (got, heads)
    total = [np.sqrt(sum(v * v for v in n.values())) for n in (want, got)]
    assert np.allclose(*total, rtol=1e-9)
    assert sum(g["parameters"] for g in own["groups"]) == sum(g["parameters"] for g in layers["groups"])
    print("ok:", " ".join(f"{n} {v[0]:.3g}" for n, v in got.items()))


def case_same_bits(program, folder):
    """Looking changes nothing."""
    plain = losses(train(program, folder, 2, SMALL, 12))
    watched = train(program, folder, 2, [
        *SMALL, f"train.telemetry.folder={folder}/watched", "train.telemetry.every_steps=1",
        "train.telemetry.histograms_every=1"
    ], 12)
    assert plain == losses(watched)
    assert "telemetry" not in train(program, folder, 1, SMALL, 2), "nobody asked for it"
    assert len(os.listdir(run_of(folder + "/watched"))) == 1, "one rank writes"
    print("ok: the same losses to the bit with and without telemetry")


def colour_of(number):
    import colorsys
    r, g, b = colorsys.hsv_to_rgb((0.03 + number * 0.6180339887498949) % 1, 1, 1)
    return [round(40 + 215 * x) for x in (r, g, b)]


def outline_share(picture, box, magnify, stroke, colours):
    """Share of a box's outline whose pixels have one of the colours (another object may lie over it)."""
    x, y, w, h = box
    x0, y0, x1, y1 = int(np.floor(x * magnify)), int(np.floor(y * magnify)), int(np.ceil(
        (x + w) * magnify)), int(np.ceil((y + h) * magnify))
    edge = np.zeros(picture.shape[:2], bool)
    edge[max(0, y0):max(0, y1), max(0, x0):max(0, x1)] = True
    edge[max(0, y0 + stroke):max(0, y1 - stroke), max(0, x0 + stroke):max(0, x1 - stroke)] = False
    pixels = picture[edge].astype(int)
    near = np.min([np.abs(pixels - c).max(axis=1) for c in colours], axis=0)
    return float(np.mean(near <= 1))


def case_pictures(program, folder):
    """Accuracy and pictures of an evaluation: the truth on the left is where the data set says."""
    logs, out = folder + "/logs", folder + "/run.json"
    settings = [
        "train.epochs=1", "train.eval_every_epochs=0.02", "train.target_box_ap=0", "train.target_mask_ap=0",
        f"train.telemetry.folder={logs}", "train.telemetry.pictures=3"
    ]
    done = subprocess.run(command(program, 1, out, settings), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(out) as f:
        result = json.load(f)
    (evaluation,) = result["accuracy"]
    read = events(run_of(logs))
    got = scalars(read)
    for prefix, kind in (("box/", "bbox"), ("mask/", "segm")):
        for name, value in evaluation[kind].items():
            if value < 0:
                assert prefix + name not in got
            else:
                ((step, seen, _),) = got[prefix + name]
                assert step == evaluation["step"] and np.float32(seen) == np.float32(value)
    cache = os.environ.get("TTT_CACHE") or os.path.expanduser("~/.cache/ttt")
    (data,) = [d for d in glob.glob(cache + "/shapes-*-n1600-200-s128-c6-seed0") if os.path.isdir(d)]
    with open(data + "/instances_val.json") as f:
        truth = json.load(f)
    files = {i["id"]: i["file_name"] for i in truth["images"]}
    tags = read.Tags()["images"]
    assert tags == [f"picture/{i}" for i in sorted(files)[:3]], tags
    for tag in tags:
        (image,) = read.Images(tag)
        assert image.step == evaluation["step"]
        picture = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        source = np.asarray(Image.open(f"{data}/val/{files[int(tag[8:])]}"))
        magnify = max(1, 400 // min(source.shape[:2]))
        stroke = max(1, (min(source.shape[:2]) * magnify + 128) // 256)
        height, width = source.shape[0] * magnify, source.shape[1] * magnify
        assert picture.shape == (height, 2 * width + 4, 3) and not picture[:, width:width + 4].any()
        left = picture[:, :width]
        boxes = [(a["bbox"], a["category_id"]) for a in truth["annotations"] if a["image_id"] == int(tag[8:])]
        colours = [colour_of(c) for _, c in boxes] + [[0, 0, 0], [255, 255, 255]]
        for box, _ in boxes:
            assert outline_share(left, box, magnify, stroke, colours) > 0.97, (tag, box)
        assert outline_share(left, [5, 5, 20, 20], magnify, stroke, [colour_of(77)]) < 0.1  # the test can fail
        untouched = np.ones((height, width), bool)
        for (x, y, w, h), _ in boxes:
            untouched[max(0, int(y * magnify) - 15 * stroke):int((y + h) * magnify) + 15 * stroke, :] = False
        large = source.repeat(magnify, 0).repeat(magnify, 1).astype(int)
        assert np.abs(left[untouched].astype(int) - large[untouched]).max(initial=0) <= 2
    assert result["telemetry"]["pictures"]["step"] == [evaluation["step"]]
    print(f"ok: accuracy, {len(tags)} pictures in {result['telemetry']['pictures']['cost_s'][0]:.2f} s")


def case_resumed(program, folder):
    """A run that is killed and continues: TensorBoard shows what it shows of a run in one piece."""
    place = Place(os.path.dirname(os.path.dirname(program)), folder)
    shown, steps = [], []
    for kill in ((), ("--inject", "rank=0,step=7,kind=kill")):  # after the checkpoint at step 4
        logs = f"{folder}/logs{len(shown)}"
        run = place.run(
            settings=[
                *RESTARTED, f"train.telemetry.folder={logs}", "train.telemetry.every_steps=2",
                "train.telemetry.histograms_every=0", "train.telemetry.pictures=1", "train.checkpoint.every_epochs=0.5"
            ], more=kill)
        if kill:
            assert subprocess.run(run.command(), capture_output=True).returncode != 0
            assert len(os.listdir(run_of(logs))) == 1
        run.finish(NOT_CONVERGED)
        result = run.result()
        steps.append([r["step"] for r in result.get("resumes", [])])
        # as TensorBoard does, without what was taken back
        read = event_accumulator.EventAccumulator(run_of(logs), size_guidance=EVERYTHING).Reload()
        shown.append({tag: [(s, np.float32(v)) for s, v, _ in values] for tag, values in scalars(read).items()}
                     | {tag: [i.step for i in read.Images(tag)] for tag in read.Tags()["images"]})
    whole, resumed = shown
    assert steps == [[], [4]] and len(os.listdir(run_of(f"{folder}/logs1"))) == 2, steps
    assert whole.keys() == resumed.keys() and any(tag.startswith("picture/") for tag in whole)
    for tag, values in whole.items():
        if tag.startswith(("phase_s/", "telemetry/", "images_per", "evaluation_s")):  # times
            assert [s for s, _ in resumed[tag]] == [s for s, _ in values], tag
            continue
        assert resumed[tag] == values, (tag, values, resumed[tag])
    everything = events(run_of(f"{folder}/logs1"))
    assert [s
            for s, _, _ in scalars(everything)["loss/total"]] == [*range(0, 7, 2),
                                                                  *range(4, STEPS, 2)], "steps 4 to 6 were taken twice"
    print(f"ok: {len(whole)} tags of {STEPS} steps")


def case_refusals(program, folder):
    def refused(words, *settings):
        done = subprocess.run(
            command(program, 2, f"{folder}/r{len(os.listdir(folder))}.json", ["train.max_steps=2", *settings]),
            capture_output=True, text=True)
        assert done.returncode == 2 and all(w in done.stderr for w in words), (done.returncode, done.stderr)
        print("ok:", " ".join(words))

    refused(["train.telemetry.histograms_every = 7", "no multiple"], "train.telemetry.histograms_every=7")
    with open(folder + "/file", "w"):
        refused(["Cannot write event files into", "file/below"], f"train.telemetry.folder={folder}/file/below")
    refused(["train.telemetry.groups: '[' is no regular expression"], 'train.telemetry.groups=["["]')
    refused(["no trainable parameter is left for 'neck'", "like 'backbone"], 'train.telemetry.groups=["neck"]',
            f"train.telemetry.folder={folder}/groups")
    refused(["train.telemetry.noise_scale", "train.accumulate=2"], "train.telemetry.noise_scale=true",
            f"train.telemetry.folder={folder}/noise")  # two ranks, whose buckets leave during backward
    shared = [*SMALL, f"train.telemetry.folder={folder}/shared"]
    runs = {f"{folder}/shared/" + train(program, folder, 1, shared, 2)["run_id"] for _ in range(2)}
    assert len(runs) == 2 and runs == set(io_wrapper.GetLogdirSubdirectories(folder + "/shared")), runs


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        globals()["case_" + sys.argv[1]](sys.argv[2], scratch)
