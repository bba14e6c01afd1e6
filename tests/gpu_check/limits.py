"""limits.py FOLDER STEP_COST.json: how near kernels and steps come to what this GPU gives at best, as Markdown, of what
there is in FOLDER.

Kernels (micro_cuda.json): bytes that must be moved at least, a second, of those that a copy within the device's memory
moves, measured in the same run (context.copy_bytes_per_s). Below 100 % by more than noise a kernel is bound by
something else, or reads more than once; small inputs stay in the cache, and may be above. Steps (speed_*.json):
floating-point operations of an image (step_cost) times images a second, of what a matrix product in that precision
reaches (peaks.json).
"""
import json, os, statistics, sys

import heights


def load(path):
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def kernels(micro):
    peak = float(micro["context"]["copy_bytes_per_s"])
    print(
        f"A copy within the memory of {micro['context'].get('gpu', 'the device')} moves {peak / 1e9:.4g} GB/s, read "
        f"and written.\n"
    )
    print("| kernel | time [us] | GB/s at least | of the copy's |\n| --- | ---: | ---: | ---: |")
    rows = {}
    for b in micro["benchmarks"]:
        if b["run_type"] == "iteration" and not b.get("error_occurred") and "bytes/s" in b:
            rows.setdefault(b["run_name"].split("/ours")[0], []).append((b["real_time"], b["bytes/s"], b["time_unit"]))
    for name, samples in rows.items():
        assert {unit for *_, unit in samples} == {"us"}, f"{name} is not in microseconds"
        rate = statistics.median(r for _, r, _ in samples)
        print(
            f"| {name} | {statistics.median(t for t, *_ in samples):.1f} | {rate / 1e9:.4g} | {100 * rate / peak:.1f} "
            f"% |"
        )
    print()


def steps(ours, peaks, cost):
    flop = cost["built"]["step_cost"]["image_flops"]
    print(f"A step of recipe mlperf takes {flop / 1e12:.4g} TFLOP for each image.\n")
    print(
        "| images | precision | graphs | tuned | images/s | TFLOP/s | a matrix product's | share |\n"
        "| ---: | --- | --- | --- | ---: | ---: | ---: | ---: |"
    )
    by_images = sorted(ours.items(), key=lambda item: (item[0][2], item[0][0], item[0][1], item[0][3]))
    for (precision, graphs, images, tuned), rate in by_images:
        if peak := peaks["flop_per_s"].get(precision):
            print(
                f"| {images} | {precision} | {graphs} | {'yes' if tuned else 'no'} | {rate:.4g} | "
                f"{rate * flop / 1e12:.4g} | {peak / 1e12:.4g} | {100 * rate * flop / peak:.1f} % |"
            )


def main():
    folder, cost = sys.argv[1], load(sys.argv[2])
    micro, peaks = load(folder + "/micro_cuda.json"), load(folder + "/peaks.json")
    ours = heights.read(folder)[0]
    if micro:
        kernels(micro)
    if ours and peaks and cost:
        steps(ours, peaks, cost)
    return 0


if __name__ == "__main__":
    sys.exit(main())
