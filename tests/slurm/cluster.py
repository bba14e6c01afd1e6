#!/usr/bin/env python3
"""The job scripts in a real Slurm of eight and more nodes on this machine (fake_cluster).

  cluster.py CASE SOURCE BIN      one of: remains, job, launchers, hostfile, staging, requeue, submission, node_failure,
  slow_node, scaling, score, ablations
"""
import fcntl, json, os, re, shutil, subprocess, sys, tempfile, time

# Ranks of all nodes share this machine's few cores, and no node can be bound to what the others have. mpirun: with more
# ranks than cores, srun's PMIx loses too many starts (slurm/site.sh); the cases launchers and requeue try it with two
# ranks and four.
SITE = """
TTT_BIN={bin}
TTT_RESULTS={folder}/results
TTT_LAUNCHER=mpirun
TTT_SRUN_FLAGS=()
TTT_MPIRUN_FLAGS=(--bind-to none)
TTT_PREFLIGHT_FLAGS=(--set cores=shared --set memory_per_rank_bytes=10000000 --set disk_bytes=1000000)
TTT_PREFLIGHT_FLAGS+=(--set all_reduce_bytes=1000000 --set repeats=3)
TTT_NODE_WAIT_S=60
TTT_COMM_TIMEOUT_S=60
{more}
source {source}/slurm/site.sh
"""
# Small images on few ranks: what is tried here is the script, not the training.
SMALL = ["data.short_side=64", "data.long_side=64", "train.images_per_rank=1", "train.threads=1", "train.epochs=100000"]


