"""Runs of restarted.py that are killed at moments that are aimed at, for checkpoint.py."""
import os, signal, time

import h5py

from restarted import EVALUATION, NOT_CONVERGED, STEPS, wait_for


def aim(run, process, where, draw):
    """Waits for a moment of the kind that is asked for; false where the run ended before."""
    if where == "start":
        return wait_for(lambda: "start" in run.journal(), process) and wait_for(
            lambda t=time.monotonic() + draw.random() * 0.5: time.monotonic() > t, process)
    if not wait_for(lambda: run.steps() > 0, process):
        return False
    left = STEPS - run.steps()
    at = run.steps() + draw.randrange(max(1, left - 1))
    if where == "evaluation":
        at = max(EVALUATION, at // EVALUATION * EVALUATION)
    if not wait_for(lambda: run.steps() >= at, process):
        return False
    if where == "evaluation":
        time.sleep(draw.random() * 0.03)
    elif where == "step":
        time.sleep(draw.random() * 0.05)
    elif where == "write":
        return wait_for(lambda: any(f.endswith(".tmp") for f in run.files()), process, pause=0.001)
    elif where == "removal":  # of the oldest, when a new one has its name
        before = run.saved()
        return wait_for(lambda: run.saved() != before, process, pause=0.001)
    return True


def newest(run):
    """Name and inode of the newest checkpoint: a run that is resumed writes the one that it read anew, under the same
    name."""
    return [(name, os.stat(f"{run.checkpoints}/{name}").st_ino) for name in run.saved()[-1:]]


def kill_in_rename(run, draw):
    """Rank 0 is killed at a rename of a checkpoint, before or after it takes effect (kill_in_rename.c). "" where it had
    ended before."""
    helper = run.place.tests + "/kill_in_rename.so"
    assert os.path.exists(
        helper), f"{helper} is missing, and without it nothing is killed: build the target kill_in_rename"
    side, before = draw.choice(["before", "after"]), newest(run)
    process = run.start({"LD_PRELOAD": helper, "KILL_IN_RENAME": f"{side}:{draw.randrange(1, 4)}"})
    process.communicate(timeout=300)
    if process.returncode == NOT_CONVERGED:
        return ""
    assert process.returncode == 128 + signal.SIGKILL, process.returncode
    written = [f for f in run.files() if f.endswith(".tmp")]
    if side == "before":
        assert len(written) == 1, run.files()
        with h5py.File(f"{run.checkpoints}/{written[0]}") as f:  # whole, but for its name
            assert f.attrs["format"] == b"ttt-checkpoint"
    else:
        assert not written and newest(run) and newest(run) != before, (before, run.files())
    return f"{side} a rename"


def killed_while(run):
    """What the killed processes leave tells in what they were."""
    lines = run.journal()
    steps, evaluations = lines.count("step"), lines.count("evaluation")
    if any(f.endswith(".tmp") for f in run.files()):
        return "writing"
    if steps == 0:
        return "starting"
    return "evaluating" if steps % EVALUATION == 0 and evaluations < steps // EVALUATION else "a step"


def kill_once(run, where, draw):
    """Kills one rank, or all and mpirun. What it was doing; "" where it had ended before."""
    if where == "rename":
        return kill_in_rename(run, draw)
    process = run.start()
    if not aim(run, process, where, draw) or process.poll() is not None:
        process.communicate()
        return ""
    pids = run.pids()
    victims = draw.choice([pids[:1], pids[1:], pids, [*pids, process.pid]])
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate(timeout=120)
    for pid in pids:  # mpirun was killed itself: nobody ends what is left
        if process.pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    while run.pids():
        time.sleep(0.01)
    if process.returncode == NOT_CONVERGED:
        return ""
    return killed_while(run)
