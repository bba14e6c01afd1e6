#!/usr/bin/env python3
"""The preflight from outside: what it says of this machine beside what the system's own tools say, and faults that are
planted.

  preflight.py facts|faults|gpus PREFLIGHT REPORT MAKE_SHAPES PACK_COCO CHECK_SCHEMA SCHEMA FAKE_NVML FAKE_DRIVER
"""
import hashlib, json, os, re, shutil, subprocess, sys, tempfile

QUICK = [
    "memory_per_rank_bytes=1000000", "disk_bytes=1000000", "all_reduce_bytes=1000000", "link_bytes=10000", "repeats=3"
]


class Suite:
    def __init__(self, folder, preflight, report, make_shapes, pack_coco, check_schema, schema, fake_nvml, fake_driver):
        self.folder, self.preflight, self.report = folder, preflight, report
        self.make_shapes, self.pack_coco = make_shapes, pack_coco
        self.check_schema, self.schema, self.fake_nvml, self.fake_driver = check_schema, schema, fake_nvml, fake_driver

    def look(self, sides, settings=("cores=shared",), data=None, mpirun=("--bind-to", "none")):
        """`sides`: the command of each rank. Returns the finished process and the result."""
        out = f"{self.folder}/{len(os.listdir(self.folder))}.json"
        values = dict(s.split("=") for s in [*QUICK, *settings])  # what a case says goes before what is quick
        tail = ["--out", out] + [word for key, value in values.items()
                                 for word in ("--set", f"{key}={value}")] + (["--data", data] if data else [])
        line = ["mpirun", "--oversubscribe", "--timeout", "100", *mpirun]
        for i, side in enumerate(sides):
            line += ([":"] if i else []) + ["-n", "1", *side, *tail]
        done = subprocess.run(line, capture_output=True, text=True)
        result = None
        if os.path.exists(out):
            with open(out) as f:
                result = json.load(f)
            checked = subprocess.run([sys.executable, self.check_schema, self.schema, out], capture_output=True,
                                     text=True)
            assert checked.returncode == 0, checked.stderr
        return done, result, out

    def ranks(self, n, environment=()):
        return [["env", *environment, self.preflight]] * n

    def dataset(self):
        """A few images in two shards of the training split."""
        coco, shards = f"{self.folder}/coco", f"{self.folder}/shards"
        subprocess.run([self.make_shapes, "--out", coco, "--train", "16", "--val", "4"], check=True,
                       capture_output=True)
        for split in ("train", "val"):
            subprocess.run([
                self.pack_coco, "--images", f"{coco}/{split}", "--annotations", f"{coco}/instances_{split}.json",
                "--split", split, "--out", shards
            ], check=True, capture_output=True)
        return shards


def check(result, name):
    return next(c for c in result["checks"] if c["name"] == name)


def case_facts(suite):
    data = suite.dataset()
    # The launcher is told which cores to give, and Linux which they are: what the program says must be what was asked
    # for.
    cpus = sorted(os.sched_getaffinity(0))
    sides = [["taskset", "--cpu-list", str(cpus[i % len(cpus)]), suite.preflight] for i in range(2)]
    done, result, out = suite.look(sides, settings=[] if len(cpus) > 1 else ["cores=shared"], data=data)
    assert done.returncode == 0 and result["verdict"] == "passed" and result[
        "kind"] == "preflight", done.stderr + done.stdout
    binding = check(result, "binding")["facts"]
    assert binding["cpus_of_rank"] == [str(cpus[i % len(cpus)]) for i in range(2)], binding
    for i in range(2):
        with open(f"/sys/devices/system/cpu/cpu{cpus[i % len(cpus)]}/topology/thread_siblings_list") as f:
            assert binding["cores_of_rank"][i] == re.split("[,-]", f.read().strip())[0], binding
    with open(f"{data}/shards.json", "rb") as f:
        assert check(result, "shards")["facts"]["manifest_sha256_of_node"] == [hashlib.sha256(f.read()).hexdigest()]
    assert check(result, "shards")["facts"]["bytes"] == sum(
        os.path.getsize(f"{data}/{f}") for f in os.listdir(data) if f.endswith(".h5"))
    room = shutil.disk_usage(suite.folder).free
    assert abs(check(result, "disk")["facts"]["result_free_bytes_of_node"][0] - room) < max(1 << 30, room / 10)
    assert check(result, "hosts")["facts"]["cpus_of_node"] == [os.cpu_count()]
    reduction = check(result, "all_reduce")["facts"]
    assert len(reduction["large_s_samples"]) == 3 and reduction["bytes"] == 1000000
    for t, rate in zip(reduction["large_s_samples"], reduction["bus_bytes_per_s_samples"], strict=True):
        assert abs(rate * t - 1e6) < 1e-3, "bus bandwidth of two ranks: 2 (2 - 1) / 2 x bytes / time"
    assert f"node 0 is {os.uname().nodename}:" in done.stdout and os.uname().nodename not in open(
        out).read(), "hosts by name on the terminal only"
    shown = subprocess.run([suite.report, "show", out, "--width", "200"], capture_output=True, text=True).stdout
    assert "Checks" in shown and re.search(r"binding\.cpus_of_rank +\S", shown) and "Accuracy" not in shown, shown
    alone, single, _ = suite.look(suite.ranks(1))
    assert alone.returncode == 0 and check(single, "all_reduce")["status"] == "not_used", alone.stderr
    print("ok:", result["reason"])


