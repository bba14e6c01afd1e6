#!/usr/bin/env python3
"""Whole runs of ttt_maskrcnn, looked at from outside: results, exit codes, sentences.

  runs.py ranks|accumulation|phases|optimizers|reducers|repeat|stop|failures PROGRAM
"""
import json, os, signal, subprocess, sys, tempfile, time

# Independent of how a batch is spread over ranks: no statistics over a rank's own images, means over all ranks'
# samples.
GLOBAL = ["train.global_batch=8", "model.loss_mean=global", "model.backbone.norm=group", "model.backbone.norm_groups=8"]
SYNC = [*GLOBAL[:2], "model.backbone.norm=sync"]


def command(program, ranks, out, settings, *more):
    line = ["mpirun", "--oversubscribe", "--timeout", "300", "-n", str(ranks), program, "--quiet", "--out", out, *more]
    for s in settings:
        line += ["--set", s]
    return line


def train(program, folder, ranks, settings, steps=10, *more):
    out = f"{folder}/{len(os.listdir(folder))}.json"
    done = subprocess.run(command(program, ranks, out, [f"train.max_steps={steps}", *settings], *more),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(out) as f:
        return json.load(f)


def losses(result):
    return result["steps"]["loss"]["values"]


def differences(a, b):
    """Largest relative difference of the five losses, step by step."""
    return [
        max(
            abs(x[step] - y[step]) / max(abs(x[step]), 0.01)
            for x, y in zip(losses(a).values(),
                            losses(b).values(), strict=True))
        for step in range(len(a["steps"]["loss"]["values"]["mask"]))
    ]


def case_ranks(program, folder):
    """One, two and four ranks on one global batch: the same losses, up to the order of float32 sums.

    Gradients are sums of some 10^4 terms, in another order for each number of ranks: 2^-24 * sqrt(10^4) = 6e-6
    relative. That bounds the first two steps. Later a proposal whose score or overlap lies within rounding of a limit
    may be chosen by one and not by the other, which moves a loss by about one of its 500 samples: 0.02 is ten of
    them."""
    rounding, choice = 6e-6, 0.02
    one = train(program, folder, 1, GLOBAL)
    for ranks in (2, 4):
        d = differences(one, train(program, folder, ranks, GLOBAL))
        print(f"{ranks} ranks against one:", " ".join(f"{x:.1e}" for x in d))
        assert max(d[:2]) <= rounding and max(d) <= choice, d
    d = differences(train(program, folder, 1, SYNC, 2), train(program, folder, 2, SYNC, 2))
    print("synchronised batch norm, 2 ranks against one:", " ".join(f"{x:.1e}" for x in d))
    assert max(d) <= rounding, d
    # The bound can fail: without a reduction the second step is already another one.
    d = differences(one, train(program, folder, 2, [*GLOBAL, "train.reducer.kind=none"]))
    assert d[1] > rounding or max(d) > choice, d


def case_accumulation(program, folder):
    """A rank that takes its images in parts does what as many ranks do, each with a mean over its own samples: the same
    losses, up to the order of float32 sums (case_ranks has the bounds)."""
    rounding, choice = 6e-6, 0.02
    own = [GLOBAL[0], "model.loss_mean=rank", *GLOBAL[2:]]
    for ranks, parts in ((1, 4), (2, 2), (1, 2)):
        whole = train(program, folder, ranks * parts, own)
        run = train(program, folder, ranks, [*own, f"train.accumulate={parts}", "train.reducer.bucket_bytes=100000"])
        assert run["built"]["step"]["accumulate"] == parts
        d = differences(whole, run)
        print(f"{ranks} rank(s) with {parts} parts against {ranks * parts} ranks:", " ".join(f"{x:.1e}" for x in d))
        assert max(d[:2]) <= rounding and max(d) <= choice, d
    d = differences(whole, train(program, folder, 1, own))
    assert d[0] > rounding, "means over all samples must differ from means of means"
    refused = subprocess.run(command(program, 1, f"{folder}/refused.json", [*own, "train.accumulate=3"]),
                             capture_output=True, text=True)
    assert refused.returncode == 2 and "train.accumulate = 3 does not divide the 8 images" in refused.stderr, refused


def case_phases(program, folder):
    """Images of another size from the middle of the run on; a phase that changes nothing changes no bit."""
    small = ["data.short_side=64", "data.long_side=64", "data.generated_images=64", "data.generated_held_out=4",
             "train.global_batch=8", "train.epochs=2", "train.schedule.warmup_steps=0", "data.workers=2"]
    plain = train(program, folder, 2, small, 16)
    same = train(program, folder, 2, [*small, "train.phases.epochs=1,1", "train.phases.short_side=64,64",
                                      "train.phases.lr=0.02,0.02"], 16)
    assert losses(same) == losses(plain) and same["steps"]["learning_rate"] == plain["steps"]["learning_rate"]
    grown = train(program, folder, 2, [*small, "train.phases.epochs=1,1", "train.phases.short_side=32,64",
                                       "train.phases.lr=0.02,0.01"], 16)
    # Until then it is a run with small images. The device's transform follows the sizes too.
    first = lambda run: [v[:8] for v in losses(run).values()]
    small_images = [s.replace("side=64", "side=32") for s in small]
    assert first(grown) == first(train(program, folder, 2, small_images, 8)) != first(plain)
    on_device = [*small, "data.transform=device", "train.phases.epochs=1,1", "train.phases.short_side=32,64",
                 "train.phases.lr=0.02,0.01"]
    assert losses(train(program, folder, 2, on_device, 16)) == losses(grown)
    rates = grown["steps"]["learning_rate"]
    assert rates[:8] == plain["steps"]["learning_rate"][:8] and rates[8:] == [r / 2 for r in rates[:8]], rates
    for wrong, sentence in (("train.phases.short_side=32,64,96", "has 3 values and train.phases.epochs 2"),
                            ("train.phases.lr=[0.1]", "has 1 values and train.phases.epochs 2"),
                            ("train.phases.images_per_rank=[2]", "has 1 values and train.phases.epochs 2"),
                            ("data.prefetch=3", "no phase differs"),
                            ("train.epochs=1", "would begin after 1 epochs, and the run ends after 1")):
        key = wrong.split("=")[0]
        settings = [*[s for s in small if not s.startswith(key)], "train.phases.epochs=1,1", wrong]
        if key == "train.epochs":
            settings.append("train.phases.short_side=32,64")
        refused = subprocess.run(command(program, 1, f"{folder}/no.json", settings), capture_output=True, text=True)
        assert refused.returncode == 2 and sentence in refused.stderr, refused
    # The table of the report has both sizes. Halving the side leaves a quarter of the pixels.
    shown = subprocess.run([os.path.dirname(program) + "/report", f"{folder}/2.json"], capture_output=True, text=True)
    rows = [line.split() for line in shown.stdout.split("Phases")[1].splitlines() if line.strip()[:1] in "08"]
    assert [(*r[:3], r[5]) for r in rows if len(r) == 6] == [("0", "32", "4", "4.00"), ("8", "64", "4", "1.00")], shown


def case_batch_phases(program, folder):
    """Batches of another size from an epoch on. Until then, to the bit, the run with one batch."""
    small = ["data.short_side=64", "data.long_side=64", "data.generated_images=64", "data.generated_held_out=4",
             "train.epochs=3", "train.schedule.warmup_steps=0", "data.workers=2", "train.schedule.reference_batch=8"]
    phases = lambda per_rank: [*small, "train.phases.epochs=1,2", f"train.phases.images_per_rank={per_rank}"]
    plain = train(program, folder, 2, [*small, "train.global_batch=8"], 24)
    same = train(program, folder, 2, phases("4,4"), 24)
    assert losses(same) == losses(plain) and same["steps"]["learning_rate"] == plain["steps"]["learning_rate"]
    grown = train(program, folder, 2, phases("4,8"), 8 + 2 * 4)
    assert grown["steps"]["images"] == [8] * 8 + [16] * 8
    assert [v[:8] for v in losses(grown).values()] == [v[:8] for v in losses(plain).values()]
    assert grown["steps"]["learning_rate"] == [0.02] * 8 + [0.04] * 8, grown["steps"]["learning_rate"]
    evaluated = f"{folder}/evaluated.json"
    subprocess.run(command(program, 2, evaluated, [*phases("4,8"), "train.target_box_ap=1"]), capture_output=True)
    with open(evaluated) as f:
        accuracy = json.load(f)["accuracy"]
    found = [(e["epoch"], e["step"], e["images"]) for e in accuracy]
    assert found == [(1, 8, 64), (2, 12, 128), (3, 16, 192)], accuracy
    alone = train(program, folder, 1, phases("8,16"), 16)
    for key in ("images", "learning_rate"):
        assert alone["steps"][key] == grown["steps"][key], alone["steps"]
    for epochs, images, sentence in (("0.5,2.5", "4,8", "after whole epochs"),
                                     ("1,2", "4,6", "train.accumulate = 4 does not divide the 6 images")):
        wrong = [f"train.phases.epochs={epochs}", f"train.phases.images_per_rank={images}", "train.accumulate=4"]
        refused = subprocess.run(command(program, 1, f"{folder}/no.json", [*small, *wrong]), capture_output=True,
                                 text=True)
        assert refused.returncode == 2 and sentence in refused.stderr, refused
    shown = subprocess.run([os.path.dirname(program) + "/report", f"{folder}/2.json"], capture_output=True, text=True)
    rows = [line.split() for line in shown.stdout.split("Phases")[1].splitlines() if line.strip()[:1] in "08"]
    assert [r[:3] for r in rows if len(r) == 6] == [["0", "64", "4"], ["8", "64", "8"]], shown.stdout


def case_optimizers(program, folder):
    """Every optimizer on one, two and four ranks: the first step is that of rounding alone, and so is the second where
    an update is in proportion to gradients. Adam's is not: where a gradient is about zero its sign is the update."""
    rounding, choice = 6e-6, 0.02
    for kind in ("sgd", "adamw", "lars", "lamb", "nvlamb", "novograd", "muon"):
        settings = [*GLOBAL, f"train.optimizer.kind={kind}", "train.schedule.lr=0.001"]
        one = train(program, folder, 1, settings, 4)
        for ranks in (2, 4):
            d = differences(one, train(program, folder, ranks, settings, 4))
            print(f"{kind}, {ranks} ranks against one:", " ".join(f"{x:.1e}" for x in d), flush=True)
            assert d[0] <= rounding and max(d) <= choice, (kind, d)
            assert d[1] <= rounding or kind in ("adamw", "lamb", "nvlamb", "muon"), (kind, d)


def case_reducers(program, folder):
    """Sums are taken in rank order whatever the reducer: the same bits."""
    runs = {kind: train(program, folder, 2, [f"train.reducer.kind={kind}", "train.reducer.bucket_bytes=100000"])
            for kind in ("blocking", "flat_async", "bucketed")}
    for kind, run in runs.items():
        assert run["built"]["reducer"]["kind"] == kind, run["built"]
        assert losses(run) == losses(runs["blocking"]), kind
        step = sorted(run["steps"]["step_s"]["values"])
        print(f"{kind}: median step {step[len(step) // 2] * 1e3:.1f} ms")
    assert len(runs["bucketed"]["built"]["reducer"]["bucket_bytes"]) > 3
    apart = train(program, folder, 2, ["train.reducer.kind=none"])
    assert losses(apart) != losses(runs["blocking"]), "without a reduction the losses must differ"


def repeated_from_its_result(program, folder, first):
    """The settings in a result are those of the run that was built: no 0 for a number that the launch decided."""
    settings = first["recipe"]["settings"]
    assert settings["model"]["classes"] > 1 and settings["train"]["threads"] > 0, settings
    assert settings["train"]["global_batch"] == 2 * settings["train"]["images_per_rank"], settings["train"]
    with open(f"{folder}/first.json", "w") as f:
        json.dump(first, f)
    again = train(program, folder, 2, [], 10, "--recipe", f"{folder}/first.json")
    assert losses(again) == losses(first) and again["recipe"]["settings"] == settings


def case_repeat(program, folder):
    """Twice the same command: the same bits. Another seed: others. Other workers: the same."""
    first = train(program, folder, 2, [])
    assert losses(first) == losses(train(program, folder, 2, []))
    assert losses(first) == losses(train(program, folder, 2, ["data.workers=3", "data.prefetch=4"]))
    assert losses(first) != losses(train(program, folder, 2, [], 10, "--seed", "5"))
    repeated_from_its_result(program, folder, first)
    # Two threads in one rank, long enough that a product whose bits hang on where its arrays lie would show (after 50
    # to 180 steps it did).
    with open("/proc/cpuinfo") as f:
        if "GenuineIntel" not in f.read():
            print("not tried: two threads in one rank, because MKL promises the same bits only on Intel's processors")
            return
    small = ["train.threads=2", "data.short_side=64", "data.long_side=64", "train.images_per_rank=1"]
    several = [losses(train(program, folder, 1, small, 250)) for _ in range(4)]
    assert all(run == several[0] for run in several), "two threads: not the same bits"
    print("ok: two threads in one rank, four runs of 250 steps")


def ends_at_its_target(result):
    """No step was made after the first evaluation that met the target."""
    met = [e["step"] for e in result["accuracy"] if all(
        e[name.split("_")[0]]["AP"] >= value for name, value in result["target"].items())]
    return bool(met) and met[0] == len(result["steps"]["step"])


def case_stop(program, folder):
    """A published program evaluates, is told that the target is met, and trains on. Such a run is made here by a target
    that is not met, in whose result it then is."""
    short = ["train.epochs=3", "data.generated_images=16", "data.generated_held_out=4", "data.short_side=64",
             "data.long_side=64", "train.global_batch=4", "train.eval_near_every_epochs=0"]

    def run(target):
        out = f"{folder}/stop_{target}.json"
        targets = [f"train.target_{head}_ap={target}" for head in ("box", "mask")]
        done = subprocess.run(command(program, 1, out, [*short, *targets]), capture_output=True, text=True,
                              env={**os.environ, "TTT_CACHE": folder})
        assert done.returncode in (0, 6), done
        with open(out) as f:
            return json.load(f)

    stopped, went_on = run(0), run(1)
    assert ends_at_its_target(stopped) and len(stopped["accuracy"]) == 1, stopped["accuracy"]
    assert len(went_on["accuracy"]) == 3
    went_on["target"] = stopped["target"]
    assert not ends_at_its_target(went_on)


def expect(program, folder, ranks, exit_code, words, settings=(), more=(), verdict=None, extra_env=None):
    out = f"{folder}/{len(os.listdir(folder))}-x.json"
    begin = time.monotonic()
    done = subprocess.run(command(program, ranks, out, settings, *more), capture_output=True, text=True,
                          env={**os.environ, **(extra_env or {})})
    said = done.stderr + done.stdout
    assert done.returncode == exit_code, (exit_code, done.returncode, said)
    for w in words:
        assert w in said, (w, said)
    if exit_code in (2, 4):
        assert not os.path.exists(out), "a run that was refused leaves no result"
    if verdict:
        with open(out) as f:
            result = json.load(f)
        assert result["verdict"] == verdict, result["verdict"]
        assert result["reason"], "a reason"
    print(f"ok: {' '.join(words)} ({time.monotonic() - begin:.1f} s)")
    return out


def case_failures(program, folder):
    smoke = ["train.max_steps=2"]
    expect(program, folder, 2, 2, ["train.schedul.lr", "train.schedule.lr"], ["train.schedul.lr=1"])
    expect(program, folder, 2, 2, ["train.epochs"], ["train.epochs=many"])
    expect(program, folder, 2, 2, ["train.threads", "[0, 1024]"], ["train.threads=1000000"])
    expect(program, folder, 1, 2, ["data.long_side = 100", "data.short_side = 900"],
           ["data.short_side=900", "data.long_side=100"], ["--print-recipe"])
    expect(program, folder, 2, 2, ["no-such-folder"], smoke, ["--data", folder + "/no-such-folder"])
    expect(program, folder, 2, 2, ["train.global_batch", "multiple"], smoke + ["train.global_batch=7"])
    expect(program, folder, 2, 4, ["cuda"], smoke, ["--device", "cuda"])
    expect(program, folder, 2, 5, ["not finite", "train.schedule.lr"],
           ["train.max_steps=40", "train.schedule.lr=1e30", "train.schedule.warmup_steps=0"], verdict="incorrect")
    expect(program, folder, 2, 2, ["TTT_EXPECTED_RANKS"], smoke, extra_env={"TTT_EXPECTED_RANKS": "3"})
    out = f"{folder}/twice.json"
    assert subprocess.run(command(program, 1, out, smoke), capture_output=True).returncode == 0
    again = subprocess.run(command(program, 1, out, smoke), capture_output=True, text=True)
    assert again.returncode == 2 and "twice.json" in again.stderr, again.stderr
    print("ok: an existing result is refused")
    full_disk(program, folder)
    interrupt(program, folder)
    kill_one_rank(program, folder)


def full_disk(program, folder):
    """The result's folder is a file system of 16 KiB in a mount name space of the run's own; what is lost there must be
    found elsewhere."""
    small = folder + "/small"
    os.mkdir(small)
    out, inside = small + "/full.json", f"mount -t tmpfs -o size=16k none {small}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", inside], capture_output=True).returncode != 0:
        print("not tried: a full disk, because this machine lets no test mount a small one")
        return
    line = " ".join(f"'{word}'" for word in command(program, 2, out, ["train.max_steps=60"]))
    done = subprocess.run(["unshare", "-rm", "sh", "-c", f"{inside} && cd {folder} && {line}"], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode != 0 and "No space left" in done.stderr and out in done.stderr, (done.returncode,
                                                                                            done.stderr)
    saved = [
        word.strip(".,:;'") for word in done.stderr.split()
        if word.strip(".,:;'").endswith(".json") and small not in word
    ]
    assert saved and os.path.exists(saved[0]), done.stderr
    with open(saved[0]) as f:
        assert len(json.load(f)["steps"]["step_s"]["values"]) == 60
    os.remove(saved[0])
    print("ok: a full disk:", done.stderr.strip().splitlines()[-1])


def interrupt(program, folder):
    out = f"{folder}/signal.json"
    run = subprocess.Popen(command(program, 2, out, ["train.max_steps=100000", "train.epochs=1000"]),
                           stderr=subprocess.PIPE, text=True)
    wait_for(lambda: steps_of(out) > 5)  # lines of the journal's head name steps too
    run.send_signal(signal.SIGTERM)
    said = run.communicate(timeout=60)[1]
    assert run.returncode != 0, said
    with open(out) as f:
        result = json.load(f)
    assert result["verdict"] == "failed" and "SIGTERM" in result["reason"], result["reason"]
    assert len(result["steps"]["step_s"]["values"]) > 2
    print("ok: SIGTERM leaves a result:", result["reason"])


def kill_one_rank(program, folder):
    out = f"{folder}/killed.json"
    run = subprocess.Popen(command(program, 2, out, ["train.max_steps=100000", "train.epochs=1000"]),
                           stderr=subprocess.PIPE, text=True)
    wait_for(lambda: steps_of(out) > 2)
    ranks = subprocess.run(["pgrep", "-f", f"^{program} .*{out}"], capture_output=True, text=True).stdout.split()
    assert len(ranks) == 2, ranks
    begin = time.monotonic()
    os.kill(int(ranks[1]), signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode != 0
    assert os.path.exists(out) or steps_of(out) > 2, "neither a result nor a journal"
    print(f"ok: a killed rank ends the run in {time.monotonic() - begin:.1f} s")


def steps_of(out):
    """Lines of the first rank's journal: a run that has not ended yet shows there how far it is."""
    try:
        with open(out + ".journal/rank00000.jsonl") as f:
            return sum('"step"' in line for line in f)
    except OSError:
        return 0


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        globals()["case_" + sys.argv[1]](sys.argv[2], scratch)
