"""Handlers that return what a test asks for."""

import json
import os
import sys


def same(payload):
    return payload


def received(*args, **kwargs):
    """What the runtime calls a handler with."""
    return {"args": list(args), "kwargs": kwargs}


def size(payload):
    return {"characters": len(payload), "text": payload}


def surroundings(payload):
    return {
        "path": sys.path,
        "shadowed": os.path.basename(__import__("asya_runtime").__file__),
        "cwd": os.getcwd(),
    }


class Unlucky(Exception):
    """An exception of the user's own."""

    class Twice(LookupError):
        """A nested one."""

    def __str__(self):
        raise RuntimeError("no text")


def results(name):
    """Returns or raises what has this name."""
    if name == "list":
        return [1, [2], {"three": 3}]
    if name == "dict":
        return {"a": 1}
    if name == "zero":
        return 0
    if name == "false":
        return False
    if name == "empty text":
        return ""
    if name == "empty list":
        return []
    if name == "none":
        return None
    if name == "text":
        return "grüße \U0001f600 \ud800"
    if name == "nan":
        return {"score": float("nan")}
    if name == "infinity":
        return [float("-inf")]
    if name == "object":
        return object()
    if name == "deep object":
        return {"users": ["a", {"owner": object()}]}
    if name == "tuple key":
        return {"users": {(1, 2): 3}}
    if name == "circle":
        circle = []
        circle.append(circle)
        return circle
    if name == "depth":
        depth = []
        for _ in range(100000):
            depth = [depth]
        return depth
    if name == "iterator":
        return map(str, [1])
    raise ERRORS[name]


ERRORS = {
    "ValueError": ValueError("bad value"),
    "KeyError": KeyError("missing"),
    "OSError": OSError("gone"),
    "surrogate": ValueError("no file \udcff"),
    "JSONDecodeError": json.JSONDecodeError("Expecting value", "", 0),
    "UnicodeDecodeError": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "nested": Unlucky.Twice("twice"),
    "no text": Unlucky(),
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "GeneratorExit": GeneratorExit(),
    "BaseException": BaseException("base"),
    "StopIteration": StopIteration("stop"),
}


def recursion(payload):
    return recursion(payload)
