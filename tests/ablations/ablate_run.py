"""Short runs of the ablation program."""
import json, os, subprocess, time

# Small images, and heads that are small too: only the course of things matters here.
SHORT = [
    "ablate.peaks_s=0", "ablate.limit_s=1", "ablate.builds=1", "ablate.gate_steps=2", "data.short_side=64",
    "data.long_side=64", "train.images_per_rank=1", "train.threads=1", "model.rpn.sample=32",
    "model.rpn.pre_nms_train=200", "model.rpn.post_nms_train=100", "model.roi.sample=32", "model.roi.box_hidden=128"
]


def ok(*what, since=[time.monotonic()]):
    now = time.monotonic()
    print(f"ok, {now - since[0]:.0f} s:", *what, flush=True)
    since[0] = now


def sh(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def command(ablate, out, ranks, *arguments, settings=()):
    line = [*(["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []), ablate, *arguments, "--out", out]
    given = {s.split("=")[0] for s in settings}
    for s in [*(s for s in SHORT if s.split("=")[0] not in given), *settings]:
        line += ["--set", s]
    return line


def measure(ablate, folder, ranks, *arguments, settings=()):
    out = f"{folder}/{len(os.listdir(folder))}.json"
    done = sh(*command(ablate, out, ranks, *arguments, settings=settings))
    result = None
    if os.path.exists(out):
        with open(out) as f:
            result = json.load(f)
    return done, result, out


def small_data(ablate, folder, images=64):
    """Of so many images to train on, and an eighth of that to evaluate on."""
    tools, drawn, shards = os.path.dirname(ablate), f"{folder}/drawn{images}", f"{folder}/shards{images}"
    subprocess.run([
        f"{tools}/make_shapes", "--out", drawn, "--train", str(images), "--val", str(images // 8), "--size", "96"
    ], check=True, capture_output=True)
    for split in ("train", "val"):
        subprocess.run([
            f"{tools}/pack_coco", "--quiet", "--images", f"{drawn}/{split}", "--annotations",
            f"{drawn}/instances_{split}.json", "--split", split, "--out", shards
        ], check=True, capture_output=True)
    return shards
