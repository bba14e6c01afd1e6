"""Checks that every test of a build folder has exactly one of the labels fast, slow and long.

  check_labels.py BUILD     prints one line for each test that has none or several, and exits 1 if there is any
"""

import json
import subprocess
import sys

SPEEDS = {"fast", "slow", "long"}


def labels_of(test):
    return next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])


def violations(tests):
    for test in tests:
        speeds = SPEEDS.intersection(labels_of(test))
        if len(speeds) != 1:
            yield f"{test['name']}: labels {labels_of(test)}: wanted exactly one of fast, slow and long"


def main():
    shown = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], capture_output=True, check=True)
    tests = json.loads(shown.stdout)["tests"]
    found = list(violations(tests))
    for line in found:
        print(line)
    print(f"{len(found)} of {len(tests)} tests without one label of speed")
    return 1 if found or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
