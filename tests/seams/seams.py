"""seams.py SOURCE FOLDER: one of each choice is added to a copy of the tree, as its file and its line in a list.

Built in FOLDER, which may be kept. A schedule, an optimizer with two tensors of state, a loss of boxes and a reducer
train a Mask R-CNN; a workload of one convolution with a metric of its own trains too; both are saved and resumed to the
bit. An operation with its kernel, and the others, have an ablation each.
"""
import os, pathlib, shutil, subprocess, sys

import h5py

# The one line of each list, before and after.
LISTS = {
    "src/train/schedules/schedule.h": ("  X(step_decay,", '  X(ramp, "up") X(step_decay,'),
    "src/train/optimizers/optimizer.h": ("  X(sgd,", '  X(two_moments, "two tensors of state") X(sgd,'),
    "src/train/reducers/reducer.h": ("  X(none,", '  X(halves, "two buckets") X(none,'),
    "src/models/mask_rcnn/box_losses/kinds.h": ("  X(smooth_l1,", '  X(absolute, "L1") X(smooth_l1,'),
    "kernels/CMakeLists.txt": ("set(operations\n", "set(operations\n  scale\n"),
    "benchmarks/train/CMakeLists.txt": ("(ttt_maskrcnn)", "(ttt_maskrcnn)\nttt_train_program(ttt_first_object)"),
}
PROGRAMS = ["ttt_maskrcnn", "ttt_first_object", "ablate", "make_shapes", "pack_coco"]


def write(path, text):
    """Leaves a file that is so already: what is built of it stays."""
    if not path.exists() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def copy_with_additions(source, tree):
    names = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True, check=True).stdout
    files = {
        name: (source / name).read_bytes() for name in names.decode().split("\0") if name and (source / name).is_file()
    }
    for name, (before, after) in LISTS.items():
        text = files[name].decode()
        assert text.count(before) == 1, (name, before)
        files[name] = text.replace(before, after).encode()
    additions = source / "tests/seams/additions"
    added = [path.relative_to(additions) for path in additions.rglob("*") if path.is_file()]
    files.update({str(name): (additions / name).read_bytes() for name in added})
    for name, text in files.items():
        write(tree / name, text)
    return added


def build(tree, folder):
    run = lambda *command: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DTTT_CUDA=OFF", "-DTTT_BUILD_TESTS=OFF")
    run("cmake", "--build", folder, "--target", *PROGRAMS)
    if shutil.which("nvcc"):
        run("nvcc", "-std=c++17", "-arch=sm_90", "-I", tree, "-I", tree / "src", "-c", tree / "kernels/scale/cuda.cu",
            "-o", folder / "scale.o")


def resumed_to_the_bit(place, settings, program, restarted):
    whole, run = (place.run(settings=settings, program=program) for _ in range(2))
    whole.finish(restarted.NOT_CONVERGED)
    middle = restarted.EPOCH + 2
    run.settings += [f"train.max_steps={middle}"]
    run.finish(0)
    with h5py.File(f"{run.checkpoints}/step-{middle:08d}.h5") as c:
        assert sorted(c["optimizer"]) == ["first_moment", "second_moment"], list(c["optimizer"])
    os.remove(run.out)
    run.settings.pop()
    run.finish(restarted.NOT_CONVERGED)
    assert run.result()["resumes"][0]["step"] == middle
    with h5py.File(run.weights) as a, h5py.File(whole.weights) as b:
        assert sorted(a) == sorted(b) and all(a[n][()].tobytes() == b[n][()].tobytes() for n in a), "other weights"
    return whole.result()


def main():
    source, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    sys.path.insert(0, str(source / "tests/checkpoint"))
    import restarted
    tree, scratch = folder / "tree", folder / "scratch"
    added = copy_with_additions(source, tree)
    build(tree, folder / "build")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    place = restarted.Place(str(folder / "build"), str(scratch))
    chosen = [
        "train.schedule.kind=ramp", "train.schedule.lr=1e-4", "train.optimizer.kind=two_moments",
        "train.reducer.kind=halves"
    ]
    # Without running statistics, which the evaluations of the uninterrupted run average over ranks.
    own = [
        "model.backbone.norm=group", "model.backbone.norm_groups=8", "model.roi.box_loss=absolute",
        "model.rpn.box_loss=absolute"
    ]
    result = resumed_to_the_bit(place, [*restarted.SMALL, *chosen, *own], "bin/ttt_maskrcnn", restarted)
    kinds = [result["built"][part]["kind"] for part in ("schedule", "optimizer", "reducer")]
    assert kinds == ["ramp", "two_moments", "halves"], kinds
    assert result["recipe"]["settings"]["model"]["roi"]["box_loss"] == "absolute"
    common = [s for s in restarted.SMALL if "_ap=" not in s]
    result = resumed_to_the_bit(place, [*common, *chosen, "train.target_top1=1"], "bin/ttt_first_object", restarted)
    assert list(result["steps"]["loss"]["values"]) == ["cross_entropy"] and result["target"] == {"top1": 1}
    assert len(result["accuracy"]) == 4 and all(0 <= e["top1"] < 1 for e in result["accuracy"]), result["accuracy"]

    names = sorted(path.stem[5:] for path in added if path.stem.startswith("seam_"))
    run = place.run(settings=[
        "ablate.peaks_s=0", "ablate.limit_s=1", "ablate.builds=1", "ablate.gate_steps=2", "data.short_side=64",
        "data.long_side=64", "train.images_per_rank=1", "train.threads=1", "train.schedule.lr=1e-4",
        "ablate.names=" + ",".join(f"seam_{name}" for name in names)
    ], program="bin/ablate")
    run.settings = run.settings[2:]
    run.finish(0)
    rows = run.result()["comparisons"]
    assert len(rows) == len(names) == 6 and all(r["status"] == "measured" for r in rows), rows
    print(f"{len(added)} files added, {len(LISTS)} lines in {len(LISTS)} lists changed, nothing else:")
    for name in [*sorted(map(str, added)), *LISTS]:
        print(f"  {name}")


if __name__ == "__main__":
    main()
