"""Each rule of check_docs.py is broken once in a temporary tree and must be named; a tree that keeps them passes."""

import pathlib
import tempfile
import unittest

import check_docs
from check_layout_test import write

PROGRAM = """#!/bin/sh
case "$*" in
  *--print-recipe*) printf 'seed = 1\\n[train]\\nsteps = 2\\n' ;;
  "show --help") echo "  --width N" ;;
  *) printf '  show   Prints\\n  --out FILE\\n  --set KEY=VALUE\\n  --print-recipe\\n' ;;
esac
"""
GOOD = {
    "CMakeLists.txt": "ttt_program(report SOURCES report.cc)\n",
    "build/bin/report": PROGRAM,
    "scripts/setup": "#!/bin/sh\necho 'scripts/setup [--tests]'\n",
    "slurm/job.sh": "#!/bin/sh\n",
    "docs/page.md": "# A page: of it\n\n## Part\n",
    "README.md": "# It\n\n[page](docs/page.md#part) [site](https://example.org)\n"
    "`docs/page.md` `docs/*.md` `a/b` `src/<name>`\n\n"
    "    scripts/setup --tests       # docs say --so\n"
    "    X=1 mpirun -n 2 --bind-to none build/bin/report show --width 3 && build/bin/report --out=a \\\n"
    "        --set train.steps=3 \\\n"
    "        --set seed=4\n"
    "    sbatch --nodes=2 slurm/job.sh\n"
    "    kill -USR1 7\n\n```\nbuild/bin/report --out x | cat\n```\n",
}

# what is appended to README.md, what the violation must say
BAD = [
    ("\n[x](docs/none.md)\n", "link to 'docs/none.md'"),
    ("\n[x](docs/page.md#none)\n", "link to '#none'"),
    ("\n[x](#none)\n", "link to '#none'"),
    ("\n`docs/none.md`\n", "names 'docs/none.md'"),
    ("\n`tests/none/*.cc`\n", "names 'tests/none/*.cc'"),
    ("\n    scripts/none\n", "starts 'scripts/none'"),
    ("\n    build/bin/none --out x\n", "starts 'build/bin/none'"),
    ("\n    sbatch slurm/none.sh\n", "starts 'slurm/none.sh'"),
    ("\n    scripts/setup --none\n", "no option '--none'"),
    ("\n    build/bin/report --width 3\n", "no option '--width'"),
    ("\n    true && A=1 mpirun -n 2 build/bin/report --none\n", "no option '--none'"),
    ("\n    mpirun --none 2 build/bin/report\n", "mpirun has an option '--none'"),
    ("\n    build/bin/report --set train.none=3\n", "no setting 'train.none'"),
    ("\n    cmake --none build\n", "no option '--none'"),
    ("\n```\nbuild/bin/report 'open\n```\n", "no command for a shell"),
    ("line\n" * 120, "lines and"),
    ("word " * 900, "words, more than"),
]


class CheckDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name, text in GOOD.items():
            write(self.root, name, text)
        (self.root / "build/bin/report").chmod(0o755)
        (self.root / "scripts/setup").chmod(0o755)

    def violations(self):
        return list(check_docs.violations(self.root, self.root / "build"))

    def test_good_tree_passes(self):
        self.assertEqual(self.violations(), [])

    def test_each_planted_violation_is_named(self):
        for text, message in BAD:
            with self.subTest(message):
                write(self.root, "README.md", GOOD["README.md"] + text)
                found = self.violations()
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0])

    def test_without_a_build_options_are_not_asked_for(self):
        write(self.root, "README.md", "# It\n\n    build/bin/report --none\n")
        self.assertEqual(list(check_docs.violations(self.root)), [])


if __name__ == "__main__":
    unittest.main()
