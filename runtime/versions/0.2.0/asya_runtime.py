#!/usr/bin/env python3
"""Asya runtime: serves one Python handler to the sidecar over a Unix socket.

    POST /invoke    {"id", "route": {"prev", "curr", "next"}, "headers", "status", "payload"}
      200           {"frames": [{"payload", "route", "headers", "status"}, ...]}, or, for requests
                    with `Accept: text/event-stream`, server-sent events: `downstream` (a frame),
                    `upstream` (what the handler streams to the gateway), `error`, `done`
      204           the handler returned None, or its generator yielded nothing
      400           {"error": "msg_parsing_error", "details": {"message", "type"}}
      500           {"error": "processing_error",
                     "details": {"message", "type", "mro", "traceback"}}
    GET /healthz    200 {"status": "ready"} or 503 {"status": "not_ready", "reason"}
    anything else   404 {"error": "not_found"}

A connection that ends without an answer, or inside one, means that this pod cannot process the
message: the sidecar returns it to the queue.

Each connection carries one message and is read in a thread of its own, so that a silent client
blocks nobody. By default the handler runs in the main thread, one message at a time, because
signal handlers, event loops and many native libraries work only there. With ASYA_PREFETCH above 1
that many calls run at once: coroutines on the one event loop, other handlers in threads.

Python 3.8 to 3.14, standard library only.
"""

import asyncio
import atexit
import base64
import collections.abc
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import faulthandler
import functools
import http
import http.server
import importlib
import importlib.util
import inspect
import io
import json
import logging
import os
import pathlib
import queue
import re
import select
import signal
import socket
import sys
import threading
import time
import traceback
import uuid

VERSION = "0.2.0"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
LISTEN_BACKLOG = 128
CONNECTION_TIMEOUT_SECONDS = 60  # for one read, and for each write of an answer
ACCEPT_RETRY_SECONDS = 1  # when no file descriptor or thread is left for a connection
EXIT_TIMEOUT_SECONDS = 2  # for tasks and threads that the handler left behind
PIECE_BYTES = 1 << 20  # read at once: a false content-length must not allocate memory
CHUNK_LINE_BYTES = 4096
SPOOL_BYTES = 4 << 20  # frames of a JSON answer beyond this are kept in a temporary file
WATCH_SECONDS = 0.25  # between two checks whether the caller of a running call is still there
DEFAULT_HANG_GRACE_SECONDS = 10.0
DEFAULT_TIMEOUT_SECONDS = 300.0  # what the sidecar allows for a message unless told otherwise
READY_CHECK_SECONDS = 5.0  # between two readiness checks of a handler that has one
RETRY_READY_SECONDS = 0.5  # the same while it is not ready
EXIT_HUNG = 75  # a call outlived its caller; EX_TEMPFAIL of sysexits.h
STATE_PROXY_MODULES = ("asya_state_client", "asya_state_files", "asya_state_proxy")
STATE_PROXY_TIMEOUT_SECONDS = 60.0
JSON_TYPE = b"application/json"
EVENT_STREAM_TYPE = "text/event-stream"


class StartError(Exception):
    """The runtime cannot start; the text is the one line that the user sees."""


class CallerGone(Exception):
    """The client of a running call has closed its connection or reads nothing any more."""


class Log:
    """One JSON object per line on standard error, whatever the handler made of `sys.stderr`."""

    LEVELS = ("debug", "info", "warning", "error")

    def __init__(self, level):
        self.lowest = self.LEVELS.index(level if level in self.LEVELS else "info")

    def __call__(self, level, message, **fields):
        if self.LEVELS.index(level) >= self.lowest:
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            line = own_json(dict(time=now, level=level, message=message, **fields), None)
            with contextlib.suppress(OSError):
                os.write(2, line + b"\n")


def load_handler(name):
    """Finds `module.function` or `module.Class.method`; the class is instantiated here, once."""
    parts = name.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        found = repr(name) if name else "not set"
        raise StartError(
            f"ASYA_HANDLER is {found}: expected 'module.function' or 'module.Class.method'"
        )
    try:
        handler = find_attribute(*import_longest_prefix(parts))
        if isinstance(handler, type) or not callable(handler):
            kind = "a class" if isinstance(handler, type) else qualified_name(type(handler))
            raise StartError(f"it is {kind}, expected a function or method")
    except StartError as error:
        raise StartError(f"cannot load handler {name!r}: {error}") from error
    return handler


def import_longest_prefix(parts):
    """Imports as many leading parts as are modules; the last part is always an attribute."""
    module = None
    for count in range(1, len(parts)):
        module_name = ".".join(parts[:count])
        try:
            module = importlib.import_module(module_name)
        except BaseException as error:
            # Only the absence of this very module says that what follows are attributes: a module
            # that is there and fails on an import of its own is the user's problem to see.
            if not isinstance(error, ModuleNotFoundError) or error.name != module_name:
                raise StartError(f"import of {module_name!r} failed: {one_line(error)}") from error
            if module is None:
                where = f"in the working directory {os.getcwd()!r}, on PYTHONPATH or installed"
                raise StartError(f"no module {module_name!r} {where}") from error
            return module, parts[count - 1 :]
    return module, parts[-1:]


def find_attribute(module, names):
    """Follows the names; where the last is looked up in a class, an instance of it is made."""
    found, path = module, module.__name__
    for position, name in enumerate(names, start=1):
        if position == len(names) and isinstance(found, type):
            try:
                found = found()
            except BaseException as error:
                raise StartError(f"creating a {path!r} failed: {one_line(error)}") from error
        try:
            found = getattr(found, name)
        except BaseException as error:
            raise StartError(f"no {name!r} in {path!r}: {one_line(error)}") from error
        path += "." + name
    return found


def qualified_name(kind):
    """`module.QualName`, with `builtins` spelled out."""
    return f"{kind.__module__}.{kind.__qualname__}"


# Other names of classes of `builtins`, as far as they are names of the same class in this Python.
OTHER_NAMES = (
    "IOError",
    "EnvironmentError",
    "asyncio.TimeoutError",
    "concurrent.futures.TimeoutError",
    "select.error",
    "socket.error",
    "socket.timeout",
)
MAX_NAMES_OF_A_CLASS = 8


