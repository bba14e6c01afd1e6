#!/usr/bin/env python3
"""Faults planted in runs of four ranks (--inject), and what becomes of them: how long until all ranks have ended, what
the result says.

  faults.py PROGRAM               a quick selection, one of each way to end
  faults.py PROGRAM --table       all, as a Markdown table on stdout
  faults.py PROGRAM NAME ...      these

Each must end as it is defined here: exit code, verdict, a reason that names rank, step and cause, within its time, and
with no process left.
"""
import argparse, glob, hashlib, json, os, re, shutil, signal, subprocess, sys, tempfile, threading, time

WATCHDOG_S = 5
SMALL = [
    "data.short_side=64", "data.long_side=64", "train.images_per_rank=1", "train.threads=1",
    f"train.watchdog_s={WATCHDOG_S}"
]
STEPS = ["train.max_steps=60"]
EVALUATES = ["train.epochs=1", "train.eval_every_epochs=0.03"]  # the first after 12 steps of 400
# Until all ranks have ended: what the launcher takes to end the others (1 s to SIGTERM, 1 s to SIGKILL), a failing
# rank's grace of 2 s, and room for a busy machine. With the watchdog its own time comes before.
SOON, WATCHED = 15, WATCHDOG_S + 15
NODE = r"\(node [0-9a-f]{12}\)"


class Case:
    def __init__(self, name, title, inject, outcome, exit_codes, verdict, reason, limit_s=SOON, settings=STEPS,
                 quick=False, check=None, rigging=None, strike=None):
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})


def gone(rank, where="step after step 19"):
    """The others know in which step they are. Where the rank was they know from its last beat, up to a tenth of a
    second before."""
    return rf"^SIGTERM ended the run while it was in the {where}\. Rank {rank} {NODE} is gone, was last seen in "


def still(rank, where):
    return (
        rf"No rank has made progress for train\.watchdog_s = {WATCHDOG_S} s: rank {rank} {NODE} has been in {where} "
        rf"for "
        rf"[\d.]+ s; ranks .* wait in ")


def slow_check(run):
    warning = [w for w in run.result["warnings"] if "is slow" in w]
    assert len(warning) == 1 and re.search(
        r"Rank 2 on node [0-9a-f]{12} is slow: in steps 20 to 39 its own work took [\d.]+ times",
        warning[0]), run.result["warnings"]
    assert "Rank 2 on node" in run.said, "not on the terminal"
    ranks = run.result["health"]["stragglers"]["ranks"]
    assert [r["rank"] for r in ranks] == [2] and ranks[0]["index"] > 1.5, ranks
    run.says = "warning: " + warning[0]


def printed_result_check(run):
    """Nothing can be written any more, so the result is on the terminal: whole, as its hash shows."""
    text = run.said.split("-----BEGIN TTT RESULT-----\n")[1].split("-----END TTT RESULT-----")[0]
    stated = json.loads(text)
    zeroed = text.replace(stated["content_sha256"], "0" * 64)
    assert hashlib.sha256(zeroed.encode()).hexdigest() == stated["content_sha256"], "the printed result is damaged"
    assert stated["verdict"] == "smoke" and len(stated["steps"]["step"]) == 60, stated["verdict"]
    assert any("could no longer be written" in w for w in stated["warnings"]), stated["warnings"]
    assert not os.path.exists(run.out), "a file on a full disk"
    run.says = "on stderr, whole: " + " ".join(w for w in stated["warnings"] if "could no longer be written" in w)


def whole_check(run):
    assert len(run.result["steps"]["step"]) == 60, len(run.result["steps"]["step"])
    assert "could no longer be written" not in " ".join(run.result["warnings"])


