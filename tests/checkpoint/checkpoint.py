#!/usr/bin/env python3
"""Runs that are killed, asked to end, given other ranks or damaged checkpoints, and resume; looked at from outside.

  checkpoint.py kill [--times N] [--seed N] --bin BUILD     N kills at moments that are aimed at; the same weights at
  the end, every time
  checkpoint.py overlap|ranks|own_parts|format|signals|damaged|refusals|full_disk|stall --bin BUILD
"""
import argparse, copy, json, os, random, signal, subprocess, sys, tempfile, time

import h5py
import numpy as np

from kills import kill_once
from restarted import EPOCH, EVALUATION, NOT_CONVERGED, SMALL, STEPS, Place, content, same_training, wait_for

# --- kills
# --------------------------------------------------------------------------------------------------------------


def case_kill(place, times, seed):
    reference = place.run()
    reference.settings = [s for s in reference.settings if "checkpoint.folder" not in s]
    reference.finish()
    assert reference.steps() == 0 and len(reference.result()["accuracy"]) == STEPS // EVALUATION
    draw, kinds, kills, runs, resumed = random.Random(seed), {}, 0, 0, 0
    aims = ["evaluation", "write", "rename", "step", "removal", "rename", "evaluation", "start", "write", "step"]
    begin = time.monotonic()
    while kills < times:
        # a run that was killed before its first checkpoint starts anew, beside what it left
        run = place.run(more=["--force"])
        for _ in range(draw.choice([1, 1, 2, 3])):
            what = kill_once(run, aims[kills % len(aims)], draw)
            if not what:
                break
            kills += 1
            kinds[what] = kinds.get(what, 0) + 1
            if kills == times:
                break
        if not os.path.exists(run.weights):
            run.finish()
        same_training(run, reference)
        assert not any(f.endswith(".tmp") for f in run.files()), run.files()
        assert len(run.saved()) == 2, run.files()
        runs += 1
        resumed += len(run.result().get("resumes", []))
        print(f"{kills} of {times}: run {runs} is the uninterrupted one to the bit ({time.monotonic() - begin:.0f} s)",
              flush=True)
    print(
        f"{kills} of {times} kills survived in {runs} runs ({time.monotonic() - begin:.0f} s), {resumed} resumptions; "
        f"killed while: "
        + ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())) +
        ". All weights, losses and accuracies are those of the uninterrupted run to the bit.")
    if times >= 20:
        assert {"a step", "evaluating", "writing", "before a rename", "after a rename"} <= set(kinds), kinds
    assert resumed > 0


# --- every optimizer, roundings, phases
# --------------------------------------------------------------------------------------------------------------

OPTIMIZERS = ["sgd", "adamw", "lars", "lamb", "nvlamb", "novograd", "muon"]


def case_levers(place, times, seed):
    """Killed between steps and resumed, each optimizer ends as if it had not been; replicas are compared at each
    step. So with weights that are rounded by chance, by another implementation, and with images that grow as batches
    shrink."""
    draw = random.Random(seed)
    beside = {
        "sgd": ["train.optimizer.round_weights=stochastic", "train.optimizer.round_state=stochastic"],
        "lars": ["train.phases.epochs=1,1", "train.phases.short_side=32,64", "train.phases.images_per_rank=4,2",
                 "train.phases.lr=0.002,0.001"],
        "nvlamb": ["train.optimizer.implementation=foreach"]  # beside lamb as it is
    }
    settings = [[f"train.optimizer.kind={kind}", *beside.get(kind, [])] for kind in OPTIMIZERS]
    ends = set()
    for chosen in settings:
        common = [*SMALL, *chosen, "train.check_replicas_every=1", "train.schedule.lr=0.002"]
        reference, run = place.run(settings=common), place.run(settings=common, more=["--force"])
        reference.finish()
        for _ in range(10):  # until a kill comes after the first checkpoint and before the end
            if kill_once(run, "step", draw) and run.saved():
                break
            run = place.run(settings=common, more=["--force"])
        run.finish()
        same_training(run, reference)
        assert run.result().get("resumes"), "nothing was resumed"
        result = reference.result()
        assert result["health"]["replica_checks"]["checks"] >= STEPS, result["health"]
        ends.add(content(reference.weights))
        print(f"{' '.join(chosen)}: {result['built']['optimizer']['kind']}, "
              f"{len(run.result().get('resumes', []))} resumption(s), the same weights", flush=True)
    assert len(ends) == len(settings), "two of them are the same training"


