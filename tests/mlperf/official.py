#!/usr/bin/env python3
"""What MLPerf's own programs say of a log against what `report check` and `report score` say.

  official.py published|reference_points|run REPORT SOURCE [PROGRAM]

The official checker is run with --ruleset 3.1.0 and its rules as they are shipped: nothing is relaxed in it. A run on
the generated data set passes it, because it looks neither at the data set nor at the model; those rules the run itself
names as relaxed.
"""
import contextlib, copy, json, logging, os, pathlib, shutil, subprocess, sys, tempfile

try:
    import mlperf_logging.compliance_checker.mlp_compliance as compliance
    import mlperf_logging.package_checker.seed_checker as seed_checker
    import mlperf_logging.rcp_checker.rcp_checker as rcp
except ImportError as e:
    print(f"skipped: {e}; scripts/setup --tests installs mlperf-logging")
    sys.exit(77)

TOKEN = ":::MLLOG "
logging.disable(logging.CRITICAL)  # what it says of each broken log


def official(log):
    """Whether the compliance checker takes the log; a checker that crashes does not."""
    compliance.enqueued_configs.clear()
    try:
        return bool(
            compliance.main(str(log), "training_3.1.0/common.yaml",
                            compliance.make_checker("training", "3.1.0", True, False))[0])
    except Exception as e:
        print(f"  (the official checker crashed: {type(e).__name__} {e})")
        return False


