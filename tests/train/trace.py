#!/usr/bin/env python3
"""Traces of whole runs on two ranks, one for each reducer, and the files that viewers open.

  trace.py PROGRAM REPORT SCHEMA
"""
import json, subprocess, sys, tempfile

import jsonschema

from runs import train

STEPS, FROM = 5, 4

# The Trace Event Format (Google, "Trace Event Format", revision of 2016) as far as it is used here: what Perfetto and
# chrome://tracing ask of complete ("X"), instant ("i") and metadata ("M") events in the JSON object format.
EVENT = {
    "type": "object",
    "required": ["name", "ph", "pid", "tid"],
    "properties": {
        "name": {"type": "string", "minLength": 1}, "cat": {"type": "string"}, "ph": {"enum": ["X", "i", "M"]},
        "ts": {"type": "number", "minimum": 0}, "dur": {"type": "number",
                                                        "minimum": 0}, "pid": {"type": "integer", "minimum": 0},
        "tid": {"type": "integer", "minimum": 0}, "s": {"enum": ["t", "p", "g"]}, "args": {"type": "object"}
    },
    "additionalProperties": False,
    "oneOf": [
        {"properties": {"ph": {"const": "X"}}, "required": ["ts", "dur", "cat"]},
        {"properties": {"ph": {"const": "i"}, "dur": False}, "required": ["ts", "s", "cat"]},
        {
            "properties": {
                "ph": {"const": "M"}, "ts": False, "dur": False,
                "name": {"enum": ["process_name", "thread_name", "process_sort_index", "thread_sort_index"]}
            }, "required": ["args"]
        },
    ],
}
CHROME = {
    "type": "object", "required": ["traceEvents"], "additionalProperties": False, "properties": {
        "traceEvents": {"type": "array", "minItems": 1, "items": EVENT}, "displayTimeUnit": {"enum": ["ms", "ns"]}
    }
}


def spans(trace, rank, event):
    """(start, end, number, bytes) of all spans of that name, by start."""
    wanted, found = trace["events"].index(event), []
    for lane in trace["ranks"][rank]["lanes"]:
        found += [
            x[1:] for x in zip(lane["event"], lane["start_s"], lane["end_s"], lane["number"], lane["bytes"])
            if x[0] == wanted
        ]
    return sorted(found)


def inside(inner, outer):
    """Seconds of the spans `inner` that lie within the spans `outer`."""
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in inner for b in outer)


def check_trace(kind, run):
    """What a trace says must be what the other parts of the same result say."""
    trace, built = run["trace"], run["built"]["reducer"]
    assert trace["from_step"] == FROM and trace["steps"] == STEPS and len(trace["ranks"]) == 2
    gradient_bytes = None
    for rank in (0, 1):
        assert all(lane["dropped"] == 0 for lane in trace["ranks"][rank]["lanes"])
        steps = spans(trace, rank, "step")
        assert [s[2] for s in steps] == list(range(FROM, FROM + STEPS)), steps
        reduces, ready = spans(trace, rank, "all_reduce"), spans(trace, rank, "bucket_ready")
        backward, exposed = spans(trace, rank, "backward"), spans(trace, rank, "comm_exposed")
        assert len(exposed) == len(backward) == STEPS
        for i, step in enumerate(steps):
            within = [r for r in reduces if step[0] <= r[0] and r[1] <= step[1]]
            filled = {r[2]: r for r in ready if step[0] <= r[0] <= step[1]}
            sizes = {r[2]: r[3] for r in within}
            assert len(sizes) == len(within) == len(filled) and sorted(sizes) == sorted(filled), (within, filled)
            for r in within:
                assert filled[r[2]][3] == r[3] and filled[r[2]][0] <= r[0], "a bucket travelled before it was ready"
            gradient_bytes = gradient_bytes or sum(sizes.values())
            assert sum(sizes.values()) == gradient_bytes, "every step sends every gradient once"
            if kind == "bucketed":
                assert [sizes[b] for b in sorted(sizes)] == built["bucket_bytes"]
        in_backward = inside(reduces, backward)
        if kind == "bucketed":
            assert in_backward > 0, "no bucket travelled behind backward"
        else:
            assert in_backward == 0, in_backward
        if kind == "blocking":
            assert abs(inside(reduces, exposed) - sum(r[1] - r[0] for r in reduces)) < 1e-7 * len(reduces)
        assert spans(trace, rank, "image") and spans(trace, rank, "finish_batch")
    check_phases(run)
    return gradient_bytes


