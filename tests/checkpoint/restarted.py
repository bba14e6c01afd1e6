"""Runs of ttt_maskrcnn on a small data set that are started again with the same command, for checkpoint.py."""
import json, os, subprocess, time

import h5py

EPOCH = 8  # steps: 64 images, 8 at a time
STEPS = 2 * EPOCH
EVALUATION = 4  # steps between them
# 16 steps, 4 evaluations, a checkpoint every second step; the target is out of reach, so a run ends with 6.
SMALL = [
    "train.global_batch=8", "train.epochs=2", "train.eval_every_epochs=0.5", "train.checkpoint.every_epochs=0.25",
    "train.checkpoint.keep=2", "train.target_box_ap=1", "train.target_mask_ap=1", "data.short_side=64",
    "data.long_side=64", "train.threads=1"
]
NOT_CONVERGED = 6


class Place:
    """Programs, a small data set, and a folder for each run."""

    def __init__(self, build, folder):
        self.bin, self.tests, self.folder, self.runs = build + "/bin", build + "/tests", folder, 0
        self.data = folder + "/shards"
        drawn = folder + "/drawn"
        self.must(f"{self.bin}/make_shapes", "--out", drawn, "--train", "64", "--val", "8", "--size", "64")
        for split in ("train", "val"):
            self.must(f"{self.bin}/pack_coco", "--quiet", "--images", f"{drawn}/{split}", "--annotations",
                      f"{drawn}/instances_{split}.json", "--split", split, "--out", self.data)

    def must(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    def run(self, ranks=2, settings=SMALL, more=(), program="bin/ttt_maskrcnn", data=True):
        self.runs += 1
        return Run(self, f"{self.folder}/run{self.runs}", ranks, settings, more,
                   os.path.dirname(self.bin) + "/" + program, data)


class Run:
    """One run, started as often as needed with the same command."""

    def __init__(self, place, folder, ranks, settings, more, program, data):
        os.mkdir(folder)
        self.place, self.folder, self.program = place, folder, program
        self.out, self.weights = folder + "/result.json", folder + "/weights.h5"
        self.checkpoints = folder + "/checkpoints"
        self.ranks, self.settings = ranks, [
            f"train.checkpoint.folder={self.checkpoints}", f"train.save_weights={self.weights}", *settings
        ]
        self.more = [*(["--data", place.data] if data else []), *more]

    def command(self):
        line = [
            "mpirun", "--oversubscribe", "--bind-to", "none", "--timeout", "300", "-n",
            str(self.ranks), self.program, "--quiet", "--out", self.out, *self.more
        ]
        for key, value in dict(s.split("=", 1) for s in self.settings).items():  # the last word counts
            line += ["--set", f"{key}={value}"]
        return line

    def start(self, environment={}):
        return subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **environment})

    def finish(self, code=NOT_CONVERGED):
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=300)
        assert done.returncode == code, (code, done.returncode, done.stdout, done.stderr)
        return done.stderr

    def result(self):
        with open(self.out) as f:
            return json.load(f)

    def journal(self):
        """Kinds of the lines of rank 0's journal since this process began."""
        try:
            with open(self.out + ".journal/rank00000.jsonl") as f:
                return [
                    line[9:line.index('"', 9)] for line in f if line.endswith("\n") and line.startswith('{"type":"')
                ]
        except OSError:
            return []

    def steps(self):
        return self.journal().count("step")

    def files(self):
        try:
            return sorted(os.listdir(self.checkpoints))
        except OSError:
            return []

    def saved(self):
        return [name for name in self.files() if name.startswith("step-") and name.endswith(".h5")]

    def pids(self):
        return [
            int(p) for p in subprocess.run(["pgrep", "-f", f"^{self.program} .*{self.out}"], capture_output=True,
                                           text=True).stdout.split()
        ]


def wait_for(condition, process, seconds=300, pause=0.005):
    """False where the process ends first."""
    end = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None:
            return False
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(pause)
    return True


def content(path):
    with open(path, "rb") as f:
        return f.read()


def same_training(run, reference):
    """The weights and the losses and accuracies of every step, to the bit."""
    a, b = run.result(), reference.result()
    assert a["steps"]["step"] == list(range(len(b["steps"]["step"]))), a["steps"]["step"]
    assert a["steps"]["loss"]["values"] == b["steps"]["loss"]["values"], "other losses"
    assert a["steps"]["learning_rate"] == b["steps"]["learning_rate"] and a["steps"]["step_s"]["ranks"] == "max"
    assert [(e["step"], e["epoch"], e["images"], e["bbox"], e["segm"]) for e in a["accuracy"]] == \
           [(e["step"], e["epoch"], e["images"], e["bbox"], e["segm"]) for e in b["accuracy"]]
    with h5py.File(run.weights) as x, h5py.File(reference.weights) as y:
        assert set(x) == set(y)
        other = [name for name in x if x[name][()].tobytes() != y[name][()].tobytes()]
    assert not other, f"other weights: {other[:5]}, {len(other)} in all"
    clocks_add_up(a)


def clocks_add_up(result):
    c, walls = result["clocks"], [e["wall_s"] for e in result["accuracy"]]
    lost = sum(r["lost_s"] for r in result.get("resumes", []))
    assert abs(c.get("lost_s", 0) - lost) < 1e-3, (c, lost)
    evaluation = sum(e["duration_s"] for e in result["accuracy"])
    assert abs(c["run_s"] - c["train_s"] - evaluation - lost) < 1e-3, (c, evaluation, lost)
    assert walls == sorted(walls) and c["init_s"] + c["run_s"] <= c["total_s"] + 1e-6, (walls, c)
    stalls = sum(s["stall_s"] for s in result.get("checkpoints", []))
    apart = c["run_s"] - sum(result["steps"]["step_s"]["values"]) - evaluation - stalls - lost
    assert abs(apart) < max(0.5, 0.1 * c["run_s"]), f"{apart} s unaccounted"