def ours(report, logs, *more):
    done = subprocess.run([report, "check", *map(str, logs), *more], capture_output=True, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    assert done.returncode == (1 if "REJECTED" in done.stdout else 0), done.stdout
    return done.returncode == 0


def score_table(report, files, head):
    """Rows of the first table of `report score` whose second column is called `head`, by their names."""
    text = subprocess.run([report, "score", *map(str, files), "--format", "json"], capture_output=True, text=True,
                          check=True).stdout
    for table in json.loads(text)["tables"]:
        name, column = [c["name"] for c in table["columns"][:2]]
        if name == "name" and column == head:
            return {row["name"]: row for row in table["rows"]}
    raise AssertionError(f"no table {head} in:\n{text}")


def published_logs(source):
    folder = pathlib.Path(os.environ.get("TTT_SHARED_DATA",
                                         source.parent / "shared" / "data")) / "mlperf_published" / "logs"
    if not folder.is_dir():
        print(f"skipped: no {folder}: set TTT_SHARED_DATA to the folder of shared data")
        sys.exit(77)
    return sorted(folder.glob("*.txt"))


def records(log):
    return [json.loads(line.split(TOKEN)[-1]) for line in log.read_text().splitlines() if TOKEN in line]


def write(path, lines):
    path.write_text("".join(TOKEN + (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def of(lines, key, nth=0):
    return [line for line in lines if isinstance(line, dict) and line["key"] == key][nth]


# Each breaks one rule of the checker; what a name says, the function does to the lines of a log that was accepted.
def without(key):
    return lambda lines: [line for line in lines if line["key"] != key]


def value(key, new):
    def change(lines):
        for line in lines:
            if line["key"] == key:
                line["value"] = new
        return lines
    return change


def metadata_without(key, name):
    def change(lines):
        for line in lines:
            if line["key"] == key:
                line["metadata"].pop(name, None)
        return lines
    return change


def twice(key, new):
    def change(lines):
        again = copy.deepcopy(of(lines, key))
        again["value"] = new
        return [*lines, again]
    return change


def moved_to_end(key):
    return lambda lines: [line for line in lines if line["key"] != key] + [line for line in lines if line["key"] == key]


def moved_to_start(key):
    return lambda lines: [line for line in lines if line["key"] == key] + [line for line in lines if line["key"] != key]


def both(*changes):
    def change(lines):
        for c in changes:
            lines = c(lines)
        return lines
    return change


def late_init_stop(lines):
    of(lines, "init_stop")["time_ms"] = of(lines, "init_start")["time_ms"] + 30 * 60 * 1000
    return lines


def late_init_start(lines):
    return [*lines, of(lines, "init_start")]


def missing_member(key, name):
    def change(lines):
        del of(lines, key)[name]
        return lines
    return change


def cut(lines):
    return [*lines[:-1], json.dumps(lines[-1])[:-7]]


def large_batch(lines):
    return value("opt_base_learning_rate", 0.013)(value("global_batch_size", 16)(lines))


BROKEN = {
    **{
        f"without {key}": without(key)
        for key in (
            "submission_benchmark", "submission_org", "submission_division", "submission_status",
            "submission_platform", "cache_clear", "init_start", "init_stop", "run_start", "run_stop",
            "eval_accuracy", "train_samples", "eval_samples", "global_batch_size", "gradient_accumulation_steps",
            "num_image_candidates", "opt_base_learning_rate", "opt_learning_rate_warmup_steps",
            "opt_learning_rate_warmup_factor", "opt_learning_rate_decay_factor", "opt_learning_rate_decay_steps",
            "min_image_size", "max_image_size")
    },
    "no start of blocks and epochs": both(without("block_start"), without("epoch_start")),
    "no end of blocks and epochs": both(without("block_stop"), without("epoch_stop")),
    "another division": value("submission_division", "private"),
    "an empty organisation": value("submission_org", ""),
    "an unknown status": value("submission_status", "rumour"),
    "an unknown benchmark": value("submission_benchmark", "mnist"),
    "an initialisation of 30 minutes": late_init_stop,
    "an init_start after the run": late_init_start,
    "a run that starts before initialisation ended": moved_to_end("init_stop"),
    "a run that stops before it starts": moved_to_start("run_stop"),
    "epochs before the run": moved_to_start("block_start"),
    "a stop without status": metadata_without("run_stop", "status"),
    "epochs without numbers": metadata_without("epoch_start", "epoch_num"),
    "blocks without numbers": metadata_without("block_start", "first_epoch_num"),
    "accuracy without an epoch": metadata_without("eval_accuracy", "epoch_num"),
    "accuracy as one number": value("eval_accuracy", 0.4),
    "accuracy without masks": value("eval_accuracy", {"BBOX": 0.4}),
    "the target never reached": value("eval_accuracy", {"BBOX": 0.376, "SEGM": 0.5}),
    "masks never reach": value("eval_accuracy", {"BBOX": 0.5, "SEGM": 0.338}),
    "accuracy in per cent": value("eval_accuracy", {"BBOX": 38.1, "SEGM": 34.2}),
    "accuracy that is no number": value("eval_accuracy", {"BBOX": float("nan"), "SEGM": 0.4}),
    "a batch of 0": value("global_batch_size", 0),
    "a batch as a text": value("global_batch_size", "8"),
    "no accumulation": value("gradient_accumulation_steps", 0),
    "candidates by the hundred": value("num_image_candidates", 1500),
    "a rate between the steps": value("opt_base_learning_rate", 0.013),
    "a rate between the steps at batch 16": large_batch,
    "the rate before the batch": both(value("opt_base_learning_rate", 0.01), moved_to_end("global_batch_size")),
    "negative warm-up": value("opt_learning_rate_warmup_steps", -1),
    "no slope of the warm-up": value("opt_learning_rate_warmup_factor", 0),
    "another decay": value("opt_learning_rate_decay_factor", 0.2),
    "three decays": value("opt_learning_rate_decay_steps", [1, 2, 3]),
    "decay steps as a number": value("opt_learning_rate_decay_steps", 9000),
    "a negative image size": value("min_image_size", -1),
    "two batches": twice("global_batch_size", 16),
    "two divisions": twice("submission_division", "open"),
    "two learning rates": twice("opt_base_learning_rate", 0.04),
    "a line that is cut": cut,
    "a line without a time": missing_member("run_start", "time_ms"),
    "a line without a value": missing_member("seed", "value"),
    "a time that is no number": lambda lines: [{**line, "time_ms": "1.2.3"} if line["key"] == "run_start" else line
                                               for line in lines],
    "an empty log": lambda lines: [],
}
# Odd, and taken by the checker all the same.
TAKEN = {
    "as it is": lambda lines: lines,
    "the same batch twice": lambda lines: [*lines, of(lines, "global_batch_size")],
    "an unknown key": lambda lines: [*lines, {**of(lines, "seed"), "key": "weather", "value": "fine"}],
    "NaN in a key that nobody looks at": lambda lines:
    [*lines, {**of(lines, "seed"), "key": "tracked_stats", "value": float("nan")}],
    "blocks alone": both(without("epoch_start"), without("epoch_stop")),
    "epochs alone": both(without("block_start"), without("block_stop")),
    "no evaluation interval": both(without("eval_start"), without("eval_stop")),
    "several init_start": lambda lines: [of(lines, "init_start")] * 3 + lines,
    "an aborted run that had reached the target": lambda lines:
    [{**line, "metadata": {**line["metadata"], "status": "aborted"}} if line["key"] == "run_stop" else line
     for line in lines],
    "no samples but null": value("train_samples", None),
    "steps beside epochs": lambda lines: [*lines, {**of(lines, "eval_start"), "metadata": {"step_num": 3}}],
    "a rate of 0.02 / 3 at batch 8": both(value("global_batch_size", 8), value("opt_base_learning_rate", 0.02 / 3)),
    "decay steps as a text of two": value("opt_learning_rate_decay_steps", "ab"),
    "true as a batch": value("gradient_accumulation_steps", True),
}


def broken_logs(report, lines, folder):
    for name, change in {**BROKEN, **TAKEN}.items():
        log = write(folder / "log.txt", change(copy.deepcopy(lines)))
        theirs, mine = official(log), ours(report, [log], "--compliance-alone")
        assert theirs == (name in TAKEN), f"{name}: the official checker {'accepts' if theirs else 'rejects'}"
        assert mine == theirs, f"{name}: ours {'accepts' if mine else 'rejects'}, the official checker does not agree"
        if name in BROKEN:
            assert not ours(report, [log]), name
    print(f"ok: {len(BROKEN)} broken logs are rejected and {len(TAKEN)} odd ones accepted by both")


def seeds(report, lines, folder):
    def log(name, change):
        return write(folder / f"result_{name}.txt", change(copy.deepcopy(lines)))
    a, b = log("0", value("seed", 1)), log("1", value("seed", 2))
    cases = {
        "two seeds": ([a, b], True), "the same seed twice": ([a, b, log("2", value("seed", 1))], False),
        "no seed": ([a, log("3", without("seed"))], False), "a seed that is a text": ([log("6", value("seed", "1")),
                                                                                       b], True),
        "a text and its number": ([a, log("6", value("seed", "1"))], False),
        "a seed that is a word": ([log("7", value("seed",
                                                  "lucky"))], False), "no number": ([log("8", value("seed",
                                                                                                    None))], False),
        "no file": ([log("4",
                         metadata_without("seed",
                                          "file"))], False), "no line": ([log("5", metadata_without("seed",
                                                                                                    "lineno"))], False)
    }
    for name, (logs, expected) in cases.items():
        theirs = seed_checker.SeedChecker("3.1.0").check_seeds([str(path) for path in logs])
        assert theirs == expected, name
        assert ours(report, logs) == theirs, f"{name}: ours does not agree with the package checker"
    print(f"ok: seeds, {len(cases)} cases")


def case_published(report, source, folder):
    logs = published_logs(source)
    for log in logs:
        theirs = official(log)
        assert ours(report, [log], "--compliance-alone") == theirs, log.name
        assert ours(report, [log]) == theirs, log.name
        print(f"{log.name}: {'accepted' if theirs else 'rejected'} by both")
    accepted = [log for log in logs if official(log)]
    assert len(logs) == 10 and len(accepted) == 9, "the aborted run never reached the target"
    for name in ("NVIDIA", "Dell"):
        own = [log for log in accepted if log.name.startswith(name)]
        assert ours(report, own) and seed_checker.SeedChecker("3.1.0").check_seeds([str(log) for log in own])
    # What the logs of one system may look like as another's: every prefix before the token, one rank after another.
    lines = records(accepted[-1])
    broken_logs(report, lines, folder)
    seeds(report, lines, folder)


def with_runs(folder, name, batch, epochs):
    """Logs as short as the RCP checker reads them: batch, last evaluation, stop."""
    own = folder / name
    own.mkdir()
    for i, e in enumerate(epochs):
        def line(key, value, **metadata):
            return {
                "namespace": "", "time_ms": 1000 * i + (60000 * (10 + i) if key == "run_stop" else 0),
                "event_type": "POINT_IN_TIME", "key": key, "value": value, "metadata": metadata
            }

        write(own / f"result_{i}.txt", [
            line("submission_benchmark", "maskrcnn"),
            line("submission_org", "us"),
            line("submission_platform", "one"),
            line("submission_division", "closed"),
            line("init_start", None),
            line("global_batch_size", batch),
            line("run_start", None),
            line("eval_accuracy", {"BBOX": 0.4, "SEGM": 0.4}, epoch_num=e or 20),
            line("run_stop", None, status="success" if e else "aborted")
        ])
    return own


def case_reference_points(report, source, folder):
    """The verdict, the least mean and the factor at every batch, and those of the published logs."""
    checker = rcp.RCP_Checker("training", "3.1.0", "maskrcnn", False)
    points = {record["BS"]: record for record in checker.pruned_rcp_data.values()}
    assert sorted(points) == [8, 128, 272]
    compared = {"pass": 0, "pass, normalised": 0, "fail": 0}
    sets = {
        f"{batch}-{i}": (batch, epochs) for batch in (2, 8, 16, 40, 48, 64, 96, 128, 160, 224, 256, 272)
        for i, epochs in enumerate(([12, 12, 13, 13, 13], [13, 13, 14, 14, 0], [13, 14, 14, 14, 15],
                                    [16, 16, 16, 17, 17], [17, 17, 17, 18, 0], [11, 11, 12, 12, 12]))
    }
    folders = {name: with_runs(folder, name, *runs) for name, runs in sets.items()}
    logs = published_logs(source)
    for name in ("NVIDIA", "Dell"):
        folders[name] = folder / name
        folders[name].mkdir()
        for i, log in enumerate(log for log in logs if log.name.startswith(name)):
            (folders[name] / f"result_{i}.txt").write_bytes(log.read_bytes())
    for name, own in folders.items():
        passed, message, factor = rcp.check_directory(str(own), "training", "3.1.0", False, False,
                                                      rcp_pass="pruned_rcps")
        rows = score_table(report, sorted(own.glob("result_*.txt")), "epochs")
        verdict = rows["convergence"]["epochs"]
        assert passed == (verdict != "fail"), (name, message, rows)
        compared[verdict] += 1
        if passed:
            mine = float(rows["normalisation"]["epochs"])
            assert abs(mine - factor) < 1e-12 and (mine > 1) == (verdict == "pass, normalised"), (name, mine, factor)
        batch = sets[name][0] if name in sets else 96 if name == "NVIDIA" else 128
        record = points.get(batch) or (points[8] if batch < 8 else checker._create_interp_rcp(
            batch, checker._find_top_min_rcp(batch, "pruned_rcps"), checker._find_bottom_max_rcp(batch,
                                                                                                 "pruned_rcps"))[1])
        for row, key in (("reference epochs", "RCP Mean"), ("least accepted epochs", "Min Epochs")):
            assert abs(float(rows[row]["epochs"]) - record[key]) < 1e-9, (name, row, rows[row], record[key])
    print("ok:", ", ".join(f"{n} {verdict}" for verdict, n in compared.items()))
    assert min(compared.values()) > 3, compared
    nvidia, dell = (score_table(report, sorted(folders[n].glob("*.txt")), "start to stop")["Olympic mean"]
                    for n in ("NVIDIA", "Dell"))
    print("minutes:", nvidia["minutes"], dell["minutes"])
    assert round(float(nvidia["minutes"]), 2) == 19.18 and round(float(dell["minutes"]), 2) == 15.63
    above = score_text(report, sorted(with_runs(folder, "above", 300, [20] * 5).glob("*.txt")))
    assert "no reference at this batch" in above and not rcp.check_directory(str(folder / "above"), "training", "3.1.0",
                                                                             False, False, rcp_pass="pruned_rcps")[0]


def score_text(report, files):
    return subprocess.run([report, "score", *map(str, files)], capture_output=True, text=True, check=True).stdout


# What the generated data set and its small model force a closed run to break. The hyper-parameters, the optimiser, the
# target, the order, the seed and the caches are as the rules say.
RELAXED = ["data_set", "preprocessing", "image_size", "model", "initial_weights"]
KEEPS = [
    "data.last_batch=wrap", "model.rpn.post_nms_train=1000", "train.schedule.decay_steps=144000,192000",
    "train.target_box_ap=0.377", "train.target_mask_ap=0.339", "train.optimizer.bias_lr_factor=2",
    "train.optimizer.decay_bias=false", "mlperf.draw_seed=true", "mlperf.division=closed",
    "mlperf.organisation=example", "mlperf.platform=two ranks", "train.eval_overlap=true",
    "train.eval_near_every_epochs=0"
]


@contextlib.contextmanager
def without_cached_pages(source):
    """A copy of the generated data set, which no other program reads, with none of its pages in memory; beside it,
    because /tmp may be nothing but memory."""
    cache = pathlib.Path(os.environ.get("TTT_CACHE") or pathlib.Path.home() / ".cache/ttt")
    (generated,) = (p for p in cache.glob("shapes-*-n1600-200-s128-c6-seed0") if p.is_dir())
    with tempfile.TemporaryDirectory(dir=cache) as shards:
        for file in [generated / "shards.json", *generated.glob("*.h5")]:
            shutil.copy(file, shards)
        cleared = subprocess.run([source / "slurm/clear_caches", shards], capture_output=True, text=True)
        assert cleared.returncode == 0 and "the caches hold nothing" in cleared.stdout, cleared.stderr
        yield shards


def train(program, folder, name, settings, exit_code=0, data=None):
    line = [
        "mpirun", "--oversubscribe", "--bind-to", "none", "--timeout", "1500", "-n", "2", program, "--quiet", "--out",
        str(folder / f"{name}.json")
    ]
    if data:
        line += ["--data", str(data)]
    for setting in settings:
        line += ["--set", setting]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == exit_code, (done.returncode, done.stderr)
    return done.stderr, folder / f"{name}.mllog.txt"


def case_run(report, source, folder, program):
    """A complete run on the generated data set: refused until what it breaks is named, then accepted by both checkers
    as it stands."""
    said, log = train(program, folder, "refused", KEEPS, 2)
    for rule in [*RELAXED, "cache_clear"]:
        assert f"rule {rule}: " in said, (rule, said)
    assert "data.short_side = 128 (allowed: 800)" in said and not log.exists(), said
    said, log = train(program, folder, "typo", [*KEEPS, "mlperf.relax=data_sets"], 2)
    assert "mlperf.relax" in said and "data_set" in said, said

    with without_cached_pages(source) as shards:
        said, log = train(program, folder, "closed",
                          [*KEEPS, "mlperf.cache_cleared=true", "mlperf.relax=" + ",".join(RELAXED)], data=shards)
    assert official(log), "the official checker"
    assert ours(report, [log]) and ours(report, [log], "--compliance-alone")
    lines = records(log)
    result = json.loads((folder / "closed.json").read_text())
    assert sorted({line["value"] for line in lines if line["key"] == "relaxed_rule"}) == sorted(RELAXED)
    assert sorted({r["rule"]
                   for r in result["mlperf"]["relaxed"]}) == sorted(RELAXED) and result["mlperf"]["log"] == log.name
    assert sum("is relaxed" in w for w in result["warnings"]) == len(result["mlperf"]["relaxed"])
    print(f"ok: a run of {len(lines)} log lines is accepted by both")

    seed = of(lines, "seed")["value"]
    assert seed == result["recipe"]["settings"]["seed"] != 1, "drawn, and recorded as it was drawn"
    evaluations = [line for line in lines if line["key"] == "eval_accuracy"]
    assert [e["metadata"]["epoch_num"]
            for e in evaluations] == [a["epoch"] for a in result["accuracy"]] == list(range(1,
                                                                                            len(evaluations) + 1))
    assert [(e["value"]["BBOX"], e["value"]["SEGM"]) for e in evaluations] == [(a["bbox"]["AP"], a["segm"]["AP"])
                                                                               for a in result["accuracy"]]
    clocks, steps = result["clocks"], sum(result["steps"]["step_s"]["values"])
    paused = sum(a["duration_s"] for a in result["accuracy"])
    logged = (of(lines, "run_stop")["time_ms"] - of(lines, "run_start")["time_ms"]) / 1e3
    print(
        f"clocks: MLPerf {clocks['mlperf_s']:.3f} s ({logged:.3f} s by the log), DAWNBench "
        f"{clocks['dawnbench_s']:.3f} s, total {clocks['total_s']:.3f} s"
    )
    assert abs(logged - clocks["mlperf_s"]) < 0.05 and abs(clocks["mlperf_s"] - clocks["run_s"]) < 0.05
    assert abs(clocks["mlperf_s"] - paused - clocks["dawnbench_s"]) < 0.05 and abs(steps -
                                                                                   clocks["dawnbench_s"]) < 0.05 * steps
    assert of(lines, "init_stop")["time_ms"] - of(
        lines, "init_start")["time_ms"] <= 1e3 * (clocks["total_s"] - clocks["run_s"]) + 50
    shown = subprocess.run([report, str(folder / "closed.json")], capture_output=True, text=True, check=True).stdout
    for word in ("MLPerf division closed", "DAWNBench", f"{clocks['mlperf_s']:.3f} s", f"{clocks['dawnbench_s']:.3f} s",
                 f"{clocks['total_s']:.3f} s", "data_set"):
        assert word in shown, (word, shown)
    broken_logs(report, lines, folder)
    seeds(report, lines, folder)

    train(program, folder, "smoke", ["mlperf.log=true", "train.max_steps=2"])
    stop = of(records(folder / "smoke.mllog.txt"), "run_stop")
    assert stop["metadata"]["status"] == "aborted" and not official(folder / "smoke.mllog.txt") and not ours(
        report, [folder / "smoke.mllog.txt"])
    said, _ = train(
        program, folder, "not_finite",
        ["mlperf.log=true", "train.max_steps=40", "train.schedule.lr=1e30", "train.schedule.warmup_steps=0"], 5)
    assert of(records(folder / "not_finite.mllog.txt"), "run_stop")["metadata"]["status"] == "aborted"
    print("ok: runs that end early say so in their log")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        globals()["case_" + sys.argv[1]](sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(scratch), *sys.argv[4:])