def names_of(kind):
    """Names by which rules may match an exception class: short (`KeyError`), qualified
    (`builtins.KeyError`), and those under which loaded modules of the same top package export it
    (`json.JSONDecodeError` besides `json.decoder.JSONDecodeError`)."""
    names = [kind.__name__, qualified_name(kind)]
    if kind.__module__ == "builtins":
        for name in OTHER_NAMES:
            module, _, attribute = name.rpartition(".")
            if exported(module or "builtins", attribute) is kind:
                names += [name] if module else [name, f"builtins.{name}"]
        return names
    top = kind.__module__.partition(".")[0]
    modules = (name for name in list(sys.modules) if name == top or name.startswith(top + "."))
    exports = (
        f"{module}.{kind.__qualname__}"
        for module in sorted(modules, key=lambda name: (name.count("."), name))
        if exported(module, kind.__qualname__) is kind
    )
    return list(dict.fromkeys(names + list(exports)))[:MAX_NAMES_OF_A_CLASS]


def exported(module, attribute):
    """What a loaded module has under a name, without an import that the module would do for it."""
    return getattr(sys.modules.get(module), "__dict__", {}).get(attribute)


def text_of(error):
    """`str(error)`, also for exceptions whose `__str__` fails."""
    try:
        return str(error)
    except Exception:
        return "<str() of the exception failed>"


def one_line(error):
    """Type and text of an error at start and, where the user's code raised it, the place."""
    line = f"{qualified_name(type(error))}: {' '.join(text_of(error).split())}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(("<frozen", __file__, importlib.__file__)):
            return f"{line} ({frame.filename}:{frame.lineno})"
    return line


def describe(error):
    """The details of a failed call. `type` is the short name; `mro` holds all names of the class
    and of its bases except `object`, the class itself first."""
    mro = [name for kind in type(error).__mro__ if kind is not object for name in names_of(kind)]
    mro = list(dict.fromkeys(mro))
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return dict(message=text_of(error), type=mro[0], mro=mro, traceback="".join(lines))


UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
DURATION_PART = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)"


def duration(environ, name, default):
    """Seconds of a variable that holds a Go duration or a whole number of seconds."""
    text = environ.get(name, "").strip()
    if not text:
        return default
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    if not re.fullmatch(f"({DURATION_PART})+", text, re.ASCII):
        raise StartError(f"{name} is {text!r}: expected a duration such as '10s', '5m' or '300'")
    return sum(float(n) * UNIT_SECONDS[unit] for n, unit in re.findall(DURATION_PART, text))


def parse_message(body, validate):
    """The envelope in a request body; without `validate` any JSON object will do."""
    message = json.loads(body.decode("utf-8"), parse_constant=refuse_constant)
    if not isinstance(message, dict):
        raise TypeError(f"expected a JSON object, found {type(message).__name__}")
    if validate:
        check_shape(message)
    return message


def refuse_constant(name):
    """NaN and the infinities are Python's own addition to JSON."""
    raise ValueError(f"{name} is not a JSON value")


def check_shape(message):
    """Go writes an empty list or map as null: null stands for an empty one here."""
    if not require(message, "id", str):
        raise ValueError("id: must not be empty")
    route = require(message, "route", dict)
    require(route, "route.curr", str)
    for path in ("route.prev", "route.next"):
        actors = require(route, path, list, type(None)) or []
        if not all(isinstance(actor, str) for actor in actors):
            raise TypeError(f"{path}: expected a list of strings")
    require({"headers": None, **message}, "headers", dict, type(None))
    require(message, "payload", object)


def require(owner, path, *kinds):
    """The member that the last part of the path names, of one of these kinds."""
    key = path.split(".")[-1]
    if key not in owner:
        raise ValueError(f"{path}: missing")
    if not isinstance(owner[key], kinds):
        found = type(owner[key]).__name__
        raise TypeError(f"{path}: expected {kinds[0].__name__}, found {found}")
    return owner[key]


VERBS = ("GET", "SET", "DEL", "FLY")
PATH_PART = re.compile(
    r'\.(?P<name>[^.\[\]]+)|\["(?P<key>[^"]+)"\]|\[(?P<index>-?\d+)\]'
    r"|\[(?P<start>-?\d*):(?P<stop>-?\d*)\]"
)
WRITABLE = ("headers", "status")  # besides route.next


class Envelope:
    """A message without its payload: what handlers read and change by verbs, and what each frame
    carries on. A frame has the state at the moment of its `yield`."""

    def __init__(self, message):
        route = message.get("route")
        route = dict(route) if isinstance(route, dict) else {}
        for key in ("prev", "next"):
            route[key] = list(route[key]) if isinstance(route.get(key), list) else []
        self.id = message.get("id")
        self.fields = {key: message[key] for key in ("id", "parent_id") if key in message}
        self.fields.update(
            route=dict(route, curr=route.get("curr") or ""),
            headers=copy.deepcopy(message.get("headers") or {}),
            status=copy.deepcopy(message.get("status") or {}),
        )
        self.has_status = bool(self.fields["status"])  # an empty one means that it was deleted
        self.rest = None  # what all frames have in common until the next change

    def metadata(self):
        """A copy, for handlers with a parameter `metadata`."""
        return copy.deepcopy(self.fields)

    def frame(self, payload):
        """The JSON of one frame; `payload` is JSON too. The route is one step on."""
        if self.rest is None:
            route, status = self.fields["route"], self.fields["status"]
            curr, left = route["curr"], route["next"]
            done = route["prev"] + [curr] if curr else route["prev"]
            route = dict(route, prev=done, curr=left[0] if left else "", next=left[1:])
            headers = to_json(self.fields["headers"])
            self.rest = b',"route":%b,"headers":%b' % (to_json(route), headers)
            if status or self.has_status:
                self.rest += b',"status":%b' % to_json(status)
            self.rest += b"}"
        return b'{"payload":%b%b' % (payload, self.rest)

    def get(self, path):
        """A copy of the value at the path, None where there is none."""
        value = {"id": "", "parent_id": "", **self.fields}
        for part in parse_path(path):
            if isinstance(part, slice):
                raise ValueError(f"GET {path!r}: a slice can only be set")
            try:
                value = value[part]
            except (LookupError, TypeError):
                return None
        return copy.deepcopy(value)

    def set(self, path, value):
        """Replaces what is at the path; objects on the way to it are created."""
        parts = self.writable(path, "SET")
        value = json.loads(payload_json(value))  # a copy, and certainly JSON
        changed = copy.deepcopy(self.fields)
        owner = changed
        for part in parts[:-1]:
            if isinstance(owner, dict) and isinstance(part, str):
                owner = owner.setdefault(part, {})
            else:
                owner = member(owner, part, f"SET {path!r}")
        last = parts[-1]
        fits = isinstance(owner, dict) if isinstance(last, str) else isinstance(owner, list)
        if not fits:
            raise TypeError(f"SET {path!r}: the value there has no such member")
        if isinstance(last, slice) and not isinstance(value, list):
            raise TypeError(f"SET {path!r}: expected a list, found {type(value).__name__}")
        try:
            owner[last] = value
        except IndexError:
            raise IndexError(f"SET {path!r}: the list is shorter") from None
        self.replace(changed, f"SET {path!r}")

    def delete(self, path):
        """Removes what is at the path, if there is anything."""
        parts = self.writable(path, "DEL")
        changed = copy.deepcopy(self.fields)
        if len(parts) == 1 or parts == ["route", "next"]:
            owner = changed[parts[0]]
            (owner["next"] if parts[0] == "route" else owner).clear()
        else:
            with contextlib.suppress(LookupError, TypeError):
                owner = changed
                for part in parts[:-1]:
                    owner = owner[part]
                del owner[parts[-1]]
        self.replace(changed, f"DEL {path!r}")

    @staticmethod
    def writable(path, verb):
        parts = parse_path(path)
        if parts[0] not in WRITABLE and parts[:2] != ["route", "next"]:
            raise PermissionError(
                f"{verb} {path!r}: only .route.next, .headers and .status can be changed"
            )
        if any(isinstance(part, slice) for part in (parts if verb == "DEL" else parts[:-1])):
            raise ValueError(f"{verb} {path!r}: a slice can only be set, as the path's last part")
        return parts

    def replace(self, fields, what):
        following = fields["route"]["next"]
        if not isinstance(following, list) or not all(isinstance(a, str) for a in following):
            raise TypeError(f"{what}: route.next must stay a list of actors' names")
        for key in WRITABLE:
            if not isinstance(fields[key], dict):
                raise TypeError(f"{what}: {key} must stay an object")
        self.fields, self.rest = fields, None