# --- evaluations beside training
# --------------------------------------------------------------------------------------------------------------


def case_overlap(place, times, seed):
    """With train.eval_overlap training continues while AP is computed: the same run to the bit, also when it is killed,
    that ends later where it has passed."""
    overlapping = [*SMALL, "train.eval_overlap=true"]
    reference, run = place.run(), place.run(settings=overlapping)
    reference.finish()
    run.finish()
    same_training(run, reference)
    of = lambda r: [e["event"] for e in r.result()["events"] if e["event"].startswith("evaluation")]
    assert of(reference) == ["evaluation_start", "evaluation_stop"] * (STEPS // EVALUATION), of(reference)
    assert of(run) == ["evaluation_start", "evaluation_predicted", "evaluation_stop"] * (STEPS // EVALUATION - 1) + [
        "evaluation_start", "evaluation_stop"
    ], of(run)

    draw, kills = random.Random(seed), 0
    while kills < times:
        run = place.run(settings=overlapping, more=["--force"])
        kills += kill_once(run, "evaluation", draw) != ""
        if not os.path.exists(run.weights):
            run.finish()
        same_training(run, reference)

    at_once = ["train.target_box_ap=0", "train.target_mask_ap=0"]
    waits, goes_on = place.run(settings=[*SMALL, *at_once]), place.run(settings=[*overlapping, *at_once])
    for r in (waits, goes_on):
        r.finish(code=0)
        assert r.result()["verdict"] == "passed" and [e["step"] for e in r.result()["accuracy"]
                                                      ] == [EVALUATION], r.result()["accuracy"]
    a, b = (r.result()["steps"]["loss"]["values"]["mask"] for r in (waits, goes_on))
    # A checkpoint, which waits for it, is due two steps after the evaluation.
    assert len(a) == EVALUATION and EVALUATION < len(b) <= EVALUATION + 2 and b[:EVALUATION] == a, (a, b)
    assert waits.result()["accuracy"][0]["bbox"] == goes_on.result()["accuracy"][0]["bbox"]
    says_its_end(goes_on)
    print(f"ok: {kills} kills; a run that had passed after {len(a)} steps knew it after {len(b)}")


def says_its_end(run):
    """The last line of progress holds the newest accuracy, also where that came after the last step."""
    command = [word for word in run.command() if word != "--quiet"]
    done = subprocess.run([*command, "--force"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("step ")]
    newest = "box AP %.3f" % run.result()["accuracy"][-1]["bbox"]["AP"]
    assert lines and newest in lines[-1], (newest, done.stderr)


# --- other ranks
# --------------------------------------------------------------------------------------------------------------


def order_of(prefix, ranks):
    """step -> the images of all ranks, in rank order; the last word where a step was done twice."""
    steps = {}
    for rank in range(ranks):
        own = {}
        with open(f"{prefix}.{rank}") as f:
            for line in f:
                step, *images = map(int, line.split())
                own[step] = images
        for step, images in own.items():
            steps.setdefault(step, []).extend(images)
    return steps


def case_ranks(place, *_):
    """Eleven steps on two ranks (into the second epoch, not at its beginning), and the rest on two, four and one: by
    the ids in the batches."""
    short, settings = EPOCH + 3, [
        *SMALL, "train.checkpoint.every_epochs=0.125", "model.backbone.norm=group", "model.backbone.norm_groups=8"
    ]
    probe = lambda n: place.run(ranks=n, settings=settings, program="tests/order_probe")

    def go(run, code, label):
        os.environ["TTT_TEST_ORDER"] = f"{run.folder}/{label}"
        run.finish(code)
        return order_of(f"{run.folder}/{label}", run.ranks)

    whole = go(probe(2), NOT_CONVERGED, "whole")
    assert sorted(whole) == list(range(STEPS))
    for epoch in range(STEPS // EPOCH):
        images = [i for step in range(epoch * EPOCH, (epoch + 1) * EPOCH) for i in whole[step]]
        assert len(images) == 64 and len(set(images)) == 64, f"epoch {epoch}: an image twice or not at all"
    for ranks in (2, 4, 1):
        run = probe(2)
        run.settings += [f"train.max_steps={short}"]
        first = go(run, 0, "first")
        assert sorted(first) == list(range(short)) and run.saved()[-1] == f"step-{short:08d}.h5", run.saved()
        os.remove(run.out)
        run.ranks, run.settings = ranks, run.settings[:-1]
        second = go(run, NOT_CONVERGED, "second")
        assert sorted(second) == list(range(short, STEPS)), sorted(second)
        assert {**first, **second} == whole, f"2 -> {ranks}: other images"
        result = run.result()
        assert [(r["step"], r["ranks_before"], r["ranks"])
                for r in result["resumes"]] == [(short, 2, ranks)], result["resumes"]
        assert result["steps"]["step"] == list(range(STEPS)) and result["accuracy"][-1]["images"] == 8 * STEPS
        changed = [c["key"] for c in result["resumes"][0]["changed"]]
        assert ("train.images_per_rank" in changed) == (ranks != 2) and "train.max_steps" in changed, changed
        print(
            f"2 -> {ranks} ranks after step {short}: every epoch's 64 images once, each step's images those of the "
            f"uninterrupted run, in its order"
        )


def case_own_parts(place, *_):
    """A schedule, an optimizer with three tensors of state and a reducer that only tests have: trained, saved and
    resumed to the bit."""
    def go(run, code):
        os.environ.update(TTT_TEST_ORDER=f"{run.folder}/order", TTT_TEST_OWN_PARTS="1")
        run.finish(code)

    # Without running statistics, which the evaluations of the uninterrupted run average over ranks.
    settings = [*SMALL, "model.backbone.norm=group", "model.backbone.norm_groups=8"]
    whole, run = (place.run(settings=settings, program="tests/order_probe") for _ in range(2))
    go(whole, NOT_CONVERGED)
    built = whole.result()["built"]
    kinds = [built[part]["kind"] for part in ("schedule", "optimizer", "reducer")]
    assert kinds == ["triangle", "adam", "halves"], built
    run.settings += [f"train.max_steps={EPOCH + 2}"]
    go(run, 0)
    with h5py.File(f"{run.checkpoints}/step-{EPOCH + 2:08d}.h5") as c:
        assert sorted(c["optimizer"]) == ["first_moment", "second_moment", "steps"
                                          ] and c["optimizer/steps"][()] == [EPOCH + 2]
        assert all(
            np.any(c[f"optimizer/{s}"][n][()] != 0) for s in ("first_moment", "second_moment")
            for n in list(c["optimizer"][s])[:3])
    os.remove(run.out)
    run.settings = run.settings[:-1]
    go(run, NOT_CONVERGED)
    with h5py.File(run.weights) as a, h5py.File(whole.weights) as b:
        assert sorted(a) == sorted(b) and all(a[n][()].tobytes() == b[n][()].tobytes() for n in a), "other weights"
    assert run.result()["accuracy"][-1]["bbox"] == whole.result()["accuracy"][-1]["bbox"]
    print("trained with parts of its own, interrupted and resumed to the bit")


# --- the file
# --------------------------------------------------------------------------------------------------------------


def case_format(place, *_):
    """h5py finds the tensors that train.save_weights wrote, and a momentum that explains the last step."""
    run = place.run(
        settings=[*SMALL, "train.checkpoint.every_epochs=0.125", "train.max_steps=11", "train.schedule.warmup_steps=0"])
    run.finish(0)
    lr = np.float32(run.result()["steps"]["learning_rate"][-1])
    with h5py.File(run.weights) as w, h5py.File(f"{run.checkpoints}/step-00000011.h5") as c, h5py.File(
            f"{run.checkpoints}/step-00000010.h5") as before:
        assert set(w) == set(c["weights"]) and set(c["optimizer/momentum"]) < set(w)
        worst = 0.0
        for name in w:
            if name in c["per_rank"]:
                rows = c["per_rank"][name][()]  # the weights file has the mean over ranks
                assert rows.shape == (2, *w[name].shape) and not np.array_equal(rows[0], rows[1]), name
                assert np.array_equal((rows[0] + rows[1]) / np.float32(2), w[name][()]) and np.array_equal(
                    rows[0], c["weights"][name][()]), name
            else:
                assert np.array_equal(w[name][()], c["weights"][name][()]), name
            if name in c["optimizer/momentum"]:
                old, step = before["weights"][name][(
                )].astype("f8"), float(lr) * c["optimizer/momentum"][name][()].astype("f8")
                off = np.abs(c["weights"][name][()] - (old - step)) / (np.abs(old) + np.abs(step) + 1e-30)
                worst = max(worst, float(np.max(off)))
        assert worst < 2**-23, worst  # the product and the difference, each rounded to float32
        assert any(np.any(c["optimizer/momentum"][n][()] != 0) for n in c["optimizer/momentum"])
        state = json.loads(bytes(c["state"][()]))
        assert state["step"] == 11 and state["images"] == 88 and state["ranks"] == 2 and state["recipe"]["train"][
            "global_batch"] == 8
        assert list(c["steps/loss.mask"][()]) == run.result()["steps"]["loss"]["values"]["mask"]
        print(
            f"h5py: {len(w)} tensors, {len(c['optimizer/momentum'])} momenta, {len(c['per_rank'])} statistics of each "
            f"rank; momentum explains the step within {worst:.1e}"
        )
    dump = subprocess.run(["h5dump", "-H", f"{run.checkpoints}/step-00000011.h5"], capture_output=True, text=True)
    assert dump.returncode == 0 and 'GROUP "momentum"' in dump.stdout, dump.stderr


# --- signals
# --------------------------------------------------------------------------------------------------------------


def case_signals(place, *_):
    reference = place.run()
    reference.settings = [s for s in reference.settings if "checkpoint.folder" not in s]
    reference.finish()
    for name, when, code in (("SIGUSR1", "step", 0), ("SIGUSR1", "evaluation", 0), ("SIGTERM", "step", None),
                             ("SIGINT", "evaluation", None)):
        run = place.run()
        process = run.start()
        wait_for(lambda: run.steps() >= 6 if when == "step" else run.steps() >= 2 * EVALUATION, process)
        if name == "SIGUSR1":
            process.send_signal(signal.SIGUSR1)  # mpirun passes it on
        else:
            for pid in run.pids():
                os.kill(pid, getattr(signal, name))
        said = process.communicate(timeout=60)[1]
        result = run.result()
        assert process.returncode == (130 if code is None else code), (process.returncode, said)
        assert result["verdict"] == "failed" and name in result["reason"] and "resumes from step-" in result[
            "reason"], result["reason"]
        stopped = result["interrupted"]
        assert stopped["signal"] == name and stopped["requeue"] == (code == 0) and stopped["step"] == len(
            result["steps"]["step"]), stopped
        assert stopped["checkpoint"] == run.saved()[-1] == f"step-{stopped['step']:08d}.h5", run.saved()
        assert ("REQUEUE" in run.files()) == (code == 0), run.files()
        assert not os.path.exists(run.weights), "a run that is to be resumed writes no final weights"
        done = len(result["accuracy"])
        run.finish()  # the same command, no --force
        same_training(run, reference)
        again = run.result()
        assert again["run_id"] == result["run_id"] and [r["signal"]
                                                        for r in again["resumes"]] == [name], again["resumes"]
        assert again["accuracy"][:done] == result["accuracy"], "what was evaluated is not evaluated again"
        assert "interrupted" not in again and "REQUEUE" not in run.files() and not os.path.exists(run.out + ".earlier")
        print(
            f"{name} during {when}: stopped at step {stopped['step']} with {done} evaluations, exit code "
            f"{process.returncode}; continued to the same weights"
        )
    assert subprocess.run(run.command(), capture_output=True).returncode == 2, "a result that is finished stays"
    unsaved = place.run()
    unsaved.settings = [s for s in unsaved.settings if "checkpoint.folder" not in s]
    process = unsaved.start()
    wait_for(lambda: unsaved.steps() > 2, process)
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" not in unsaved.result(), "without a folder nothing is saved"


# --- what goes wrong
# --------------------------------------------------------------------------------------------------------------


def case_damaged(place, *_):
    reference = place.run()
    reference.finish()
    for harm in ("flip", "cut"):
        run = place.run()
        process = run.start()
        wait_for(lambda: run.steps() >= 9, process)
        process.send_signal(signal.SIGUSR1)
        process.communicate(timeout=300)
        assert process.returncode == 0 and len(run.saved()) == 2, run.files()
        newest = f"{run.checkpoints}/{run.saved()[-1]}"
        data = bytearray(content(newest))
        if harm == "flip":
            data[len(data) // 2] ^= 0x10
        else:
            del data[len(data) * 2 // 3:]
        with open(newest, "wb") as f:
            f.write(data)
        for resume in (["train.checkpoint.resume=required"], [f"train.checkpoint.from={newest}"]):
            keep, run.settings = run.settings, [*run.settings, *resume]
            said = run.finish(3)
            assert newest in said and ("checksum" if harm == "flip" else "bytes of") in said, said
            run.settings = keep
        before = run.saved()[-2]
        said = run.finish()
        assert newest in said and ".damaged" in said, said
        result = run.result()
        assert result["resumes"][0]["checkpoint"] == before and any(newest in w
                                                                    for w in result["warnings"]), result["warnings"]
        same_training(run, reference)
        print(f"{harm}: refused by name with exit code 3; auto resumed from {before} to the same weights")


def stopped_run(place):
    run = place.run(settings=[*SMALL, "train.max_steps=13"])
    run.finish(0)
    os.remove(run.out)
    run.settings = run.settings[:-1]
    return run


def case_refusals(place, *_):
    run = stopped_run(place)
    run.settings += ["train.schedule.lr=0.03"]
    said = run.finish(2)
    assert "train.schedule.lr = 0.02, and this run has 0.03" in said, said
    run.settings[-1] = "train.global_batch=16"
    assert "train.global_batch = 8, and this run has 16" in run.finish(2)
    run.settings[-1] = "train.max_steps=5"
    assert "step 12" in run.finish(2)
    run.settings[-1] = "train.checkpoint.resume=never"
    assert "step-00000012.h5" in run.finish(2)
    run.settings.pop()
    keep, run.more = run.more, []
    assert "train_images" in run.finish(2)
    run.more = keep
    os.remove(run.out)
    run.settings += ["train.epochs=100000"]
    first = run.start()
    wait_for(lambda: run.steps() > 0, first)
    second = copy.copy(run)
    second.out = run.folder + "/second.json"
    assert "Another run is writing checkpoints" in second.finish(2)
    first.send_signal(signal.SIGUSR1)
    first.communicate(timeout=60)
    assert first.returncode == 0 and "REQUEUE" in run.files()
    empty = place.run(settings=[*SMALL, "train.checkpoint.resume=required"])
    assert "holds no checkpoint" in empty.finish(2)
    print("ok: other settings, another data set, a shorter run, a second run in the folder, nothing to resume from")


def case_full_disk(place, *_):
    """The folder is a file system with room for one checkpoint and a half."""
    run = place.run(settings=[*SMALL, "train.max_steps=13"])
    os.mkdir(run.checkpoints)
    probe = place.run(settings=[*SMALL, "train.max_steps=1"])
    probe.finish(0)
    size = os.path.getsize(f"{probe.checkpoints}/{probe.saved()[0]}") * 3 // 2 // 1024
    mount = f"mount -t tmpfs -o size={size}k none {run.checkpoints}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode != 0:
        print("skipped: this machine lets no test mount a small file system")
        sys.exit(77)
    line = " ".join(f"'{word}'" for word in run.command())
    done = subprocess.run(["unshare", "-rm", "sh", "-c", f"{mount} && {line} && ls -l {run.checkpoints}"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.stdout, done.stderr)
    result = run.result()
    warnings = [w for w in result["warnings"] if "was not written" in w]
    assert len(warnings) == 1 and "step-00000000.h5 as the newest" in warnings[0], result["warnings"]
    assert warnings[0] in done.stderr and done.stderr.count("was not written") == 1, done.stderr
    assert len(result["steps"]["step"]) == 13 and [c["step"] for c in result["checkpoints"]] == [0]
    assert "step-00000000.h5" in done.stdout and ".tmp" not in done.stdout, done.stdout
    print("ok:", warnings[0])


def case_stall(place, *_):
    """The default recipe, and a quarter of the default interval: what `report show` derives from the result."""
    run = place.run(settings=["train.epochs=1", "train.checkpoint.every_epochs=0.25"], data=False)
    run.finish()
    stalls = run.result()["checkpoints"]
    share = sum(s["stall_s"] for s in stalls[:-1]) / (stalls[-1]["wall_s"] - stalls[0]["wall_s"])
    shown = subprocess.run([f"{place.bin}/report", "show", run.out], capture_output=True, text=True).stdout
    lines = [line.strip() for line in shown.splitlines()]
    line = next(line for line in lines if line.startswith("stall / time between"))
    assert f"{share * 100:.2f} %" in line, (line, share)
    print("\n".join(line for line in lines if line.startswith(("checkpoints ", "stall", "writing"))))
    assert len(stalls) == 5 and share < 0.01, share


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        globals()["case_" + a.case](Place(os.path.abspath(a.bin), scratch), a.times, a.seed)


if __name__ == "__main__":
    main()