def expect(suite, name, words, sides, status="failed", **more):
    done, result, _ = suite.look(sides, **more)
    assert result, done.stderr + done.stdout
    found = check(result, name)
    assert found["status"] == status, (found, done.stderr)
    for w in words:
        assert w in found["sentence"], (w, found["sentence"])
    failed = status == "failed"
    assert (done.returncode != 0) == failed and (result["verdict"] == "failed") == failed, (done.returncode,
                                                                                            result["verdict"],
                                                                                            done.stderr)
    assert found["sentence"] in done.stderr, done.stderr
    print(f"ok: {name}: {found['sentence']}")


def other_build(suite):
    """The same program with another commit in it: what an old copy on one node would be."""
    version = subprocess.run([suite.preflight, "--version"], capture_output=True, text=True).stdout
    commit = re.search(r"\(([0-9a-f]{8,40})", version)[1]
    with open(suite.preflight, "rb") as f:
        program = f.read()
    begin = commit[:8].encode()  # a compiler may hold a text in pieces of eight bytes
    assert begin in program and begin != begin[::-1]
    other = f"{suite.folder}/preflight"
    with open(other, "wb") as f:
        f.write(program.replace(begin, begin[::-1]))
    os.chmod(other, 0o755)
    return other, commit[:8][::-1] + commit[8:]


def case_faults(suite):
    two = suite.ranks(2)
    expect(suite, "binding", ["Ranks 0 and 1 (node 0) may both run on", "cores=shared"],
           [["taskset", "-c", "0", *suite.ranks(1)[0]]] * 2, settings=["cores=exclusive"])
    expect(suite, "binding", ["Ranks may wander between the cores", "times vary more"], two,
           settings=["cores=exclusive"], status="warning")
    other, commit = other_build(suite)
    expect(suite, "versions", ["Of rank 2 (node 0), commit is", commit], two + [[other]])
    expect(suite, "versions", ["cpu_capability"], two + [["env", "ATEN_CPU_CAPABILITY=default", suite.preflight]])
    expect(suite, "environment", ["rank 1 (node 0), NCCL_DEBUG is", "WARN"],
           [suite.ranks(1)[0], ["env", "NCCL_DEBUG=WARN", suite.preflight]], status="warning")
    expect(suite, "memory", ["Node 0 has", "1e+03 TB"], two,
           settings=["cores=shared", "memory_per_rank_bytes=500000000000000"])
    expect(suite, "disk", ["On node 0 the folder for results", "less than disk_bytes"], two,
           settings=["cores=shared", "disk_bytes=1000000000000000"])
    expect(suite, "hosts", ["Node 0 has 2 ranks, not 3"], two, settings=["cores=shared", "ranks_per_node=3"])
    expect(suite, "all_reduce", ["less than least_bus_bytes_per_s"], two,
           settings=["cores=shared", "least_bus_bytes_per_s=1e15"])
    data = suite.dataset()
    shard = f"{data}/train-00000-of-00001.h5"
    with open(shard, "r+b") as f:
        f.seek(os.path.getsize(shard) - 100)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 1]))
    expect(suite, "shards", [shard, "has another SHA-256 than shards.json says"], two, data=data)
    done, result, _ = suite.look(two, settings=["cores=shared", "shards=size"], data=data)
    assert done.returncode == 0 and "not hashed" in check(result, "shards")["sentence"], "sizes alone do not tell"
    os.truncate(shard, 1000)
    expect(suite, "shards", [shard, "has 1000 bytes"], two, data=data, settings=["cores=shared", "shards=size"])
    os.remove(shard)
    expect(suite, "shards", [shard, "cannot be read"], two, data=data)
    with open(f"{data}/shards.json", "a") as f:
        f.write("more\n")
    expect(suite, "shards", ["shards.json is not as pack_coco wrote it"], two, data=data)
    os.remove(f"{data}/shards.json")
    expect(suite, "shards", ["has no manifest shards.json"], two, data=data)