def parse_path(path):
    """The keys, indexes and slices in a path such as `.headers.trace` or `.route.next[:0]`."""
    parts, position = [], 0
    while isinstance(path, str) and position < len(path):
        match = PATH_PART.match(path, position)
        if match is None or (not parts and match.group("name") is None):
            break
        position = match.end()
        if match.group("index"):
            parts.append(int(match.group("index")))
        elif match.group("start") is not None:
            bounds = (match.group("start"), match.group("stop"))
            parts.append(slice(*(int(bound) if bound else None for bound in bounds)))
        else:
            parts.append(match.group("name") or match.group("key"))
    if not parts or position < len(path):
        raise ValueError(f"{path!r} is not a path: expected for example '.route.next'")
    return parts


def member(owner, part, what):
    try:
        return owner[part]
    except (LookupError, TypeError):
        raise LookupError(f"{what}: there is no {part!r} on the way to it") from None


def to_json(value, default=None):
    """Strict JSON as UTF-8. A value with lone surrogates, which UTF-8 cannot encode, is escaped to
    ASCII as a whole, so that they survive."""
    options = dict(allow_nan=False, separators=(",", ":"), default=default)
    try:
        return json.dumps(value, ensure_ascii=False, **options).encode()
    except UnicodeEncodeError:
        return json.dumps(value, **options).encode()


SURROGATE = re.compile("[\ud800-\udfff]")


def own_json(value, separators=(",", ":")):
    """JSON of errors and log lines: a lone surrogate becomes the text of its escape (`\\udcff`),
    because strict parsers, such as the sidecar's, reject its JSON escape."""
    text = json.dumps(value, ensure_ascii=False, separators=separators)
    return SURROGATE.sub(lambda found: f"\\\\u{ord(found.group()):04x}", text).encode()


def payload_json(value):
    """One payload, written as soon as it is yielded: a generator may change it and yield it again.
    Raises a TypeError that names type and place of what JSON cannot hold."""
    try:
        return to_json(value, plain)
    except (TypeError, ValueError, RecursionError) as error:
        path, reason = find_problem(value) or ("", f"{text_of(error)}")
        kind = qualified_name(type(value))
        where = f" at {path}" if path else ""
        raise TypeError(
            f"a result of type {kind!r} is not JSON serialisable{where}: {reason}"
        ) from error