def spoilt_shard(folder, program):
    """Rank 2 reads a copy of the data in which a byte of every fifth image is another. The others read the original."""
    import h5py
    # makes the default data set where there is none
    subprocess.run([program, "--out", f"{folder}/first.json", "--set", "train.max_steps=1"], capture_output=True,
                   check=True)
    cache = os.path.expanduser(os.environ.get("TTT_CACHE", "~/.cache/ttt"))
    source, copy = next(f for f in sorted(glob.glob(cache + "/shapes-*"))
                        if os.path.isdir(f) and not f.endswith("-mixed")), f"{folder}/spoilt"
    shutil.copytree(source, copy, ignore=lambda _, names: [n for n in names if not n.endswith((".h5", "shards.json"))])
    for path in glob.glob(copy + "/train-*.h5"):
        with h5py.File(path, "r+") as f:
            offset, length = f["/img/offset"][:], f["/img/length"][:]
            for i in range(0, len(offset), 5):
                f["/bytes"][int(offset[i]) + int(length[i]) // 2] ^= 1
    return lambda ranks, line: [
        "-n", "2", *line, "--data", source, ":", "-n", "1", *line, "--data", copy, ":", "-n", "1", *line, "--data",
        source
    ]


CHECKPOINTS = ["train.checkpoint.folder={folder}/saved", "train.checkpoint.every_epochs=0.025"]  # every ten steps


def torn_checkpoint(folder, program):
    """A run of thirty steps that is to be resumed, with the last third of its newest checkpoint gone."""
    first = [
        program, "--out", f"{folder}/first.json",
        *[w for s in [*SMALL, *CHECKPOINTS, "train.max_steps=30"] for w in ("--set", s.format(folder=folder))]
    ]
    subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "--timeout", "150", "-n", "4", *first],
                   capture_output=True, check=True)
    os.truncate(f"{folder}/saved/step-00000030.h5", os.path.getsize(f"{folder}/saved/step-00000030.h5") * 2 // 3)
    return lambda ranks, line: ["-n", str(ranks), *line]


def torn_check(run):
    warning = [w for w in run.result["warnings"] if "step-00000030.h5" in w]
    assert len(warning) == 1 and "bytes of" in warning[0] and warning[0] in run.said, run.result["warnings"]
    assert [r["checkpoint"] for r in run.result["resumes"]] == ["step-00000020.h5"], run.result["resumes"]
    assert run.result["steps"]["step"] == list(range(60)), "every step is there once"
    run.says = "warning: " + warning[0].replace(run.folder + "/", "")


def unsaved_check(run):
    """Of checkpoints every ten steps, those before the fault are there and those after it are not; it is said once."""
    printed_result_check(run)
    stated = json.loads(run.said.split("-----BEGIN TTT RESULT-----\n")[1].split("-----END TTT RESULT-----")[0])
    warning = [w for w in stated["warnings"] if "was not written" in w]
    assert len(warning) == 1 and "step-00000010.h5 as the newest" in warning[0] and run.said.count(
        "was not written") >= 1, stated["warnings"]
    left = os.listdir(f"{run.folder}/saved")
    assert "step-00000010.h5" in left and "step-00000020.h5" not in left and not any(
        name.endswith(".tmp") for name in left), left
    run.says = "on stderr, whole: " + warning[0].replace(run.folder + "/", "")


def two_nodes(folder, program):
    """Two nodes on one machine, as far as the launcher knows: each has a daemon of its own, started by an agent that
    runs here what ssh would run there. They must not meet in shared memory, and not see each other's processes."""
    agent, apart = f"{folder}/agent", ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        return None
    with open(agent, "w") as f:
        f.write(f'#!/bin/sh\nexport TMPDIR={folder}/$1\nmkdir $TMPDIR\nshift\nexec {" ".join(apart)} sh -c "$*"\n')
    os.chmod(agent, 0o755)
    return lambda ranks, line: [
        "--host", "first:2,second:2", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca",
        "btl_tcp_if_include", "lo", "-n",
        str(ranks), *line
    ]


def lose_second_node(run):
    """The daemon of the second node and its ranks are gone at one moment, so that nobody is left there to tell."""
    begin = time.monotonic()
    while run.steps_of_rank_0() < 20 and time.monotonic() - begin < 100:
        time.sleep(0.05)
    parent = {
        int(p.split("/")[2]): int(open(p).read().rsplit(")", 1)[1].split()[1]) for p in glob.glob("/proc/[0-9]*/stat")
    }
    ranks = [pid for pid, words in run.processes() if words[0].endswith("ttt_maskrcnn")]
    env = {pid: open(f"/proc/{pid}/environ").read() for pid in ranks}
    lost = [pid for pid in ranks if re.search(r"OMPI_COMM_WORLD_RANK=[23]\0", env[pid])]
    daemons = {parent[pid] for pid in lost}
    assert len(lost) == 2 and len(daemons) == 1, (lost, daemons)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in [*daemons, *lost]:
            os.kill(pid, number)
    run.struck = time.monotonic()


CASES = [
    Case("kill", "a rank is killed", ["rank=2,step=20,kind=kill"], "the others end", {137}, "failed", gone(2),
         quick=True),
    Case("kill_root", "rank 0 is killed", ["rank=0,step=20,kind=kill"], "the others end", {137}, "failed", gone(0)),
    Case("kill_evaluation", "a rank is killed in an evaluation", ["rank=1,step=12,at=evaluation,kind=kill"],
         "the others end", {137}, "failed", gone(1, "evaluation after step 11"), settings=EVALUATES),
    Case("node", "two ranks, a node, are killed", ["rank=2,step=20,kind=kill", "rank=3,step=20,kind=kill"],
         "the others end", {137}, "failed",
         rf"Rank 2 {NODE} is gone, was last seen in .*; rank 3 {NODE} is gone, was last seen in "),
    Case(
        "node_lost", "a node is lost: its two ranks and the launcher's daemon are gone at once", [], "the others end",
        {205}, "failed",
        rf"Rank 2 {NODE} has given no sign of life for [\d.]+ s, .*; rank 3 {NODE} has given no sign of life for "
        rf"[\d.]+ s, was last seen in ", WATCHED, ["train.max_steps=100000", "train.epochs=1000"], rigging=two_nodes,
        strike=lose_second_node),
    Case("segfault", "a rank crashes (SIGSEGV)", ["rank=1,step=20,kind=segfault"], "the others end", {139}, "failed",
         gone(1)),
    Case("exit", "a rank ends by itself", ["rank=3,step=20,kind=exit"], "the others end", {3}, "failed", gone(3)),
    Case("throw", "an exception in a rank", ["rank=1,step=20,kind=throw"], "it says so, all end", {1}, "failed",
         r"^Rank 1 \(after step 19\): Unexpected error: a fault that was injected"),
    Case("throw_root", "an exception in rank 0", ["rank=0,step=20,kind=throw"], "it says so, all end", {1}, "failed",
         r"^Rank 0 \(after step 19\): Unexpected error: a fault that was injected"),
    Case("oom", "a rank runs out of memory", ["rank=2,step=20,kind=oom"], "it says so, all end", {1}, "failed",
         r"^Rank 2 \(after step 19\): This process ran out of memory \(it tried to allocate \d+ bytes\)\. Use fewer"),
    Case("record", "a damaged record in a shard of one rank", [], "it says so, all end", {3}, "failed",
         r"^Rank 2(?: \(after step \d+\))?: .*(CRC|checksum)", rigging=spoilt_shard),
    Case("hang", "a rank hangs in a step", ["rank=2,step=20,kind=hang"], "the watchdog ends all", {1}, "failed",
         still(2, "other of step 20"), WATCHED),
    Case("hang_root", "rank 0 hangs in a step", ["rank=0,step=20,kind=hang"], "the watchdog ends all", {1}, "failed",
         still(0, "other of step 20"), WATCHED),
    Case("hang_loader", "a rank's loader hangs", ["rank=1,step=20,kind=hang_loader"], "the watchdog ends all", {1},
         "failed", still(1, "data_wait of step 1[789]"), WATCHED, quick=True),
    Case("hang_evaluation", "a rank hangs in an evaluation", ["rank=3,step=12,at=evaluation,kind=hang"],
         "the watchdog ends all", {1}, "failed", still(3, "the evaluation after 12 steps"), WATCHED, EVALUATES),
    Case(
        "stop", "a rank stands still as a whole (SIGSTOP), like a node that hangs", ["rank=3,step=20,kind=stop"],
        "the watchdog ends all", {1}, "failed",
        rf"No rank has made progress for .* s: rank 3 {NODE} is stopped, since [\d.]+ s, was last seen in .*; ranks "
        rf"0-2 wait "
        rf"in comm_exposed of step 20", WATCHED, quick=True),
    Case(
        "stop_root", "rank 0 stands still as a whole", ["rank=0,step=20,kind=stop"], "the watchdog ends all", {1},
        "failed",
        rf"No rank has made progress for .* s: rank 0 {NODE} is stopped, since [\d.]+ s, was last seen in .*; ranks "
        rf"1-3 wait "
        rf"in comm_exposed of step 20", WATCHED),
    Case("slow", "a rank is slow (five times as long in forward and backward)", ["rank=2,step=20,kind=slow,factor=5"],
         "the run continues and names it", {0}, "smoke", r"^stopped at train.max_steps", 120, quick=True,
         check=slow_check),
    Case("nan", "a loss is not a number on one rank", ["rank=2,step=20,kind=nan"], "all end at that step", {5},
         "incorrect", r"^A loss of step 20 on rank 2 is not finite"),
    Case(
        "corrupt", "one bit of a reduced gradient is wrong on one rank", ["rank=2,step=22,kind=corrupt"],
        "found by the next check, all end", {5}, "incorrect",
        rf"^The replicas differ after step 29 \(after 20 steps they were equal\): rank 2 {NODE} against the other 3 "
        rf"ranks, first in \S+\. ", settings=STEPS + ["train.check_replicas_every=10"], quick=True),
    Case("disk", "the disk is full (result and journal)", ["rank=0,step=20,kind=disk_full"],
         "the run ends as asked, the result is printed", {1}, None, "", 60, quick=True, check=printed_result_check),
    Case("disk_other", "the disk of another rank's node is full (its journal)", ["rank=2,step=20,kind=disk_full"],
         "the run ends as asked", {0}, "smoke", r"^stopped at train.max_steps", 60, check=whole_check),
    Case("disk_checkpoint", "the disk is full when a checkpoint is written", ["rank=0,step=15,kind=disk_full"],
         "the run ends as asked, the checkpoints before stay", {1}, None, "", 60, settings=STEPS + CHECKPOINTS,
         check=unsaved_check),
    Case("torn_checkpoint", "the newest checkpoint is torn (its last third is missing)", [],
         "the run resumes from the one before", {0}, "smoke", r"^stopped at train.max_steps", 60,
         settings=STEPS + CHECKPOINTS, rigging=torn_checkpoint, check=torn_check),
    Case("signal", "SIGTERM at one rank", ["rank=1,step=20,kind=signal"], "all end after that step", {130}, "failed",
         r"^Interrupted by SIGTERM after step 21 "),
    Case("signal_twice", "SIGTERM, and again a second later, in a step that does not end",
         ["rank=1,step=20,kind=signal_twice"], "ends at once, the others with it", {143}, "failed",
         r"SIGTERM ended the run while it was in the step after step 19"),
]


class Run:
    """One run, from its start until the last of its processes is gone."""

    def __init__(self, program, folder, case):
        self.folder, self.out = folder, f"{folder}/{case.name}.json"
        line = [
            program, "--out", self.out, *[w for f in case.inject for w in ("--inject", f)],
            *[w for s in [*SMALL, *case.settings] for w in ("--set", s.format(folder=folder))]
        ]
        rigged = case.rigging(folder, program) if case.rigging else lambda ranks, words: ["-n", str(ranks), *words]
        if rigged is None:
            raise NotImplementedError(case.name)
        ranks = rigged(4, line)
        self.begin = self.struck = time.monotonic()
        process = subprocess.Popen(["mpirun", "--oversubscribe", "--bind-to", "none", "--timeout", "150", *ranks],
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace",
                                   env={**os.environ, "TMPDIR": folder})
        self.lines = []
        reader = threading.Thread(target=self.listen, args=(process.stderr,))
        reader.start()
        if case.strike:
            case.strike(self)
        self.exit_code = process.wait(timeout=170)
        while self.processes() and time.monotonic() - self.struck < 100:
            time.sleep(0.05)
        self.seconds = time.monotonic() - self.struck
        self.left = self.processes()
        reader.join(timeout=10)
        self.said = "".join(self.lines)
        self.result = json.load(open(self.out)) if os.path.exists(self.out) else None
        self.says = self.result["reason"] if self.result else ""

    def listen(self, stream):
        for line in stream:
            if line.startswith("injected:"):
                self.struck = time.monotonic()
            self.lines.append(line)

    def processes(self):
        """Of this run, the launcher included; what has ended and waits for its parent does not count."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                words = open(path, "rb").read().decode(errors="replace").split("\0")
                state = open(os.path.dirname(path) + "/stat").read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if any(self.folder in word for word in words) and state != "Z":
                found.append((int(path.split("/")[2]), words))
        return found

    def steps_of_rank_0(self):
        try:
            with open(self.out + ".journal/rank00000.jsonl") as f:
                return sum('"step"' in line for line in f)
        except OSError:
            return 0


def expect(run, case):
    assert not run.left, f"processes are left: {run.left}"
    assert run.exit_code in case.exit_codes, f"exit code {run.exit_code}, not {case.exit_codes}"
    assert run.seconds <= case.limit_s, f"{run.seconds:.1f} s, more than {case.limit_s}"
    if case.verdict:
        assert run.result, "no result"
        assert run.result["verdict"] == case.verdict, run.result["verdict"]
        assert re.search(case.reason, run.result["reason"]), f"{run.result['reason']!r} does not match {case.reason!r}"
        assert run.result.get("injected", []) == case.inject or len(run.result.get("injected", [])) == len(
            case.inject), run.result.get("injected")
        assert not case.inject or any("this run is no measurement" in w
                                      for w in run.result["warnings"]), run.result["warnings"]
    if case.check:
        case.check(run)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    cases = [c for c in CASES if (c.name in arguments.names if arguments.names else arguments.table or c.quick)]
    assert cases and (not arguments.names or len(cases) == len(arguments.names)), "no such case"
    failures = 0
    if arguments.table:
        print(
            "| fault | outcome | seconds until all ranks had ended | exit code | verdict | what the result says |\n| "
            "--- | --- | --- | --- | --- | --- |"
        )
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                run = Run(os.path.abspath(arguments.program), folder, case)
            except NotImplementedError:
                print(f"not tried: {case.name}, because this machine gives no test a process name space of its own",
                      file=sys.stderr)
                continue
            try:
                expect(run, case)
            except (AssertionError, KeyError, IndexError) as e:
                failures += 1
                print(f"FAILED {case.name}: {e!r}\n{run.said}", file=sys.stderr)
            verdict = f"`{run.result['verdict']}`" if run.result else "none"
            if arguments.table:
                print(
                    f"| {case.title} | {case.outcome} | {run.seconds:.1f} | {run.exit_code} | {verdict} | {run.says} |",
                    flush=True)
            else:
                print(f"{case.name}: {run.seconds:.1f} s, exit code {run.exit_code}, {verdict}: {run.says}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
