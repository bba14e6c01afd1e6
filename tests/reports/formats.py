#!/usr/bin/env python3
"""What `report` writes, read by others: Python's csv and json, and a terminal.

  formats.py REPORT RESULTS
"""
import csv, glob, io, json, os, pty, subprocess, sys, tempfile

REPORT, RESULTS = sys.argv[1:]
RUN = RESULTS + "/xeon-avx512-2cores/2026-11-21_ttt_maskrcnn_6fedf12611/1.json"


def report(*arguments, code=0):
    done = subprocess.run([REPORT, *arguments], capture_output=True, text=True, timeout=100)
    assert done.returncode == code, (arguments, done.stdout[-2000:], done.stderr)
    return done.stderr if code else done.stdout


def rows_of(text):
    """Of one table: every row has as many fields as the header, and no name is there twice."""
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(set(rows[0])) == len(rows[0]) and all(len(r) == len(rows[0]) for r in rows), rows
    return [dict(zip(rows[0], r)) for r in rows[1:]]


def check_numbers():
    with open(RUN) as f:
        run = json.load(f)
    reached = next(e for e in run["accuracy"] if e["bbox"]["AP"] >= 0.5 and e["segm"]["AP"] >= 0.5)
    time = run["clocks"]["init_s"] + reached["wall_s"]
    text = report("show", RUN, "--format", "csv", "--table", "Time to target")
    in_csv = {r["name"]: r for r in rows_of(text)}
    assert float(in_csv["time to target"]["time"]) == time and in_csv["time to target"]["time unit"] == "s", in_csv
    document = json.loads(report("show", RUN, "--format", "json"))
    table = next(t for t in document["tables"] if t["name"] == "Time to target")
    assert next(r for r in table["rows"] if r["name"] == "time to target")["time"] == time, table
    phases = next(t for t in document["tables"] if t["name"] == "Where the step's time went")
    assert {c["name"]: c["unit"] for c in phases["columns"]} == {"phase": "", "median": "s", "share": "%"}, phases


def check_both_agree():
    """The same names, rows and numbers, of every table of a report."""
    tables = json.loads(report("show", RUN, "--format", "json"))["tables"]
    with tempfile.TemporaryDirectory() as folder:
        report("show", RUN, "--folder", folder + "/new")
        files = glob.glob(folder + "/new/*.csv")
        assert len(files) == len(tables) > 4, files
        by_name = {}
        for path in files:
            with open(path, newline="") as f:
                rows = rows_of(f.read())
            if rows:
                by_name[rows[0]["table"]] = rows
    for table in tables:
        for theirs, ours in zip(by_name.get(table["name"], []), table["rows"], strict=True):
            for column in table["columns"]:
                name, value = column["name"], ours[column["name"]]
                field = theirs[name + (f" [{column['unit']}]" if column["unit"] else "")]
                if isinstance(value, (int, float)):
                    field = float(field)
                assert field in (value, f"'{value}") or (field == "" and value is None), (table["name"], name, field)


def check_refusals():
    error = report("show", RUN, "--format", "csv", code=2)
    assert "'Time to target', 'Accuracy', 'Accuracy 2'" in error and "--table" in error, error
    error = report("show", RUN, "--table", "Acuracy", code=2)
    assert "'Acuracy'" in error and "'Accuracy'" in error and error.count("\n") == 1, error


def on_terminal(**environment):
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    with subprocess.Popen([REPORT, "show", RUN], stdout=theirs, env=clean | environment):
        os.close(theirs)
        output = b""
        try:
            while data := os.read(ours, 4096):
                output += data
        except OSError:  # Linux: the other side was closed
            pass
    os.close(ours)
    return output.decode()


def check_colour():
    assert "\x1b[1;32mPASSED" in on_terminal(TERM="xterm")
    for without in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
        text = on_terminal(**without)
        assert "PASSED" in text and "\x1b" not in text, without
    assert "\x1b[1;32mPASSED" in on_terminal(TERM="xterm", NO_COLOR="")  # no-color.org: "and not an empty string"
    assert "\x1b" not in report("show", RUN)


check_numbers(), check_both_agree(), check_refusals(), check_colour()
