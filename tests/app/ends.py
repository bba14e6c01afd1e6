#!/usr/bin/env python3
"""ends.py BIN: the first and the last lines of every program, as docs/fom.md has them, read by ReFrame's and JUBE's
patterns.

JUBE is not on PyPI. Its pattern of a number is that of its documentation ("Parameter and pattern", $jube_pat_fp), with
Python's re, which JUBE uses.
"""
import json, os, re, signal, subprocess, sys, tempfile, time

try:
    import reframe.utility.sanity as sn
except ImportError as error:
    print(f"skipped: {error}; scripts/setup --tests installs ReFrame-HPC")
    sys.exit(77)

JUBE_FP, JUBE_WRD = r"([+-]?\d*\.?\d+(?:[eE][-+]?\d+)?)", r"(\S+)"
LINE = re.compile(r"TTT output 1: \w+, .+|FOM [\w.]+: -?\d+(\.\d+)?(e[+-]\d+)? \S+|TTT result: .+|TTT next: .+|"
                  r"TTT verdict: (passed|incorrect|failed|not_converged|not_supported|not_run|smoke)")
SMALL = [
    "data.short_side=64", "data.long_side=64", "train.threads=1", "train.global_batch=4", "train.epochs=1"
]


def settings(*pairs):
    return [w for p in pairs for w in ("--set", p)]


class Ends:
    """What a program printed on stdout, in a file."""

    def __init__(self, folder, bin, name, *arguments, code=0, ranks=0):
        launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks else []
        self.file = f"{folder}/stdout.txt"
        with open(self.file, "w") as out:
            done = subprocess.run([*launcher, f"{bin}/{name}", *arguments], stdout=out, stderr=subprocess.PIPE,
                                  text=True, cwd=folder, timeout=240)
        self.stderr = done.stderr
        with open(self.file) as f:
            self.lines = f.read().splitlines()
        said = (name, arguments, done.returncode, self.lines, done.stderr)
        assert done.returncode == code, said
        assert self.lines[0].startswith(f"TTT output 1: {name}, "), said
        assert self.lines[-1].startswith("TTT verdict: "), said
        stable = [l for l in self.lines if l.startswith(("TTT ", "FOM "))]
        assert all(LINE.fullmatch(l) for l in stable), [l for l in stable if not LINE.fullmatch(l)]
        self.names = [l.split()[1].rstrip(":") for l in stable if l.startswith("FOM ")]
        assert len(set(self.names)) == len(self.names), said
        self.verdict = sn.evaluate(sn.extractsingle(r"^TTT verdict: (\w+)$", self.file, 1))
        self.results = sn.evaluate(sn.extractall(r"^TTT result: (.*)$", self.file, 1))
        self.next = sn.evaluate(sn.extractall(r"^TTT next: (.*)$", self.file, 1))
        print(f"ok: {name}: {self.verdict}, {len(self.names)} figures", flush=True)

    def figure(self, name, unit):
        """As ReFrame reads it, and the same as JUBE does."""
        value = sn.evaluate(
            sn.extractsingle(rf"^FOM {re.escape(name)}: (?P<v>\S+) {re.escape(unit)}$", self.file, "v", float))
        (jube,) = re.findall(f"FOM {re.escape(name)}: {JUBE_FP} {re.escape(unit)}", "\n".join(self.lines))
        (word,) = re.findall(f"TTT verdict: {JUBE_WRD}", "\n".join(self.lines))
        assert float(jube) == value and word == self.verdict, (name, jube, value)
        return value

    def is_near(self, name, unit, value):
        """Six digits are printed."""
        said = self.figure(name, unit)
        assert abs(said - value) <= 1e-5 * abs(value), (name, said, value)


def result(path):
    with open(path) as f:
        return json.load(f)


def check_data(folder, bin):
    made = Ends(folder, bin, "make_shapes", "--out", "drawn", "--train", "16", "--val", "8", "--size", "64")
    made.is_near("images", "images", 24)
    subprocess.run(made.next[0], shell=True, cwd=folder, capture_output=True, check=True)
    for split, images in (("train", 16), ("val", 8)):
        truth = result(f"{folder}/drawn/instances_{split}.json")
        packed = Ends(folder, bin, "pack_coco", "--quiet", "--images", f"drawn/{split}", "--annotations",
                      f"drawn/instances_{split}.json", "--split", split, "--out", "packed")
        packed.is_near("images", "images", images)
        packed.is_near("annotations", "annotations", len(truth["annotations"]))
        assert packed.results == ["packed"]
        # Nothing can be trained with one split.
        assert packed.next == ([f"{bin}/ttt_maskrcnn --data packed"] if split == "val" else []), packed.next
    ours, theirs = (result(f"{folder}/{f}/shards.json") for f in ("packed", "shards"))
    for shard in ours["shards"] + theirs["shards"]:
        del shard["sha256"]  # a shard says when it was made
    assert ours == theirs, "as make_shapes says"
    with open(f"{folder}/none.json", "w") as f:
        f.write("[]")
    judged = Ends(folder, bin, "coco_eval", "drawn/instances_val.json", "none.json", "--iou", "bbox,segm", "--out",
                  "ap.json")
    assert judged.figure("bbox_ap", "score") == judged.figure("segm_ap", "score") == 0
    assert judged.results == ["ap.json"]
    broken = Ends(folder, bin, "pack_coco", "--images", "nowhere", "--annotations", "none.json", "--split", "x",
                  "--out", "no", code=2)
    assert broken.verdict == "failed" and "nowhere" in broken.stderr


def check_input(folder, bin):
    piped = Ends(folder, bin, "input_pipeline", "--data", "shards", "--seconds", "0.2", "--batch", "4")
    assert piped.figure("images_per_second", "images/s") > 0 and "16 images of shards" in piped.lines[0]


