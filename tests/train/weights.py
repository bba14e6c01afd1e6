#!/usr/bin/env python3
"""Published weights through data/convert_weights.py into ttt_maskrcnn and out of it again.

  weights.py PROGRAM CONVERTER
The published files cannot be fetched here: files of the same formats are written by the libraries that wrote those.
"""
import os, pathlib, pickle, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "data"))

try:
    import h5py
    import numpy as np
    import torch
    from convert_weights import seal
    from torchvision.models import resnet50
    from torchvision.models.detection import maskrcnn_resnet50_fpn
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# One step on one small image that changes nothing: at this rate no float32 weight moves.
FROZEN = [
    "train.global_batch=1", "train.max_steps=1", "train.schedule.lr=1e-35", "data.short_side=128", "data.long_side=128",
    "train.schedule.warmup_steps=0", "model.classes=91", "data.padding=fixed", "data.workers=1", "data.generated=square"
]


def sh(*command):
    return subprocess.run(command, capture_output=True, text=True)


def convert(converter, source, target):
    done = sh(sys.executable, converter, source, target)
    assert done.returncode == 0, done.stderr
    with h5py.File(target) as f:
        return {k: f[k][()] for k in f}


def train(program, folder, recipe, *settings):
    line = [program, "--quiet", "--force", "--recipe", recipe, "--out", folder + "/run.json"]
    for s in [*FROZEN, "train.save_weights=" + folder + "/out.h5", *settings]:
        line += ["--set", s]
    return sh(*line)


def trained(program, folder, recipe, *settings):
    done = train(program, folder, recipe, *settings)
    assert done.returncode == 0, done.stderr
    with h5py.File(folder + "/out.h5") as f:
        return {k: f[k][()] for k in f}


def same(a, b):
    assert a.keys() == b.keys(), sorted(a.keys() ^ b.keys())[:5]
    for k in a:
        assert a[k].shape == b[k].shape and np.array_equal(a[k], b[k]), k


def randomised(model):
    for name, p in model.state_dict().items():
        if p.is_floating_point():
            # small: gradients stay finite
            p.copy_((torch.rand_like(p) - 0.5) * 0.02 + (0.5 if name.endswith("running_var") else 0))
    return model


def to_old_names(state):
    """Names before torchvision 0.13. That they are is checked by torchvision itself, which still reads them."""
    out = type(state)()
    for name, value in state.items():
        if name.startswith("backbone.fpn."):
            name = name.replace(".0.weight", ".weight").replace(".0.bias", ".bias")
        name = name.replace("rpn.head.conv.0.0.", "rpn.head.conv.")
        for i in range(4):
            name = name.replace(f"mask_head.{i}.0.", f"mask_head.mask_fcn{i + 1}.")
        out[name] = value
    return out


def whole_model(program, converter, folder):
    model = randomised(maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=91))
    state = model.state_dict()
    wanted = {k: v.numpy() for k, v in state.items() if not k.endswith("num_batches_tracked")}
    old = to_old_names(state)
    assert set(old) != set(state)
    other = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=91)
    other.load_state_dict(old)
    same({k: v.numpy() for k, v in other.state_dict().items()}, {k: v.numpy() for k, v in state.items()})

    torch.save(state, folder + "/new.pth")
    # the published file is of both kinds of old
    torch.save(old, folder + "/old.pth", _use_new_zipfile_serialization=False)
    torch.save({"model": state, "epoch": 25}, folder + "/checkpoint.pth")
    for name in ("new", "old", "checkpoint"):
        same(convert(converter, f"{folder}/{name}.pth", f"{folder}/{name}.h5"), wanted)
    same(trained(program, folder, "torchvision", f"train.weights={folder}/new.h5"), wanted)
    print("ok: a whole model, three formats, through a run to the same bits")


