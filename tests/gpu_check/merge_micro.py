"""merge_micro.py FILE...: several outputs of micro_cuda as one, on stdout. Each began with a copy of its own: the
fastest is the limit of all."""
import json, sys


def main():
    merged = None
    for path in sys.argv[1:]:
        with open(path) as f:
            part = json.load(f)
        if merged is None:
            merged = part
            continue
        merged["benchmarks"] += part["benchmarks"]
        rate = "copy_bytes_per_s"
        merged["context"][rate] = max(merged["context"][rate], part["context"][rate], key=float)
    json.dump(merged, sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
