#!/usr/bin/env python3
"""The ablation program from outside: its list, its refusals, short measurements, the report of them.

  ablate.py single|designs|promises|ranks|trainings ABLATE REPORT ABLATIONS_FOLDER SRC_FOLDER
"""
import glob, json, math, os, signal, subprocess, sys, tempfile, time

from ablate_run import SHORT, command, measure, ok, sh, small_data
from ladders import ladder


def check_row(row, built):
    assert row["status"] == "measured", row["reason"]
    assert built in row["built"], row["built"]
    s = row["samples"]
    n = len(s["step"])
    assert n > 0 and all(len(s[k]) == n for k in ("build", "round", "variant_first", "baseline_s", "variant_s"))
    assert all(x > 0 for x in s["baseline_s"] + s["variant_s"])
    assert sorted(set(s["variant_first"])) == [0, 1], "a round has both orders"
    rounds = len(set(zip(s["build"], s["round"])))
    assert set(s["phase_s"]["values"]) == set(row["phase_s"]), s["phase_s"]
    for name, sides in s["phase_s"]["values"].items():
        assert len(sides["baseline"]) == len(sides["variant"]) == rounds and math.isclose(
            sum(sides["variant"]) / rounds, row["phase_s"][name][1], abs_tol=1e-8), name
    # the phases add up to about what the steps took: they are means over all steps, those are the counted ones
    for side in (0, 1):
        total = sum(v[side] for v in row["phase_s"].values())
        steps = s["variant_s" if side else "baseline_s"]
        assert 0.3 < total / (sum(steps) / n) < 3, (total, sum(steps) / n)


def interrupt(ablate, folder, data):
    """What was measured before a signal is in the result, and the sentence promises no more."""
    endless = ["--data", data, "--set", "ablate.seeds=1000", "--set", "train.epochs=1"]
    for asked, said, kept in (["null"], "null: A again against A", "comparisons"), (
        ["initialisation=kaiming_uniform", *endless], "initialisation: ", "convergence"):
        out = f"{folder}/interrupted_{kept}.json"
        line = [ablate, *asked, "--out", out]
        for s in SHORT:
            line += ["--set", s]
        run = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while said not in run.stderr.readline():
            assert run.poll() is None
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        stdout, _ = run.communicate(timeout=60)
        with open(out) as f:
            result = json.load(f)
        assert run.returncode == 130 and result["verdict"] == "failed" and len(
            result[kept]) >= 1, (run.returncode, result["verdict"])
        assert "What was measured until then is in the result." in stdout and "checkpoint" not in stdout, stdout
    ok("interrupted, rows kept")


def everything(ablate, folder, data):
    """On two ranks: what can run keeps its promise, what cannot says why, and nobody waits for a rank that went another
    way."""
    done_before = {
        "reducer", "optimizer", "zero_grad", "bias_removal", "channels_last", "checkpointing", "record_checksums",
        "null", "planted", "skipped_updates", "repeats"
    }
    folder_of_all = os.path.dirname(os.path.abspath(__file__)) + "/../../benchmarks/ablations"
    trained = {os.path.basename(f)[:-3] for f in glob.glob(folder_of_all + "/convergence/*.cc")}  # by converge()
    names = sorted(set(names_of_files(folder_of_all)) - done_before - trained)
    # their blocks are the longest of all, and their variants many: one of each
    alone = ["workers=4 workers prefetch 2", "sync_free=dynamic_mask_branch"]
    asked = [n for n in names if n not in ("workers", "sync_free")] + alone
    done, result, _ = measure(ablate, folder, 2, *asked, "--data", data,
                              settings=["ablate.limit_s=0.1", "data.workers=1"])
    assert done.returncode == 0, done.stderr
    refused = {r["ablation"] for r in result["comparisons"] if r["status"] == "not_supported"}
    assert {r["ablation"] for r in result["comparisons"]} == set(names)
    # a variant that is named is measured alone
    assert {f"{r['ablation']}={r['variant']}" for r in result["comparisons"]
            if r["ablation"] in ("workers", "sync_free")} == set(alone)
    assert refused - {"threads_against_ranks"} == {
        "cuda_graphs", "cudnn_autotune", "device_transform", "nccl", "pinned_memory", "precision"
    }, refused
    assert all(r["reason"] for r in result["comparisons"] if r["status"] == "not_supported")
    # the folder that it made for itself is not what a reader should set
    folders = [r["against_recipe"]["variant"]["sets"].get("train.telemetry.folder") for r in result["comparisons"]
               if r["ablation"] == "telemetry"]
    assert folders and set(folders) == {"DIR"}, folders
    ok("everything on two ranks,", len(result["comparisons"]), "rows")


