"""What cuDNN (9.8 and later) knows of a GPU, as JSON with which a machine without that GPU can ask it for plans.

  cudnn_properties.py save FILE      the properties of the first GPU, byte by byte as cuDNN writes them
  cudnn_properties.py check FILE     whether cuDNN here takes the file: needs no GPU
cuDNN is searched for in TTT_TORCH_LIBS, beside torch's package, and where the system has it. Exit code 77: it is not
there, or there is no GPU to ask.
"""
import ctypes, importlib.util, json, os, sys

# cudnn_graph.h: names and types of the backend's attributes.
DESCRIPTOR, DEVICE_ID, REPRESENTATION, TYPE_INT32, TYPE_CHAR = 38, 2700, 2702, 23, 24
OLDEST, NO_DEVICE = 90800, range(1000, 2000)  # the latter: CUDNN_STATUS_NOT_INITIALIZED and its kinds


class Failed(Exception):

    def __init__(self, what, status, words):
        super().__init__(f"{what}: status {status}, {words}")
        self.status = status


def folders():
    """Of libraries, the most likely ones first."""
    yield from os.environ.get("TTT_TORCH_LIBS", "").split(":")
    for name in ("nvidia", "torch"):
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations if spec else []) or []:
            yield from (os.path.join(place, "cudnn/lib"), os.path.join(place, "lib"))


class Cudnn:

    def __init__(self):
        names = [os.path.join(folder, "libcudnn.so.9") for folder in folders() if folder]
        name = next((n for n in names if os.path.exists(n)), "libcudnn.so.9")
        self.library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        self.library.cudnnGetVersion.restype = ctypes.c_size_t
        self.library.cudnnGetErrorString.restype = ctypes.c_char_p

    def version(self):
        return self.library.cudnnGetVersion()

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            words = ctypes.create_string_buffer(4096)
            self.library.cudnnGetLastErrorString(words, ctypes.c_size_t(len(words)))
            raise Failed(name, status, f"{self.library.cudnnGetErrorString(status).decode()}: {words.value.decode()}")

    def properties(self, attribute, kind, count, value):
        """A descriptor of a device's properties, made from a number of a device or from JSON."""
        made = ctypes.c_void_p()
        self.call("cudnnBackendCreateDescriptor", DESCRIPTOR, ctypes.byref(made))
        self.call("cudnnBackendSetAttribute", made, attribute, kind, ctypes.c_int64(count), value)
        self.call("cudnnBackendFinalize", made)
        return made

    def of_device(self, number):
        return self.properties(DEVICE_ID, TYPE_INT32, 1, ctypes.byref(ctypes.c_int32(number)))

    def of_json(self, text):
        return self.properties(REPRESENTATION, TYPE_CHAR, len(text), text)

    def json_of(self, made):
        size = ctypes.c_int64()
        self.call("cudnnBackendGetAttribute", made, REPRESENTATION, TYPE_CHAR, ctypes.c_int64(0), ctypes.byref(size),
                  None)
        text = ctypes.create_string_buffer(size.value)
        self.call("cudnnBackendGetAttribute", made, REPRESENTATION, TYPE_CHAR, size, ctypes.byref(size), text)
        return text.raw[:size.value]


def main():
    verb, path = sys.argv[1:]
    try:
        cudnn = Cudnn()
    except OSError as error:
        print(f"skipped: no cuDNN: {error}")
        return 77
    if cudnn.version() < OLDEST:
        print(f"skipped: cuDNN {cudnn.version()} has no properties of devices, {OLDEST} has")
        return 77
    if verb == "save":
        try:
            text = cudnn.json_of(cudnn.of_device(0))
        except Failed as error:
            if error.status not in NO_DEVICE:
                raise
            print(f"skipped: no GPU: {error}")
            return 77
        with open(path + ".part", "wb") as f:
            f.write(text)
        os.rename(path + ".part", path)
    with open(path, "rb") as f:
        text = f.read()
    again = cudnn.json_of(cudnn.of_json(text))
    assert json.loads(again.rstrip(b"\0")) == json.loads(text.rstrip(b"\0")), f"cuDNN reads other properties: {again}"
    print(f"cuDNN {cudnn.version()} takes these properties without a GPU:\n{text.decode()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
