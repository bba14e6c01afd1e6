#!/usr/bin/env python3
"""input_pipeline beside a peer on the same JPEGs, alternating, in one run; prints each pair and the medians.

The peer is a script that prints {"images_per_s": ...} and is given the folder, the batch size and the number of workers
(loader_peers.py of the measurements' folder). All instances JSONs of the folder are packed into one split.

Example: compare_loaders.py --bin build/bin --folder coco_permissive --rounds 5 -- PYTHON loader_peers.py dali
"""
import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import tempfile


def output(command):
    return subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def figures(text):
    """The FOM lines of docs/fom.md."""
    return {name: float(value) for name, value in re.findall(r"^FOM (\S+): (\S+) \S+$", text, re.M)}


def pack(binaries, folder, out):
    """One data set of every image below the folder."""
    merged = dict(images=[], annotations=[], categories=[])
    for path in sorted(glob.glob(folder + "/instances_*.json")):
        part = json.load(open(path))
        images = os.path.basename(path)[len("instances_"):-len(".json")]
        for image in part["images"]:
            image["file_name"] = images + "/" + image["file_name"]
        merged["images"] += part["images"]
        merged["annotations"] += part["annotations"]
        merged["categories"] = part["categories"]
    json.dump(merged, open(out + "/merged.json", "w"))
    subprocess.run([
        binaries + "/pack_coco", "--images", folder, "--annotations", out + "/merged.json", "--out", out, "--split",
        "all", "--quiet"
    ], check=True)
    return len(merged["images"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True), p.add_argument("--folder", required=True)
    p.add_argument("--rounds", type=int, default=5), p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--batch", type=int, default=8), p.add_argument("--workers", type=int, default=2)
    p.add_argument("--ours", nargs="*", default=[], help="more flags of input_pipeline, without the dashes")
    p.add_argument("peer", nargs="+")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as out:
        print(f"{pack(a.bin, a.folder, out)} images, {a.workers} workers, batches of {a.batch}, {a.seconds} s each")
        ours, theirs = [], []
        for _ in range(a.rounds):
            peer = output([*a.peer, a.folder, "--batch", a.batch, "--workers", a.workers, "--seconds", a.seconds])
            theirs.append(json.loads(peer.strip().splitlines()[-1])["images_per_s"])
            found = figures(output([
                a.bin + "/input_pipeline", "--data", out, "--split", "all", "--batch", a.batch, "--workers", a.workers,
                "--seconds", a.seconds, *("--" + o for o in a.ours)
            ]))
            ours.append(found["images_per_second"])
            print(f"peer {theirs[-1]:.1f} images/s, ours {ours[-1]:.1f}, ratio {ours[-1] / theirs[-1]:.2f}; {found}",
                  flush=True)
        ratios = [o / t for o, t in zip(ours, theirs)]
        print(
            f"medians: peer {statistics.median(theirs):.1f}, ours {statistics.median(ours):.1f}, ratio "
            f"{statistics.median(ratios):.2f}"
        )


main()