def designs(ablate, report, folder):
    two = ["zero_grad=each", "optimizer"]
    expected = {
        "leave_one_out": [(2, 1), (2, 1)], "ladder": [(0, 1), (1, 2), (0, 2)], "factorial": [(0, 1), (0, 1), (0, 2)],
        "null": [(None, None)] * 2
    }
    for design, sizes in expected.items():
        done, result, out = measure(ablate, folder, 1, *two, "--design", design)
        assert result is not None and result["verdict"] == "passed", done.stderr
        rows = result["comparisons"]
        assert len(rows) == len(sizes) and {r["design"] for r in rows} == {design}
        for row, (off, on) in zip(rows, sizes):
            if off is None:
                assert row["built"] == {} and row["variant"] == row["baseline"] + " again"
                continue
            count = lambda name: 0 if name == "none" else name.count("=")
            assert (count(row["baseline"]), count(row["variant"])) == (off, on), row
            assert row["built"], row
        shown = sh(report, "ablations", out, "--details", "--width", "250").stdout
        assert ("main effect" in shown) == (design == "factorial"), shown
    done, result, _ = measure(ablate, folder, 1, "freed_memory", "zero_grad=each", "--design", "leave_one_out")
    assert [r["setting"] for r in result["comparisons"]
            ] == ["shapes of the positives"] * 2 + ["fixed shapes"] * 2, (done.stderr, result["comparisons"])
    assert all(r["status"] == "measured" for r in result["comparisons"]), result["comparisons"]
    done, _, _ = measure(ablate, folder, 1, "freed_memory", "sync_free", "--design", "ladder")
    assert done.returncode == 2 and "'freed_memory' and 'sync_free' both" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "zero_grad", "--design", "ladder")
    assert done.returncode == 2 and "two or more" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "zero_grad", "channels_last", "--design", "ladder")
    assert done.returncode == 2 and "'channels_last'" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "zero_grad", "checkpointing", "--design", "ladder")
    assert done.returncode == 2 and "'zero_grad' and 'checkpointing' both set the step" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "workers", "read_path", "--design", "factorial")
    assert done.returncode == 2 and "data.workers" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "zero_grad=ech", "optimizer", "--design", "ladder")
    assert done.returncode == 2 and "'each'" in done.stderr, done.stderr
    ok("designs")