def check_phases(run):
    """Phases of the steps are the means over ranks, and the trace has the same clock readings: equal but for whole
    nanoseconds."""
    trace, values = run["trace"], run["steps"]["phase_s"]["values"]
    for phase in ("data_wait", "forward", "backward", "comm_exposed", "optimizer"):
        traced = sum(s[1] - s[0] for rank in (0, 1) for s in spans(trace, rank, phase)) / 2
        sampled = sum(values[phase][FROM : FROM + STEPS])
        assert abs(traced - sampled) < 1e-9 * 4 * STEPS, (phase, traced, sampled)


def check_clocks(run):
    """Both ranks are on this machine: the true offset is zero, and must lie within what is said of it."""
    for rank in run["trace"]["ranks"]:
        assert abs(rank["clock_offset_s"]) <= rank["clock_uncertainty_s"] + 1e-9, rank["clock_offset_s"]
    print(f"clock of rank 1: {rank['clock_offset_s']:+.1e} s, uncertain by {rank['clock_uncertainty_s']:.1e} s")


def check_chrome(path, processes):
    with open(path) as f:
        document = json.load(f)
    jsonschema.validate(document, CHROME)
    tracks = {}
    for e in document["traceEvents"]:
        if e["ph"] != "M":
            tracks.setdefault((e["pid"], e["tid"]), []).append(e)
    named = {(e["pid"], e["tid"]) for e in document["traceEvents"] if e["name"] == "thread_name"}
    assert set(tracks) <= named and len({pid for pid, _ in tracks}) == processes
    ns = lambda us: round(us * 1000)  # whole nanoseconds, so that nesting is exact
    for track, events in tracks.items():
        open_until, last = [], 0
        for e in events:
            start, end = ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0))
            assert start >= last, (track, "not sorted")
            last = start
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], (track, e, "overlaps another span in part")
            open_until.append(end)
    assert {"step", "forward", "all_reduce", "image"} <= {e["name"] for e in document["traceEvents"]}
    print(f"ok: {sum(map(len, tracks.values()))} events on {len(tracks)} threads of {processes} processes")


def main(program, report, schema, folder):
    with open(schema) as f:
        validator = jsonschema.Draft7Validator(json.load(f))
    sizes, files = set(), []
    for kind in ("blocking", "flat_async", "bucketed"):
        run = train(program, folder, 2,
                    [f"train.reducer.kind={kind}", f"train.trace_steps={STEPS}", f"train.trace_from={FROM}"],
                    FROM + STEPS + 2)
        validator.validate(run)
        sizes.add(check_trace(kind, run))
        check_clocks(run)
        files.append(f"{folder}/{len(files)}.json")
        print(f"ok: {kind}")
    assert len(sizes) == 1, sizes
    out = f"{folder}/viewer.json"
    said = subprocess.run([report, "timeline", *files, "--out", out], capture_output=True, text=True, check=True).stdout
    assert out in said and "https://ui.perfetto.dev" in said, said
    check_chrome(out, 6)
    again = subprocess.run([report, "timeline", *files, "--out", out], capture_output=True, text=True)
    assert again.returncode == 2 and "--force" in again.stderr, again.stderr
    said = subprocess.run([report, "timeline", files[2]], capture_output=True, text=True, check=True).stdout
    assert f"{STEPS} steps from step {FROM} on" in said and "behind backward" in said, said
    assert "trace" not in train(program, folder, 2, [], 3), "nobody asked for a trace"
    bad = subprocess.run([
        program, "--quiet", "--out", f"{folder}/bad.json", "--set", "train.max_steps=3", "--set", "train.trace_steps=1"
    ], capture_output=True, text=True)
    assert bad.returncode == 2 and "train.trace_from" in bad.stderr, bad.stderr


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(*sys.argv[1:], scratch)