def plain(value):
    """What stands in JSON for a value of a type that `json` does not know."""
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)):  # pydantic 2
        return value.model_dump(mode="json")
    if hasattr(kind, "__fields__") and callable(getattr(kind, "dict", None)):  # pydantic 1
        return value.dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, decimal.Decimal, pathlib.PurePath)):
        return str(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return list(value)
    raise TypeError(f"type {qualified_name(kind)!r} has no form in JSON")


def find_problem(value):
    """Path and reason of the first thing in a value that is not JSON; None if none is found."""

    def search(value, path, owners):
        if value is None or isinstance(value, (str, bool, int)):
            return None
        if isinstance(value, float):
            return None if value - value == 0 else (path, f"{value} is not a JSON value")
        if id(value) in owners:
            return path, f"{type(value).__name__} contains itself: circular reference"
        owners = owners | {id(value)}
        if isinstance(value, dict):
            for key, entry in value.items():
                if not isinstance(key, (str, int, float, bool, type(None))):
                    kind = qualified_name(type(key))
                    return path, f"a key of type {kind!r}: keys must be texts"
                found = search(entry, f"{path}.{key}", owners)
                if found:
                    return found
            return None
        if isinstance(value, (list, tuple)):
            entries = (search(entry, f"{path}[{n}]", owners) for n, entry in enumerate(value))
            return next((found for found in entries if found), None)
        try:
            return search(plain(value), path, owners)
        except RecursionError:
            raise
        except Exception as error:
            return path, text_of(error)

    try:
        found = search(value, "", frozenset())
    except RecursionError:
        return None
    return found and (found[0] or ".", found[1])


class Spool:
    """Bytes in memory and, beyond SPOOL_BYTES, in a temporary file without a name."""

    def __init__(self):
        self.file = io.BytesIO()
        self.size = 0
        self.may_roll = True

    def write(self, data):
        if self.may_roll and self.size + len(data) > SPOOL_BYTES:
            self.may_roll = False
            self.roll()
        self.file.write(data)
        self.size += len(data)

    def roll(self):
        import tempfile  # not earlier: few calls need it

        memory = self.file
        try:
            self.file = tempfile.TemporaryFile(buffering=0)
            self.file.write(memory.getvalue())
        except OSError:  # a read-only file system without /tmp
            self.file = memory

    def pieces(self):
        self.file.seek(0)
        return iter(functools.partial(self.file.read, PIECE_BYTES), b"")

    def close(self):
        self.file.close()


class JsonAnswer:
    """Collects frames and sends them when the call has ended, because only then is it certain
    that it did not fail."""

    def __init__(self, connection):
        self.connection = connection
        self.spool = Spool()
        self.frames = 0

    def downstream(self, frame):
        self.spool.write((b"," if self.frames else b'{"frames":[') + frame)
        self.frames += 1
        return None

    def upstream(self, data):
        """Nobody listens: the client did not ask for events."""

    def end(self):
        if not self.frames:
            self.connection.respond(204)
            return
        self.spool.write(b"]}")
        self.connection.send_all(self.connection.head(200, JSON_TYPE, self.spool.size))
        for piece in self.spool.pieces():
            self.connection.send_all(piece)

    def fail(self, body):
        self.connection.respond(500, body)

    def close(self):
        self.spool.close()


class EventAnswer:
    """Sends each frame when it is yielded, as a server-sent event in chunked coding.

    `downstream` and `upstream` return the bytes that are to be sent, or are left to be sent."""

    HEAD = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    LAST = b"0\r\n\r\n"

    def __init__(self, connection):
        self.connection = connection
        self.begun = False
        self.frames = 0

    def downstream(self, frame):
        self.frames += 1
        return self.event(b"downstream", frame)

    def upstream(self, data):
        return self.event(b"upstream", data)

    def event(self, name, data):
        event = b"event: %b\ndata: %b\n\n" % (name, data)
        head = b"" if self.begun else self.HEAD
        self.begun = True
        return b"%b%x\r\n%b\r\n" % (head, len(event), event)

    def end(self):
        self.connection.send_all(self.event(b"done", b"{}") + self.LAST)

    def fail(self, body):
        events = self.event(b"error", body) + self.event(b"done", b"{}")
        self.connection.send_all(events + self.LAST)

    def close(self):
        """Nothing is kept."""


class Call:
    """One message, from its request to the end of its answer."""

    def __init__(self, connection, message):
        self.connection = connection
        self.payload = message.get("payload")
        self.envelope = Envelope(message)
        self.answer = (EventAnswer if connection.wants_events() else JsonAnswer)(connection)
        self.finished = threading.Event()
        self.thread = None  # that runs it; None while it waits for its turn
        self.task = None  # of the event loop, for handlers that are coroutines
        self.generator = None  # of a handler that is an async generator
        self.gone = False  # whether its caller is

    def take(self, value):
        """What a generator yielded: executes a verb or makes a frame. Returns the value to resume
        the generator with, and bytes that are to be sent."""
        if value is None:
            return None, None
        if type(value) is tuple and value and isinstance(value[0], str) and value[0] in VERBS:
            return self.execute(*value)
        return None, self.answer.downstream(self.envelope.frame(payload_json(value)))

    def execute(self, verb, *operands):
        if verb in ("GET", "DEL"):
            operands = operands[:1]  # handlers may give more, such as a default
        if len(operands) != (2 if verb == "SET" else 1) and (verb, len(operands)) != ("FLY", 2):
            form = {"SET": "path, value", "FLY": "value"}.get(verb, "path")
            raise ValueError(f"{verb} with {len(operands)} operands: expected ({verb!r}, {form})")
        if verb == "GET":
            return self.envelope.get(*operands), None
        if verb == "FLY":
            # With two operands the first is a name for what is streamed.
            named = b',"path":%b' % payload_json(operands[0]) if len(operands) == 2 else b""
            data = b'{"payload":%b%b}' % (payload_json(operands[-1]), named)
            return None, self.answer.upstream(data)
        (self.envelope.set if verb == "SET" else self.envelope.delete)(*operands)
        return None, None

    def give(self, value):
        """The frame of a handler that returned a value."""
        data = self.answer.downstream(self.envelope.frame(payload_json(value)))
        if data:
            self.connection.send_all(data)

    def drive(self, generator):
        """Runs a generator to its end. What is wrong with a yielded value is raised where it was
        yielded, so that the traceback shows that line."""
        with contextlib.closing(generator):
            resume, value = generator.send, None
            while True:
                try:
                    yielded = resume(value)
                except StopIteration:
                    return
                try:
                    resume, (value, data) = generator.send, self.take(yielded)
                except Exception as error:
                    resume, value, data = generator.throw, error, None
                if data:
                    self.connection.send_all(data)

    async def drive_async(self, generator):
        """The same for an async generator; a slow client does not block the event loop."""
        self.generator = generator
        try:
            resume, value = generator.asend, None
            while True:
                try:
                    yielded = await resume(value)
                except StopAsyncIteration:
                    return
                try:
                    resume, (value, data) = generator.asend, self.take(yielded)
                except Exception as error:
                    resume, value, data = generator.athrow, error, None
                data = data and self.connection.send_some(data)
                if data:
                    loop = asyncio.get_event_loop()
                    await loop.run_in_executor(None, self.connection.send_all, data)
        finally:
            await generator.aclose()


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection in its own thread; `server` is the Runtime, which answers valid messages."""

    protocol_version = "HTTP/1.1"
    timeout = CONNECTION_TIMEOUT_SECONDS
    handle = http.server.BaseHTTPRequestHandler.handle_one_request  # and no more of them

    def do_GET(self):
        if self.path != "/healthz":
            self.send_error(404)
        elif self.server.unready is None:
            self.respond(200, b'{"status":"ready"}')
        else:
            body = {"status": "not_ready", "reason": self.server.unready}
            self.respond(503, own_json(body))

    def do_POST(self):
        if self.path != "/invoke":
            self.send_error(404)
            return
        try:
            message = parse_message(self.read_body(), self.server.validate)
            call = Call(self, message)
        except (ValueError, TypeError, RecursionError) as error:
            self.respond_invalid(400, f"cannot read the message: {error}", type(error))
            return
        del message  # the call lets go of the payload when it has ended
        if self.server.submit(call):
            self.server.watch(call)

    def wants_events(self):
        accepted = ",".join(self.headers.get_all("Accept", [])).lower()
        return any(kind.split(";")[0].strip() == EVENT_STREAM_TYPE for kind in accepted.split(","))

    def client_is_gone(self):
        """A client that only ended its own writing still listens: that is no hang-up."""
        poll = select.poll()
        poll.register(self.connection, 0)
        return bool(poll.poll(0))

    def read_body(self):
        coding = self.headers.get("Transfer-Encoding", "").strip().lower()
        if coding == "chunked":
            return self.read_chunks()
        if coding:
            raise ValueError(f"transfer-encoding {coding!r} is not supported")
        length = ", ".join(sorted(set(self.headers.get_all("Content-Length", ["0"]))))
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise ValueError(f"content-length {length!r} is not a number")
        return self.read_exactly(int(length))

    def read_chunks(self):
        body, size = bytearray(), None
        while size != 0:
            line = self.rfile.readline(CHUNK_LINE_BYTES)
            digits = re.match(rb"([0-9a-fA-F]{1,15})[ \t]*(;.*)?\r?\n", line)
            if digits is None:
                raise ValueError(f"broken chunk after {len(body)} bytes of the body")
            size = int(digits.group(1), 16)
            body += self.read_exactly(size)
            # An empty line ends a chunk and, after the last, the trailers, which mean nothing here.
            while self.rfile.readline(CHUNK_LINE_BYTES).strip():
                if size != 0:
                    raise ValueError(f"broken chunk after {len(body)} bytes of the body")
        return body

    def read_exactly(self, length):
        data = bytearray()
        while len(data) < length:
            piece = self.rfile.read(min(length - len(data), PIECE_BYTES))
            if not piece:
                raise ValueError(f"the body ended after {len(data)} of {length} bytes")
            data += piece
        return data

    def head(self, status, kind=None, length=None):
        lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}"]
        if self.command == "GET":
            # Calls without a caller are counted too: the sidecar waits for their end.
            lines.append(f"X-Asya-Calls: {len(self.server.running)}")
        if kind is not None:
            lines += [f"Content-Type: {kind.decode()}", f"Content-Length: {length}"]
        return "\r\n".join(lines + ["Connection: close", "", ""]).encode()

    def respond(self, status, body=None):
        """Sends a whole answer in one write; without `body` it has none, nor a length."""
        if body is None:
            self.send_all(self.head(status))
            return
        head = self.head(status, JSON_TYPE, len(body))
        self.send_all(head if self.command == "HEAD" else head + body)

    def send_all(self, data):
        try:
            self.connection.sendall(data)
        except OSError as error:
            raise CallerGone(f"cannot send: {error}") from error

    def send_some(self, data):
        """Sends what the socket takes at once and returns the rest."""
        poll = select.poll()
        poll.register(self.connection, select.POLLOUT)
        if not poll.poll(0):
            return data
        try:
            return data[self.connection.send(data) :]
        except OSError as error:
            raise CallerGone(f"cannot send: {error}") from error

    def break_off(self):
        """Ends the connection in the middle of an answer."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def respond_invalid(self, status, text, kind):
        details = {"message": text, "type": kind.__name__}
        self.respond(status, own_json({"error": "msg_parsing_error", "details": details}))

    def send_error(self, code, message=None, explain=None):
        """The base class comes here with what is not HTTP and, as 501, with unknown methods."""
        if code in (404, 501):
            self.respond(404, b'{"error":"not_found"}')
        else:
            self.respond_invalid(int(code), message or "the request is not HTTP", ValueError)

    def log_message(self, template, *values):
        self.server.log("debug", template % values)


class Signals:
    """Receives stop signals, whatever the handler does with Python's signal functions.

    `signal.signal`, `getsignal` and `set_wakeup_fd` are replaced. A handler's function for a stop
    signal runs after ours, and does not replace it; SIG_IGN, SIG_DFL and `default_int_handler` only
    remove the handler's own function. Our wakeup descriptor stays: the handler's gets a copy of
    each byte. Event loops and their `add_signal_handler` work with that."""

    def __init__(self, log, on_stop):
        self.log = log
        self.on_stop = on_stop  # called with the signal's number, in the main thread or in ours
        self.handlers = {}  # the handler's own functions for stop signals
        self.wakeup_fd = -1  # the handler's own
        self.lock = threading.RLock()  # held while a byte is copied to it
        self.is_active = False
        self.alarm, self.bell = socket.socketpair()
        self.bell.setblocking(False)
        self.thread = None
        self.real_signal = signal.signal
        self.real_getsignal = signal.getsignal
        self.real_set_wakeup_fd = signal.set_wakeup_fd

    def install(self):
        """Before the handler is loaded: its modules may copy the functions."""
        self.is_active = True
        for replacement in (self.signal, self.getsignal, self.set_wakeup_fd):
            original = getattr(signal, replacement.__name__)
            setattr(signal, original.__name__, self.wrap(original, replacement))
        keep_signals_from_children(self)

    def wrap(self, original, replacement):
        @functools.wraps(original)
        def function(*values, **options):
            return (replacement if self.is_active else original)(*values, **options)

        return function

    def signal(self, signalnum, handler):
        if signalnum not in STOP_SIGNALS:
            return self.real_signal(signalnum, handler)
        if not callable(handler) and handler not in (signal.SIG_IGN, signal.SIG_DFL):
            return self.real_signal(signalnum, handler)  # raises TypeError
        self.real_signal(signalnum, self.handle)  # raises ValueError outside the main thread
        before = self.getsignal(signalnum)
        self.handlers.pop(signalnum, None)
        if callable(handler) and handler not in (self.handle, signal.default_int_handler):
            self.handlers[signalnum] = handler
        return before

    def getsignal(self, signalnum):
        if signalnum not in STOP_SIGNALS:
            return self.real_getsignal(signalnum)
        return self.handlers.get(signalnum, self.handle)

    def set_wakeup_fd(self, fd, **options):
        self.real_set_wakeup_fd(fd, **options)  # raises if the descriptor is not suitable
        if self.thread is not None:
            self.restore_wakeup_fd()
        with self.lock:
            before, self.wakeup_fd = self.wakeup_fd, fd
        return before

    def restore_wakeup_fd(self):
        self.real_set_wakeup_fd(self.bell.fileno(), warn_on_full_buffer=False)

    def restore(self):
        """In the main thread, when a call has ended: the handler may have used other functions,
        such as those of a native library."""
        if self.is_active:
            self.restore_wakeup_fd()
            for number in STOP_SIGNALS:
                self.real_signal(number, self.handle)

    def handle(self, number, frame):
        """The only signal handler of the stop signals."""
        self.on_stop(number)
        with contextlib.suppress(OSError):
            self.bell.send(b"\0")  # another wakeup descriptor may have got the number
        handler = self.handlers.get(number)
        if handler is not None:
            try:
                handler(number, frame)
            except BaseException as error:  # such as SystemExit, which would end a running call
                name = signal.Signals(number).name
                text = f"the handler's own function for {name} failed: {one_line(error)}"
                self.log("warning", text)

    def watch(self, on_wakeup):
        """Starts a thread that learns of every signal. Python runs its own handlers in the main
        thread alone, which may be inside a library or a long wait just then."""
        self.thread = start_thread(self.receive, on_wakeup)
        self.restore()

    def receive(self, on_wakeup):
        # The handler may have blocked them in all other threads.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        with contextlib.suppress(OSError):
            while True:
                numbers = self.alarm.recv(PIECE_BYTES)
                if not numbers:
                    return
                for number in numbers:
                    if number in STOP_SIGNALS:
                        self.on_stop(number)
                self.copy(numbers.replace(b"\0", b""))
                on_wakeup()

    def copy(self, numbers):
        with self.lock, contextlib.suppress(OSError):
            if numbers and self.wakeup_fd >= 0:
                os.write(self.wakeup_fd, numbers)

    def close(self):
        self.is_active = False
        with contextlib.suppress(ValueError):
            self.real_set_wakeup_fd(-1)
        self.bell.close()
        if self.thread is not None:
            self.thread.join(EXIT_TIMEOUT_SECONDS)
        self.alarm.close()


class Runtime:
    """Owns the event loop, the handler and the socket, from start to end."""

    def __init__(self, environ, log):
        self.environ = environ
        self.log = log
        self.handler_name = environ.get("ASYA_HANDLER", "").strip()
        switch = environ.get("ASYA_ENABLE_VALIDATION", "").strip().lower()
        self.validate = switch not in ("false", "0", "no")
        self.hang_grace = duration(environ, "ASYA_RUNTIME_HANG_GRACE", DEFAULT_HANG_GRACE_SECONDS)
        self.timeout = duration(environ, "ASYA_RUNTIME_TIMEOUT", DEFAULT_TIMEOUT_SECONDS)
        # How long a call may keep Python's lock without giving it away once.
        self.lock_limit = self.timeout + self.hang_grace + 1
        self.lock_seen = 0.0  # when the lock was last given away
        prefetch = environ.get("ASYA_PREFETCH", "").strip() or "1"
        if not re.fullmatch("[0-9]{1,4}", prefetch) or int(prefetch) < 1:
            raise StartError(f"ASYA_PREFETCH is {prefetch!r}: expected a number from 1 to 9999")
        self.concurrency = int(prefetch)
        directory = os.path.abspath(environ.get("ASYA_SOCKET_DIR") or "/var/run/asya")
        self.socket_path = os.path.join(directory, "asya-runtime.sock")
        self.ready_path = os.path.join(directory, "runtime-ready")
        self.stop_signal = None  # the name of the first one
        self.is_stopping = False
        self.check = None  # the handler's own readiness check
        self.unready = "the handler is not loaded"
        self.running = set()  # calls
        self.lock = threading.Lock()  # around `running` and what is done to the ready file
        # Before the handler is loaded, because until Python 3.10 asyncio's locks and queues are
        # bound to the loop of the moment they are made.
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.inbox = asyncio.Queue() if self.concurrency == 1 else queue.SimpleQueue()
        self.idle = asyncio.Event()  # set when the last worker thread has ended
        self.workers = self.concurrency if self.concurrency > 1 else 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.is_loaded = False
        self.signals = Signals(log, self.mark_stopped)

    def run(self):
        """Serves until a stop signal."""
        try:
            self.start()
            if self.concurrency == 1:
                while self.serve_one():
                    continue
            else:
                self.serve_many()
        finally:
            self.close()
        self.log("info", "stopped", signal=self.stop_signal)

    def start(self):
        mode = self.environ.get("ASYA_SOCKET_CHMOD", "0o666").strip()
        if mode and not re.fullmatch(r"(0o)?[0-7]{1,5}", mode):
            text = f"ASYA_SOCKET_CHMOD is {mode!r}: expected an octal mode such as '0o660'"
            raise StartError(text)
        try:
            # The directory outlives the container: what a killed process left would look ready.
            self.remove_files()
            mounts = mount_state_proxies(self.environ)
            self.signals.install()
            self.handler = load_handler(self.handler_name)
            if not logging.getLogger().handlers:  # unless the handler's module configures them
                logging.basicConfig(level=self.log.LEVELS[self.log.lowest].upper())
            self.takes_metadata = has_metadata_parameter(self.handler)
            self.is_loaded = True
            self.signals.watch(self.follow_signals)  # not earlier: a thread
            if mounts is not None:
                mounts.stay_connected()  # not earlier: while modules load there are no threads
            os.makedirs(os.path.dirname(self.socket_path), exist_ok=True)
            self.listener.bind(self.socket_path)
            if mode:
                os.chmod(self.socket_path, int(mode, 8))
            self.listener.listen(LISTEN_BACKLOG)
            start_thread(self.accept_connections)
            self.check = hook(self.handler, "asya_check_ready")
            if self.check is None:
                self.set_ready(None)
        except OSError as error:
            raise StartError(f"cannot listen on {self.socket_path!r}: {error}") from error
        fields = dict(socket=self.socket_path, handler=self.handler_name, version=VERSION)
        self.log("info", "listening", **fields)
        if self.check is not None:
            start_thread(self.follow_readiness)

    def set_ready(self, reason):
        """Creates or, with a reason, removes the ready file."""
        with self.lock:
            self.unready = reason
            if reason is not None:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(self.ready_path)
            elif not self.closed():
                open(self.ready_path, "w").close()

    def closed(self):
        return self.listener.fileno() < 0

    def follow_readiness(self):
        """Asks the handler again and again whether it can process messages."""
        while not self.closed():
            try:
                reason = None if self.check() is not False else "the handler's check failed"
            except Exception as error:
                reason = " ".join(text_of(error).split()) or type(error).__name__
            self.change_readiness(reason)
            time.sleep(READY_CHECK_SECONDS if reason is None else RETRY_READY_SECONDS)

    def change_readiness(self, reason):
        """Says so once, and creates or removes the ready file; `reason` is None for ready."""
        if (reason is None) != (self.unready is None):
            self.log("info", "ready" if reason is None else f"not ready: {reason}")
            with contextlib.suppress(OSError):
                self.set_ready(reason)
        self.unready = reason

    def follow_signals(self):
        """After each signal, in the thread that receives them."""
        if self.stop_signal is not None and not self.is_stopping:
            self.stop()
        self.wake_loop(lambda: None)  # runs the signal handlers of the user's code

    def wake_loop(self, callback, *values):
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(callback, *values)

    def mark_stopped(self, number):
        """As soon as a stop signal is known: not even a call that waits begins after it."""
        if not self.is_loaded:
            os._exit(0)
        if self.stop_signal is None:
            self.stop_signal = signal.Signals(number).name

    def stop(self):
        """Running calls go on, no other one starts."""
        self.is_stopping = True
        start_thread(self.stop_handler).join(EXIT_TIMEOUT_SECONDS)
        self.log("debug", "stopping", signal=self.stop_signal)
        start_thread(self.end_in_time)
        if self.concurrency == 1:
            self.wake_loop(self.inbox.put_nowait, None)
        else:
            for _ in range(self.concurrency):
                self.inbox.put(None)

    def stop_handler(self):
        stop = hook(self.handler, "asya_stop")
        if stop is not None:
            try:
                stop()
            except Exception as error:
                self.log("error", f"asya_stop failed: {one_line(error)}")

    def end_in_time(self):
        """Ends the process if running calls do not end while a sidecar may wait for them, or if
        what the handler left behind blocks the event loop."""
        latest = time.monotonic() + self.timeout + self.hang_grace
        idle_since = None
        while True:
            time.sleep(WATCH_SECONDS)
            with self.lock:
                calls = list(self.running)
            now = time.monotonic()
            idle_since = None if calls else idle_since or now
            if calls and now > latest:
                self.end_hung(calls[0], f"still runs {self.timeout:g} s after {self.stop_signal}")
            if idle_since and now > idle_since + self.hang_grace + EXIT_TIMEOUT_SECONDS:
                self.end_hung(None, f"blocks the event loop after {self.stop_signal}")

    def watch(self, call):
        """Waits for the end of a call in the thread of its connection. If the caller leaves, the
        call is cancelled; if it runs on nevertheless, the process ends, because nothing else ends
        a thread."""
        gone_since = None
        while not call.finished.wait(WATCH_SECONDS):
            if call.thread is None:
                continue
            with self.lock:
                if self.running and time.monotonic() - self.lock_seen >= WATCH_SECONDS:
                    self.watch_lock()
            if gone_since is None:
                if call.connection.client_is_gone():
                    gone_since = time.monotonic()
                    call.gone = True
                    self.cancel(call)
            elif time.monotonic() - gone_since >= self.hang_grace:
                self.end_hung(call, f"still runs {self.hang_grace:g} s after its caller left")

    def watch_lock(self):
        """Ends the process if no thread gets Python's lock for long: nothing of ours can run then,
        and no other check. A timer that needs no Python, set anew while threads take turns."""
        self.lock_seen = time.monotonic()
        faulthandler.dump_traceback_later(self.lock_limit, exit=True, file=2)

    def cancel(self, call):
        task = call.task
        if task is not None:
            self.wake_loop(task.cancel)

    def end_hung(self, call, reason):
        """Ends the process at once, so that the container starts anew."""
        identifier = call.envelope.id if call else None
        where = place_of(call) if call else None
        with contextlib.suppress(OSError):
            self.remove_files()
        self.log(
            "error",
            f"handler {self.handler_name!r} {reason}: ending the process with code {EXIT_HUNG}",
            handler=self.handler_name,
            id=identifier,
            where=where,
        )
        os._exit(EXIT_HUNG)

    def close(self):
        start_thread(exit_later, 2 * EXIT_TIMEOUT_SECONDS, 0)
        with self.lock, contextlib.suppress(OSError):
            self.remove_files()
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self.listener.close()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.run_on_loop(asyncio.wait(tasks, timeout=EXIT_TIMEOUT_SECONDS))
        self.run_on_loop(self.loop.shutdown_asyncgens())
        self.loop.close()
        self.signals.close()

    def remove_files(self):
        for path in (self.ready_path, self.socket_path):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

    def submit(self, call):
        """Queues a call whose message is read, unless the process is about to end."""
        if self.stop_signal is not None:
            return False
        if self.concurrency == 1:
            self.wake_loop(self.inbox.put_nowait, call)
        else:
            self.inbox.put(call)
        return True

    def serve_one(self):
        """From inbox to sent answer. A function, so that no payload stays alive while it waits."""
        call = self.run_on_loop(self.inbox.get())
        if self.stop_signal is not None:
            return False
        self.serve(call)
        self.signals.restore()
        return True

    def serve_many(self):
        """Runs the event loop while worker threads serve calls."""
        for _ in range(self.concurrency):
            start_thread(self.work)
        while not self.idle.is_set():
            with contextlib.suppress(SystemExit, KeyboardInterrupt):  # of a task of the handler's
                self.run_on_loop(self.idle.wait())

    def work(self):
        while self.serve_next():
            continue
        with self.lock:
            self.workers -= 1
            last = self.workers == 0
        if last:
            self.wake_loop(self.idle.set)

    def serve_next(self):
        call = self.inbox.get()
        if self.stop_signal is not None:
            return False
        self.serve(call)
        self.wake_loop(self.signals.restore)
        return True

    def serve(self, call):
        call.thread = threading.get_ident()
        with self.lock:
            self.running.add(call)
            self.watch_lock()
        try:
            if not call.connection.client_is_gone():
                self.process(call)
        except CallerGone as error:
            self.log("warning", f"answer not sent: {error}", id=call.envelope.id)
        finally:
            with self.lock:
                self.running.discard(call)
                if not self.running:
                    faulthandler.cancel_dump_traceback_later()
            call.payload = None
            call.answer.close()
            call.finished.set()

    def process(self, call):
        try:
            self.call_handler(call)
        except CallerGone:
            raise
        except BaseException as error:  # SystemExit and KeyboardInterrupt end the call, not us.
            self.fail(call, error)
        else:
            self.log("debug", "answered", id=call.envelope.id, frames=call.answer.frames)
            call.answer.end()

    def fail(self, call, error):
        details = describe(error)
        fields = dict(id=call.envelope.id, type=details["type"])
        if call.gone:
            self.log("warning", "call ended after its caller had left", **fields)
            raise CallerGone("the caller closed the connection") from error
        if getattr(error, "asya_give_back", False):
            self.log("warning", f"message given back: {one_line(error)}", **fields)
            if self.check is not None:
                self.change_readiness("a message was given back")
            call.connection.break_off()
            return
        self.log("error", "handler failed", **fields)
        call.answer.fail(own_json({"error": "processing_error", "details": details}))

    def call_handler(self, call):
        """Produces the frames. The result determines the handler's kind, which also works for
        partials, decorated functions and objects with `__call__`."""
        payload, call.payload = call.payload, None
        if self.takes_metadata:
            result = self.handler(payload, metadata=call.envelope.metadata())
        else:
            result = self.handler(payload)
        del payload
        if inspect.isawaitable(result):
            result = self.await_result(call, result)
        if isinstance(result, collections.abc.AsyncGenerator):
            self.await_result(call, call.drive_async(result))
        elif isinstance(result, collections.abc.Generator):
            call.drive(result)
        elif result is not None:
            call.give(result)

    def await_result(self, call, awaitable):
        """The loop also turns while the inbox is empty, so background tasks go on between calls."""
        if self.concurrency == 1:
            call.task = asyncio.ensure_future(awaitable, loop=self.loop)
            if call.gone:
                call.task.cancel()
            return self.run_on_loop(call.task)

        async def run():
            call.task = asyncio.current_task()
            return await awaitable

        future = asyncio.run_coroutine_threadsafe(run(), self.loop)
        return future.result()

    def run_on_loop(self, awaitable):
        task = asyncio.ensure_future(awaitable, loop=self.loop)
        try:
            while True:
                try:
                    return self.loop.run_until_complete(task)
                except RuntimeError as error:
                    # A handler may stop the loop: `add_signal_handler(SIGTERM, loop.stop)`.
                    if task.done() or "stopped before" not in str(error):
                        raise
        finally:
            task.cancel()  # matters only if another task ended the loop by SystemExit

    def accept_connections(self):
        while True:
            try:
                connection, _ = self.listener.accept()
                start_thread(self.converse, connection)
            except (OSError, RuntimeError) as error:
                if self.stop_signal is not None or self.closed():
                    return
                self.log("error", f"cannot accept a connection: {error}")
                time.sleep(ACCEPT_RETRY_SECONDS)

    def converse(self, connection):
        with connection, contextlib.suppress(OSError, CallerGone):
            Connection(connection, "", self)
            connection.shutdown(socket.SHUT_WR)
            # To close before a refused request is read to its end would take the answer with it.
            while connection.recv(PIECE_BYTES):
                continue


def start_thread(target, *arguments):
    """A thread that does not keep the process alive."""
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def has_metadata_parameter(handler):
    """Whether a handler has a parameter `metadata` besides the one for the payload."""
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (TypeError, ValueError):
        return False
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    first = parameters[0] if parameters else None
    return any(
        parameter.name == "metadata"
        and parameter.kind in named
        and (parameter is not first or parameter.kind == inspect.Parameter.KEYWORD_ONLY)
        for parameter in parameters
    )


def hook(handler, name):
    """A method that a handler's object has for the runtime; None for other handlers."""
    owner = getattr(handler, "__self__", handler)
    return getattr(owner, name) if callable(getattr(type(owner), name, None)) else None


def place_of(call):
    """`file:line in function` of what a call is doing: its innermost line that is neither ours nor
    of the standard library."""
    current = sys._current_frames()
    places = frames_below(current.get(call.thread))
    task = call.task
    if task is not None and not task.done():
        coroutines = [task.get_coro()]
        while inspect.iscoroutine(getattr(coroutines[-1], "cr_await", None)):
            coroutines.append(coroutines[-1].cr_await)
        if getattr(coroutines[-1], "cr_running", False):
            places = frames_below(current.get(threading.main_thread().ident))
        else:
            owners = [(one, "cr_frame") for one in reversed(coroutines)]
            owners.insert(0, (call.generator, "ag_frame"))
            places = [getattr(owner, name, None) for owner, name in owners]
    places = [frame for frame in places if frame is not None]
    library = os.path.dirname(os.__file__)
    for frame in places:
        file = frame.f_code.co_filename
        if file != __file__ and (not file.startswith((library, "<")) or "site-packages" in file):
            return f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
    return None


def frames_below(frame):
    """A thread's frames, the innermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def mount_state_proxies(environ):
    """Lets the handler use files of state proxies, by the modules beside this file. Returns what
    the module knows of them; None without any."""
    mounts = environ.get("ASYA_STATE_PROXY_MOUNTS", "").strip()
    if not mounts:
        return None
    timeout = duration(environ, "ASYA_STATE_PROXY_TIMEOUT", STATE_PROXY_TIMEOUT_SECONDS)
    directory = environ.get("ASYA_STATE_PROXY_DIR") or os.path.join(
        environ.get("ASYA_SOCKET_DIR") or "/var/run/asya", "state"
    )
    for name in STATE_PROXY_MODULES:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
        if not os.path.exists(path):
            raise StartError(
                f"ASYA_STATE_PROXY_MOUNTS is set and {path!r} is missing: deliver it beside"
                " asya_runtime.py"
            )
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    try:
        return module.install(mounts, directory, timeout)
    except ValueError as error:
        raise StartError(f"ASYA_STATE_PROXY_MOUNTS is {mounts!r}: {error}") from error


def keep_signals_from_children(signals):
    """A forked child is not the server: `multiprocessing`, for one, ends its own by SIGTERM. Held
    back during the fork, because a signal that the child gets too early would be lost."""

    def restore():
        signals.is_active = False
        signals.real_signal(signal.SIGTERM, signal.SIG_DFL)
        signals.real_signal(signal.SIGINT, signal.default_int_handler)
        signals.real_set_wakeup_fd(-1)
        release()

    hold = functools.partial(signal.pthread_sigmask, signal.SIG_BLOCK, STOP_SIGNALS)
    release = functools.partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, STOP_SIGNALS)
    os.register_at_fork(before=hold, after_in_parent=release, after_in_child=restore)


def exit_later(seconds, code):
    """Ends the process even if the handler left threads or tasks that never end."""
    time.sleep(seconds)
    os._exit(code)


def main():
    """Returns the exit code."""
    # Process 1 of a container never hears a signal without a handler, and while the user's module
    # loads there is nothing to finish.
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: os._exit(0))
    log = Log(os.environ.get("ASYA_LOG_LEVEL", "").lower())
    # Python put the script's own directory first, unless told not to.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    sys.path.insert(0, os.getcwd())
    try:
        Runtime(os.environ, log).run()
        return 0
    except StartError as error:
        log("error", str(error))
        return 1


def exit_soon(code):
    """Exits even if the handler left threads that never end; exit hooks get the time they need."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    watchdog = threading.Timer(EXIT_TIMEOUT_SECONDS, os._exit, (code,))
    watchdog.daemon = True
    watchdog.start()
    atexit.register(watchdog.cancel)  # the first hook to run, once the threads are gone
    sys.exit(code)


if __name__ == "__main__":
    exit_soon(main())
