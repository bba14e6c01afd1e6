"""Checks the Markdown files: paths and links lead somewhere, commands are well formed, README.md stays short.

  check_docs.py ROOT [--build BUILD]    prints one line for each violation and exits 1 if there is any

With a build folder each program's --help must name the options that a document uses, and --print-recipe the settings.
"""

import argparse
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

README_LINES, README_WORDS = 120, 900
FOLDERS = "benchmarks cmake containers data docs kernels reports results scripts slurm src tests tools".split()
NAMED_PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./*-]*")
COMMAND = re.compile(r"(?:\w+=\S* )*(?:scripts/|build/bin/|build/tests/|mpirun |ctest |cmake |sbatch )")
MPIRUN = {"-n": 1, "-x": 1, "--bind-to": 1, "--map-by": 1, "--hostfile": 1, "--timeout": 1, "--oversubscribe": 0}
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def documents(root):
    for path in sorted(root.rglob("*.md")):
        top = path.relative_to(root).parts[0]
        if not top.startswith((".", "build")) and not (top == "results" and path.name == "report.md"):
            yield path


def anchors(path):
    headings = re.findall(r"^#+ (.*)", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def check_paths(root, path, line):
    for target in re.findall(r"\]\(([^)\s]+)\)", line):
        name, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", name):
            continue
        file = path.parent / name if name else path
        if not file.exists():
            yield f"link to '{name}', which does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"link to '#{anchor}', a heading that '{file.name}' does not have"
    for name in re.findall(r"`([^`]+)`", line):
        if NAMED_PATH.fullmatch(name) and not any(root.glob(name.rstrip("/"))):
            yield f"names '{name}', which does not exist"


def code_lines(text):
    """Number and text of each line of a code block, continued lines joined, comments left out."""
    fenced, before_blank, block, pending = False, True, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        block = fenced or (line.startswith("    ") and (block or before_blank))
        before_blank = not line.strip()
        if not block or before_blank:
            continue
        pending += re.sub(r"(^|\s)#.*", "", line).strip()
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        yield number, pending
        pending = ""


class Programs:
    """What the tree and a build folder say of programs; `skipped`: those whose options could not be asked for."""

    def __init__(self, root, build):
        self.root, self.build, self.skipped = root, build, set()
        lists = "".join(f.read_text() for f in root.rglob("CMakeLists.txt") if "build" not in f.parts[len(root.parts)])
        self.targets = set(re.findall(r"(?:ttt_(?:train_)?program|ttt_test|add_executable)\(([\w]+)", lists))
        self.targets |= {"ablate_" + f.stem for f in (root / "benchmarks/ablations").glob("*/*.cc")}

    @functools.cache
    def output(self, *command):
        environment = {**os.environ, **MPI}
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.root, env=environment, timeout=60)
        return done.stdout + done.stderr

    def exists(self, program):
        if program.startswith("build/"):
            return program.split("/")[-1] in self.targets
        return program in ("cmake", "ctest") or (self.root / program).is_file()

    def command(self, program):
        """The command that answers --help; None where there is none."""
        if program.startswith("build/"):
            file = self.build / program.removeprefix("build/") if self.build else None
            if file is None or not file.is_file():
                self.skipped.add(program)
                return None
            return str(file)
        return program if "/" not in program else str(self.root / program)

    @functools.cache
    def settings(self, command):
        def keys(table, prefix=""):
            for key, value in table.items():
                yield from keys(value, f"{prefix}{key}.") if isinstance(value, dict) else [prefix + key]

        return set(keys(tomllib.loads(self.output(command, "--print-recipe"))))


def without_launcher(words):
    """The words of the program that mpirun starts; raises ValueError for an option of mpirun that is not known here."""
    words = words[1:]
    while words and words[0].startswith("-"):
        if words[0] not in MPIRUN:
            raise ValueError(f"mpirun has an option '{words[0]}' that this check does not know")
        words = words[1 + MPIRUN[words[0]] :]
    return words


def check_options(programs, program, words):
    command = programs.command(program)
    if command is None or program.startswith("slurm/"):
        return
    if program == "cmake":
        words = [w for w in words if not w.startswith("-D")]
    known = programs.output(command, "--help")
    if program.endswith("/report") and words and re.search(rf"^  {re.escape(words[0])}\b", known, re.M):
        known += programs.output(command, words[0], "--help")
    for before, word in zip([""] + words, words):
        option = word.split("=")[0]
        if option.startswith("--") and not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known):
            yield f"'{program}' has no option '{option}'"
        if before == "--set" and "--print-recipe" in known and option not in programs.settings(command):
            yield f"'{program}' has no setting '{option}'"


def check_command(programs, line):
    try:
        words = shlex.split(line.replace("...", ""))
    except ValueError as error:
        return [f"no command for a shell: {error}"]
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    try:
        words = without_launcher(words) if words[0] == "mpirun" else words
    except ValueError as error:
        return [str(error)]
    if words and words[0] == "sbatch":
        words = [w for w in words[1:] if not w.startswith("--") or "slurm/" in w]
    if not words or not programs.exists(words[0]):
        return [f"starts '{words[0] if words else ''}', which is neither a program nor a script of the tree"]
    return list(check_options(programs, words[0], words[1:]))


def check_document(root, path, programs):
    text = path.read_text()
    if path == root / "README.md":
        lines, words = len(text.splitlines()), len(text.split())
        if lines > README_LINES or words > README_WORDS:
            yield 1, f"{lines} lines and {words} words, more than {README_LINES} and {README_WORDS}"
    for number, line in enumerate(text.splitlines(), 1):
        for message in check_paths(root, path, line):
            yield number, message
    for number, line in code_lines(text):
        for part in re.split(r"&&|\||;", line):
            if COMMAND.match(part.strip() + " "):
                for message in check_command(programs, part.split(">")[0].strip()):
                    yield number, message


def violations(root, build=None):
    programs = Programs(root, build)
    for path in documents(root):
        for number, message in check_document(root, path, programs):
            yield f"{path.relative_to(root).as_posix()}:{number}: {message}"
    if programs.skipped:
        print("options not checked, for want of a build:", " ".join(sorted(programs.skipped)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    arguments = parser.parse_args()
    found = list(violations(arguments.root.resolve(), arguments.build and arguments.build.resolve()))
    for line in found:
        print(line)
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
