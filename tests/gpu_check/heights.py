"""heights.py FOLDER cpu|cuda [all]: what the runs of scripts/gpu_check reached, in images a second, and whether that is
as high as it should be on an H200.

Reads speed_<precision>_<graphs>_<images>.json and ..._tuned.json (results of ttt_maskrcnn; tuned: cuDNN timed its
algorithms) and torchvision_<precision>_<images>.txt
(torchvision_step.py). Not counted, and a failure: a run in which steps were skipped (fp16: no update, so no whole step)
or a loss was not finite. On a GPU a run without train.strict_sync is a failure too: one with it ended because the host
waited for the device. all: every combination must have a result, however fast; else the heights must be reached.
"""
import glob, json, math, os, statistics, sys

WARM_UP = 15  # steps in which cuDNN tries its algorithms, and the graphs are recorded
# What the heights below are of: precision, graphs, images, tuned. The headlines alone are tuned.
WANTED = [("bf16", graphs, images, False) for graphs in ("none", "full") for images in (1, 12)]
WANTED += [("bf16", "full", images, True) for images in (1, 12)]
ALL = [(precision, graphs, images, False) for precision in ("bf16", "fp16", "tf32", "fp32")
       for graphs in ("none", "parts", "full") for images in (1, 2, 4, 12, 24)]
# Those that a processor's rehearsal takes.
ALL_REHEARSED = [("fp32", "none", images, False) for images in (1, 2)]


def fault(result):
    """Why the run's time is none of training steps; None: it is one."""
    skipped = result["built"].get("loss_scale", {}).get("skipped_steps", 0)
    if skipped:
        return f"{skipped} of {len(result['steps']['step'])} steps were skipped, of gradients that were not finite"
    losses = [x for values in result["steps"]["loss"]["values"].values() for x in values]
    if result["non_finite"] or not losses or any(x is None or not math.isfinite(x) for x in losses):
        return "its losses are not finite"
    return None


def read(folder):
    """Images a second of ours and torchvision's; why others do not count; which of ours were not held to
    train.strict_sync."""
    ours, theirs, faults, waited = {}, {}, {}, []
    for path in glob.glob(folder + "/speed_*.json"):
        precision, graphs, images, *tuned = os.path.basename(path)[:-5].split("_")[1:]
        key = precision, graphs, int(images), tuned == ["tuned"]
        with open(path) as f:
            result = json.load(f)
        # gpu_check keeps no others
        assert result["verdict"] == "smoke", f"{path}: {result['verdict']}, {result['reason']}"
        settings = result["recipe"]["settings"]["train"]
        assert settings["cudnn_autotune"] == key[3], f"{path}: cudnn_autotune is {settings['cudnn_autotune']}"
        if not settings["strict_sync"]:
            waited.append(key)
        if why := fault(result):
            faults[key] = why
            continue
        seconds = result["steps"]["step_s"]["values"]
        seconds = seconds[WARM_UP:] if len(seconds) > 2 * WARM_UP else seconds[len(seconds) // 2:]
        ours[key] = int(images) / statistics.median(seconds)
    for path in glob.glob(folder + "/torchvision_*.txt"):
        with open(path) as f:
            peer = json.load(f)
        theirs[peer["precision"], peer["images"]] = peer["images_per_s"]
    return ours, theirs, faults, sorted(waited)


def main():
    folder, device, everything = sys.argv[1], sys.argv[2], "all" in sys.argv[3:]
    ours, theirs, faults, waited = read(folder)
    missed = 0

    def miss(key, why):
        nonlocal missed
        missed += 1
        print(f"MISSED {key[2]} images, {key[0]}, graphs {key[1]}{', tuned' * key[3]}: {why}")

    wanted = WANTED if device == "cuda" else []
    if everything:
        wanted = ALL if device == "cuda" else ALL_REHEARSED
    for key in wanted:
        if key not in ours and key not in faults:
            miss(key, "no result")
    for key, why in sorted(faults.items()):
        miss(key, "not counted, " + why)
    for key in waited if device == "cuda" else []:
        miss(key, "the host waited for the device within a step; its time is of a run without train.strict_sync")
    if not ours:
        print("no run ended with a result")
        return 1
    print(
        f"{'images':>6} {'precision':>9} {'graphs':>6} {'tuned':>5} {'images/s':>9} {'torchvision':>11} {'ratio':>6}"
    )
    by_images = sorted(ours.items(), key=lambda item: (item[0][2], item[0][0], item[0][1], item[0][3]))
    for (precision, graphs, images, tuned), rate in by_images:
        peer = theirs.get((precision, images))
        print(f"{images:6} {precision:>9} {graphs:>6} {'yes' if tuned else 'no':>5} {rate:9.1f} " +
              (f"{peer:11.1f} {rate / peer:6.2f}" if peer else f"{'-':>11} {'-':>6}"))
    if device != "cuda" or everything:
        return 1 if missed else 0
    best = lambda images: max(
        (rate for (p, _, n, _), rate in ours.items() if n == images and p in ("bf16", "fp16")), default=0)
    times_peer = lambda images: best(images) / theirs["bf16", images] if ("bf16", images) in theirs else 0
    eager, full = ours.get(("bf16", "none", 1, False), 0), ours.get(("bf16", "full", 1, False), 0)
    heights = [("images/s with 12 images", best(12), 120), ("images/s with one image", best(1), 60),
               ("times torchvision's step with 12 images", times_peer(12), 3),
               ("times torchvision's step with one image", times_peer(1), 3),
               ("times the eager step, replayed whole, with one image", full / eager if eager else 0, 1.3)]
    for what, got, height in heights:
        missed += got < height
        print(f"{'ok    ' if got >= height else 'MISSED'} {what}: {got:.4g}, of {height} wanted")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
