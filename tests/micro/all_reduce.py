#!/usr/bin/env python3
"""micro_all_reduce from outside: its table by nccl-tests' columns, its last lines, its JSON, its refusals.

  all_reduce.py MICRO_ALL_REDUCE REPORT RESULTS
"""
import json, os, subprocess, sys, tempfile

# As nccl-tests prints it, from a published log of eight GPUs (docs.oracle.com, BM.GPU4.8): all_reduce_perf -g 8.
PUBLISHED = """
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
  1073741824     268435456     float     sum      -1    13867   77.43  135.50      0    13877   77.38  135.41      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 135.455 
"""


def table(text):
    """The names of the columns, the rows with both sides' columns, and the values of the lines "# name : value"."""
    lines = text.splitlines()
    header = next(line for line in lines if line.split()[1:2] == ["size"])
    names = header.split()[1:]
    rows = []
    for line in lines:
        words = line.split("#")[0].split()
        if words and words[0].isdigit():
            assert len(words) == len(names) and len(line.split("  #")[0]) == len(header), line
            rows.append((dict(zip(names[:9], words[:9])), dict(zip(names[9:], words[9:]))))
    ends = {line[1:].split(":")[0].strip(): line.split(":")[1].strip() for line in lines if " : " in line}
    return names, rows, ends


def check(text, ranks):
    """busbw = algbw * 2 (n - 1) / n, and algbw = size / time, to the digits that are printed (PERFORMANCE.md)."""
    names, rows, ends = table(text)
    total = 0
    for left, right in rows:
        assert int(left["size"]) == 4 * int(left["count"]) and (left["type"], left["redop"]) == ("float", "sum"), left
        for side in (left, right):
            time_us = float(side["time"])
            algbw = int(left["size"]) / time_us / 1e3
            digit = 0.5 * 10.0**-len(side["time"].partition(".")[2]) / time_us  # of the printed time, relative
            assert abs(float(side["algbw"]) - algbw) <= 0.0051 + algbw * digit, (left, side)
            busbw = algbw * 2 * (ranks - 1) / ranks
            assert abs(float(side["busbw"]) - busbw) <= 0.0051 + busbw * digit, (left, side)
            assert side["#wrong"] == "0", side
            total += float(side["busbw"])
    assert ends["Out of bounds values"] == "0 OK", ends
    return names, rows, float(ends["Avg bus bandwidth"]), total


def run(*command, rc=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == rc, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done


def main():
    program, report, results = sys.argv[1:]
    published, rows, average, total = check(PUBLISHED, 8)
    assert len(rows) == 1 and abs(average - total / 2) < 0.006  # of both sides there

    def mpirun(ranks, *arguments):
        return "mpirun", "--oversubscribe", "--timeout", "200", "-n", str(ranks), program, *arguments

    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "all_reduce.json")
        text = run(*mpirun(3, "-b", "4K", "-e", "4M", "-f", "32", "--out", out)).stdout
        names, rows, average, _ = check(text, 3)
        assert names == published, names
        assert [int(left["size"]) for left, _ in rows] == [4096, 131072, 4194304], rows
        ours = [float(left["busbw"]) for left, _ in rows]
        assert abs(average - sum(ours) / len(ours)) < 0.006, (average, ours)
        assert "\033" not in text, "colours in a file"
        lines = text.splitlines()
        assert lines[0].startswith("TTT output 1: micro_all_reduce, 3 ranks"), lines[0]
        assert lines[-1] == "TTT verdict: passed", lines[-3:]
        figure = next(line.split() for line in lines if line.startswith("FOM all_reduce_busbw:"))
        assert abs(float(figure[2]) / average - 1) < 1e-4 and figure[3] == "GB/s", (figure, average)
        with open(out) as f:
            document = json.load(f)
        assert document["context"]["ranks"] == 3 and document["context"]["commit"], document["context"]
        entries = [b for b in document["benchmarks"] if b["run_name"] == "all_reduce/4MiB/ours"]
        assert len(entries) == 4 and all(b["bus_bytes/s"] > 0 for b in entries), entries
        answer = next(line for line in lines if line.startswith("ours is "))
        assert answer in " ".join(run(report, "bench", out, "--width", "400").stdout.split("\n")), answer

    bucketed, blocking = (f"{results}/2_ranks_{kind}.json" for kind in ("bucketed", "blocking"))
    text = run(*mpirun(2, "-e", "8", "-n", "1", "--rounds", "1", "--buckets", bucketed, "--overlap")).stdout
    rows = check(text, 2)[1]
    with open(bucketed) as f:
        total = sum(json.load(f)["built"]["reducer"]["bucket_bytes"])
    assert [int(left["size"]) for left, _ in rows] == [8, total, total], rows
    assert "# overlapped:" in text and "idle_while_a_peer_is_late" in text, text
    assert "One rank: nothing travels." in run(program, "-e", "64", "-n", "1").stdout
    assert "--stepfactor" in run(program, "--help").stdout
    for arguments, word in ((["-b", "1"], "--minbytes"), (["-b", "64", "-e", "8"], "--maxbytes"),
                            (["--minbite", "8"], "'--minbytes'"), (["--buckets", blocking], "has no buckets")):
        done = run(*mpirun(2, *arguments), rc=2)
        assert done.stderr.count("micro_all_reduce: ") == 1 and word in done.stderr and not done.stdout, done
    print("ok")


if __name__ == "__main__":
    main()
