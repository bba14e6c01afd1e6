"""cudnn_properties_test.py: cuDNN takes properties of a GPU from a file on a machine without one, and refuses a file in
which one is missing. The values are assumed ones of an H200: a machine with one writes its own."""
import json, os, subprocess, sys, tempfile

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cudnn_properties.py")
ASSUMED = {
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
    "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
    "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,
    "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "totalGlobalMem": 150000000000
}


def run(verb, path):
    return subprocess.run([sys.executable, PROGRAM, verb, path], capture_output=True, text=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/device.json"
        for value in (ASSUMED, {**ASSUMED, "l2CacheSize": 52428800}):
            with open(path, "w") as f:
                json.dump(value, f)
            done = run("check", path)
            if done.returncode == 77:
                print(done.stdout, end="")
                return 77
            assert done.returncode == 0 and json.dumps(value) in done.stdout, done
        for name in ASSUMED:
            with open(path, "w") as f:
                json.dump({k: v for k, v in ASSUMED.items() if k != name}, f)
            done = run("check", path)
            assert done.returncode == 1 and "BAD_PARAM" in done.stderr, (name, done)
        done = run("save", folder + "/saved.json")
        assert done.returncode in (0, 77), done
        assert os.path.exists(folder + "/saved.json") == (done.returncode == 0), done
        if done.returncode == 77:
            assert "skipped: no GPU" in done.stdout, done
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
