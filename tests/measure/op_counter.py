#!/usr/bin/env python3
"""Operator calls, flops, waits and allocations counted by OpCounter against torch.utils.flop_counter and
torch.profiler, for the same calls.

  op_counter.py PROBE
"""
import json, subprocess, sys

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode


def leaf(*shape, grad=True):
    return torch.rand(shape).requires_grad_(grad)


def net():
    image, w1, b1, w2, w3 = leaf(2, 3, 37, 41, grad=False), leaf(8, 3, 3,
                                                                 3), leaf(8), leaf(12, 8, 3, 1,
                                                                                   grad=False), leaf(12, 6, 2, 2)
    w4, b4, other = leaf(5, 6), leaf(5), leaf(2, 5, 7)

    def run():
        x = torch.relu(torch.conv2d(image, w1, b1, (2, 2), (1, 1)))
        x = torch.conv2d(x, w2, None, (1, 2), (0, 3), (2, 1))
        x = torch.conv_transpose2d(x, w3, None, (2, 2))
        x = F.linear(torch.mean(x, (3,)).transpose(1, 2), w4, b4)
        torch.bmm(x, other).sum().backward()

    return run


def groups():
    x, w, v = leaf(2, 8, 11, 9), leaf(8, 2, 3, 3), leaf(8, 3, 2, 2)
    return lambda: torch.conv_transpose2d(torch.conv2d(x, w, None, 1, 1, 1, 4), v, None, 2, 0, 0, 2).sum().backward()


def matrices():
    a, b, c, d, e = (leaf(*s, grad=False) for s in ((7, 11), (11, 5), (7, 5), (3, 7, 11), (3, 11, 2)))

    def run():
        torch.mm(a, b)
        torch.addmm(c, a, b)
        out = c.clone()
        torch.mm(a, b, out=out)
        out.addmm_(a, b)
        torch.matmul(d, e)
        torch.baddbmm(torch.zeros(3, 7, 2), d, e)
        F.linear(d, leaf(4, 11, grad=False))
        torch.einsum("bij,bjk->bik", d, e)

    return run


def measured(body):
    """Flops of one run, and of another its outermost operator calls, allocations and their bytes."""
    body()  # what only a first call allocates or calls (gradients that did not exist) is not compared
    with FlopCounterMode(display=False) as flops:
        body()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
        body()
    calls = 0
    for event in p.events():
        parent = event.cpu_parent
        while parent and not parent.name.startswith("aten::"):
            parent = parent.cpu_parent
        calls += event.name.startswith("aten::") and parent is None
    sizes = [e.nbytes() for e in p.profiler.kineto_results.events() if e.name() == "[memory]" and e.nbytes() > 0]
    return {"calls": calls, "flops": flops.get_total_flops(), "allocations": len(sizes), "allocated_bytes": sum(sizes)}


def grouped_by_hand():
    """2 x batch x positions x numel(weight) each for output, input's and weight's gradient: what flop_counter
    overstates for groups."""
    return 3 * 2 * 2 * (11 * 9) * (8 * 2 * 3 * 3 + 8 * 3 * 2 * 2)


def main():
    torch.set_num_threads(2)
    done = subprocess.run([sys.argv[1]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    ours = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    for make in (net, groups, matrices):
        name, theirs = make.__name__, measured(make())
        if name == "groups":
            assert theirs["flops"] != grouped_by_hand(), "flop_counter counts groups rightly now: compare with it alone"
            theirs["flops"] = grouped_by_hand()
        if name == "matrices":
            theirs["flops"] += 2 * 7 * 11 * 5  # addmm_, which flop_counter leaves out, unlike addmm
        print(name, theirs)
        for key, value in theirs.items():
            assert ours[name][key] == value, f"{name}: {key} is {ours[name][key]}, the oracle's {value}"
        assert ours[name]["sync_points"] == {}, ours[name]
    # index by a mask and where call nonzero; the rest of `syncs` (index by integers, masked_fill) needs no value.
    expected = {
        "aten::item": 1, "aten::nonzero": 3, "aten::masked_select": 1, "aten::equal": 1, "aten::_unique2": 1,
        "aten::is_nonzero": 1
    }
    assert ours["syncs"]["sync_points"] == expected, ours["syncs"]
    assert ours["another_thread"]["flops"] == 2 * 4 * 5 * 6 and ours["another_thread"]["calls"] == 3, ours[
        "another_thread"]
    print("ok")


if __name__ == "__main__":
    main()
