"""peaks.py [cpu]: what the first GPU multiplies and copies at best, measured by torch: the limits beside which
limits.py puts steps. JSON on stdout.

The best of several samples: a product of square matrices in each precision (2 n^3 floating-point operations), a copy
within the device's memory (read and written). Exit code 77 without a GPU; with cpu small sizes on the processor, for
rehearsals.
"""
import json, sys, time

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def best_s(run, device, samples, calls):
    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    run()
    times = []
    for _ in range(samples):
        wait()
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        wait()
        times.append((time.perf_counter() - begin) / calls)
    return min(times)


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        print("skipped: torch sees no GPU")
        return 77
    n, copied, samples, calls = (8192, 1 << 30, 5, 10) if device == "cuda" else (256, 1 << 20, 2, 2)
    flop_per_s = {}
    for precision, dtype in TYPES.items():
        if device == "cpu" and precision != "fp32":
            continue
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        a, b = (torch.rand(n, n, device=device).to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        flop_per_s[precision] = 2 * n ** 3 / best_s(lambda: torch.mm(a, b, out=out), device, samples, calls)
    source = torch.zeros(copied, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy = 2 * copied / best_s(lambda: target.copy_(source), device, samples, calls)
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    print(
        json.dumps({
            "device": name, "torch": torch.__version__, "matrix_side": n, "flop_per_s": flop_per_s,
            "copy_bytes_per_s": copy
        }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
