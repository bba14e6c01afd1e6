"""Each rule of check_layout.py is broken once in a temporary tree, and must be named; a tree that keeps them must
pass."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_layout

GOOD = {
    "src/core/error.h": "#pragma once\n#include <string>\n",
    "src/core/thing.cc": '#include "error.h"\n#include "core/error.h"\n',
    "src/comm/world.cc": '#include <mpi.h>\n#include "core/error.h"\n#include "generated_by_the_build.h"\n',
    "src/comm/world.h": "#pragma once\n",
    "src/comm/nccl.cc": "#include <nccl.h>\n#include <cuda_runtime_api.h>\n",
    "src/data/loader.h": "#pragma once\n#include <hdf5.h>\n",
    "src/settings/json.h": "#pragma once\n#include <nlohmann/json.hpp>\n",
    "src/models/model.h": "#pragma once\n#include <ATen/ATen.h>\n",
    "src/models/ops/roi_align.cc": '#include "kernels/roi_align.h"\n#include "models/model.h"\n',
    "src/eval/coco/match.h": "#pragma once\n",
    "src/eval/evaluator.h": '#pragma once\n#include "eval/coco/match.h"\n#include "models/model.h"\n',
    "src/train/trainer.cc": '#include "eval/evaluator.h"\n#include "comm/world.h"\n',
    "kernels/roi_align.h": "#pragma once\n",
    "kernels/roi_align.cu": '#include "kernels/roi_align.h"\n#include <cuda_runtime.h>\n',
    "reports/show.cc": '#include "settings/json.h"\n',
    "benchmarks/train/main.cc": '#include "train/trainer.cc"\n#include <torch/torch.h>\n',
    "tests/comm/comm_test.cc": "#include <gtest/gtest.h>\n#include <mpi.h>\n#include <nlohmann/json.hpp>\n",
    "tests/helper.h": "#pragma once\n",
    "src/core/table.h": "// Long file: a table.\n" + "// row\n" * 500,
    "build/junk.cc": "#include <mpi.h>  // /" + "root/x\n",
}

# (file, its text, what the violation must say)
BAD = [
    ("src/core/a.cc", '#include "comm/world.h"\n', 'src/core may not include "comm/world.h"'),
    ("src/data/a.cc", '#include "comm/world.h"\n', "src/data may not include"),
    ("src/data/b.cc", '#include "../comm/world.h"\n', "src/data may not include"),
    ("src/models/a.cc", '#include "kernels/roi_align.h"\n', "src/models may not include"),
    ("src/models/b.cc", '#  include "eval/evaluator.h"\n', "src/models may not include"),
    ("src/eval/coco/a.cc", '#include "comm/world.h"\n', "src/eval/coco may not include"),
    ("src/eval/coco/b.cc", "#include <ATen/ATen.h>\n", "no torch headers"),
    ("src/eval/draw/a.cc", '#include "comm/world.h"\n', "src/eval/draw may not include"),
    ("src/eval/draw/b.cc", "#include <ATen/ATen.h>\n", "no torch headers"),
    ("src/eval/draw/c.cc", "#include <png.h>\n", "<png.h> is at home in src/data only"),
    ("reports/b.cc", "#include <stb/stb_easy_font.h>\n", "is at home in src/eval/draw only"),
    ("src/app/a.cc", '#include "data/loader.h"\n', "src/app may not include"),
    ("reports/a.cc", '#include "comm/world.h"\n', "reports may not include"),
    ("kernels/a.cc", '#include "comm/world.h"\n', "kernels may not include"),
    ("kernels/b.cu", "#include <torch/torch.h>\n", "no torch headers in .cu"),
    ("src/cuda/a.cu", "#include <c10/cuda/CUDAStream.h>\n", "no torch headers in .cu"),
    ("src/train/a.cc", "#include <mpi.h>\n", "<mpi.h> is at home in src/comm"),
    ("src/train/b.cc", '#include "mpi.h"\n', "<mpi.h> is at home in src/comm"),
    ("src/train/c.cc", "#include <nccl.h>\n", "<nccl.h> is at home"),
    ("src/train/d.cc", "#include <H5Dpublic.h>\n", "is at home in src/data"),
    ("src/train/e.cc", "#include <nlohmann/json.hpp>\n", "is at home in src/settings"),
    ("src/data/c.cc", "#include <torch/torch.h>\n", "is at home in src/models"),
    ("src/data/d.cc", "#include <cuda_runtime.h>\n", "is at home in kernels"),
    ("src/data/e.cc", "#include <gtest/gtest.h>\n", "is at home in tests only"),
    ("benchmarks/a.cc", '#include "tests/helper.h"\n', "(of tests)"),
    ("src/core/long.cc", "// row\n" * 481, "481 lines"),
    ("scripts/long", "#!/bin/bash\n" + "# row\n" * 480, "481 lines"),
    ("src/run/a.cc", "double target_box_ap;\n", "names a workload"),
    ("src/train/f.cc", "model::MaskRcnn& model;\n", "names a workload"),
    ("README.md", "see /" + "root/.cache\n", "names a folder of one machine"),
    ("cmake/a.cmake", "set(x /" + "work/main/x)\n", "names a folder of one machine"),
    ("scripts/a.sh", "curl https://files.python" + "hosted.org/x\n", "names a package registry's host"),
    ("scripts/b.sh", "token=gh" + "p_" + "a1B2" * 9 + "\n", "looks like a token"),
]


def write(root, name, text):
    path = pathlib.Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class CheckLayout(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in GOOD.items():
            write(self.root, name, text)

    def test_good_tree_passes(self):
        self.assertEqual(list(check_layout.violations(self.root)), [])

    def test_each_planted_violation_is_named(self):
        for name, text, message in BAD:
            with self.subTest(name):
                write(self.root, name, text)
                found = list(check_layout.violations(self.root))
                (self.root / name).unlink()
                self.assertTrue(found, "not noticed")
                for line in found:  # and nothing else is
                    self.assertTrue(line.startswith(name + ":"), line)
                self.assertIn(message, "\n".join(found))

    def test_command_fails(self):
        write(self.root, *BAD[0][:2])
        command = [sys.executable, check_layout.__file__, str(self.root)]
        self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main()