def case_gpus(suite):
    def ranks(**fake):
        return suite.ranks(2, [f"LD_LIBRARY_PATH={suite.fake_nvml}:" + os.environ.get("LD_LIBRARY_PATH", "")] +
                           [f"FAKE_NVML_{k}={v}" for k, v in fake.items()])

    _, result, _ = suite.look(ranks())
    assert check(result, "gpus")["status"] == "not_used" and "nvmlInit_v2: status 9" in check(
        result, "gpus")["sentence"], check(result, "gpus")
    _, result, _ = suite.look(ranks(DEVICES=4), settings=["cores=shared", "gpus_per_node=4"])
    found = check(result, "gpus")
    assert found["status"] == "ok" and found["facts"] == {
        "count_of_node": [4], "driver_of_node": ["570.0-test"], "names": ["Fake GPU"] * 4
    }, found
    expect(suite, "gpus", ["Node 0 has 3 GPUs, not 4"], ranks(DEVICES=3), settings=["cores=shared", "gpus_per_node=4"])
    expect(suite, "gpus", ["GPU 1 of node 0 (Fake GPU) has 7 uncorrected memory errors"], ranks(DEVICES=2, ECC=7))
    expect(suite, "gpus", ["GPU 1 of node 0 (Fake GPU) is slowed down by heat (hardware) at 50 degrees"],
           ranks(DEVICES=2, REASONS=0x44), status="warning")
    expect(suite, "gpus", ["Node 0 has 0 GPUs, not 1"], ranks(), settings=["cores=shared", "gpus_per_node=1"])

    def seeing(*lists, devices=4):
        """A command for each rank, which sees these GPUs."""
        libraries = f"LD_LIBRARY_PATH={suite.fake_nvml}:{suite.fake_driver}:" + os.environ.get("LD_LIBRARY_PATH", "")
        return [[
            "env", libraries, f"FAKE_NVML_DEVICES={devices}", f"FAKE_CUDA_DEVICES={devices}",
            *([f"CUDA_VISIBLE_DEVICES={seen}"] if seen else []), suite.preflight
        ] for seen in lists]

    for lists, ids in (((None, None), [0, 1]), (("2,3", "2,3"), [2, 3]), (("3", "1"), [3, 1])):
        _, result, _ = suite.look(seeing(*lists))
        found = check(result, "gpu_binding")
        assert found["status"] == "ok" and found["facts"]["gpu_of_rank"] == [f"0000:{i:02x}:00.0" for i in ids], found
    expect(suite, "gpu_binding", ["Ranks 0 and 1 (node 0) would both compute on GPU 0000:02:00.0"], seeing("2", "2"))
    expect(suite, "gpu_binding", ["would have no GPU", "3 ranks on this node, and 2 GPUs"], seeing("0,1", "0,1", "0,1"),
           settings=["cores=shared", "gpus_per_node=4"])
    expect(suite, "gpu_binding", ["Ranks 0, 1 would have no GPU"], ranks(DEVICES=2), status="warning")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        globals()["case_" + sys.argv[1]](Suite(scratch, *sys.argv[2:]))
