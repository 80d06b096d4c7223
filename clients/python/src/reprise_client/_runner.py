"""Calls one uploaded function and writes what it returns. Runs as a program, by itself; nothing else is imported.

Arguments: `array FIRST` takes the call whose number is REPRISE_INDEX − FIRST, `call NUMBER` that call.
"""

import os
import pickle
import struct
import sys
import traceback
from typing import Any

RESULT_BYTES_MAX = 64 * 1024 * 1024
#: The program cannot run here; trying again does not help.
UNUSABLE = 78


def main() -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "python"), encoding="ascii") as file:
        wanted = file.read().strip()
    found = "%d.%d" % sys.version_info[:2]
    if found != wanted:
        return unusable(
            "The function was sent by Python %s, and %s is Python %s. Name an interpreter of the same version, such as "
            'python="~/venv/bin/python".' % (wanted, sys.executable, found)
        )
    kind, number = sys.argv[1], int(sys.argv[2])
    at = int(os.environ["REPRISE_INDEX"]) - number if kind == "array" else number
    sys.path.insert(0, os.getcwd())
    try:
        function, args, kwargs = load(here, at)
    except ImportError as error:
        return unusable("%s. Install it for %s, or name another interpreter with python=." % (error, sys.executable))
    try:
        result = dumps(function(*args, **kwargs))
        if len(result) > RESULT_BYTES_MAX:
            raise ValueError(
                "the result has %d bytes; write large results to files in REPRISE_OUTPUT_DIR" % len(result)
            )
    except Exception as error:
        text = traceback.format_exc()
        try:
            write("error.pkl", dumps(error))
        except Exception:
            text += "\n(the exception itself cannot be transferred)\n"
        write("traceback.txt", text.encode("utf-8", "replace"))
        sys.stderr.write(text)
        return 1
    write("result.pkl", result)
    return 0


def load(here: str, at: int) -> Any:
    with open(os.path.join(here, "calls.bin"), "rb") as file:
        file.seek(8 * at)
        begin, end = struct.unpack("<QQ", file.read(16))
        file.seek(begin)
        call = pickle.loads(file.read(end - begin))
    shared = os.path.join(here, "function.pkl")
    if not os.path.exists(shared):
        return call
    with open(shared, "rb") as file:
        return (pickle.load(file), *call)


def dumps(value: Any) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(value, protocol=5)
    packed: bytes = cloudpickle.dumps(value, protocol=5)
    return packed


def write(name: str, content: bytes) -> None:
    directory = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)


def unusable(message: str) -> int:
    write("traceback.txt", message.encode())
    sys.stderr.write(message + "\n")
    return UNUSABLE


if __name__ == "__main__":
    sys.exit(main())
