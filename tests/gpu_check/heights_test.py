"""heights_test.py: what judges a run of scripts/gpu_check (heights.py, bits.py, limits.py), on fake results: good
ones pass, each planted fault is found and named."""
import copy, contextlib, io, json, os, sys, tempfile

import bits, first, heights, limits, merge_micro

STEPS = 60


def result(seconds, skipped=None, loss=1.0, strict=True, tuned=False):
    r = {
        "verdict": "smoke", "reason": "", "non_finite": [], "built": {"graphs": "none"},
        "recipe": {"settings": {"train": {"strict_sync": strict, "cudnn_autotune": tuned}}}, "steps": {
            "step": list(range(STEPS)),
            "step_s": {"values": [1.0] * heights.WARM_UP + [seconds] * (STEPS - heights.WARM_UP)},
            "loss": {"values": {"mask": [loss] * STEPS}}
        }
    }
    if skipped is not None:
        r["built"]["loss_scale"] = {"scale": 1024.0, "skipped_steps": skipped}
    return r


def write(folder, name, value):
    with open(f"{folder}/{name}", "w") as f:
        json.dump(value, f)


def said(function, *arguments):
    """Exit code and what was printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = function(*arguments)
    return code, out.getvalue()


def run_heights(folder, *arguments):
    sys.argv = ["heights.py", folder, *arguments]
    return said(heights.main)


def good_times(folder, all_of_them=False):
    """Those of 12 images that are wanted reach their height only where they are tuned."""
    for precision, graphs, images, tuned in heights.ALL if all_of_them else heights.WANTED:
        rate = (100 if images == 1 else 200 if tuned or all_of_them else 110) / (2 if graphs == "none" else 1)
        write(folder, f"speed_{precision}_{graphs}_{images}{'_tuned' * tuned}.json",
              result(images / rate, skipped=0 if precision == "fp16" else None, tuned=tuned))
    for images, rate in ((12, 60), (1, 30)):
        write(folder, f"torchvision_bf16_{images}.txt", {"precision": "bf16", "images": images, "images_per_s": rate})


def test_heights():
    with tempfile.TemporaryDirectory() as folder:
        assert run_heights(folder, "cuda")[0] == 1, "no result at all"
        good_times(folder)
        code, text = run_heights(folder, "cuda")
        assert code == 0 and "MISSED" not in text and text.count("ok    ") == 5, text
        assert run_heights(folder, "cuda", "all")[0] == 1, "not all combinations"
        # Slower than wanted: the rate, torchvision's multiple, the replay.
        for file, planted, sentence in (("speed_bf16_full_12_tuned.json", result(12 / 110, tuned=True),
                                         "MISSED images/s with 12 images: 110"), ("torchvision_bf16_1.txt", {
                                             "precision": "bf16", "images": 1, "images_per_s": 40
                                         }, "MISSED times torchvision's step with one image: 2.5"),
                                        ("torchvision_bf16_12.txt",
                                         {"precision": "bf16", "images": 12,
                                          "images_per_s": 80}, "MISSED times torchvision's step with 12 images: 2.5"),
                                        ("speed_bf16_none_1.json", result(1 / 90),
                                         "MISSED times the eager step, replayed whole, with one image: 1.111"),
                                        ("speed_bf16_full_1.json", result(1 / 100, strict=False),
                                         "MISSED 1 images, bf16, graphs full: the host waited"),
                                        ("speed_bf16_full_1_tuned.json", result(1 / 100, strict=False, tuned=True),
                                         "MISSED 1 images, bf16, graphs full, tuned: the host waited"),
                                        ("speed_bf16_full_1.json", result(1 / 100, loss=None),
                                         "not counted, its losses are not finite"),
                                        ("speed_bf16_full_1.json", {**result(1 / 100), "non_finite": [{"step": 3}]},
                                         "not counted, its losses are not finite")):
            good_times(folder)
            write(folder, file, planted)
            code, text = run_heights(folder, "cuda")
            assert code == 1 and sentence in text, (file, text)
        good_times(folder)
        write(folder, "speed_bf16_full_1.json", result(1 / 100, tuned=True))
        try:
            run_heights(folder, "cuda")
        except AssertionError as error:
            assert "cudnn_autotune is True" in str(error), error
        else:
            raise AssertionError("a tuned run was taken for another")
    with tempfile.TemporaryDirectory() as folder:  # a fast run in fp16 whose steps were skipped does not lift the best
        good_times(folder, all_of_them=True)
        assert run_heights(folder, "cuda", "all")[0] == 0
        write(folder, "speed_fp16_full_12.json", result(12 / 5000, skipped=3))
        for mode in ([], ["all"]):
            code, text = run_heights(folder, "cuda", *mode)
            assert code == 1 and "12 images, fp16, graphs full: not counted, 3 of 60 steps were skipped" in text, text
        code, text = run_heights(folder, "cuda")
        assert code == 1 and "ok     images/s with 12 images: 200" in text, text


def digests():
    eager = {
        "losses": {"mask": [1.0, 0.9, 0.8], "box_reg": [0.5, 0.4, 0.3]}, "weights": {"a": "1", "b": "2"},
        "non_finite": 0, "replays": 0, "skipped_steps": 0
    }
    all_of_them = {}
    for precision in ("bf16", "fp32", "fp16"):
        for variant in ("none", *bits.WANTED):
            d = copy.deepcopy(eager)
            if variant in ("parts", "full"):
                d["replays"] = 8
            if variant == "doubled":
                d["losses"]["mask"][1], d["weights"]["b"] = 0.91, "3"
            all_of_them[precision, variant] = d
    return all_of_them


def test_bits():
    def compared(change=lambda d: None, device="cuda"):
        with tempfile.TemporaryDirectory() as folder:
            planted = digests()
            change(planted)
            for (precision, variant), d in planted.items():
                write(folder, f"bits_{precision}_{variant}.json", d)
            return said(bits.compare, folder, device)

    code, text = compared()
    assert code == 0 and text.count("| yes |") == 9 and text.count(
        "| no |") == 3 and "| bf16 | doubled | no | 1 | 1 | 0.011 | 1 of 2 | 0 | ok |" in text, text
    for change, sentence in ((lambda d: d["bf16", "full"]["weights"].update(a="9"),
                              "| bf16 | full | no | 0 |  | 0 | 1 of 2 | 8 | **FAILED**: other bits |"),
                             (lambda d: d["fp32", "again"]["losses"]["mask"].__setitem__(2, 0.8000000001),
                              "| fp32 | again | no | 1 | 2 | 1.25e-10 | 0 of 2 |"),
                             (lambda d: d["fp16", "parts"].update(replays=0),
                              "nothing was replayed"), (lambda d: d.update({("bf16", "doubled"): d["bf16", "again"]}),
                                                        "nothing changes them, so nothing was compared"),
                             (lambda d: d["fp16", "none"].update(skipped_steps=2), "2 steps of none were skipped"),
                             (lambda d: d["fp16", "full"].update(non_finite=1),
                              "1 numbers of full are not finite"), (lambda d: d.pop(
                                  ("bf16", "parts")), "| bf16 | parts | unknown | | | | | | **MISSED**: no result |")):
        code, text = compared(change)
        assert code == 1 and sentence in text, (sentence, text)
    code, text = compared(device="cpu")
    assert code == 0 and "parts" not in text and "bf16" not in text, text


def test_limits():
    with tempfile.TemporaryDirectory() as folder:
        good_times(folder)
        row = {"run_type": "iteration", "time_unit": "us", "bytes/s": 3e12}
        write(
            folder, "micro_cuda.json", {
                "context": {"copy_bytes_per_s": "4e12"},
                "benchmarks": [{**row, "run_name": "nms/2000/ours", "real_time": t} for t in (9.0, 10.0, 12.0)]
            })
        write(folder, "peaks.json", {"flop_per_s": {"bf16": 6e14}})
        write(folder, "step_cost.json", {"built": {"step_cost": {"image_flops": 1.5e12}}})
        sys.argv = ["limits.py", folder, folder + "/step_cost.json"]
        code, text = said(limits.main)
        assert code == 0 and "| nms/2000 | 10.0 | 3000 | 75.0 % |" in text, text
        assert "| 12 | bf16 | full | yes | 200 | 300 | 600 | 50.0 % |" in text, text
        os.remove(folder + "/peaks.json")
        code, text = said(limits.main)
        assert code == 0 and "75.0 %" in text and "TFLOP" not in text, text


def test_first():
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["first.py", folder]
        code, text = said(first.main)
        assert code == 0 and text.count("not known") == 2, text
        for name, times in (("untuned", [3.0, 0.2, 0.2, 0.21, 0.2]), ("tuned", [43.0, 0.1, 0.1, 0.1, 0.1])):
            r = result(1.0, tuned=name == "tuned")
            r["steps"]["step_s"]["values"] = times
            write(folder, f"first_{name}.json", r)
            code, text = said(first.main)
            assert f"| {name} | {times[0]:.4g} | {times[1]:.4g}, " in text, text
        assert "Tuning makes step 1 longer by 40 s, and a later step shorter by 50.0 %." in text, text
        os.rename(folder + "/first_tuned.json", folder + "/first_untuned.json")
        try:
            said(first.main)
        except AssertionError as error:
            assert "cudnn_autotune is True" in str(error), error
        else:
            raise AssertionError("a tuned run was taken for another")


def test_merge_micro():
    with tempfile.TemporaryDirectory() as folder:
        for name, rate in (("a", "9e11"), ("b", "4.1e12")):
            write(folder, name, {"context": {"copy_bytes_per_s": rate, "gpu": "G"}, "benchmarks": [{"name": name}]})
        sys.argv = ["merge_micro.py", folder + "/a", folder + "/b"]
        merged = json.loads(said(merge_micro.main)[1])
        assert [b["name"] for b in merged["benchmarks"]] == ["a", "b"], merged
        assert merged["context"] == {"copy_bytes_per_s": "4.1e12", "gpu": "G"}, merged


if __name__ == "__main__":
    test_heights()
    test_first()
    test_merge_micro()
    test_bits()
    test_limits()
    print("ok")
