#!/usr/bin/env python3
"""The micro-benchmarks from outside: every file has benchmarks, sides agree, the JSON says what was built.

  micro.py MICRO SOURCES [MICRO_ALL_REDUCE]
"""
import glob, json, os, re, subprocess, sys

# Minutes of peers, or gigabytes: their results are compared at the smaller shape.
SLOW = "-mlperf"


def sh(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def names(*command):
    return sh(*command, "--benchmark_list_tests").split()


def check_context(context):
    for key in ("commit", "dirty", "compiler", "flags", "build_type", "cpu"):
        assert context.get(key), (key, context)
    assert re.fullmatch("[0-9a-f]{40}|unknown", context["commit"]) and "-O" in context["flags"], context


def check_rows(text, expected):
    document = json.loads(text)
    check_context(document["context"])
    rows = {r["run_name"].split("/iterations:")[0].split("/manual_time")[0]: r for r in document["benchmarks"]}
    for name, row in rows.items():
        assert not row.get("error_occurred"), (name, row.get("error_message"))
        assert row["label"] and row["real_time"] > 0, row
        (rate,) = (v for k, v in row.items() if k.endswith("/s"))
        assert rate > 0, row
    assert set(rows) == set(expected), set(rows) ^ set(expected)


def main():
    micro, sources = sys.argv[1:3]
    assert "--benchmark_filter" in sh(micro, "--help")
    refused = subprocess.run([micro, "--no-such-flag"], capture_output=True, text=True)
    assert refused.returncode == 2 and "no-such-flag" in refused.stderr, refused
    listed = names(micro)
    assert len(listed) == len(set(listed)) > 100, len(listed)
    operations = {n.split("/")[0] for n in listed}
    for source in glob.glob(sources + "/*.cc"):
        with open(source) as f:
            added = set(re.findall(r'add<\w+>\("(\w+)"', f.read()))
        # programs of their own
        assert added or os.path.basename(source) in ("main.cc", "all_reduce.cc", "overlap.cc",
                                                     "cuda_kernels.cc"), source
        assert added <= operations, f"{source} is not part of the program: {added - operations}"
    for operation in operations:
        assert any(n.startswith(operation + "/") and n.endswith("/ours") for n in listed), operation
    quick = [n for n in listed if not re.search(SLOW[1:], n)]
    check_rows(sh(micro, f"--benchmark_filter={SLOW}", "--benchmark_min_time=0.001", "--benchmark_format=json"), quick)
    print(f"ok: {len(listed)} benchmarks of {len(operations)} operations")
    if len(sys.argv) > 3:
        reduce = sys.argv[3]
        filtered = "--benchmark_filter=KiB|default|overlap"
        for ranks in (1, 2):
            launch = [*(["mpirun", "--oversubscribe", "--timeout", "200", "-n", "2"] if ranks == 2 else []), reduce]
            text = sh(*launch, filtered, "--benchmark_format=json")
            if ranks == 1:  # nothing travels: no rate, but a result
                assert not any(r.get("error_occurred") for r in json.loads(text)["benchmarks"]), text
                continue
            document = json.loads(text)  # one rank speaks
            assert document["context"]["ranks"] == "2", document["context"]
            overlap = {
                r["run_name"].split("/")[1] for r in document["benchmarks"] if r["run_name"].startswith("overlap/")
            }
            assert {"compute_alone", "overlapped", "idle_while_a_peer_is_late"} <= overlap, overlap
            document["benchmarks"] = [r for r in document["benchmarks"] if r["run_name"].startswith("all_reduce/")]
            check_rows(json.dumps(document), [
                f"all_reduce/{s}/{side}" for s in ("4KiB", "64KiB", "1024KiB", "16384KiB", "default_buckets")
                for side in ("ours", "ours_async", "mpi")
            ])
            assert "calls" in document["benchmarks"][-1]["label"]
        assert "\033" not in sh(*launch, "--benchmark_filter=4KiB/ours"), "colours in a file"
        print("ok: all-reduce alone and on two ranks")


if __name__ == "__main__":
    main()
