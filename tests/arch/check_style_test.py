"""Each rule of check_style.py and check_labels.py is broken once, and must be counted; a tree that keeps them counts
none."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_labels
import check_style
from check_layout_test import write

WORDS = " ".join(["word"] * 16)
GOOD = {
    "src/core/a.h": f"// {WORDS}.\n// {WORDS}.\n#pragma once\n#include \"core/b.h\"\n",
    "src/core/b.h": "// A thing.\n#pragma once\n",
    "src/core/class.cc": "namespace x {\nclass Y {\n" + "  void f() { g(); }\n" * 70 + "};\n}  // namespace x\n",
    "src/core/literal.cc": 'const char* s = R"(\nvoid f() {\n)";\n' + "int a;\n" * 70,
    "src/core/short.cc": "int f() {\n" + "  g();\n" * 58 + "}\n",
    "tests/b_test.cc": "TEST(A, OneTwoThree_FourFiveSix) {}\n",
    "tests/wide.txt": "x" * 200 + "\n",
    **{f"src/train/part{i}.{end}": "\n" for i in range(16) for end in ("h", "cc")},
    "src/train/reducers/more.cc": "\n",
}

# rule, {file: text}
BAD = [
    ("long_functions", {"src/core/f.cc": "namespace {\nint f(int a) const {\n" + "  if (a) { g(); }\n" * 60 + "}\n}\n"
                        }),
    ("long_functions", {"src/core/f.cc": "X::X(int a)\n    : a_(a) {\n" + "  g();\n" * 60 + "}\n"}),
    ("long_functions", {"tests/f.py": "def f():\n" + "    g()\n" * 60}),
    ("long_lines", {"src/core/f.cc": "int " + "x" * 117 + ";\n"}),
    ("long_lines", {"scripts/f": "#!/bin/bash\n: " + "x" * 119 + "\n"}),
    ("long_sentences", {"src/core/f.cc": f"int a;  // {WORDS}\n        // {WORDS}\n"}),
    ("long_sentences", {"src/core/f.cc": f"  // {WORDS}\n  // {WORDS}.\n"}),
    ("headers_begin_with_what", {"src/core/f.h": "// What a thing is.\n#pragma once\n"}),
    ("include_cycles", {"src/core/c.h": '#include "core/d.h"\n', "src/core/d.h": '#include "core/c.h"\n'}),
    ("names_under_two_roots", {"train/part1.h": "\n"}),
    ("train_pairs", {"src/train/seventeenth.cc": "\n"}),
    ("committed_reports", {"results/machine/report.html": "\n"}),
    ("long_test_names", {"tests/a_test.cc": "TEST(A, OneTwoThree_FourFiveSixSeven) {}\n"}),
]


class CheckStyle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name, text in GOOD.items():
            write(self.root, name, text)

    def counts(self):
        return {rule.__name__: len(list(rule(self.root))) for rule in check_style.RULES}

    def test_good_tree_counts_none(self):
        self.assertEqual(set(self.counts().values()), {0}, self.counts())

    def test_each_planted_violation_is_counted(self):
        self.assertEqual({rule for rule, _ in BAD}, set(self.counts()))
        for rule, planted in BAD:
            with self.subTest(rule):
                for name, text in planted.items():
                    write(self.root, name, text)
                counts = self.counts()
                for name in planted:
                    (self.root / name).unlink()
                self.assertEqual({name for name, count in counts.items() if count}, {rule})

    def test_only_enforced_rules_fail(self):
        write(self.root, "src/core/f.h", BAD[7][1]["src/core/f.h"])
        for rule, code in [("long_lines", 0), ("long_lines,headers_begin_with_what", 1), ("all", 1), ("no_rule", 1)]:
            command = [sys.executable, check_style.__file__, str(self.root), "--enforce", rule]
            self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, code, rule)


class CheckLabels(unittest.TestCase):
    def test_one_label_of_speed_passes_none_and_two_fail(self):
        for labels, count in [(["fast"], 0), (["data", "slow"], 0), (["data"], 1), ([], 1), (["fast", "long"], 1)]:
            test = {"name": "t", "properties": [{"name": "LABELS", "value": labels}]}
            self.assertEqual(len(list(check_labels.violations([test]))), count, labels)


if __name__ == "__main__":
    unittest.main()