class Cluster:
    def __init__(self, source, bin_folder, nodes):
        self.source, self.bin, self.nodes = source, bin_folder, nodes
        self.lock = open(f"{tempfile.gettempdir()}/ttt-fake-cluster.lock", "a")
        # there is one network for it on a machine: other runs of the tests take turns
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.folder = tempfile.mkdtemp(prefix="ttt-slurm-")
        self.program = f"{source}/tests/support/fake_cluster"
        self.environment = {
            **os.environ, "FAKE_CLUSTER": f"{self.folder}/cluster", "FAKE_NODES": str(nodes),
            "FAKE_OWNER": str(os.getpid())
        }

    def __enter__(self):
        started = subprocess.run([self.program, "start"], env=self.environment, capture_output=True, text=True)
        if started.returncode != 0:
            print(started.stdout.strip(), started.stderr.strip())
            shutil.rmtree(self.folder)
            sys.exit(started.returncode)
        print(started.stdout.strip())
        return self

    def __exit__(self, failed, *_):
        known = ""
        if failed:  # while there is somebody to ask
            known = ("--- what Slurm says of the jobs\n" + self.run("scontrol", "show", "job").stdout +
                     "--- the end of its controller's log\n" + self.read("cluster/log/slurmctld.log")[-4000:])
        subprocess.run([self.program, "stop"], env=self.environment, capture_output=True)
        if failed:
            print(known)
            for file in sorted(os.listdir(self.folder)):
                if file.endswith(".out"):
                    print(f"--- {file}\n" + self.read(file)[-6000:])
        shutil.rmtree(self.folder)
        self.lock.close()

    def read(self, name):
        with open(f"{self.folder}/{name}", errors="replace") as f:
            return f.read()

    def command(self, *words):
        return subprocess.run([self.program, *words], env=self.environment, capture_output=True, text=True)

    def run(self, *words):
        return self.command("run", *words)

    def submit(self, script, flags=(), arguments=(), site="", wait=False):
        """The job's id; with `wait` the exit code of sbatch --wait too."""
        with open(f"{self.folder}/site.sh", "w") as f:
            f.write(SITE.format(bin=self.bin, folder=self.folder, source=self.source, more=site))
        line = [
            "sbatch", "--parsable", *(["--wait"] if wait else []),
            f"--output={self.folder}/%x-%A_%a.out" if "score" in script else f"--output={self.folder}/%x-%j.out",
            *flags, f"{self.source}/slurm/{script}.sh", *arguments
        ]
        done = subprocess.run([self.program, "run", *line],
                              env={**self.environment, "TTT_SITE": f"{self.folder}/site.sh",
                                   "TTT_ROOT": self.source}, capture_output=True, text=True, timeout=600)
        assert done.stdout.strip().isdigit(), done.stdout + done.stderr
        return (int(done.stdout), done.returncode) if wait else int(done.stdout)

    def state(self, job):
        shown = self.run("scontrol", "show", "job", str(job)).stdout
        return dict(word.split("=", 1) for word in shown.split() if "=" in word)

    def results(self, job, script):
        return f"{self.folder}/results/{script}-{job}"

    def wait_for(self, what, condition, seconds=300):
        begin = time.monotonic()
        while not condition():
            assert time.monotonic() - begin < seconds, f"{what}: not within {seconds} s"
            time.sleep(0.3)
        return time.monotonic() - begin

    def skip_hold(self, job, script):
        """Slurm holds a requeued job back for two minutes. Returns when the job has started again, and so how long it
        took Slurm to put it back."""
        def requeued():
            state = self.state(job)
            return state["JobState"] == "PENDING" and int(state["Restarts"]) > 0
        took = self.wait_for("requeued", requeued)
        # A node takes no start of the same second in which it was told that the job's earlier one is over ("Job
        # credential revoked"): it cannot tell them apart.
        time.sleep(2)
        self.run("scontrol", "update", f"JobId={job}", "StartTime=now")
        # its state may be any on the way there
        self.wait_for("started again", lambda: f"job {job}, start 2" in self.read(f"{script}-{job}.out"))
        return took

    def end(self, job, seconds=400):
        self.wait_for(
            f"the end of job {job}", lambda: self.state(job)["JobState"] in
            ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"), seconds)
        return self.state(job)


def settings(*items):
    return [word for item in items for word in ("--set", item)]


def load(path):
    with open(path) as f:
        return json.load(f)


def case_remains(source, bin_folder):
    """Who starts a cluster and is killed leaves its daemons and network: the next one removes them. Somebody's own
    cluster is left alone."""
    lost = (f"import sys, os, signal; sys.path[:0] = [{os.path.dirname(os.path.abspath(__file__))!r}]; import cluster; "
            f"print(cluster.Cluster({source!r}, {bin_folder!r}, 2).__enter__().folder, flush=True); "
            f"os.kill(os.getpid(), signal.SIGKILL)")
    killed = subprocess.run([sys.executable, "-B", "-c", lost], capture_output=True, text=True)
    if "skipped" in killed.stdout:
        print(killed.stdout.strip())
        sys.exit(77)
    assert killed.returncode == -9, killed.stdout + killed.stderr
    with Cluster(source, bin_folder, 1) as c:
        nodes = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
        assert "ttt-fake1" in nodes and "ttt-fake2" not in nodes, nodes
        os.rmdir(killed.stdout.split()[-1])
        del c.environment["FAKE_OWNER"]
        second = c.command("start")
        assert second.returncode == 1, second.stdout + second.stderr
        assert "another fake cluster is running" in second.stderr, second.stdout + second.stderr
        assert c.run("sinfo", "--noheader", "--format=%D").stdout.strip() == "1"
    print("ok: a cluster whose owner was killed was removed, one that is used was not")


def case_job(source, bin_folder):
    """The script as it is: eight nodes of four ranks, the default recipe."""
    with Cluster(source, bin_folder, 8) as c:
        begin = time.monotonic()
        job, rc = c.submit("maskrcnn_8node", arguments=settings("train.max_steps=3"), wait=True)
        folder, said = c.results(job, "maskrcnn_8node"), c.read(f"maskrcnn_8node-{job}.out")
        assert rc == 0, said
        result, looked = load(f"{folder}/maskrcnn.json"), load(f"{folder}/preflight.json")
        assert result["verdict"] == "smoke" and result["system"]["world_size"] == 32, result["reason"]
        assert [len(n["ranks"]) for n in result["system"]["nodes"]] == [4] * 8, result["system"]
        assert result["recipe"]["name"] == "default" and len(result["steps"]["step"]) == 3
        hosts = next(check for check in looked["checks"] if check["name"] == "hosts")
        assert hosts["facts"]["ranks_of_node"] == [4] * 8 and looked["verdict"] == "passed", looked["reason"]
        for n in range(8):
            assert f"node {n} is fake{n + 1}:" in said, said
        assert "SMOKE" in said and "SMOKE" in c.read(f"results/maskrcnn_8node-{job}/maskrcnn.md")
        assert "</html>" in c.read(f"results/maskrcnn_8node-{job}/maskrcnn.html")
        assert result["provenance"]["environment"]["SLURM_JOB_ID"] == str(job)
        print(f"ok: 32 ranks on 8 nodes, {time.monotonic() - begin:.0f} s: {result['reason']}")
        job, rc = c.submit("maskrcnn_8node", ["--nodes=2", "--ntasks-per-node=2"], settings("train.max_stepss=3"),
                           wait=True)
        assert rc != 0 and "train.max_steps" in c.read(
            f"maskrcnn_8node-{job}.out"), "a failing run's exit code is the job's"
        print(f"ok: a mistake in the arguments ends the job with exit code {rc}")


def case_launchers(source, bin_folder):
    with Cluster(source, bin_folder, 2) as c:
        for launcher in ("srun", "mpirun"):
            job, rc = c.submit("maskrcnn_8node", ["--nodes=2", "--ntasks-per-node=2"],
                               settings("train.max_steps=2", *SMALL), f"TTT_LAUNCHER={launcher}", wait=True)
            said = c.read(f"maskrcnn_8node-{job}.out")
            assert rc == 0 and f"by {launcher}" in said, said
            result = load(f"{c.results(job, 'maskrcnn_8node')}/maskrcnn.json")
            assert [n["ranks"] for n in result["system"]["nodes"]] == [[0, 1], [2, 3]], result["system"]
            assert result["provenance"]["environment"][
                "TTT_COMM_TIMEOUT_S"] == "60", "the site's variables reach every launcher's ranks"
            print("ok:", launcher)
        job, rc = c.submit("maskrcnn_1node", ["--ntasks-per-node=2"], settings("train.max_steps=2", *SMALL), wait=True)
        assert rc == 0 and load(f"{c.results(job, 'maskrcnn_1node')}/maskrcnn.json")["system"]["world_size"] == 2
        for site, words in (("TTT_LAUNCHER=prun", "neither srun, mpirun nor auto"), ("TTT_CONTAINER=x.sif",
                                                                                     "no apptainer on the PATH"),
                            ("TTT_CONTAINER=x TTT_CONTAINER_RUNTIME=pyxis TTT_LAUNCHER=mpirun",
                             "pyxis is a part of srun"), ("TTT_RESULTS=/proc/no", "cannot be made")):
            job, rc = c.submit("maskrcnn_1node", ["--ntasks-per-node=1"], site=site, wait=True)
            assert rc == 2 and words in c.read(f"maskrcnn_1node-{job}.out"), (site, rc,
                                                                              c.read(f"maskrcnn_1node-{job}.out"))
        print("ok: mistakes in the site file are named")


def case_hostfile(source, bin_folder):
    """mpirun alone, with the example's file of hosts, and a way to start a command on another host."""
    with Cluster(source, bin_folder, 8) as c:
        with open(f"{source}/slurm/hosts.example") as f, open(f"{c.folder}/hosts", "w") as out:
            out.write(f.read().replace("node", "fake"))
        line = [
            "mpirun", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", f"'{c.program} on'", "--mca", "ras", "^slurm",
            "--hostfile", f"{c.folder}/hosts", "--bind-to", "none", "-n", "16", "--map-by", "ppr:2:node", "-x",
            "FAKE_CLUSTER", f"{bin_folder}/ttt_maskrcnn", "--quiet", "--out", f"{c.folder}/run.json",
            *settings("train.max_steps=2", *SMALL)
        ]
        done = c.command("on", "fake1", *line)
        assert done.returncode == 0, done.stderr
        result = load(f"{c.folder}/run.json")
        assert [len(n["ranks"]) for n in result["system"]["nodes"]] == [2] * 8, result["system"]
        print("ok: 16 ranks on the 8 hosts of the file")


def dataset(c, images=32):
    coco, shards = f"{c.folder}/coco", f"{c.folder}/shards"
    subprocess.run([f"{c.bin}/make_shapes", "--out", coco, "--train",
                    str(images), "--val", "8", "--size", "96"], check=True, capture_output=True)
    for split in ("train", "val"):
        subprocess.run([
            f"{c.bin}/pack_coco", "--images", f"{coco}/{split}", "--annotations", f"{coco}/instances_{split}.json",
            "--split", split, "--out", shards
        ], check=True, capture_output=True)
    return shards


def damage(shard):
    with open(shard, "r+b") as f:
        f.seek(os.path.getsize(shard) - 100)
        byte = f.read(1)[0]
        f.seek(-1, 1)
        f.write(bytes([byte ^ 1]))


def case_staging(source, bin_folder):
    with Cluster(source, bin_folder, 3) as c:
        shards, local = dataset(c), f"{c.folder}/cluster/local/shards"  # a file system of its own on each node
        site, flags = f"TTT_DATA={shards} TTT_LOCAL={local}", ["--nodes=3", "--ntasks-per-node=1"]
        job, rc = c.submit("maskrcnn_8node", flags, settings("train.max_steps=2", *SMALL), site, wait=True)
        said = c.read(f"maskrcnn_8node-{job}.out")
        assert rc == 0 and all(f"fake{n}: 2 shards copied, 0 were there" in said for n in (1, 2, 3)), said
        result = load(f"{c.results(job, 'maskrcnn_8node')}/maskrcnn.json")
        assert local in result["provenance"]["command"] and result["data"]["train_images"] == 32, result["provenance"][
            "command"]
        assert not os.path.exists(local), "the copies are on the nodes' own disks"
        c.run("srun", "--nodes=1", "--nodelist=fake2", "truncate", "--size=1000", f"{local}/train-00000-of-00001.h5")
        job, rc = c.submit("maskrcnn_8node", flags, settings("train.max_steps=2", *SMALL), site, wait=True)
        said = c.read(f"maskrcnn_8node-{job}.out")
        assert rc == 0 and "fake2: 1 shards copied, 1 were there" in said, said
        assert "fake3: 0 shards copied, 2 were there" in said, said
        print("ok: shards are staged, verified, and copied again where they are not right")
        damage(f"{shards}/train-00000-of-00001.h5")
        c.run("srun", "--nodes=3", "--ntasks-per-node=1", "rm", "-r", local)
        job, rc = c.submit("maskrcnn_8node", flags, settings("train.max_steps=2"), site, wait=True)
        said = c.read(f"maskrcnn_8node-{job}.out")
        assert rc == 2 and f"{shards}/train-00000-of-00001.h5 is not what its manifest says" in said, said
        assert not os.path.exists(c.results(job, "maskrcnn_8node") + "/maskrcnn.json")
        job, rc = c.submit("maskrcnn_8node", flags, settings("train.max_steps=2"), f"TTT_DATA={shards}", wait=True)
        said = c.read(f"maskrcnn_8node-{job}.out")
        assert rc != 0 and "has another SHA-256 than shards.json says" in said, said
        assert "the run is not started" in said, said
        print("ok: a damaged shard ends the job before the run, staged or not")


def steps_taken(folder, name="maskrcnn"):
    """Of the run that is under way."""
    try:
        with open(f"{folder}/{name}.json.journal/rank00000.jsonl") as f:
            return sum('"step"' in line for line in f)
    except OSError:
        return 0


def checkpoints(folder):
    try:
        return sorted(f for f in os.listdir(f"{folder}/maskrcnn.checkpoint") if f.endswith(".h5"))
    except OSError:
        return []


def whole_run(folder, steps):
    """The result of a run that was interrupted once: every step is there once."""
    result = load(f"{folder}/maskrcnn.json")
    assert result["verdict"] == "smoke" and result["steps"]["step"] == list(
        range(steps)), (result["verdict"], len(result["steps"]["step"]))
    assert len(result["resumes"]) == 1 and 0 < result["resumes"][0]["step"] < steps, result["resumes"]
    return result


def case_requeue(source, bin_folder):
    for launcher in ("srun", "mpirun"):
        with Cluster(source, bin_folder, 2) as c:
            shards = dataset(c)
            job = c.submit("maskrcnn_8node", ["--nodes=2", "--ntasks-per-node=1"],
                           settings("train.max_steps=250", *SMALL), f"TTT_DATA={shards} TTT_LAUNCHER={launcher}")
            folder = c.results(job, "maskrcnn_8node")
            c.wait_for("twenty steps", lambda: steps_taken(folder) > 20)
            # what sbatch --signal=B:USR1@120 does two minutes before the limit
            c.run("scancel", "--batch", "--signal=USR1", str(job))
            c.skip_hold(job, "maskrcnn_8node")
            state = c.end(job)
            said = c.read(f"maskrcnn_8node-{job}.out")
            assert state["JobState"] == "COMPLETED" and state["Restarts"] == "1", said
            assert "back to the queue" in said and f"job {job}, start 2" in said and not os.path.exists(
                f"{folder}/maskrcnn.checkpoint/REQUEUE"), said
            result = whole_run(folder, 250)
            assert result["resumes"][0]["signal"] == "SIGUSR1", result["resumes"]
            print(
                f"ok: {launcher}: USR1, checkpoint, requeue, on from step {result['resumes'][0]['step']} to "
                f"{len(result['steps']['step'])}"
            )


def case_submission(source, bin_folder):
    """A run to be submitted is not resumed: put back into the queue it starts anew, with a log of its own, and what the
    time limit interrupts has failed."""
    rules = ("data_set,preprocessing,image_size,data_order,model,initial_weights,base_learning_rate,decay_steps,"
             "num_image_candidates,quality_target,evaluation,optimizer")
    closed = settings("train.max_steps=120", "train.checkpoint.every_s=1", "mlperf.division=closed",
                      "mlperf.organisation=example", "mlperf.platform=two nodes", "mlperf.draw_seed=true",
                      f"mlperf.relax={rules}", *SMALL)
    for requeued in (True, False):
        with Cluster(source, bin_folder, 2) as c:
            shards = dataset(c)
            job = c.submit("maskrcnn_8node", ["--nodes=2", "--ntasks-per-node=1"], closed,
                           f"TTT_DATA={shards} TTT_CLEAR_CACHES=yes")
            folder = c.results(job, "maskrcnn_8node")
            c.wait_for("twenty steps", lambda: steps_taken(folder) > 20)
            if requeued:
                c.run("scontrol", "requeue", str(job))  # what Slurm does where a node fails
                c.skip_hold(job, "maskrcnn_8node")
            else:
                c.run("scancel", "--batch", "--signal=USR1", str(job))
            state = c.end(job)
            said = c.read(f"maskrcnn_8node-{job}.out")
            assert all(f"fake{n}: the caches hold nothing of {shards}" in said for n in (1, 2)), said
            if requeued:
                assert state["JobState"] == "COMPLETED", said
                assert "is to be submitted (mlperf.division), so it starts anew" in said, said
                result = load(f"{folder}/maskrcnn.json")
                assert result["steps"]["step"] == list(range(120)) and "resumes" not in result, result.get("resumes")
                assert result["recipe"]["settings"]["mlperf"]["cache_cleared"] is True
                # Slurm asks before it kills, so the earlier one may have had time for its end
                for log, stops in (("maskrcnn", [1]), ("maskrcnn-until-start2", [0, 1])):
                    with open(f"{folder}/{log}.mllog.txt") as f:
                        lines = f.readlines()
                    assert sum('"run_start"' in line
                               for line in lines) == 1 and sum('"run_stop"' in line
                                                               for line in lines) in stops, (log, lines[-3:])
                print("ok: put back into the queue, a run to be submitted starts anew")
            else:
                assert state["JobState"] == "FAILED" and (
                    "a run to be submitted is not resumed: give it more (sbatch "
                    "--time)") in said, said
                print("ok: what the time limit interrupts is not started again")


def case_node_failure(source, bin_folder):
    """A node of a running job dies: the job comes back without it and resumes from its checkpoint. The script as it is,
    eight nodes of four ranks and the default recipe, loses one by a crash; a small one by a loss of power."""
    for how, nodes, flags, steps, checkpoint_s, recipe in (("kill", 8, [], 24, 5, []),
                                                           ("unplug", 3, ["--nodes=3",
                                                                          "--ntasks-per-node=1"], 400, 1, SMALL)):
        with Cluster(source, bin_folder, nodes + 2) as c:
            # without: the data set that the default recipe generates
            site = f"TTT_DATA={dataset(c)}" if recipe is SMALL else ""
            job = c.submit("maskrcnn_8node", flags,
                           settings(f"train.max_steps={steps}", f"train.checkpoint.every_s={checkpoint_s}", *recipe),
                           site)
            folder = c.results(job, "maskrcnn_8node")
            c.wait_for("two checkpoints", lambda: len(checkpoints(folder)) > 1, 600)
            before = c.state(job)["NodeList"]
            victim = c.run("scontrol", "show", "hostnames", before).stdout.split()[-1]
            c.command(how, victim)
            took = c.skip_hold(job, "maskrcnn_8node")
            state = c.end(job, 1000)
            said = c.read(f"maskrcnn_8node-{job}.out")
            assert state["JobState"] == "COMPLETED", said
            after = c.run("scontrol", "show", "hostnames", state["NodeList"]).stdout.split()
            assert victim not in after and len(after) == nodes, (victim, after)
            result = whole_run(folder, steps)
            print(
                f"ok: {how} {victim} of {before}, {result['system']['world_size']} ranks: requeued after {took:.0f} "
                f"s, on {state['NodeList']} from step "
                f"{result['resumes'][0]['step']} to {steps}", flush=True)


def case_slow_node(source, bin_folder):
    """A node whose link is slow is named by the preflight."""
    with Cluster(source, bin_folder, 4) as c:
        if c.command("slow", "fake3", "20mbit").returncode != 0:
            print("skipped: this kernel has no tc tbf to slow a link down with")
            sys.exit(77)
        flags = [
            "--set", "cores=shared", "--set", "memory_per_rank_bytes=1000000", "--set", "disk_bytes=1000000", "--set",
            "all_reduce_bytes=1000000", "--set", "link_bytes=2000000", "--set", "repeats=3"
        ]
        done = c.run("srun", "--mpi=pmix", "--nodes=4", "--ntasks-per-node=1", f"{bin_folder}/preflight", "--out",
                     f"{c.folder}/slow.json", *flags)
        links = next(check for check in load(f"{c.folder}/slow.json")["checks"] if check["name"] == "links")
        assert links["status"] == "warning" and links["sentence"].startswith("Node 2 receives at"), (links, done.stderr)
        rates = links["facts"]["receive_bytes_per_s_of_node"]
        assert rates[2] < 20e6 / 8 * 1.5 and min(rates[:2] + rates[3:]) > 2 * rates[2], rates
        print("ok:", links["sentence"])


def case_scaling(source, bin_folder):
    with Cluster(source, bin_folder, 4) as c:
        job, rc = c.submit("scaling_1_2_4_8", ["--nodes=4", "--ntasks-per-node=1"],
                           settings("train.max_steps=6",
                                    *SMALL), f"TTT_DATA={dataset(c)} TTT_STRONG_BATCH=4", wait=True)
        folder, said = c.results(job, "scaling_1_2_4_8"), c.read(f"scaling_1_2_4_8-{job}.out")
        assert rc == 0, said
        for nodes in (1, 2, 4):
            weak, strong = load(f"{folder}/weak-{nodes}.json"), load(f"{folder}/strong-{nodes}.json")
            assert weak["built"]["global_batch"] == nodes and strong["built"]["global_batch"] == 4
            assert weak["system"]["world_size"] == strong["system"]["world_size"] == len(
                weak["system"]["nodes"]) == nodes, weak["system"]
        assert "Weak scaling" in c.read(f"results/scaling_1_2_4_8-{job}/weak.md") and "Strong scaling" in c.read(
            f"results/scaling_1_2_4_8-{job}/strong.md")
        print("ok: weak and strong scaling over 1, 2 and 4 nodes")


def case_score(source, bin_folder):
    with Cluster(source, bin_folder, 2) as c:
        job, rc = c.submit(
            "score_5runs", ["--nodes=2", "--ntasks-per-node=1"],
            settings("train.target_box_ap=0", "train.target_mask_ap=0", "train.eval_batch=2", *SMALL[:4]),
            f"TTT_DATA={dataset(c, 16)}", wait=True)
        folder = c.results(job, "score_5runs")
        said = "".join(c.read(f"score_5runs-{job}_{task}.out") for task in range(5))
        assert rc == 0, said
        seeds = [load(f"{folder}/seed-{n}.json")["recipe"]["settings"]["seed"] for n in range(1, 6)]
        assert seeds == [1, 2, 3, 4, 5] and said.count("Olympic mean") >= 1, said
        assert "Olympic mean" in c.read(f"results/score_5runs-{job}/score.md")
        starts = sorted((int(task), re.search(r"^(\S+) job", c.read(f"score_5runs-{job}_{task}.out"), re.M)[1])
                        for task in range(5))
        assert [s for _, s in starts] == sorted(s for _, s in starts), "one at a time"
        print("ok: five seeds, one at a time, and their score")


def case_ablations(source, bin_folder):
    with Cluster(source, bin_folder, 1) as c:
        job, rc = c.submit("ablations", ["--ntasks-per-node=2"], [
            "zero_grad",
            *settings("ablate.peaks_s=0", "ablate.limit_s=2", "ablate.builds=1", "ablate.gate_steps=2", *SMALL[:4])
        ], wait=True)
        said = c.read(f"ablations-{job}.out")
        assert rc == 0 and load(f"{c.results(job, 'ablations')}/ablations.json")["kind"] == "ablation", said
        assert "zero_grad" in c.read(f"results/ablations-{job}/tables.json"), said
        print("ok: ablations")


if __name__ == "__main__":
    globals()["case_" + sys.argv[1]](*sys.argv[2:])
