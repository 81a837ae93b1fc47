#!/usr/bin/env python3
"""Asya runtime: serves one Python handler to the sidecar over a Unix socket.

    POST /invoke    {"id", "route": {"prev", "curr", "next"}, "headers", "payload"}
      200           {"frames": [{"payload", "route", "headers"}, ...]}
      204           the handler returned None, or its generator yielded nothing
      400           {"error": "msg_parsing_error", "details": {"message", "type"}}
      500           {"error": "processing_error",
                     "details": {"message", "type", "mro", "traceback"}}
    GET /healthz    200 {"status": "ready"}
    anything else   404 {"error": "not_found"}

A connection carries one message and is read in a thread of its own, so that a silent client holds
up nobody. The handler runs in the main thread, one message at a time, because signal handlers,
event loops and many native libraries work only there.

Python 3.7 and later, standard library only.
"""

import asyncio
import atexit
import collections.abc
import contextlib
import datetime
import functools
import http.server
import importlib
import inspect
import json
import os
import re
import select
import signal
import socket
import sys
import threading
import time
import traceback

VERSION = "0.1.0"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
LISTEN_BACKLOG = 128
CONNECTION_TIMEOUT_SECONDS = 60  # for one read, and for the writing of an answer
ACCEPT_RETRY_SECONDS = 1  # when no file descriptor or thread is left for a connection
EXIT_TIMEOUT_SECONDS = 2  # for tasks and threads that the handler left behind
PIECE_BYTES = 1 << 20  # read at once: a false content-length must not allocate memory
CHUNK_LINE_BYTES = 4096


class StartError(Exception):
    """The runtime cannot start; the text is the one line that the user sees."""


class Log:
    """One JSON object per line on standard error, whatever the handler made of `sys.stderr`."""

    LEVELS = ("debug", "info", "warning", "error")

    def __init__(self, level):
        self.lowest = self.LEVELS.index(level if level in self.LEVELS else "info")

    def __call__(self, level, message, **fields):
        if self.LEVELS.index(level) >= self.lowest:
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            line = json.dumps(dict(time=now, level=level, message=message, **fields))
            with contextlib.suppress(OSError):
                os.write(2, line.encode() + b"\n")


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
    """The details of a failed call; `mro` starts with the type itself and leaves out `object`."""
    mro = [qualified_name(kind) for kind in type(error).__mro__ if kind is not object]
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return dict(message=text_of(error), type=mro[0], mro=mro, traceback="".join(lines))


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


def shifted_route(route):
    """The route one step on. Unknown keys are kept; what is no route counts as an empty one."""
    route = route if isinstance(route, dict) else {}
    done, left = (route[k] if isinstance(route.get(k), list) else [] for k in ("prev", "next"))
    curr = route.get("curr")
    return dict(
        route, prev=done + [curr] if curr else done, curr=left[0] if left else "", next=left[1:]
    )


