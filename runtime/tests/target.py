"""A small HTTP server that plays the target of an adapter, and the way to load an adapter.

The server answers what it is told, in that order, and keeps what it was asked.
"""

import contextlib
import http.server
import importlib
import json
import os
import sys
import threading
import unittest
import unittest.mock

from harness import DEADLINE_SECONDS, RUNTIME_DIR

if RUNTIME_DIR not in sys.path:
    sys.path.insert(0, RUNTIME_DIR)

# No test waits for a pause between two tries, or for longer than the whole suite may take.
FAST = {
    "ASYA_TARGET_READINESS": "none",
    "ASYA_TARGET_RETRY_DELAY": "1ms",
    "ASYA_RUNTIME_TIMEOUT": f"{DEADLINE_SECONDS}s",
}


class Answer:
    """What the server gives for one request. `body` is JSON, `text` the bytes as they are."""

    def __init__(self, status=200, headers=None, body=None, text=None):
        self.status = status
        self.headers = headers or {}
        self.data = json.dumps(body).encode() if text is None else text.encode()
        if text is None and body is None:
            self.data = b""

    def write(self, handler):
        handler.send_response(self.status)
        headers = dict({"Content-Type": "application/json"}, **self.headers)
        headers["Content-Length"] = str(len(self.data))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.data)


class Custom:
    """An answer that a function writes: `write(handler)`."""

    def __init__(self, write):
        self.write = write


class Request:
    """One request as it came."""

    def __init__(self, handler):
        length = int(handler.headers.get("Content-Length", 0))
        self.method = handler.command
        self.path = handler.path
        self.headers = handler.headers
        self.data = handler.rfile.read(length)

    @property
    def body(self):
        return json.loads(self.data) if self.data else None


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection; `server.target` is the Target."""

    protocol_version = "HTTP/1.1"
    timeout = DEADLINE_SECONDS

    def answer(self):
        target = self.server.target
        target.requests.append(Request(self))
        answer = target.answers.pop(0) if target.answers else Answer(418, body="not told")
        with contextlib.suppress(ConnectionError):
            answer.write(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        pass


class Server(http.server.HTTPServer):
    """One connection after the other: an adapter has one at a time."""

    def handle_error(self, request, client_address):
        """A client that left, or did not trust the certificate, is what some tests want."""


class Target:
    """The server, from `start` to the end of the test."""

    def __init__(self, *answers, listening=True, tls=None):
        self.answers = list(answers)
        self.requests = []
        self.server = Server(("127.0.0.1", 0), Connection, bind_and_activate=False)
        self.server.target = self
        # Bound, so that the port stays ours, and not listening yet: connections are refused.
        self.server.server_bind()
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        self.thread = None
        if listening:
            self.listen()

    def listen(self):
        self.server.server_activate()
        serve = self.server.serve_forever
        self.thread = threading.Thread(target=serve, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self):
        if self.thread is not None:
            self.server.shutdown()
            self.thread.join(DEADLINE_SECONDS)
        self.server.server_close()


def load(adapter, environ):
    """The handler `adapters.<adapter>.forward`, made in this environment as the runtime makes it:
    by importing the module."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASYA_")}
    with unittest.mock.patch.dict(os.environ, dict(kept, **environ), clear=True):
        sys.modules.pop("adapters." + adapter, None)
        return importlib.import_module("adapters." + adapter).forward


class AdapterTestCase(unittest.TestCase):
    """Plays targets that end with the test."""

    def target(self, *answers, **options):
        target = Target(*answers, **options)
        self.addCleanup(target.close)
        return target

    def adapter(self, name, target, **environ):
        """An adapter that knows the target and hurries."""
        return load(name, dict(FAST, ASYA_TARGET_URL=target.url, **environ))

    def failure(self, forward, payload):
        """What a call raises."""
        from adapters.errors import TargetError

        with self.assertRaises(TargetError) as caught:
            forward(payload)
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception
