"""Stands in for ttt_maskrcnn on a GPU, so that scripts/gpu_check can be rehearsed with --device cuda: takes the same
arguments, trains nothing, and writes the parts of a result that the check reads. What it was started with goes to
FAKE_RUN_LOG, a line each. FAKE_RUN_WAITS: a word of the settings with which a step waits for the device; FAKE_RUN_S:
how long a run takes. The steps' losses follow from precision and learning rate, as in a run whose bits repeat.
"""
import json, os, sys, time

arguments, settings, options = sys.argv[1:], {}, {}
while arguments:
    word = arguments.pop(0)
    if word == "--set":
        key, value = arguments.pop(0).split("=", 1)
        settings[key] = value
    elif word in ("--out", "--data", "--device", "--recipe"):
        options[word[2:]] = arguments.pop(0)
with open(os.environ["FAKE_RUN_LOG"], "a") as f:
    print(" ".join(sys.argv[1:]), file=f)
time.sleep(float(os.environ.get("FAKE_RUN_S", 0)))
tuned = settings.get("train.cudnn_autotune", "true") == "true"
strict = settings.get("train.strict_sync") == "true"
if strict and os.environ.get("FAKE_RUN_WAITS", "\0") in " ".join(sys.argv):
    sys.exit(
        "error: In step 4 the host would wait for the device, which train.strict_sync forbids: called a synchronizing "
        "CUDA operation"
    )
steps, images, graphs = int(settings.get("train.max_steps",
                                         4)), int(settings.get("train.global_batch",
                                                               1)), settings.get("train.graphs", "none")
precision, lr = settings.get("model.precision", "fp32"), float(settings.get("train.schedule.lr", 1))
loss = [lr * (len(precision) + 1) / (step + 1) for step in range(steps)]
seconds = images / (200 if images > 1 else 100) * (2 if graphs == "none" else 1)
result = {
    "verdict": "smoke", "reason": "fake", "non_finite": [],
    "recipe": {"settings": {"train": {"strict_sync": strict, "cudnn_autotune": tuned}}}, "built": {
        "graphs": "none" if graphs == "none" else {"shapes": [{"parts": [{"part": "step", "replays": steps - 4}]}]}
    },
    "steps": {"step": list(range(steps)), "step_s": {"values": [seconds] * steps}, "loss": {"values": {"mask": loss}}}
}
if precision == "fp16":
    result["built"]["loss_scale"] = {"scale": float(settings["train.loss_scale.initial"]), "skipped_steps": 0}
if weights := settings.get("train.save_weights"):
    import h5py, numpy
    with h5py.File(weights, "w") as f:
        f["head.weight"] = numpy.array(loss, numpy.float32)
with open(options["out"], "w") as f:
    json.dump(result, f)
