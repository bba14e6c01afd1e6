#!/usr/bin/env python3
"""Event files as TensorBoard reads them, bounds and counts of histograms as numpy has them, images as Pillow decodes
them.

  events.py PROBE
"""
import collections, glob, io, json, os, subprocess, sys, tempfile

try:
    import numpy as np
    from PIL import Image
    from tensorboard.backend.event_processing import event_accumulator, event_file_loader, io_wrapper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

EVERYTHING = {
    event_accumulator.SCALARS: 0, event_accumulator.HISTOGRAMS: 0, event_accumulator.IMAGES: 0,
    event_accumulator.TENSORS: 0
}


def events(folder):
    """An accumulator of all that TensorBoard reads in a folder."""
    accumulator = event_accumulator.EventAccumulator(folder, size_guidance=EVERYTHING, purge_orphaned_data=False)
    return accumulator.Reload()


def run_of(folder):
    """The folder of the only run that TensorBoard finds there."""
    (run,) = io_wrapper.GetLogdirSubdirectories(folder)
    return run


def scalars(accumulator):
    return {
        tag: [(s.step, s.value, s.wall_time) for s in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]
    }


def check_histogram(h, values):
    """Counts against numpy's, with the limits as edges: a bucket holds the end that is nearer to zero, which is numpy's
    rule for positive values, and for negative ones the same mirrored."""
    limits, counts = np.array(h.bucket_limit), np.array(h.bucket)
    assert len(limits) == len(counts) and counts[0] > 0 and counts[-1] > 0 and np.all(np.diff(limits) > 0)
    assert h.min == values.min() and h.max == values.max() and h.num == values.size == counts.sum()
    v = values.astype(np.float64)
    assert np.isclose(h.sum, v.sum(), rtol=0, atol=1e-9 * np.abs(v).sum()) and np.isclose(
        h.sum_squares, (v * v).sum(), rtol=1e-12)
    smallest = 2.0**-40
    positive, negative = limits[limits >= smallest], limits[limits <= -smallest]
    assert np.array_equal(np.histogram(v[v >= smallest], positive)[0], counts[len(counts) - len(positive) + 1:])
    ends = np.concatenate([-negative[::-1], [np.inf]])
    assert np.array_equal(np.histogram(-v[v <= -smallest], ends)[0][::-1], counts[: len(negative)])
    quarters = np.frexp(np.abs(limits))[0] * 8  # 4, 5, 6 or 7: four buckets for each power of two
    assert np.array_equal(quarters, np.round(quarters))


def check_whole(probe):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([probe, folder], check=True)
        with open(folder + "/values.json") as f:
            expected = json.load(f)
        assert len(glob.glob(folder + "/*tfevents*")) == 1
        read = events(folder)
        want = {}
        for tag, step, value, time in expected["scalars"]:
            want.setdefault(tag, []).append((step, np.float32(value), time))
        got = scalars(read)
        assert got.keys() == want.keys(), got.keys() ^ want.keys()
        for tag in want:
            assert [(s, np.float32(v), t) for s, v, t in got[tag]] == want[tag], tag
        assert len(want["loss/total"]) == 300
        (histogram,) = read.Histograms("weights/all")
        assert histogram.step == 5
        check_histogram(histogram.histogram_value, np.fromfile(folder + "/values.f32", np.float32))
        (image,) = read.Images("picture/1")
        assert (image.step, image.height, image.width) == (6, 5, 7)
        pixels = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        assert pixels.shape == (5, 7, 3) and pixels.tobytes() == bytes(expected["image"])
        # And as the present TensorBoard's own plugins are given them.
        given = collections.Counter(v.metadata.plugin_data.plugin_name
                                    for e in event_file_loader.EventFileLoader(folder + "/" + expected["file"]).Load()
                                    for v in e.summary.value)
        assert given == {"scalars": sum(map(len, want.values())), "histograms": 1, "images": 1}, given
        print(
            f"ok: {sum(map(len, want.values()))} scalars, a histogram of {len(histogram.histogram_value.bucket)} "
            f"buckets, an image"
        )
        check_torn(folder + "/" + expected["file"], want)


def count(path):
    return sum(len(e.summary.value) for e in event_file_loader.LegacyEventFileLoader(path).Load())


def check_torn(path, want):
    """Cut anywhere, the file is read up to the cut; with a changed byte TensorBoard stops there: the checksums are
    looked at."""
    with open(path, "rb") as f:
        whole = f.read()
    torn = os.path.dirname(path) + "/events.out.tfevents.1.torn"
    ends, at = [], 0
    while at < len(whole):
        at += 16 + int.from_bytes(whole[at:at + 8], "little")
        ends.append(at)
    assert ends[-1] == len(whole)
    before = -1
    for size in list(range(ends[0], ends[3])) + [ends[-1] - 5, ends[-1]]:
        with open(torn, "wb") as f:
            f.write(whole[:size])
        got = count(torn)
        assert got >= before and (size not in ends[:4] or got == ends.index(size)), (size, got)
        before = got
    assert before == sum(map(len, want.values())) + 2
    broken = bytearray(whole)
    broken[ends[1] + 20] ^= 1
    with open(torn, "wb") as f:
        f.write(broken)
    assert count(torn) == 1, "a wrong checksum was not noticed"
    os.remove(torn)
    print("ok: torn and damaged files are read up to the damage")


def check_full_disk(probe):
    """The file may have 4 KiB: what fits is whole, and the writer says what happened."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["bash", "-c", f"ulimit -f 4; exec {probe} {folder}"], capture_output=True, text=True)
        assert done.returncode == 0 and "failure: File too large while writing" in done.stdout, done
        (path,) = glob.glob(folder + "/*tfevents*")
        assert os.path.getsize(path) <= 4096 and count(path) > 10
        print("ok: a full disk:", done.stdout.strip())


if __name__ == "__main__":
    check_whole(sys.argv[1])
    check_full_disk(sys.argv[1])
