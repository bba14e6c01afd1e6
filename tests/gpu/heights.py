"""heights.py FOLDER cpu|cuda: what the runs of scripts/gpu_check reached, in images a second, and whether that is as high as it should be on an H200.

Reads speed_<precision>_<graphs>_<images>.json (results of ttt_maskrcnn) and torchvision_<precision>_<images>.txt (torchvision_step.py).
"""
import glob, json, os, statistics, sys

WARM_UP = 15  # steps in which cuDNN tries its algorithms, and the graphs are recorded
# What the heights below are of.
WANTED = [("bf16", graphs, images) for graphs in ("none", "full") for images in (1, 12)]


def read(folder):
    ours, theirs = {}, {}
    for path in glob.glob(folder + "/speed_*.json"):
        precision, graphs, images = os.path.basename(path)[:-5].split("_")[1:]
        with open(path) as f:
            result = json.load(f)
        assert result["verdict"] == "smoke", f"{path}: {result['verdict']}, {result['reason']}"  # gpu_check keeps no others
        seconds = result["steps"]["step_s"]["values"]
        seconds = seconds[WARM_UP:] if len(seconds) > 2 * WARM_UP else seconds[len(seconds) // 2:]
        ours[precision, graphs, int(images)] = int(images) / statistics.median(seconds)
    for path in glob.glob(folder + "/torchvision_*.txt"):
        with open(path) as f:
            peer = json.load(f)
        theirs[peer["precision"], peer["images"]] = peer["images_per_s"]
    return ours, theirs


def main():
    ours, theirs = read(sys.argv[1])
    if not ours:
        print("no run ended with a result")
        return 1
    expected = [(p, g, n) for p, g, n in WANTED if (p, g, n) not in ours] if sys.argv[2] == "cuda" else []
    for precision, graphs, images in expected:
        print(f"MISSED {images} images, {precision}, graphs {graphs}: no result")
    print(f"{'images':>6} {'precision':>9} {'graphs':>6} {'images/s':>9} {'torchvision':>11} {'ratio':>6}")
    for (precision, graphs, images), rate in sorted(ours.items(), key=lambda item: (item[0][2], item[0][0], item[0][1])):
        peer = theirs.get((precision, images))
        print(f"{images:6} {precision:>9} {graphs:>6} {rate:9.1f} " + (f"{peer:11.1f} {rate / peer:6.2f}" if peer else f"{'-':>11} {'-':>6}"))
    if sys.argv[2] != "cuda":
        return 0
    best = lambda images: max((rate for (p, _, n), rate in ours.items() if n == images and p in ("bf16", "fp16")), default=0)
    eager, full = ours.get(("bf16", "none", 1), 0), ours.get(("bf16", "full", 1), 0)
    wanted = [("images/s with 12 images", best(12), 120), ("images/s with one image", best(1), 60),
              ("times torchvision's step with 12 images", best(12) / theirs[("bf16", 12)] if ("bf16", 12) in theirs else 0, 3),
              ("times the eager step, replayed whole, with one image", full / eager if eager else 0, 1.3)]
    missed = len(expected)
    for what, got, height in wanted:
        missed += got < height
        print(f"{'ok    ' if got >= height else 'MISSED'} {what}: {got:.4g}, of {height} wanted")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