def to_json(value):
    """Strict JSON, in ASCII so that a lone surrogate survives the encoding."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def payload_json(value):
    """One payload, written as soon as it is there: a generator may change it and yield it again."""
    try:
        return to_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        kind = qualified_name(type(value))
        raise TypeError(f"a result of type {kind!r} is not JSON serialisable: {error}") from error


async def collect(generator):
    """The payloads of an async generator."""
    try:
        return [payload_json(value) async for value in generator]
    finally:
        await generator.aclose()


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection in its own thread; `server` is the Runtime, which answers valid messages."""

    protocol_version = "HTTP/1.1"
    timeout = CONNECTION_TIMEOUT_SECONDS
    handle = http.server.BaseHTTPRequestHandler.handle_one_request  # and no more of them

    def do_GET(self):
        if self.path == "/healthz":
            self.respond(200, b'{"status":"ready"}')
        else:
            self.send_error(404)

    def do_POST(self):
        if self.path != "/invoke":
            self.send_error(404)
            return
        try:
            self.message = parse_message(self.read_body(), self.server.validate)
        except (ValueError, TypeError, RecursionError) as error:
            self.respond_invalid(400, f"cannot read the message: {error}", type(error))
            return
        self.finished = threading.Event()
        if self.server.submit(self):
            self.finished.wait()

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

    def respond(self, status, body):
        self.send_response_only(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def respond_invalid(self, status, text, kind):
        details = {"message": text, "type": qualified_name(kind)}
        self.respond(status, to_json({"error": "msg_parsing_error", "details": details}).encode())

    def send_error(self, code, message=None, explain=None):
        """The base class comes here with what is not HTTP and, as 501, with unknown methods."""
        self.request_version = self.protocol_version  # or the status line would be left out
        if code in (404, 501):
            self.respond(404, b'{"error":"not_found"}')
        else:
            self.respond_invalid(int(code), message or "the request is not HTTP", ValueError)

    def log_message(self, template, *values):
        self.server.log("debug", template % values)


class Runtime:
    """Owns the event loop, the handler and the socket, from start to end."""

    def __init__(self, environ, log):
        self.environ = environ
        self.log = log
        switch = environ.get("ASYA_ENABLE_VALIDATION", "").strip().lower()
        self.validate = switch not in ("false", "0", "no")
        directory = os.path.abspath(environ.get("ASYA_SOCKET_DIR") or "/var/run/asya")
        self.socket_path = os.path.join(directory, "asya-runtime.sock")
        self.ready_path = os.path.join(directory, "runtime-ready")
        self.stop_signal = None
        # Before the handler is loaded, because until Python 3.10 asyncio's locks and queues are
        # bound to the loop of the moment they are made.
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.inbox = asyncio.Queue()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.alarm, self.alarm_bell = socket.socketpair()

    def run(self):
        """Serves until a stop signal."""
        try:
            self.start()
            while self.serve_one():
                continue
        finally:
            self.close()
        self.log("info", "stopped", signal=self.stop_signal)

    def start(self):
        name = self.environ.get("ASYA_HANDLER", "").strip()
        mode = self.environ.get("ASYA_SOCKET_CHMOD", "0o666").strip()
        if mode and not re.fullmatch(r"(0o)?[0-7]{1,5}", mode):
            raise StartError(f"ASYA_SOCKET_CHMOD is {mode!r}: expected an octal mode such as '0o660'")
        try:
            # The directory outlives the container: what a killed process left would look ready.
            self.remove_files()
            self.handler = load_handler(name)
            # Not earlier: the handler's module may have installed signal handlers of its own.
            for number in STOP_SIGNALS:
                signal.signal(number, self.stop)
            self.wake_on_signals()
            keep_signals_from_children()
            os.makedirs(os.path.dirname(self.socket_path), exist_ok=True)
            self.listener.bind(self.socket_path)
            if mode:
                os.chmod(self.socket_path, int(mode, 8))
            self.listener.listen(LISTEN_BACKLOG)
            threading.Thread(target=self.accept_connections, daemon=True).start()
            open(self.ready_path, "w").close()
        except OSError as error:
            raise StartError(f"cannot listen on {self.socket_path!r}: {error}") from error
        self.log("info", "listening", socket=self.socket_path, handler=name, version=VERSION)

    def wake_on_signals(self):
        """Lets every signal end the loop's wait. By itself one that comes just before the wait, or
        to another thread, does not, and its handler in Python runs only after the next message."""
        self.alarm.setblocking(False)
        self.alarm_bell.setblocking(False)
        self.loop.add_reader(self.alarm, self.alarm.recv, PIECE_BYTES)
        signal.set_wakeup_fd(self.alarm_bell.fileno(), warn_on_full_buffer=False)

    def stop(self, number, _frame):
        """The signal handler: a running call goes on, no other one starts."""
        if self.stop_signal is None:
            self.stop_signal = signal.Signals(number).name
            self.loop.call_soon_threadsafe(self.inbox.put_nowait, None)

    def close(self):
        with contextlib.suppress(OSError):
            self.remove_files()
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self.listener.close()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.run_on_loop(asyncio.wait(tasks, timeout=EXIT_TIMEOUT_SECONDS))
        self.run_on_loop(self.loop.shutdown_asyncgens())
        signal.set_wakeup_fd(-1)
        self.loop.close()
        self.alarm.close()
        self.alarm_bell.close()

    def remove_files(self):
        for path in (self.ready_path, self.socket_path):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

    def submit(self, connection):
        """Queues a connection whose message is read, unless the process is about to end."""
        if self.stop_signal is None:
            self.loop.call_soon_threadsafe(self.inbox.put_nowait, connection)
        return self.stop_signal is None

    def serve_one(self):
        """From inbox to sent answer. A function, so that no payload stays alive while it waits."""
        connection = self.run_on_loop(self.inbox.get())
        if self.stop_signal is not None:
            return False
        try:
            if not connection.client_is_gone():
                connection.respond(*self.answer(connection.message))
        except OSError as error:
            self.log("warning", f"answer not sent: {error}", id=connection.message.get("id"))
        finally:
            connection.finished.set()
        return True

    def answer(self, message):
        try:
            payloads = self.call_handler(message.get("payload"))
            route = to_json(shifted_route(message.get("route")))
            rest = f'"route":{route},"headers":{to_json(message.get("headers") or {})}'
            frames = ",".join(f'{{"payload":{payload},{rest}}}' for payload in payloads)
            self.log("debug", "answered", id=message.get("id"), frames=len(payloads))
            return (200, f'{{"frames":[{frames}]}}'.encode()) if payloads else (204, b"")
        except BaseException as error:  # SystemExit and KeyboardInterrupt end the call, not us.
            details = describe(error)
            self.log("error", "handler failed", id=message.get("id"), type=details["type"])
            return 500, to_json({"error": "processing_error", "details": details}).encode()

    def call_handler(self, payload):
        """The payloads of the frames, as JSON. The result tells the handler's kind, which also
        works for partials, decorated functions and objects with `__call__`."""
        result = self.handler(payload)
        if inspect.isawaitable(result):
            result = self.run_on_loop(result)
        if isinstance(result, collections.abc.AsyncGenerator):
            return self.run_on_loop(collect(result))
        if isinstance(result, collections.abc.Generator):
            with contextlib.closing(result):
                return [payload_json(value) for value in result]
        return [] if result is None else [payload_json(result)]

    def run_on_loop(self, awaitable):
        """The loop also turns while the inbox is empty, so background tasks go on between calls."""
        task = asyncio.ensure_future(awaitable, loop=self.loop)
        try:
            return self.loop.run_until_complete(task)
        finally:
            task.cancel()  # matters only if another task ended the loop by SystemExit

    def accept_connections(self):
        while True:
            try:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.converse, args=(connection,), daemon=True).start()
            except (OSError, RuntimeError) as error:
                if self.stop_signal is not None:
                    return
                self.log("error", f"cannot accept a connection: {error}")
                time.sleep(ACCEPT_RETRY_SECONDS)

    def converse(self, connection):
        with connection, contextlib.suppress(OSError):
            Connection(connection, "", self)
            connection.shutdown(socket.SHUT_WR)
            # To close before a refused request is read to its end would take the answer with it.
            while connection.recv(PIECE_BYTES):
                continue


def keep_signals_from_children():
    """A forked child is not the server: `multiprocessing`, for one, ends its own by SIGTERM. Held
    back during the fork, because a signal that the child gets too early would be lost."""

    def restore():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(-1)
        release()

    hold = functools.partial(signal.pthread_sigmask, signal.SIG_BLOCK, STOP_SIGNALS)
    release = functools.partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, STOP_SIGNALS)
    os.register_at_fork(before=hold, after_in_parent=release, after_in_child=restore)


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
