"""Ladders of batches, from outside."""
import json, math, os, subprocess

from ablate_run import command, measure, ok, sh


def killed_ladder(ablate, report, folder, data, settings):
    """Killed after some trainings: the journal has them. Returns the result that `report recover` makes of it."""
    out, mended = folder + "/killed.json", folder + "/mended.json"
    line = command(ablate, out, 2, "batch_ladder=lars", "--data", data, settings=settings)
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        said = 0
        for text in run.stderr:
            said += "trial at rate" in text
            if said == 3:
                subprocess.run(["pkill", "-KILL", "-f", f"^{ablate} .*{out}"], check=True)
    assert said >= 3 and run.returncode != 0 and not os.path.exists(out), (said, run.returncode)
    done = sh(report, "recover", out + ".journal", "--out", mended)
    assert done.returncode == 0, done.stderr
    with open(mended) as f:
        (row,) = json.load(f)["batch_ladders"]
    assert len(row["trainings"]) >= said and row["variant"] == "lars", row
    return mended


def ladder(ablate, report, folder, data):
    """A target that nothing reaches: every rate of the range is one trial, and there is nothing to repeat."""
    small = [
        "model.roi.sample=16", "model.rpn.sample=16", "train.threads=1", "train.target_box_ap=1", "ablate.seeds=2",
        "ablate.peaks_s=0", "ablate.batches=[16]"
    ]
    killed = killed_ladder(ablate, report, folder, data, small)
    done, result, out = measure(ablate, folder, 2, "batch_ladder=lars", "--data", data, "--set",
                                f"ablate.continues={killed}", settings=small)
    assert done.returncode == 0 and "1 ladder of batches, 1 rung: a search" in done.stdout, (done.stdout, done.stderr)
    (row,) = result["batch_ladders"]
    assert row["variant"] == "lars" and row["part_images"] == 8, row
    trials = row["trainings"]
    tried = sorted((math.log2(t["learning_rate"] / 5), t["seed"]) for t in trials)
    first, second = ([power for power, seed in tried if seed == s] for s in (1, 2))
    # The last of 13 rates has two ranks to itself.
    assert first == list(range(-6, 7)) and second == [-6.0], tried
    assert all(t["trial"] and "epochs" not in t and t["limit_epochs"] == 3 and t["batch"] == 16 for t in trials), trials
    shown = sh(report, "ablations", out, "batch_ladder", "--width", "250").stdout
    assert "Of lars: critical batch not known" in shown, shown
    # Nothing is left to try: all of them were made before.
    again, continued, out = measure(ablate, folder, 2, "batch_ladder=lars", "--data", data, "--set",
                                    f"ablate.continues={out}", settings=small)
    assert again.returncode == 0, again.stderr
    (same,) = continued["batch_ladders"]
    assert same["trainings"] == trials and same["continues"] == result["run_id"], (again.stderr, same)
    assert f"Run {result['run_id']} made the first" in sh(report, "ablations", out, "batch_ladder").stdout
    for words, name, more in (("has no ladder of what is named", "sgd", []),
                              ("with train.target_box_ap = 1", "lars", ["train.target_box_ap=0.5"])):
        done, _, _ = measure(ablate, folder, 2, f"batch_ladder={name}", "--data", data, "--set",
                             f"ablate.continues={out}",
                             settings=[*(s for s in small if not more or "box_ap" not in s), *more])
        assert done.returncode == 2 and words in done.stderr, done.stderr
    for words, settings in (("do not ascend at 8", ["ablate.batches=[16, 8]"]),
                            ("cannot be shared by 2 ranks in parts of 8", ["ablate.batches=[24]",
                                                                          "ablate.trainings=together"])):
        done, _, _ = measure(ablate, folder, 2, "batch_ladder", settings=settings)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "batch_ladder", "box_weights", "--design", "factorial")
    assert done.returncode == 2 and "combines with nothing" in done.stderr, done.stderr
    done, _, _ = measure(ablate, folder, 1, "batch_ladder=sdg")
    assert done.returncode == 2 and "has no variant 'sdg'. The nearest is 'sgd'" in done.stderr, done.stderr
    ok("a ladder")