def converge(ablate, report, folder, data):
    """The same trainings one after the other on one rank, and side by side on two: to the bit where the batch and the
    threads are the same."""
    small = [
        "model.roi.sample=16", "model.rpn.sample=16", "train.global_batch=4", "train.epochs=2", "train.threads=1",
        "train.eval_near_every_epochs=0", "train.eval_every_epochs=0.25", "ablate.seeds=3"
    ]
    rows = []
    for ranks in (1, 2):
        done, result, out = measure(ablate, folder, ranks, "initialisation", "--data", data,
                                    settings=[*small, "ablate.limit_s=0.1"])
        assert done.returncode == 0, done.stderr
        (row,) = result["convergence"]
        assert row["fixed_steps"] and row.get("side_by_side", False) == (ranks == 2), row
        assert [(t["variant"], t["seed"]) for t in row["trainings"]] == [
            (v, s) for s in (1, 2, 3) for v in ("kaiming_normal", "kaiming_uniform")
        ]
        for t in row["trainings"]:
            assert [p["epochs"] for p in t["accuracy"]] == [1.25, 1.5, 1.75, 2], t
        assert ", 6 trainings of 12 epochs in all" in done.stdout, done
        rows.append([t["accuracy"] for t in row["trainings"]])
        shown = sh(report, "ablations", out, "--details", "--width", "250").stdout
        assert "steps to equal accuracy" in shown or "too few trainings" in shown, shown
    assert rows[0] == rows[1], rows
    done, result, out = measure(ablate, folder, 2, "initialisation", "learning_rate=half", "--design", "factorial",
                                "--data", data, settings=[*small, "ablate.limit_s=0.1"])
    assert done.returncode == 0, done.stderr
    (row,) = result["convergence"]
    both = "initialisation=kaiming_uniform + learning_rate=half"
    assert {c["variant"]: c["factors"] for c in row["combinations"]} == {
        "none": [], "initialisation=kaiming_uniform": ["initialisation"], "learning_rate=half": ["learning_rate"],
        both: ["initialisation", "learning_rate"]}, row["combinations"]
    trained = {(t["variant"], t["seed"]): t["accuracy"] for t in row["trainings"]}
    assert len(trained) == 12, trained.keys()
    # one factor alone is the training that its own ablation makes
    assert [trained["initialisation=kaiming_uniform", s] for s in (1, 2, 3)] == rows[1][1::2], trained
    shown = sh(report, "ablations", out, "--details", "--width", "250").stdout
    assert "initialisation x learning_rate" in shown or "too few trainings" in shown, shown
    done, result, _ = measure(ablate, folder, 2, "repeats", settings=[
        *small, "ablate.averaged_weights=false", "data.generated_images=32", "data.generated_held_out=8",
        "data.generated_fresh=8"])
    assert done.returncode == 0, done.stderr
    (row,) = result["convergence"]
    assert [t["seed"] for t in row["trainings"]] == [1, 2, 3] and "averaged" not in row, row
    for t in row["trainings"]:
        assert [p["epochs"] for p in t["accuracy"]] == [0.75, 1, 1.25, 1.5, 1.75, 2], t
        assert sorted(t["fresh"]) == sorted(t["accuracy"][-1]["metrics"]), t
    done, _, _ = measure(ablate, folder, 1, "initialisation", "learning_rate", "--design", "ladder")
    assert done.returncode == 2 and "--design factorial" in done.stderr, done.stderr
    ends(ablate, report, folder, data, [*small, "ablate.limit_s=0.1"])
    ok("convergence")


