"""A connector of a state proxy in the test's process: values in memory, behind a Unix socket."""

import hashlib
import http.server
import json
import os
import socketserver
import threading
import urllib.parse


class Connector(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Starts serving at once; `values` are bytes by key."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path, **options):
        self.values = {}
        self.attributes = {}
        self.requests = []  # "PUT /keys/a", as they came
        self.lock = threading.Lock()
        self.has_etags = options.get("etags", True)
        self.has_length = options.get("length", True)
        self.unhealthy = options.get("unhealthy", 0)  # health checks to fail first
        self.refuse = None  # (status, body) for every request but health checks
        self.before_put = None  # called before a value is stored
        self.is_closed = False
        self.stall = threading.Event()
        self.stall.set()
        super().__init__(path, Request)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        """May be called again."""
        if self.is_closed:
            return
        self.is_closed = True
        self.stall.set()
        self.shutdown()
        self.thread.join()
        self.server_close()
        os.remove(self.server_address)

    def handle_error(self, request, client_address):
        """A client that broke off is what some tests want."""


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *_):
        pass

    def parse(self):
        url = urllib.parse.urlsplit(self.path)
        folder, _, key = url.path[1:].partition("/")
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        return folder, urllib.parse.unquote(key), query

    def body(self):
        """The whole body; None if the client broke off."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            data = self.rfile.read(int(self.headers["Content-Length"]))
            return data if len(data) == int(self.headers["Content-Length"]) else None
        data = bytearray()
        while True:
            size = self.rfile.readline()
            if not size.strip():
                return None
            size = int(size, 16)
            piece = self.rfile.read(size)
            if len(piece) < size or not self.rfile.readline():
                return None
            if size == 0:
                return bytes(data)
            data += piece

    def answer(self, status, data=b"", headers=None, length=True):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if length and status != 204:
            self.send_header("Content-Length", str(len(data)))
        elif not length:
            self.send_header("Transfer-Encoding", "chunked")
            data = (b"%x\r\n%b\r\n" % (len(data), data) if data else b"") + b"0\r\n\r\n"
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def fail(self, status, error, message):
        self.close_connection = True
        self.answer(status, json.dumps({"error": error, "message": message}).encode())

    def handle_one(self):
        server = self.server
        folder, key, query = self.parse()
        if folder == "healthz":
            server.unhealthy -= 1
            self.answer(503 if server.unhealthy >= 0 else 200)
            return
        with server.lock:
            server.requests.append(f"{self.command} {self.path}")
        server.stall.wait(20)
        if server.refuse is not None:
            self.fail(*server.refuse)
            return
        getattr(self, f"{self.command.lower()}_{folder}")(server, key, query)

    do_GET = do_PUT = do_HEAD = do_DELETE = handle_one

    def etag(self, value):
        has = self.server.has_etags
        return {"ETag": f'"{hashlib.sha256(value).hexdigest()[:16]}"'} if has else {}

    def get_keys(self, server, key, query):
        if not key:
            prefix = query.get("prefix", "")
            below = [name[len(prefix) :] for name in server.values if name.startswith(prefix)]
            keys = sorted(prefix + name for name in below if "/" not in name)
            parts = {prefix + name.split("/")[0] + "/" for name in below if "/" in name}
            self.answer(200, json.dumps({"keys": keys, "prefixes": sorted(parts)}).encode())
        elif key in server.values:
            value = server.values[key]
            self.answer(200, value, self.etag(value), server.has_length)
        else:
            self.fail(404, "not_found", f"no key {key}")

    def head_keys(self, server, key, query):
        if key in server.values:
            value = server.values[key]
            date = {"Last-Modified": "Tue, 02 Jan 2024 03:04:05 GMT", "X-Is-File": "true"}
            self.answer(200, value, dict(date, **self.etag(value)))
        elif any(name.startswith(key + "/") for name in server.values):
            self.answer(200, headers={"X-Is-File": "false"})
        else:
            self.answer(404)

    def put_keys(self, server, key, query):
        value = self.body()
        if value is None:
            self.close_connection = True
            return
        if server.before_put is not None:
            server.before_put()
        with server.lock:
            present = server.values.get(key)
            if self.headers["If-None-Match"] == "*" and present is not None:
                self.fail(409, "exists", "the key exists")
                return
            wanted = self.headers["If-Match"]
            if wanted and (present is None or wanted != self.etag(present)["ETag"]):
                self.fail(412, "changed", "the value has changed")
                return
            server.values[key] = value
        self.answer(204)

    def delete_keys(self, server, key, query):
        if server.values.pop(key, None) is None:
            self.fail(404, "not_found", f"no key {key}")
        else:
            self.answer(204)

    def get_meta(self, server, key, query):
        attributes = dict(server.attributes, size=str(len(server.values.get(key, b""))))
        if "attr" not in query:
            self.answer(200, json.dumps({"attrs": sorted(attributes)}).encode())
        elif query["attr"] in attributes:
            self.answer(200, json.dumps({"value": attributes[query["attr"]]}).encode())
        else:
            self.fail(400, "unknown_attribute", "no such attribute")

    def put_meta(self, server, key, query):
        value = json.loads(self.body().decode())["value"]
        if query["attr"] == "size":
            self.fail(403, "read_only", "the attribute is read-only")
            return
        server.attributes[query["attr"]] = value
        self.answer(204)
