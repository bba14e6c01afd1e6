"""first.py FOLDER: the first eager steps without cuDNN's tuning and with it, as far as they are there
(first_untuned.json, first_tuned.json), as Markdown: what tuning costs at the start, and what it brings."""
import json, os, statistics, sys


def seconds_of(path):
    if not os.path.exists(path):
        return None
    with open(path) as f:
        result = json.load(f)
    tuned = result["recipe"]["settings"]["train"]["cudnn_autotune"]
    assert tuned == path.endswith("_tuned.json"), f"{path}: train.cudnn_autotune is {tuned}"
    return result["steps"]["step_s"]["values"]


def main():
    folder, rows = sys.argv[1], {}
    for name in ("untuned", "tuned"):
        rows[name] = seconds_of(f"{folder}/first_{name}.json")
    print("| cuDNN's choice | step 1 [s] | each of the others [s] |\n| --- | ---: | --- |")
    for name, seconds in rows.items():
        if seconds is None:
            print(f"| {name} | not known | |")
        else:
            print(f"| {name} | {seconds[0]:.4g} | {', '.join(f'{s:.4g}' for s in seconds[1:])} |")
    if all(rows.values()):
        cost = rows["tuned"][0] - rows["untuned"][0]
        gain = 1 - statistics.median(rows["tuned"][1:]) / statistics.median(rows["untuned"][1:])
        print(f"\nTuning makes step 1 longer by {cost:.4g} s, and a later step shorter by {100 * gain:.1f} %.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
