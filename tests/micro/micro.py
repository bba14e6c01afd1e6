#!/usr/bin/env python3
"""The micro-benchmarks from outside: every file has benchmarks, sides agree, the JSON says what was built.

  micro.py MICRO SOURCES
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
    rows = {r["run_name"]: r for r in document["benchmarks"]}
    for name, row in rows.items():
        assert not row.get("error_occurred"), (name, row.get("error_message"))
        assert row["label"] and row["real_time"] > 0, row
        (rate,) = (v for k, v in row.items() if k.endswith("/s"))
        assert rate > 0, row
    assert set(rows) == set(expected), set(rows) ^ set(expected)


def main():
    micro, sources = sys.argv[1:]
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
        assert added or os.path.basename(source) in ("main.cc", "all_reduce.cc", "all_reduce_table.cc",
                                                     "overlap.cc", "cuda_kernels.cc", "cuda_passes.cc"), source
        assert added <= operations, f"{source} is not part of the program: {added - operations}"
    for operation in operations:
        assert any(n.startswith(operation + "/") and n.endswith("/ours") for n in listed), operation
    quick = [n for n in listed if not re.search(SLOW[1:], n)]
    check_rows(sh(micro, f"--benchmark_filter={SLOW}", "--benchmark_min_time=0.001", "--benchmark_format=json"), quick)
    print(f"ok: {len(listed)} benchmarks of {len(operations)} operations")
    text = sh(micro, "--benchmark_filter=nms/400_boxes", "--benchmark_min_time=0.001", "--benchmark_repetitions=4")
    assert text.startswith("TTT output 1: micro"), text[:200]
    answer, figure, verdict = text.splitlines()[-3:]
    assert answer.startswith("ours is ") and verdict == "TTT verdict: passed", text[-500:]
    assert float(figure.removeprefix("FOM micro_ours_over_peer: ").removesuffix(" x")) > 0, figure


if __name__ == "__main__":
    main()