def body_only(program, converter, folder):
    model = randomised(resnet50(weights=None))
    torch.save(model.state_dict(), folder + "/resnet50.pth")
    body = convert(converter, folder + "/resnet50.pth", folder + "/resnet50.h5")
    same(
        {
            k: v
            for k, v in trained(program, folder, "torchvision", f"train.weights_backbone={folder}/resnet50.h5").items()
            if k in body
        }, body)
    assert len(body) == sum(not k.endswith("num_batches_tracked") and not k.startswith("fc.")
                            for k in model.state_dict())

    # The same convolutions and norms as a Detectron file: y = s * x + b, names as Caffe2's ResNet has them.
    blobs = {
        "pred_w": np.zeros((1000, 2048), np.float32), "pred_b": np.zeros(1000, np.float32),
        "conv1_b": np.zeros(64, np.float32)
    }
    sides = {"conv1": "branch2a", "conv2": "branch2b", "conv3": "branch2c"}
    wanted = {}
    for name, value in model.state_dict().items():
        part = name.split(".")
        if name == "conv1.weight":
            blob = "conv1_w"
        elif part[0] == "bn1":
            blob = {"weight": "res_conv1_bn_s", "bias": "res_conv1_bn_b"}.get(part[1])
        elif part[0].startswith("layer"):
            stem, last = f"res{int(part[0][5]) + 1}_{part[1]}_", part[-1]
            if part[2] == "downsample":
                blob = stem + ("branch1_w"
                               if part[3] == "0" else {"weight": "branch1_bn_s", "bias": "branch1_bn_b"}.get(last, ""))
            elif part[2] in sides:
                blob = stem + sides[part[2]] + "_w"
            else:
                blob = stem + sides["conv" + part[2][2]] + {"weight": "_bn_s", "bias": "_bn_b"}.get(last, "")
        else:
            continue
        if name.endswith(("weight", "bias")):
            blobs[blob] = value.numpy()
        if not name.endswith("num_batches_tracked"):
            wanted["backbone.body." + name] = {"running_mean": np.zeros_like,
                                               "running_var": np.ones_like}.get(part[-1], lambda v: v)(value.numpy())
    with open(folder + "/R-50.pkl", "wb") as f:
        pickle.dump({"blobs": blobs, "cfg": "..."}, f, protocol=2)
    same(convert(converter, folder + "/R-50.pkl", folder + "/R-50.h5"), wanted)
    out = trained(program, folder, "mlperf", f"train.weights_backbone={folder}/R-50.h5")
    same({k: v for k, v in out.items() if k in wanted}, wanted)
    assert any(not k.startswith("backbone.body.") for k in out)
    print("ok: a torchvision ResNet and a Detectron ResNet as the backbone")


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harmful",)


def refusals(program, converter, folder):
    def refused(source, words):
        done = sh(sys.executable, converter, f"{folder}/{source}", f"{folder}/none.h5")
        assert done.returncode == 3 and words in done.stderr and done.stderr.count("\n") == 1, (done.returncode,
                                                                                                done.stderr)
        assert not os.path.exists(f"{folder}/none.h5")

    with open(folder + "/harmful.pkl", "wb") as f:
        pickle.dump({"blobs": {"conv1_w": Harmful()}}, f)
    refused("harmful.pkl", "wants to call")
    assert not os.path.exists("harmful")
    with open(folder + "/text.pth", "w") as f:
        f.write("no weights")
    refused("text.pth", "text.pth")
    refused("missing.pth", "missing.pth")

    def not_loaded(setting, *words):
        done = train(program, folder, "torchvision", setting)
        assert done.returncode in (2, 3), (done.returncode, done.stderr)
        assert all(w in done.stderr for w in words), done.stderr

    not_loaded(f"train.weights={folder}/resnet50.h5", "resnet50.h5", "backbone.fpn")  # a body is no model
    not_loaded(f"train.weights={folder}/missing.h5", "missing.h5")
    not_loaded(f"train.weights={folder}/text.pth", "text.pth")
    with h5py.File(folder + "/new.h5", "a") as f:
        del f["backbone.body.conv1.weight"]
        f["backbone.body.conv1.weight"] = np.zeros((64, 3, 5, 5), np.float32)
    # changed since it was written
    not_loaded(f"train.weights={folder}/new.h5", "new.h5", "checksum", "convert_weights.py")
    seal(folder + "/new.h5")
    not_loaded(f"train.weights={folder}/new.h5", "new.h5", "backbone.body.conv1.weight", "[64, 3, 5, 5]")
    with h5py.File(folder + "/new.h5", "a") as f:
        f["backbone.body.conv1.weight"][0, 0, 0, :2] = np.nan, np.inf
    seal(folder + "/new.h5")
    not_loaded(f"train.weights={folder}/new.h5", "2 values of 'backbone.body.conv1.weight' are not finite")
    for name, plant, words in (("link", lambda f: f.__setitem__("x", h5py.ExternalLink("/etc/passwd", "/y")), "link"),
                               ("storage", lambda f: f.create_dataset("x",
                                                                      (4, ), "f4", external=[("/etc/passwd", 0, 16)]),
                                "external storage"),
                               ("virtual", lambda f: f.create_virtual_dataset("x", h5py.VirtualLayout(
                                   (4, ), "f4")), "virtual dataset")):
        with h5py.File(f"{folder}/{name}.h5", "w", userblock_size=512, libver=("earliest", "v110")) as f:
            plant(f)
        seal(f"{folder}/{name}.h5")
        not_loaded(f"train.weights={folder}/{name}.h5", f"{name}.h5", words)
    not_loaded("train.save_weights=/no/such/folder/w.h5", "/no/such/folder", "train.save_weights")
    print("ok: refusals")


def main():
    program, converter = sys.argv[1:3]
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        os.chdir(folder)
        whole_model(program, converter, folder)
        body_only(program, converter, folder)
        refusals(program, converter, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
