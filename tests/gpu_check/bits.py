"""Whether steps that were taken twice, or recorded and replayed, have the bits of eager ones.

  bits.py digest RESULT.json WEIGHTS.h5    what is compared of a run: every step's losses, a hash of every tensor of its
  weights; JSON on stdout
  bits.py compare FOLDER cpu|cuda          the digests bits_<precision>_<variant>.json of a folder, as Markdown; exit
  code 1 where a claim does not hold

Variants of a precision: none (eager), again (the same command), parts and full (CUDA Graphs), doubled (twice the
learning rate, which must differ: else nothing was compared).
"""
import glob, hashlib, json, os, sys

# What is wanted of each precision: the same bits as `none` (True), or others (False).
WANTED = {"again": True, "parts": True, "full": True, "doubled": False}


def replays(graphs):
    return sum(part.get("replays", 0) for shape in graphs["shapes"]
               for part in shape["parts"]) if isinstance(graphs, dict) else 0


def digest(result, weights):
    import h5py
    with open(result) as f:
        run = json.load(f)
    with h5py.File(weights) as f:
        hashes = {name: hashlib.sha256(f[name][()].tobytes()).hexdigest() for name in f}
    assert hashes, f"{weights} holds no tensor"
    return {
        "losses": run["steps"]["loss"]["values"], "weights": hashes, "non_finite": len(run["non_finite"]),
        "replays": replays(run["built"]["graphs"]), "skipped_steps": run["built"].get("loss_scale",
                                                                                      {}).get("skipped_steps", 0)
    }


def differences(a, b):
    """Steps with another loss, the first of them (None: none), the largest relative difference; tensors with other
    bits, of how many."""
    steps, largest = set(), 0.0
    assert a["losses"].keys() == b["losses"].keys() and a["weights"].keys() == b["weights"].keys(), "runs of two models"
    for name, values in a["losses"].items():
        assert len(values) == len(b["losses"][name]) > 0, f"{len(values)} and {len(b['losses'][name])} steps"
        for step, (x, y) in enumerate(zip(values, b["losses"][name])):
            if x != y or x is None:  # None: not finite, which equals nothing
                steps.add(step)
                largest = max(largest, abs(x - y) / max(abs(x), abs(y)) if None not in (x, y) else float("inf"))
    tensors = sum(a["weights"][name] != b["weights"][name] for name in a["weights"])
    return {
        "steps": len(steps), "first": min(steps, default=None), "largest": largest, "tensors": tensors,
        "of": len(a["weights"])
    }


def compare(folder, device):
    digests = {}
    for path in glob.glob(folder + "/bits_*.json"):
        with open(path) as f:
            digests[tuple(os.path.basename(path)[:-5].split("_")[1:])] = json.load(f)
    wanted = ["bf16", "fp32", "fp16"] if device == "cuda" else ["fp32"]
    failed = 0
    print(
        "| precision | run | the bits of the eager run | steps with other losses | first | largest difference | "
        "tensors with other bits | replays | verdict |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for precision in wanted:
        variants = [v for v in WANTED if device == "cuda" or v not in ("parts", "full")]  # a processor records nothing
        for variant in variants:
            eager, other = digests.get((precision, "none")), digests.get((precision, variant))
            if not eager or not other:
                print(f"| {precision} | {variant} | unknown | | | | | | **MISSED**: no result |")
                failed += 1
                continue
            d = differences(eager, other)
            same = d["steps"] == 0 and d["tensors"] == 0
            wrong = []
            if same != WANTED[variant]:
                wrong.append("other bits" if WANTED[variant] else "nothing changes them, so nothing was compared")
            if variant in ("parts", "full") and other["replays"] == 0:
                wrong.append("nothing was replayed")
            for name, run in (("none", eager), (variant, other)):
                if run["non_finite"]:
                    wrong.append(f"{run['non_finite']} numbers of {name} are not finite")
                if run["skipped_steps"]:
                    wrong.append(f"{run['skipped_steps']} steps of {name} were skipped")
            failed += bool(wrong)
            first = "" if d["first"] is None else d["first"]
            print(
                f"| {precision} | {variant} | {'yes' if same else 'no'} | {d['steps']} | {first} | {d['largest']:.3g} "
                f"| {d['tensors']} of {d['of']} | {other['replays']} | "
                f"{'**FAILED**: ' + '; '.join(wrong) if wrong else 'ok'} |")
    return 1 if failed else 0


def main():
    if sys.argv[1] == "digest":
        print(json.dumps(digest(sys.argv[2], sys.argv[3])))
        return 0
    return compare(sys.argv[2], sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