def ends(ablate, report, folder, data, small):
    """A schedule's trainings end at several epochs, each evaluated there alone. The last of them is the training that
    the same recipe makes without ends."""
    done, result, out = measure(ablate, folder, 2, "schedule=cosine", "--data", data, settings=small)
    assert done.returncode == 0, done.stderr
    assert ", 18 trainings of 28.8 epochs in all" in done.stdout, done
    (row,) = result["convergence"]
    assert row["ends"] == [1.2, 1.6, 2] and "averaged" not in row, row
    steps = [round(e * 16) / 16 for e in row["ends"]]  # 16 steps an epoch
    for t in row["trainings"]:
        assert [p["epochs"] for p in t["accuracy"]] == steps and t["epochs"] == 2, t
    cosine = [t["accuracy"][-1] for t in row["trainings"] if t["variant"] == "cosine"]
    shown = sh(report, "ablations", out, "--details", "--width", "250").stdout
    assert "Trainings of 1.2, 1.6, 2 epochs, evaluated at their ends" in shown, shown
    done, result, _ = measure(ablate, folder, 2, "repeats", "--data", data, settings=[
        *small, "ablate.averaged_weights=false", "train.schedule.kind=cosine"])
    assert [t["accuracy"][-1] for t in result["convergence"][0]["trainings"]] == cosine, (result["convergence"], cosine)
    done, result, _ = measure(ablate, folder, 2, "schedule=cosine", "box_weights", "--design", "factorial", "--data",
                              data, settings=small)
    assert done.returncode == 0, done.stderr
    (row,) = result["convergence"]
    assert row["ends"] == [1.2, 1.6, 2] and len(row["trainings"]) == 12, row
    assert [t["accuracy"][-1] for t in row["trainings"] if t["variant"] == "schedule=cosine"] == cosine, row
    one = [s for s in small if "seeds" not in s] + ["ablate.seeds=1"]
    done, result, _ = measure(ablate, folder, 2, "box_loss", "--data", data, settings=one)
    assert done.returncode == 0 and {r["status"] for r in result["comparisons"]} == {"measured"}, (done, result)
    (row,) = result["convergence"]
    assert [t["variant"] for t in row["trainings"]] == ["smooth_l1", "giou", "diou", "ciou"], row


def names_of_files(folder):
    """The names of all ablations: one for each file that defines one."""
    return sorted(
        os.path.basename(f)[:-3] for f in glob.glob(folder + "/*/*.cc") if "Ablation ablate_" in open(f).read())


def names_and_refusals(ablate, report, folder):
    done, _, _ = measure(ablate, folder, 1)
    assert done.returncode == 2 and "ablate --all" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "reduser")
    assert done.returncode == 2 and "'reduser'" in done.stderr and "'reducer'" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "reducer", "workers", "reducer")
    assert done.returncode == 2 and "'reducer' is named twice" in done.stderr, done.stderr
    done, result, out = measure(ablate, folder, 1, "reducer", "cuda_graphs")
    assert done.returncode == 4 and result["verdict"] == "not_supported", (done.returncode, done.stderr)
    assert {r["status"] for r in result["comparisons"]} == {"not_supported"} and len(result["comparisons"]) == 4
    shown = sh(report, "ablations", out, "--details", "--width", "200").stdout
    assert "mpirun -n 2" in shown and "kept" not in shown and "not checked" in shown, shown
    done, result, _ = measure(ablate, folder, 1, "cudnn_autotune")
    assert done.returncode == 4, (done.returncode, done.stderr)
    rows = result["comparisons"]
    assert [r["setting"] for r in rows] == [
        "training step", "64 filters 3x3 on 32x64x64x64", "64 filters 3x3 on 32x64x64x64, its first call",
        "64 filters 3x3, a new shape in every step"
    ], rows
    assert all(r["status"] == "not_supported" and r["reason"] == "needs a GPU" for r in rows), rows
    done, _, _ = measure(ablate, folder, 1, "zero_grad", settings=["train.trace_steps=5"])
    assert done.returncode == 2 and "train.trace_steps" in done.stderr, done.stderr
    ok("names, list, not supported")


def two_ranks(ablate, report, folder):
    done, result, out = measure(ablate, folder, 2, "reducer", settings=["ablate.peaks_s=0.1"])
    assert done.returncode == 0 and result["verdict"] == "passed", done.stderr
    assert "2 comparisons of 1 ablation, at most" in done.stdout + done.stderr, done.stderr
    for row in result["comparisons"]:
        check_row(row, "reducer")
        assert row["promise"] == "bitwise" and row["gate"]["largest_difference"] == 0
        sides = row["against_recipe"]
        assert sides["baseline"]["sets"] == {"train.reducer.kind": "blocking"}, sides
        assert sides["variant"]["sets"] == ({} if row["variant"] == "bucketed" else
                                            {"train.reducer.kind": row["variant"]}), sides
    shown = sh(report, "ablations", out, "--details", "--width", "500").stdout
    assert "flat_async" in shown and "same bits, kept" in shown and "of peak" in shown, shown
    train = result["recipe"]["settings"]["train"]
    assert train["global_batch"] == 2 * train["images_per_rank"] > 0 and train["threads"] == 1, train
    assert {p["name"] for p in result["peaks"]} >= {"matrix_multiply", "memory_copy", "all_reduce"}, result["peaks"]
    with open(folder + "/torn.json", "w") as f:
        f.write(open(out).read()[:2000])
    both = sh(report, "ablations", folder + "/torn.json", out)
    assert both.returncode == 3 and "torn.json" in both.stderr and "reducer" in both.stdout, both
    ok("two ranks, bitwise, report, a torn file among good ones")


