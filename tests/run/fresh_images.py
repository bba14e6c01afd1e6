#!/usr/bin/env python3
"""fresh_images.py TTT_MASKRCNN: data.generated_fresh evaluates the last weights on images that no other seed has.

The same weights in another run, whose held-out images are those of the first run's generator seed, have the same AP.
"""
import json, os, pathlib, subprocess, sys, tempfile

IMAGES, SEED = 12, 7
# Frozen norms: the step of the second run, at a rate that moves no float32 weight, must change nothing else either.
MODEL = ["model.backbone.norm=frozen", "data.short_side=64", "data.long_side=64", "data.generated_images=16",
         "data.generated_held_out=8", "train.global_batch=1", "train.epochs=1", "train.eval_near_every_epochs=0"]


def run(folder, name, *arguments, settings=()):
    line = [sys.argv[1], "--quiet", "--out", f"{folder}/{name}.json", *arguments]
    for s in [*MODEL, *settings]:
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True, timeout=200, env={**os.environ, "TTT_CACHE": folder})
    return done, json.loads(pathlib.Path(f"{folder}/{name}.json").read_text()) if done.returncode in (0, 6) else None


with tempfile.TemporaryDirectory() as folder:
    fresh = f"data.generated_fresh={IMAGES}"
    done, first = run(folder, "first", "--seed", str(SEED),
                      settings=[fresh, f"train.save_weights={folder}/w.h5", "train.schedule.warmup_steps=0",
                                "train.schedule.lr=0.002", "train.target_box_ap=0", "train.target_mask_ap=0"])
    assert done.returncode == 0, done
    assert first["fresh"]["images"] == IMAGES, first["fresh"]
    seed = first["fresh"]["generator_seed"]
    (images,) = pathlib.Path(folder).glob(f"shapes-*-n1-{IMAGES}-*-seed{seed}")
    done, second = run(folder, "second", "--data", str(images),
                       settings=[f"train.weights={folder}/w.h5", "train.schedule.lr=1e-35"])
    assert second, done
    values = {k: v for k, v in second["accuracy"][-1].items() if isinstance(v, dict)}
    assert first["fresh"]["metrics"] == values, (first["fresh"], values)
    held_out = {k: v for k, v in first["accuracy"][-1].items() if isinstance(v, dict)}
    assert held_out != values, "other images with the very same AP"

    done, _ = run(folder, "refused", "--data", str(images), settings=[fresh])
    assert done.returncode == 2 and "--data" in done.stderr, done
    done, _ = run(folder, "refused", settings=[fresh, "train.eval_overlap=true"])
    assert done.returncode == 2 and "train.eval_overlap" in done.stderr, done
    done, smoke = run(folder, "smoke", settings=[fresh, "train.max_steps=1"])
    assert done.returncode == 0 and "fresh" not in smoke, done
print("ok")
