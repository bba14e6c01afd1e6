#!/usr/bin/env python3
"""Turns published weights into the HDF5 file that train.weights and train.weights_backbone read.

  convert_weights.py INPUT OUTPUT.h5

INPUT is one of
  * a torchvision Mask R-CNN (maskrcnn_resnet50_fpn_*.pth): the whole model                      -> train.weights
  * a torchvision ResNet for classification (resnet50-*.pth): its body, without `fc`             ->
  train.weights_backbone
  * a weights file without a checksum (*.h5, as earlier versions wrote it): the same tensors     -> as before
  * a Detectron ResNet (R-50.pkl, MSRA; BGR, normalisation folded into a scale and a bias)       ->
  train.weights_backbone
Names in the file are torchvision's of today; older Mask R-CNN files are renamed. Needs torch, numpy and h5py
(scripts/setup --tests installs them). Files are read without running code from them.
"""
import hashlib
import io
import os
import pickle
import re
import sys

import h5py
import numpy as np

BODY = "backbone.body."


class ConversionError(Exception):
    pass


class ArraysOnly(pickle.Unpickler):
    """A pickle may call anything; this one may build NumPy arrays and plain containers."""

    ALLOWED = {("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
               ("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "scalar"),
               ("numpy._core.multiarray", "scalar"), ("_codecs", "encode"), ("collections", "OrderedDict")}

    def find_class(self, module, name):
        if (module, name) not in self.ALLOWED:
            raise ConversionError(
                f"the pickle wants to call {module}.{name}, which is not needed for arrays: use the original R-50.pkl")
        return super().find_class(module, name)


def from_detectron(path):
    with open(path, "rb") as f:
        blobs = ArraysOnly(io.BytesIO(f.read()), encoding="latin1").load()
    if not isinstance(blobs, dict):
        raise ConversionError("the file holds no dictionary of blobs")
    blobs = blobs.get("blobs", blobs)
    layer = {
        "branch1": "downsample.0", "branch1_bn": "downsample.1", "branch2a": "conv1", "branch2a_bn": "bn1",
        "branch2b": "conv2", "branch2b_bn": "bn2", "branch2c": "conv3", "branch2c_bn": "bn3"
    }
    kind = {"w": "weight", "s": "weight", "b": "bias"}
    out = {}
    for name, value in blobs.items():
        if name == "conv1_w":
            out[BODY + "conv1.weight"] = value
        elif m := re.fullmatch(r"res_conv1_bn_([sb])", name):
            out[f"{BODY}bn1.{kind[m[1]]}"] = value
        elif m := re.fullmatch(r"res(\d)_(\d+)_(branch\w+?(?:_bn)?)_([wsb])", name):
            if m[3] not in layer:
                raise ConversionError(f"blob '{name}' is of no ResNet that this reads")
            if m[3].endswith("_bn") or m[4] == "w":  # convolutions have no bias; some files carry zeros for one
                out[f"{BODY}layer{int(m[1]) - 1}.{m[2]}.{layer[m[3]]}.{kind[m[4]]}"] = value
        elif not re.fullmatch(r"(fc1000|pred)_[wb]|conv1_b|.*_momentum|lr|weight_order", name):
            raise ConversionError(f"blob '{name}' is of no ResNet that this reads")
    # y = scale * x + bias: mean 0, variance 1, eps 0
    for name in [n for n in out if re.search(r"(bn\d|downsample\.1)\.weight$", n)]:
        out[name.replace(".weight", ".running_mean")] = np.zeros_like(out[name])
        out[name.replace(".weight", ".running_var")] = np.ones_like(out[name])
    return out


# Names before torchvision 0.13, which wraps each convolution of these blocks into a Sequential.
OLD_NAMES = [(r"(backbone\.fpn\.(?:inner|layer)_blocks\.\d+)\.(weight|bias)", r"\1.0.\2"),
             (r"rpn\.head\.conv\.(weight|bias)", r"rpn.head.conv.0.0.\1"),
             (r"roi_heads\.mask_head\.mask_fcn(\d+)\.(weight|bias)",
              lambda m: f"roi_heads.mask_head.{int(m[1]) - 1}.0.{m[2]}")]


def from_torchvision(path):
    import torch
    state = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, dict):
        raise ConversionError("the file holds no state_dict")
    state = state.get("model", state)  # what references/detection/train.py writes has more beside it
    if not all(isinstance(v, torch.Tensor) for v in state.values()):
        raise ConversionError("the file holds no state_dict of tensors")
    out = {}
    whole = any(n.startswith("roi_heads.") for n in state)
    for name, value in state.items():
        if name.endswith("num_batches_tracked") or (not whole and name.startswith("fc.")):
            continue
        if whole:
            for old, new in OLD_NAMES:
                name = re.sub(f"^{old}$", new, name)
        out[name if whole else BODY + name] = value.float().numpy()
    return out


SEAL_BYTES = 512


def seal(path):
    """Writes the checksum that the programs look at before HDF5 parses the file (src/data/sealed_file.h)."""
    with open(path, "r+b") as f:
        size = os.path.getsize(path)
        head = lambda digest: f"ttt-weights 1\nsha256 {digest}\nbytes {size:020d}\n".encode().ljust(SEAL_BYTES, b"\0")
        digest = hashlib.sha256(head("0" * 64))
        f.seek(SEAL_BYTES)
        for block in iter(lambda: f.read(1 << 22), b""):
            digest.update(block)
        f.seek(0)
        f.write(head(digest.hexdigest()))


def write(path, tensors):
    """Tensors by torchvision's names, as float32; written aside and renamed."""
    temporary = path + ".tmp"
    with h5py.File(temporary, "w", libver=("earliest", "v110"), userblock_size=SEAL_BYTES) as f:
        for name, value in tensors.items():
            f.create_dataset(name, data=np.ascontiguousarray(value, dtype=np.float32))
    seal(temporary)
    os.replace(temporary, path)


def from_hdf5(path):
    tensors = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, d: tensors.update({name: d[()]}) if isinstance(d, h5py.Dataset) else None)
    return tensors


def main():
    if len(sys.argv) != 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2
    source, target = sys.argv[1:]
    try:
        tensors = from_hdf5(source) if source.endswith(".h5") else from_detectron(source) if source.endswith(
            ".pkl") else from_torchvision(source)
        if not tensors:
            raise ConversionError("there are no weights in it")
        write(target, tensors)
    except (ConversionError, OSError, pickle.UnpicklingError, RuntimeError, EOFError) as e:
        print(f"convert_weights.py: '{source}' cannot be converted: {str(e).splitlines()[0]}", file=sys.stderr)
        return 3
    print(f"{target}: {len(tensors)} tensors, {sum(np.size(v) for v in tensors.values()):,} numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