def replaced_components(ablate, report, folder):
    # zero_grad: the same bits on one rank by another program; optimizer: close.
    done, result, _ = measure(ablate, folder, 1, "optimizer", "zero_grad")
    assert done.returncode == 0, done.stderr
    for row in result["comparisons"]:
        check_row(row, {"optimizer": "optimizer", "zero_grad": "step"}[row["ablation"]])
        of_variant = row["against_recipe"]["variant"]
        expected = {"optimizer": ({"train.optimizer.implementation": row["variant"]}, []), "zero_grad": ({}, ["step"])}
        assert (of_variant["sets"], of_variant["replaces"]) == expected[row["ablation"]], of_variant
        assert row["against_recipe"]["baseline"]["replaces"] == [], row
        a, b = row["counters"]["operator_calls"]
        # a call for each tensor
        assert a > 100 and (b > a if row["variant"] in ("loop", "each") else True), (row["variant"], a, b)
    ok("replaced parts")


def operations(ablate, report, folder):
    # What is no training step: promises hold, the counters say what the change is.
    names = ["bias_removal", "channels_last", "set_to_none", "record_checksums"]
    done, result, _ = measure(ablate, folder, 1, *names)
    assert done.returncode == 0, done.stderr
    rows = {(r["ablation"], r["setting"]): r for r in result["comparisons"]}
    assert len(rows) == 6 and all(r["status"] == "measured" for r in rows.values()), rows.keys()
    assert rows["channels_last", "first stage of the recipe"]["against_recipe"]["variant"]["alone"]
    # With images and heads large enough, most of the peak is activations of the backbone beside those of the heads,
    # whatever scratch memory this processor's convolutions take.
    done, result, _ = measure(ablate, folder, 1, "checkpointing",
                              settings=["data.short_side=256", "data.long_side=256", "model.roi.sample=128"])
    assert done.returncode == 0, done.stderr
    rows["checkpointing", ""] = result["comparisons"][0]
    a, b = rows["checkpointing", ""]["counters"]["peak_bytes"]
    assert b < 0.9 * a, (a, b)
    a, b = rows["checkpointing", ""]["counters"]["flops"]
    assert b > a, (a, b)
    a, b = rows["bias_removal", "64 filters 3x3 on 32x64x64x64"]["counters"]["flops"]
    assert a == b == 3 * 2 * 32 * 64 * 64 * 64 * 64 * 9, (a, b)  # forward, gradients of input and of weight
    ok("operations")


def broken_promises(ablate, report, folder):
    # Rounding grows from step to step, so after enough of them no promise of closeness holds: the gate must notice,
    # and no time is taken.
    done, result, _ = measure(
        ablate, folder, 1, "optimizer",
        settings=["ablate.gate_steps=80", "train.schedule.lr=0.05", "train.schedule.warmup_steps=0"])
    assert done.returncode == 5 and result["verdict"] == "incorrect" and "optimizer, foreach" in result["reason"], (
        done.returncode, done.stderr)
    row = next(r for r in result["comparisons"] if r["variant"] == "foreach")
    assert row["status"] == "promise_broken" and row["samples"]["step"] == [] and row["gate"][
        "largest_difference"] > row["gate"]["promised_difference"]
    # A training that blows up is a row, and what comes after it is measured all the same.
    hot = ["train.schedule.lr=1e6", "train.schedule.warmup_steps=0", "ablate.gate_steps=8"]
    done, result, _ = measure(ablate, folder, 1, "zero_grad", "record_checksums", settings=hot)
    assert done.returncode == 5 and "not finite" in result["reason"], (done.returncode, done.stderr)
    assert [r["status"] for r in result["comparisons"]] == ["incorrect", "incorrect",
                                                            "measured"], result["comparisons"]
    ok("a broken promise")


