"""Starts the real runtime as a process and talks HTTP to it over its real Unix socket."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

RUNTIME_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(RUNTIME_DIR, "asya_runtime.py")
HANDLERS = os.path.join(RUNTIME_DIR, "tests", "handlers")
DEADLINE_SECONDS = 20

ROUTE = {"prev": [], "curr": "first", "next": ["second", "third"]}
NEXT_ROUTE = {"prev": ["first"], "curr": "second", "next": ["third"]}


def wait_until(condition, what):
    """Polls until the condition holds; fails the test when the deadline passes."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain for " + what)
        time.sleep(0.005)


class UnixConnection(http.client.HTTPConnection):
    """`http.client` over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    """Status, headers and parsed body of one response."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body
        self.json = json.loads(body, parse_constant=self.refuse) if body else None

    @staticmethod
    def refuse(name):
        raise AssertionError("the response holds " + name + ", which is not JSON")

    @property
    def payloads(self):
        return [frame["payload"] for frame in self.json["frames"]]


class PendingAnswer:
    """A request that another thread sends and waits for."""

    def __init__(self, send):
        self.outcome = None
        self.thread = threading.Thread(target=self.run, args=(send,), daemon=True)
        self.thread.start()

    def run(self, send):
        try:
            self.outcome = send()
        except (OSError, http.client.HTTPException) as error:
            self.outcome = error

    def result(self):
        """The answer, or the error of a connection that ended without one."""
        self.thread.join(DEADLINE_SECONDS)
        assert self.outcome is not None, "no answer came"
        return self.outcome


class Runtime:
    """One runtime process with a socket directory of its own."""

    def __init__(self, handler, env=None, ready=True, strict=True, script=SCRIPT, socket_dir=""):
        self.dir = tempfile.mkdtemp(prefix="asya-")
        self.socket_dir = os.path.join(self.dir, socket_dir)
        self.socket_path = os.path.join(self.socket_dir, "asya-runtime.sock")
        self.ready_path = os.path.join(self.socket_dir, "runtime-ready")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ASYA_", "PYTHON"))
        }
        # Running the handlers must not leave compiled files beside them.
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self.environment["ASYA_SOCKET_DIR"] = self.socket_dir
        self.environment["TEST_DIR"] = self.dir
        if handler is not None:
            self.environment["ASYA_HANDLER"] = handler
        self.environment.update(env or {})
        # -S: nothing that is installed may be needed. -W error: no version of Python may warn.
        options = ["-S", "-W", "error"] if strict else []
        self.command = [sys.executable] + options + [script]
        self.wanted_ready = ready
        self.process = None

    def start(self):
        """Starts, or starts again in the same directory."""
        self.launch()
        if self.wanted_ready:
            self.wait_until_ready()

    def launch(self):
        with open(self.file("stdout"), "wb") as stdout, open(self.file("stderr"), "wb") as stderr:
            self.process = subprocess.Popen(
                self.command,
                cwd=HANDLERS,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.finish()
        shutil.rmtree(self.dir)

    def wait_until_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError("the runtime ended early: " + self.stderr)
            return os.path.exists(self.ready_path)

        wait_until(ready, "the file runtime-ready")

    def finish(self):
        """Waits for the end and returns the exit code."""
        return self.process.wait(DEADLINE_SECONDS)

    def kill(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        """Signals and returns the exit code."""
        self.kill(number)
        return self.finish()

    @property
    def stderr(self):
        return self.read("stderr")

    @property
    def stdout(self):
        return self.read("stdout")

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return file.read()

    @property
    def log(self):
        """The runtime's own lines; fails if anything else was written to standard error."""
        return [json.loads(line) for line in self.stderr.splitlines()]

    def file(self, name):
        """A path in the directory that handlers know as TEST_DIR."""
        return os.path.join(self.dir, name)

    def write(self, name):
        open(self.file(name), "w").close()

    def wait_for_file(self, name):
        wait_until(lambda: os.path.exists(self.file(name)), "the file " + name)

    def request(self, method, path, body=None, headers=None):
        connection = UnixConnection(self.socket_path)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())

    def send(self, message):
        """Posts any JSON value as the message."""
        headers = {"Content-Type": "application/json"}
        return self.request("POST", "/invoke", json.dumps(message).encode(), headers)

    def invoke(self, payload=None, **fields):
        """Posts a valid envelope with this payload; `fields` replace parts of it."""
        return self.send(dict({"id": "m-1", "route": ROUTE, "payload": payload}, **fields))

    def invoke_later(self, payload=None, **fields):
        return PendingAnswer(lambda: self.invoke(payload, **fields))

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(DEADLINE_SECONDS)
        connection.connect(self.socket_path)
        return connection

    def exchange(self, data, close_writing=False):
        """Sends raw bytes on one connection and returns all that comes back."""
        with self.connect() as connection:
            connection.sendall(data)
            if close_writing:
                connection.shutdown(socket.SHUT_WR)
            received = b""
            while True:
                piece = connection.recv(1 << 16)
                if not piece:
                    return received
                received += piece


def raw_invoke(headers, body):
    """The bytes of a POST /invoke with exactly these header lines."""
    lines = ["POST /invoke HTTP/1.1", "Host: localhost"] + headers
    return "\r\n".join(lines + ["", ""]).encode() + body


def status_of(data):
    """The status of the last response in the bytes, interim ones such as 100 left out."""
    return int(re.findall(rb"^HTTP/1\.1 (\d+)", data, re.MULTILINE)[-1])


class ProcessTestCase(unittest.TestCase):
    """Starts processes that end with the test."""

    def start(self, *arguments, **options):
        """One runtime, ready for requests unless `ready=False`."""
        return self.start_all([Runtime(*arguments, **options)])[0]

    def start_all(self, runtimes):
        """Many side by side, which takes less time than one after the other."""
        runtimes = list(runtimes)
        for runtime in runtimes:
            runtime.launch()
            self.addCleanup(runtime.end)
        for runtime in runtimes:
            if runtime.wanted_ready:
                runtime.wait_until_ready()
        return runtimes


class SharedProcessTestCase(unittest.TestCase):
    """Shares one runtime process, with the class attribute `handler`, among its tests."""

    handler = "payloads.same"
    environment = {}

    @classmethod
    def setUpClass(cls):
        cls.runtime = Runtime(cls.handler, cls.environment)
        try:
            cls.runtime.start()
        except AssertionError:
            cls.runtime.end()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.runtime.end()
