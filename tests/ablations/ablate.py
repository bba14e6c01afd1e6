#!/usr/bin/env python3
"""The ablation program from outside: its list, its refusals, short measurements, the report of them.

  ablate.py ABLATE REPORT ABLATIONS_FOLDER SRC_FOLDER
"""
import glob, json, math, os, signal, subprocess, sys, tempfile

SHORT = ["ablate.limit_s=3", "ablate.min_rounds=6", "ablate.gate_steps=2", "data.short_side=64", "data.long_side=64", "train.images_per_rank=1", "train.threads=1"]


def sh(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def measure(ablate, folder, ranks, *arguments, settings=()):
    out = f"{folder}/{len(os.listdir(folder))}.json"
    line = [*(["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []), ablate, *arguments, "--out", out]
    given = {s.split("=")[0] for s in settings}
    for s in [*(s for s in SHORT if s.split("=")[0] not in given), *settings]:
        line += ["--set", s]
    done = sh(*line)
    result = None
    if os.path.exists(out):
        with open(out) as f:
            result = json.load(f)
    return done, result, out


def check_row(row, built):
    assert row["status"] == "measured", row["reason"]
    assert built in row["built"], row["built"]
    s = row["samples"]
    n = len(s["step"])
    assert n > 0 and all(len(s[k]) == n for k in ("round", "variant_first", "baseline_s", "variant_s"))
    assert all(x > 0 for x in s["baseline_s"] + s["variant_s"])
    assert sorted(set(s["variant_first"])) == [0, 1], "a round has both orders"
    for side in (0, 1):  # the phases add up to about what the steps took: they are means over all steps, those are the counted ones
        total = sum(v[side] for v in row["phase_s"].values())
        steps = s["variant_s" if side else "baseline_s"]
        assert 0.3 < total / (sum(steps) / n) < 3, (total, sum(steps) / n)


def interrupt(ablate, folder):
    """What was measured before a signal is in the result."""
    out = folder + "/interrupted.json"
    line = [ablate, "null", "--out", out]
    for s in SHORT:
        line += ["--set", s]
    run = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    while "#1" not in run.stderr.readline():
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    with open(out) as f:
        result = json.load(f)
    assert run.returncode == 130 and result["verdict"] == "failed" and len(result["comparisons"]) >= 1, (run.returncode, result["verdict"])
    print("ok: interrupted, rows kept:", len(result["comparisons"]))


def main():
    ablate, report, folder_of_ablations, src = sys.argv[1:5]
    files = sorted(os.path.basename(f)[:-3] for f in glob.glob(folder_of_ablations + "/*.cc"))
    listed = sh(ablate, "--list").stdout
    for name in files:
        assert f"\n{name} " in "\n" + listed, name
        assert os.path.realpath(os.path.join(os.path.dirname(ablate), "ablate_" + name)) == os.path.realpath(ablate), name
    assert "expected:" in listed and "promises:" in listed
    assert "ablat" not in sh("grep", "-rliE", "ablat", src, "--include=*.cc").stdout.replace("result/comparison.cc", ""), "src/ never learns that ablations exist"

    with tempfile.TemporaryDirectory() as folder:
        done, _, _ = measure(ablate, folder, 1)
        assert done.returncode == 2 and "ablate --all" in done.stderr, done.stderr
        done, _, _ = measure(ablate, folder, 1, "reduser")
        assert done.returncode == 2 and "'reduser'" in done.stderr and "'reducer'" in done.stderr, done.stderr
        done, result, out = measure(ablate, folder, 1, "reducer", "cuda_graphs")
        assert done.returncode == 4 and result["verdict"] == "not_supported", (done.returncode, done.stderr)
        assert {r["status"] for r in result["comparisons"]} == {"not_supported"} and len(result["comparisons"]) == 4
        shown = sh(report, "ablations", out, "--width", "200").stdout
        assert "mpirun -n 2" in shown and "kept" not in shown and "not checked" in shown, shown
        print("ok: names, list, not supported")

        done, result, out = measure(ablate, folder, 2, "reducer")
        assert done.returncode == 0 and result["verdict"] == "passed", done.stderr
        assert "plan: 1 ablations, 2 comparisons" in done.stderr, done.stderr
        for row in result["comparisons"]:
            check_row(row, "reducer")
            assert row["promise"] == "bitwise" and row["gate"]["largest_difference"] == 0
        shown = sh(report, "ablations", out, "--width", "200").stdout
        assert "flat_async" in shown and "same bits, kept" in shown, shown
        with open(folder + "/torn.json", "w") as f:
            f.write(open(out).read()[:2000])
        both = sh(report, "ablations", folder + "/torn.json", out)
        assert both.returncode == 3 and "torn.json" in both.stderr and "flat_async" in both.stdout, both
        print("ok: two ranks, bitwise, report, a torn file among good ones")

        # zero_grad: the same bits on one rank by another program; optimizer: close.
        done, result, _ = measure(ablate, folder, 1, "optimizer", "zero_grad")
        assert done.returncode == 0, done.stderr
        for row in result["comparisons"]:
            check_row(row, {"optimizer": "optimizer", "zero_grad": "step"}[row["ablation"]])
        print("ok: replaced parts")

        # Rounding grows from step to step, so after enough of them no promise of closeness holds: the gate must notice, and no time is taken.
        done, result, _ = measure(ablate, folder, 1, "shapes", settings=["ablate.gate_steps=80", "train.schedule.lr=0.05", "train.schedule.warmup_steps=0"])
        assert done.returncode == 5 and result["verdict"] == "incorrect" and "shapes, dynamic" in result["reason"], (done.returncode, done.stderr)
        (row,) = result["comparisons"]
        assert row["status"] == "promise_broken" and row["samples"]["step"] == [] and row["gate"]["largest_difference"] > row["gate"]["promised_difference"]
        print("ok: a broken promise")

        done, result, _ = measure(os.path.join(os.path.dirname(ablate), "ablate_null"), folder, 1, settings=["ablate.repetitions=2"])
        assert done.returncode in (0, 5), done.stderr
        assert len(result["comparisons"]) == 2 and result["comparisons"][1]["repetition"] == 1
        for row in result["comparisons"]:
            s = row["samples"]
            mean = sum(math.log(v / b) for v, b in zip(s["variant_s"], s["baseline_s"])) / len(s["step"])
            assert abs(mean) < 0.2, mean
        print("ok: null")
        interrupt(ablate, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
