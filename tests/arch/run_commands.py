"""Runs the commands of all documents, as they stand there, on small inputs of the names that they use.

  run_commands.py ROOT BUILD

A command is shortened by settings at its end, and gets two ranks at most. ELSEWHERE names those that other tests run.
"""
import os, pathlib, re, shutil, subprocess, sys, tempfile, time

import check_docs

SMALL = "data.short_side=64 data.long_side=64 train.threads=1"
SHORTER = {
    "ttt_maskrcnn": f"{SMALL} train.global_batch=2 train.max_steps=1",
    "ablate": f"{SMALL} data.generated_images=64 data.generated_held_out=16 train.images_per_rank=1 ablate.limit_s=0.1 "
              "train.pretraining= ablate.builds=1 ablate.peaks_s=0 ablate.gate_steps=2 ablate.seeds=1",
    "roofline": "seconds_each=0.02",
    "preflight": "",
}
ELSEWHERE = {
    r"^(scripts/|cmake|ctest)|sbatch": "set-up and clusters: continuous integration, tests/slurm",
    r"--hostfile": "other hosts: tests/slurm",
    r"--device cuda": "a GPU: tests/train/device_run.py on a fake one, scripts/gpu_check",
    r"--inject|^tests/faults": "tests/faults",
    r"^tests/checkpoint": "tests/checkpoint",
    r"ablate (--all|null|planted)|batch_ladder": "tests/ablations",
    r"bin/step_cost$": "tests/roofline",
}
# Other exit codes: the test has neither COCO, which the closed rules demand, nor a log of a submission. The doctor ends
# with 1 where it finds something: tests run beside it.
CODES = {r"mlperf.division=closed": [2], r"report check": [1], r"--doctor": [0, 1]}


class Place:
    def __init__(self, root, build, folder):
        self.root, self.folder = root, folder
        for name, target in [("build", build), *((n, root / n) for n in ("data", "scripts", "slurm", "tests"))]:
            (folder / name).symlink_to(target)
        shutil.copytree(root / "results", folder / "results")
        self.environment = {**os.environ, **check_docs.MPI, "OMPI_MCA_mpi_yield_when_idle": "1"}

    def run(self, line, codes=(0,)):
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=300)
        return "" if done.returncode in codes else f"exit code {done.returncode}: {line}\n{done.stdout}{done.stderr}"

    def must(self, line):
        problem = self.run(line)
        assert not problem, problem

    def prepare(self):
        """Files of the names that documents use."""
        self.must("build/bin/make_shapes --out drawn --train 16 --val 8 --size 64")
        self.must("mkdir annotations; ln -s drawn/train train2017; ln -s drawn/val val2017; for s in train val; do "
                  "cp drawn/instances_$s.json annotations/instances_${s}2017.json; done; "
                  "cp $(ls drawn/val/* | head -1) photo.jpg")
        for split in ("train", "val"):
            self.must(f"build/bin/pack_coco --images {split}2017 --annotations annotations/instances_{split}2017.json "
                      f"--split {split} --out shards")
        small = " ".join(f"--set {s}" for s in SMALL.split())
        train = f"build/bin/ttt_maskrcnn --quiet --data shards {small} --set train.global_batch=4 "
        epoch = "--set train.epochs=1 --set train.target_box_ap=0 --set train.target_mask_ap=0 "
        for seed in range(1, 6):
            self.must(f"{train} {epoch} --seed {seed} --out seed{seed}.json")
        for ranks in (1, 2, 4):
            self.must(f"mpirun -n {ranks} {train} {epoch} --out {ranks}.json")
        long = epoch.replace("epochs=1", "epochs=10") + "--set train.eval_every_epochs=10 "  # enough to diagnose
        self.must(f"{train} {long} --set train.telemetry.folder=first_logs --set mlperf.log=true --out run.json")
        self.must(f"{train} --set train.max_steps=4 --set train.trace_from=1 --set train.trace_steps=2 "
                  "--set train.save_weights=trained.h5 --out traced.json")
        self.must(f"{train} --recipe mlperf --set train.max_steps=1 --set train.save_weights=r50.h5 --out r50.json")
        self.must("cp seed1.json this.json; cp seed2.json that.json; cp run.json results/run.json; "
                  "cp seed1.json mine.json; "
                  "cp $(ls results/*/*/all.json | head -1) results/ablations.json")
        self.must("build/bin/micro --benchmark_filter=nms --benchmark_min_time=0.01 "
                  "--benchmark_format=json > micro.json")
        self.must("cp drawn/instances_val.json GT.json; echo '[]' > DT.json")


def shortened(line):
    """Two ranks at most, the settings of SHORTER, and no result from before in the way."""
    line = re.sub(r"mpirun -n \d+", "mpirun --bind-to none -n 2", line)
    program = (re.search(r"build/bin/(\w+)", line) or [0, ""])[1]
    name = "ablate" if program.startswith("ablate") else program
    if name in SHORTER and "--list" not in line and not re.search("--index|--cards", line):
        for setting in SHORTER[name].split():  # a key may be given once
            given = re.escape(setting.split("=")[0]) + r"=\S+"
            line = re.sub(given, setting, line) if re.search(given, line) else f"{line} --set {setting}"
        line = re.sub(r"train.accumulate=\d+", "train.accumulate=2", line)  # which a batch of two has
        line += " --force" if "--out" in line else ""
        # Trainings to their end; fresh images come from the generator alone.
        line += " --data shards" if "--recipe mini" in line and "generated_fresh" not in line else ""
    if program == "pack_coco":
        split = re.search(r"--split (\w+)", line)[1]
        line = f"rm -f shards/{split}-*; {line}"
    return line


def main():
    root, build = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    problems, done, left = [], set(), 0
    with tempfile.TemporaryDirectory() as folder:
        place = Place(root, build, pathlib.Path(folder))
        place.prepare()
        for path in check_docs.documents(root):
            if path.parent.name == "techniques":  # tests/ablations measures every technique
                continue
            for number, line in check_docs.code_lines(path.read_text()):
                for part in re.split(r"&&|;", line):
                    part = part.strip()
                    if not check_docs.COMMAND.match(part + " "):
                        continue
                    if part in done:
                        continue
                    if any(re.search(pattern, part) for pattern in ELSEWHERE):
                        left += 1
                        continue
                    codes = next((c for pattern, c in CODES.items() if re.search(pattern, part)), [0])
                    begin = time.monotonic()
                    problem = place.run(shortened(part), codes)
                    print(f"{path.relative_to(root)}:{number}: {time.monotonic() - begin:.1f} s: {part}", flush=True)
                    done.add(part)
                    if problem:
                        problems.append(part)
                        print(problem, flush=True)
    print(f"{len(done)} commands ran, {left} are run by other tests, {len(problems)} problems")
    assert len(done) > 40, done
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
