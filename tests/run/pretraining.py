#!/usr/bin/env python3
"""pretraining.py TTT_MASKRCNN: train.pretraining trains a backbone once, and all ranks of later runs start from it."""
import json, os, pathlib, subprocess, sys, tempfile

try:
    import h5py
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SMALL = """
[data]
short_side = 64
long_side = 64
generated_images = 16
generated_held_out = 8
workers = 0
[model.backbone]
block = "basic"
blocks = [1, 1, 1, 1]
width = 16
norm = "{norm}"
fpn_channels = 32
[model.rpn]
anchor_sizes = [8, 16, 32, 64, 128]
sample = 64
pre_nms_train = 100
pre_nms_test = 100
post_nms_train = 50
post_nms_test = 50
[model.roi]
sample = 16
box_hidden = 32
mask_channels = 16
[train]
global_batch = 4
epochs = 1
eval_near_every_epochs = 0
target_box_ap = {target}
target_mask_ap = {target}
{more}
[train.schedule]
lr = {rate}
warmup_steps = 0
"""


def run(folder, recipe, *settings, ranks=2):
    out = f"{folder}/{len(list(folder.glob('*.json')))}.json"
    line = ["mpirun", "--bind-to", "none", "--oversubscribe", "-n", str(ranks), sys.argv[1], "--recipe", str(recipe),
            "--out", out]
    for s in settings:
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True, timeout=200,
                          env={**os.environ, "TTT_CACHE": str(folder / "cache"), "OMPI_MCA_yield_when_idle": "1"})
    return done, json.loads(pathlib.Path(out).read_text()) if done.returncode == 0 else None


def tensors(file):
    with h5py.File(file) as f:
        return {k: f[k][()] for k in f}


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    backbone, recipe, chained = (folder / f"{n}.toml" for n in ("backbone", "recipe", "chained"))
    backbone.write_text(SMALL.format(norm="batch", target=1, rate=0.01, more=""))
    # at this rate no float32 weight moves, and frozen norms do not either
    still = SMALL.format(norm="frozen", target=0, rate=1e-35, more=f'pretraining = "{backbone}"')
    recipe.write_text(still)
    done, first = run(folder, recipe, f"train.save_weights={folder}/start.h5")
    assert first and "Training the backbone" in done.stderr, done
    (made,) = (folder / "cache").glob("backbone-*.h5")
    start, kept = tensors(folder / "start.h5"), tensors(made)
    parts = {n: np.array_equal(start[n], kept[n]) for n in kept}
    assert all(parts[n] for n in parts if n.startswith("backbone.body.")), parts
    assert not parts["rpn.head.conv.0.0.weight"], "the heads start at random"

    when = made.stat().st_mtime_ns
    done, second = run(folder, recipe)
    assert second and "Training the backbone" not in done.stderr and made.stat().st_mtime_ns == when, done
    assert second["steps"]["loss"] == first["steps"]["loss"]
    done, random = run(folder, recipe, "train.pretraining=")
    assert random and random["steps"]["loss"] != first["steps"]["loss"], done

    # The backbone follows the run's architecture: a file for each that has other tensors.
    groups = ["model.backbone.norm=group", "model.backbone.norm_groups=8"]
    for settings in (groups, ["model.backbone.width=8"]):
        done, _ = run(folder, recipe, f"train.save_weights={folder}/other.h5", *settings)
        assert done.returncode == 0 and "Training the backbone" in done.stderr, done
        (other,) = set((folder / "cache").glob("backbone-*.h5")) - {made}
        start, kept = tensors(folder / "other.h5"), tensors(other)
        assert all(np.array_equal(start[n], kept[n]) for n in kept if n.startswith("backbone.body.")), settings
        assert ("backbone.body.bn1.running_mean" in kept) == (settings != groups), settings
        other.unlink()
    done, same = run(folder, recipe, "model.backbone.norm=batch", "train.epochs=0.25")
    assert same and "Training the backbone" not in done.stderr, done

    done, _ = run(folder, recipe, "train.pretraining=min")
    assert done.returncode == 2 and "'mini'" in done.stderr, done
    chained.write_text(still)
    done, _ = run(folder, recipe, f"train.pretraining={chained}", ranks=1)
    assert done.returncode == 2 and "pretrained itself" in done.stderr, done
print("ok")