def null(ablate, report, folder):
    done, _, _ = measure(ablate, folder, 1, "null", settings=["ablate.builds=7"])
    assert done.returncode == 2 and "multiple of four" in done.stderr, done.stderr
    done, result, _ = measure(os.path.join(os.path.dirname(ablate), "ablate_null"), folder, 1,
                              settings=["ablate.repetitions=2", "ablate.builds=8", "ablate.min_rounds=1"])
    assert done.returncode == 0 and "too few for a proof" in result["reason"], (done.returncode, done.stderr)
    assert len(result["comparisons"]) == 2 and result["comparisons"][1]["repetition"] == 1
    for row in result["comparisons"]:
        assert row["known_effect"] == 0, row
        s = row["samples"]
        mean = sum(math.log(v / b) for v, b in zip(s["variant_s"], s["baseline_s"])) / len(s["step"])
        assert abs(mean) < 0.2, mean
        builds = max(s["build"]) + 1
        assert sorted(set(s["build"])) == list(range(builds)) and builds >= 8, s["build"]
        # of each build and both sides, a share of the node
        assert {"others", "stolen"} <= set(row["noise"]) <= {"others", "stolen", "clock_mhz"}, row["noise"]
        for name, of_build in row["noise"].items():
            assert len(of_build) == builds and all(len(sides) == 2 for sides in of_build), row["noise"]
            assert name == "clock_mhz" or all(0 <= x <= 1 for sides in of_build for x in sides), row["noise"]
    ok("null")


def lists_every_file(ablate, folder_of_ablations, src):
    files = names_of_files(folder_of_ablations)
    assert len(files) > 20, files
    listed = sh(ablate, "--list").stdout
    for name in files:
        assert f"\n{name} " in "\n" + listed, name
        assert os.path.realpath(os.path.join(os.path.dirname(ablate),
                                             "ablate_" + name)) == os.path.realpath(ablate), name
    assert "expected:" in listed and "promises:" in listed
    # only measure/ knows ablations; result/ stores their rows
    for file in glob.glob(src + "/**/*.[ch]*", recursive=True):
        code = "\n".join(line.split("//")[0] for line in open(file))
        assert "ablat" not in code.lower() or "/result/" in file or "/measure/" in file, file


# The cases of the command line: one test each, so that those of one rank run two at a time.
def case_single(ablate, report, folder, folder_of_ablations, src):
    lists_every_file(ablate, folder_of_ablations, src)
    names_and_refusals(ablate, report, folder)
    replaced_components(ablate, report, folder)
    operations(ablate, report, folder)


def case_designs(ablate, report, folder, *_):
    designs(ablate, report, folder)


def case_promises(ablate, report, folder, *_):
    broken_promises(ablate, report, folder)
    null(ablate, report, folder)
    interrupt(ablate, folder, small_data(ablate, folder))


def case_ranks(ablate, report, folder, *_):
    two_ranks(ablate, report, folder)
    everything(ablate, folder, small_data(ablate, folder))


def case_trainings(ablate, report, folder, *_):
    converge(ablate, report, folder, small_data(ablate, folder))
    ladder(ablate, report, folder, small_data(ablate, folder, images=16))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        globals()["case_" + sys.argv[1]](*sys.argv[2:4], scratch, *sys.argv[4:])
