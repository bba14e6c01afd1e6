"""bare_root.py SOURCE BUILD [ARCHIVE]: scripts/gpu_check --pack makes an archive that works in a bare root without
network.

The root has the essential packages of this Debian or Ubuntu, Python, and the wheel of torch with what it requires.
There the archive is unpacked and all parts run on the CPU: each passes, or is skipped and says why. What was skipped
for want of Python's packages passes with them. Then a library is removed, and that must be noticed. ARCHIVE: one that
was made before. Exit code 77: no such root can be made here.
"""
import importlib.metadata, importlib.util, os, re, shutil, subprocess, sys, sysconfig, tempfile, time

SKIPPED_FOLDERS = ("/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/", "/usr/share/info/")
# Runs in namespaces of its own: no network but a loopback that is down, no process of others, mounts that end with it.
ENTER = r"""
set -eu
root=$1
shift
mount --make-rprivate /
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
shift
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys" 2> /dev/null || true
mount -t tmpfs tmpfs "$root/dev"
for device in null zero full random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""


class Skipped(Exception):
    pass


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def installed_packages(wanted):
    """Names of the essential packages, of the wanted ones, and of all that they depend on."""
    rows = output("dpkg-query", "-W", "-f",
                  "${db:Status-Abbrev}\t${Package}\t${Essential}\t${Provides}\t${Pre-Depends}, ${Depends}\n")
    depends, provider, todo = {}, {}, list(wanted)
    for row in rows.splitlines():
        status, name, essential, provides, needs = row.split("\t")
        if not status.startswith("ii"):
            continue
        names = lambda text: [[re.sub(r"[ (:].*", "", choice.strip()) for choice in group.split("|")]
                              for group in text.split(",") if group.strip()]
        depends[name] = names(needs)
        for group in names(provides):
            provider.setdefault(group[0], name)
        if essential == "yes":
            todo.append(name)
    found = set()
    while todo:
        name = todo.pop()
        name = name if name in depends else provider.get(name)
        if name is None or name in found:
            continue
        found.add(name)
        for group in depends[name]:
            todo += next(([n] for n in group if n in depends or n in provider), [])
    return sorted(found)


def copy_into(root, path):
    """The file, folder or link of that name, at the place that it really has (/bin is a link to usr/bin)."""
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    target = root + path
    if os.path.lexists(target) or not os.path.lexists(path) or path.startswith(SKIPPED_FOLDERS):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
    elif os.path.isdir(path):
        os.makedirs(target)
    elif os.access(path, os.R_OK):
        shutil.copy2(path, target)


def missing_libraries(folder, root):
    """Of the Python in that folder: what it is linked with, and neither it nor the root has."""
    found = set()
    for where, _, files in os.walk(folder):
        for file in files:
            if file.endswith(".so") or ".so." in file:
                text = subprocess.run(["ldd", os.path.join(where, file)], capture_output=True, text=True).stdout
                found |= set(re.findall(r"=> (/\S+)", text))
    return [f for f in found if not f.startswith(folder) and not os.path.exists(root + os.path.realpath(f))]


def make_root(root):
    """The root, and what is to be mounted in it: pairs of a path here and a path there."""
    if not shutil.which("dpkg-query"):
        raise Skipped("no dpkg, which knows the files of a bare system")
    prefix = os.path.realpath(sys.base_prefix)
    of_system = prefix == "/usr"
    wanted = ["xz-utils", "libstdc++6"] + (["python3"] if of_system else [])
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink("/" + name):
            os.makedirs(root + "/usr/" + name, exist_ok=True)
            os.symlink("usr/" + name, f"{root}/{name}")
    for package in installed_packages(wanted):
        for path in output("dpkg-query", "-L", package).splitlines():
            if path.startswith("/") and path != "/.":
                copy_into(root, path)
    for folder in ("proc", "dev", "sys", "tmp", "root", "unpacked", "opt/torch", "opt/all"):
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    with open(root + "/etc/passwd", "w") as f:
        f.write("root:x:0:0:root:/root:/bin/bash\n")
    for name in ("awk", "which"):  # chosen by links that packages make when they are set up
        if not os.path.exists(f"{root}/usr/bin/{name}") and (real := shutil.which(name)):
            if os.path.lexists(f"{root}/usr/bin/{name}"):
                os.remove(f"{root}/usr/bin/{name}")
            os.symlink(os.path.realpath(real), f"{root}/usr/bin/{name}")
    if of_system:
        return []
    os.makedirs(root + prefix)
    os.makedirs(root + "/opt/python")
    for library in missing_libraries(prefix, root):
        shutil.copy(library, root + "/opt/python")
    with open(root + "/usr/bin/python3", "w") as f:
        f.write(f'#!/bin/bash\nLD_LIBRARY_PATH=/opt/python exec {prefix}/bin/python3 "$@"\n')
    os.chmod(root + "/usr/bin/python3", 0o755)
    return [(prefix, prefix)]


def wheels(*names):
    """Top-level names in site-packages of these packages and of those that they require."""
    found, todo = {}, list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = set()  # required on other systems
            continue
        found[name] = {f.parts[0] for f in distribution.files or [] if f.parts[0] not in ("..", "__pycache__")}
        todo += [re.split(r"[ ;<>=!~\[(]", r)[0] for r in distribution.requires or [] if "extra ==" not in r]
    return sorted(set().union(*found.values()))


class Root:

    def __init__(self, folder):
        self.path, self.site = folder + "/root", sysconfig.get_paths()["purelib"]
        os.makedirs(self.path)
        self.enter = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        if os.geteuid():
            self.enter += ["--user", "--map-root-user"]
        probe = subprocess.run([*self.enter, "sh", "-c", "mount --make-rprivate / && mount -t tmpfs tmpfs /mnt"],
                               capture_output=True, text=True)
        if probe.returncode:
            raise Skipped("no namespaces of one's own (unshare): " + probe.stderr.strip())
        self.mounts = make_root(self.path)
        for name in wheels("torch"):
            here, there = os.path.join(self.site, name), "/opt/torch/" + name
            if os.path.isdir(here):
                os.makedirs(self.path + there)
            else:
                open(self.path + there, "w").close()
            self.mounts.append((here, there))
        self.mounts.append((self.site, "/opt/all"))

    def run(self, command, **environment):
        mounts = [path for pair in self.mounts for path in pair]
        variables = [f"{name}={value}" for name, value in environment.items()]
        return subprocess.run([
            *self.enter, "bash", "-c", ENTER, "enter", self.path, *mounts, "--", *variables, "bash", "-c",
            "cd /unpacked && " + command
        ], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def must(self, command, **environment):
        begin = time.monotonic()
        done = self.run(command, **environment)
        print(f"-- {command}: exit code {done.returncode}, {time.monotonic() - begin:.0f} s")
        if done.returncode:
            print(done.stdout)
            subprocess.run(f"tail -n 40 {self.path}/unpacked/out/*.log", shell=True)
            raise AssertionError(f"exit code {done.returncode}: {command}")
        return done.stdout


def states(root):
    found = {}
    for name in os.listdir(root.path + "/unpacked/out"):
        if name.endswith(".state"):
            with open(f"{root.path}/unpacked/out/{name}") as f:
                found[name[:-6]] = f.read().strip()
    return found


def check(source, build, made, folder):
    root = Root(folder)
    archive = root.path + "/unpacked/pack.tar.xz"
    begin = time.monotonic()
    if made:
        shutil.copy(made, archive)
    else:
        print(output(source + "/scripts/gpu_check", "--pack", archive, "--build", build), end="")
    mib = os.path.getsize(archive) / 2**20
    print(f"-- pack.tar.xz: {mib:.1f} MiB, {time.monotonic() - begin:.0f} s", flush=True)
    assert mib <= 44, mib

    python = {"PYTHONPATH": "/opt/torch"}
    interfaces = root.must("cat /proc/net/dev", **python)
    assert re.findall(r"^ *(\w+):", interfaces, re.M) in ([], ["lo"]), interfaces
    root.must("tar xf pack.tar.xz")
    assert "With 10 minutes: " in root.must("pack/gpu_check --help", **python)
    parts = [line.split(":")[0] for line in root.must("pack/gpu_check --list", **python).splitlines()]
    print(root.must("pack/gpu_check --device cpu --out /unpacked/out", **python), end="", flush=True)
    for part in parts:
        state = states(root).get(part)
        assert part == "matrix" or re.match(r"passed in |skipped: .", state or ""), f"{part}: {state}"
    for part in ("first", "kernels", "speed", "ablations"):
        assert states(root)[part].startswith("passed"), states(root)
    for part, package in (("twins", "h5py"), ("bits", "h5py")):
        assert re.match(f"skipped: .*{package}", states(root)[part]), states(root)
    # With the packages of the tests' Python these pass.
    if all(importlib.util.find_spec(name) for name in ("h5py", "torchvision", "PIL")):
        print(
            root.must("pack/gpu_check --device cpu --out /unpacked/out --only twins --only bits",
                      PYTHONPATH="/opt/all"), end="", flush=True)
        for part in ("twins", "bits"):
            assert states(root)[part].startswith("passed"), states(root)
    # Torch named by its folder, for a Python that has none.
    root.must("pack/gpu_check --device cpu --out /unpacked/named --only first", TTT_TORCH_ROOT="/opt/torch/torch")
    done = root.run("pack/gpu_check --device cpu --out /unpacked/none --only first")
    assert done.returncode == 1 and "has no torch" in done.stdout, done

    # With a library less nothing starts, and the message names it.
    libraries = root.path + "/unpacked/pack/build/lib/"
    hdf5 = next(name for name in os.listdir(libraries) if name.startswith("libhdf5"))
    os.remove(libraries + hdf5)
    done = root.run("pack/gpu_check --device cpu --out /unpacked/broken --only first", **python)
    assert done.returncode == 1 and hdf5 in done.stdout and "do not start here" in done.stdout, done


def main():
    source, build, made = (*sys.argv[1:], None)[:3]
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(source, build, made, folder)
        except Skipped as reason:
            print(f"skipped: {reason}")
            return 77
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