def check_training(folder, bin):
    """Figures against the samples of the result file, by the words of docs/fom.md."""
    easy = settings(*SMALL, "train.target_box_ap=0", "train.target_mask_ap=0")
    run = Ends(folder, bin, "ttt_maskrcnn", "--quiet", "--data", "shards", "--out", "run.json", *easy, ranks=2)
    file = result(f"{folder}/run.json")
    steps, (evaluation,) = file["steps"], file["accuracy"]
    assert run.verdict == file["verdict"] == "passed" and run.results == ["run.json"]
    run.is_near("time_to_target", "s", file["clocks"]["init_s"] + evaluation["wall_s"])
    run.is_near("images_per_second", "images/s", sum(steps["images"]) / sum(steps["step_s"]["values"]))
    run.is_near("epochs_to_target", "epochs", sum(steps["images"]) / 16)
    run.is_near("bbox_ap", "score", evaluation["bbox"]["AP"])
    run.is_near("segm_ap", "score", evaluation["segm"]["AP"])
    for part in ("recipe default", "16 images of instances_train.json", "target box AP 0.000 and mask AP 0.000",
                 "2 ranks", "result run.json"):
        assert f", {part}" in run.lines[0], (part, run.lines[0])
    title = f"PASSED in {file['clocks']['init_s'] + evaluation['wall_s']:.1f} s: "
    assert run.lines[1].startswith(title) and " after 1 epoch, " in run.lines[1], run.lines[1]
    (command,) = run.next
    shown = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True, check=True).stdout
    assert "time to target" in shown, "the next command works as it is printed"

    smoke = settings(*SMALL, "train.max_steps=2", "train.save_weights=trained.h5")
    short = Ends(folder, bin, "ttt_maskrcnn", "--data", "shards", "--out", "short.json", *smoke)
    assert short.verdict == "smoke" and "time_to_target" not in short.names
    assert "at most" in short.stderr and "ETA" not in short.stderr, short.stderr
    far = settings(*SMALL, "train.target_box_ap=0.99", "train.eval_every_epochs=0.5")
    missed = Ends(folder, bin, "ttt_maskrcnn", "--data", "shards", "--out", "far.json", *far, code=6)
    assert missed.verdict == "not_converged" and "time_to_target" not in missed.names
    assert "epoch 0.5 (step 2" in missed.stderr and "epoch 1 (step 4" in missed.stderr, missed.stderr
    faulty = Ends(folder, bin, "ttt_maskrcnn", "--data", "shards", "--out", "faulty.json", *settings(*SMALL),
                  "--inject", "rank=0,step=2,kind=nan", code=5)
    assert faulty.verdict == "incorrect" and faulty.results == ["faulty.json"]
    seen = Ends(folder, bin, "predict", "drawn/val/" + sorted(os.listdir(f"{folder}/drawn/val"))[0], "--weights",
                "trained.h5", "--out", "pictures", "--threshold", "0", *settings(*SMALL[:2]))
    assert seen.figure("images", "images") == 1 and os.path.exists(f"{folder}/{seen.results[0]}")


def check_interruption(folder, bin):
    out = f"{folder}/stopped.json"
    run = subprocess.Popen([
        f"{bin}/ttt_maskrcnn", "--data", "shards", "--out", out, *settings(*SMALL[:-1], "train.epochs=1000")
    ], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    while run.poll() is None and not os.path.exists(f"{out}.journal/rank00000.jsonl"):
        time.sleep(0.1)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    said, errors = run.communicate(timeout=60)
    assert run.returncode == 130, (said, errors)
    assert re.search(r"^INTERRUPTED by SIGINT after step \d+ of at most 4000\. To go on next time add --set "
                     r"train\.checkpoint\.folder=DIR\.$", said, re.M), said
    assert said.splitlines()[-1] == "TTT verdict: failed" and "TTT result: stopped.json\n" in said, said
    print("ok: an interruption says what to do")


def check_machine(folder, bin):
    peaks = Ends(folder, bin, "roofline", "--out", "peaks.json", *settings("seconds_each=0.02", "threads=1"), ranks=2)
    for peak in result(f"{folder}/peaks.json")["peaks"]:
        peaks.is_near(peak["name"], "G" + peak["unit"], max(peak["samples"]) / 1e9)
    assert "measuring memory ..." in peaks.stderr, peaks.stderr
    looked = Ends(folder, bin, "preflight", "--out", "pre.json", *settings("cores=shared", "gpus_per_node=64"), code=1)
    checks = result(f"{folder}/pre.json")["checks"]
    looked.is_near("checks_failed", "checks", sum(c["status"] == "failed" for c in checks))
    failed = [c["name"] for c in checks if c["status"] == "failed"]
    assert f"FAILED: {len(failed)} of {len(checks)} failed: {', '.join(failed)}" in looked.lines, looked.lines
    cost = Ends(folder, bin, "step_cost", "--out", "cost.json", *settings(*SMALL[:3]))
    cost.is_near("image_flops", "Tflop", result(f"{folder}/cost.json")["built"]["step_cost"]["image_flops"] / 1e12)
    assert "recipe mlperf" in cost.lines[0] and any("unfused" in l and "fused" in l for l in cost.lines)
    assert "taking two steps of 1 image ..." in cost.stderr, cost.stderr


def main():
    bin = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check_data(folder, bin)
        for needed, check in (("input_pipeline", check_input), ("ttt_maskrcnn", check_training),
                              ("ttt_maskrcnn", check_interruption), ("roofline", check_machine)):
            if os.path.exists(f"{bin}/{needed}"):
                check(folder, bin)
            else:
                print(f"not built, and left out: {needed}")


if __name__ == "__main__":
    main()
