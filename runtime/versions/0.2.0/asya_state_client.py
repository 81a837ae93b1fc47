"""A client of a state proxy's connector, which listens on a Unix socket and stores
values by key:

    GET|PUT|HEAD|DELETE /keys/<key>      a value; PUT takes If-None-Match and If-Match
    GET /keys/?prefix=<p>/&delimiter=/   {"keys": [...], "prefixes": [...]}
    GET|PUT /meta/<key>[?attr=<name>]    {"attrs": [...]}, {"value": text}
    GET /healthz                         200 when it can serve; with the header X-Asya-Lease the
                                         connector outlives all connections to it

Python 3.8 and later, standard library only.
"""

import email.utils
import errno
import http.client
import json
import os
import socket
import threading
import time
import urllib.parse
import weakref

PIECE_BYTES = 1 << 18
RETRY_SECONDS = 0.1  # between two attempts to reach the connector
LEASE_HEADER = "X-Asya-Lease"  # of a connector that serves for as long as somebody is connected
LEASE_RETRY_SECONDS = 1  # between two attempts to stay connected
MAX_ERROR_BYTES = 64 << 10


class UnixConnection(http.client.HTTPConnection):
    """One request to the connector."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.socket_path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self.socket_path)
        except OSError:
            self.sock.close()
            raise


class KeyLocks:
    """A lock for each key that is in use in this process."""

    def __init__(self):
        self.process = os.getpid()
        self.lock = threading.RLock()
        self.locks = weakref.WeakValueDictionary()

    def get(self, key):
        """Reentrant, as `self.lock` is: the garbage collector may close a file at any moment."""
        if self.process != os.getpid():
            self.__init__()  # a forked child: the parent's threads may have held these locks
        with self.lock:
            return self.locks.setdefault(key, threading.RLock())


class Store:
    """The values behind one connector. Errors name the path that the handler used."""

    def __init__(self, socket_path, timeout):
        self.socket_path = socket_path
        self.timeout = timeout
        self.is_reached = False
        self.append_locks = KeyLocks()

    def request(self, method, target, path, headers=None, body=(), length=None):
        """The response to one request; the caller closes it. Without `length` a body is sent in
        chunks."""
        connection = self.open_request(method, target, path, headers, bool(body), length)
        try:
            for piece in body:
                connection.send_piece(piece)
        except BaseException:
            connection.close()
            raise
        return connection.finish()

    def open_request(self, method, target, path, headers, has_body, length):
        """The same with a body that is sent later, by `send_piece`."""
        while True:
            self.wait_until_reached(path)
            try:
                return Request(self, method, target, path, headers or {}, has_body, length)
            except ConnectionError:
                if self.is_reached:
                    raise
                # The connector restarts: nothing was sent yet.

    def wait_until_reached(self, path):
        """Waits for the connector's health check: its container may start later than ours. A
        missing socket must not look like a missing file."""
        latest = time.monotonic() + self.timeout
        reason = "it does not answer"
        while not self.is_reached:
            connection = UnixConnection(self.socket_path, self.timeout)
            try:
                connection.request("GET", "/healthz")
                status = connection.getresponse().status
                self.is_reached = status == 200
                reason = f"its health check answers {status}"
            except socket.timeout:
                reason = "it does not answer in time"
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "strerror", None) or type(error).__name__
            finally:
                connection.close()
            if not self.is_reached:
                if time.monotonic() > latest:
                    text = f"state proxy connector {self.socket_path!r}: {reason.lower()}"
                    raise ConnectionError(errno.ECONNREFUSED, text, path)
                time.sleep(RETRY_SECONDS)

    def stay_connected(self):
        """Holds a connection while both processes run, if the connector offers a lease. Pods end
        all containers at the same time: without it the connector would end before the last call
        has stored its files."""
        while True:
            connection = UnixConnection(self.socket_path, None)
            try:
                connection.request("GET", "/healthz")
                response = connection.getresponse()
                response.read()
                if response.status == 200 and response.headers.get(LEASE_HEADER) is None:
                    return
                if response.status == 200 and connection.sock is not None:
                    connection.sock.recv(1)  # until the connector ends
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(LEASE_RETRY_SECONDS)

    def head(self, key, path):
        """`(size, is_file, mtime)` of a value; raises FileNotFoundError."""
        with self.request("HEAD", key_target(key), path) as response:
            headers = response.headers
        size = headers.get("Content-Length", "").strip()
        is_file = headers.get("X-Is-File", "true").strip().lower() != "false"
        return int(size) if size.isdigit() else 0, is_file, moment(headers.get("Last-Modified"))

    def put(self, key, path, spool, conditions=None):
        size = spool.seek(0, os.SEEK_END)
        spool.seek(0)
        headers = dict(conditions or {}, **{"Content-Type": "application/octet-stream"})
        target = key_target(key)
        self.request("PUT", target, path, headers, pieces(spool), size).close()

    def delete(self, key, path):
        self.request("DELETE", key_target(key), path).close()

    def list(self, prefix, path):
        """Names of the files and of the directories right below a prefix, which is empty or ends
        with `/`."""
        query = "prefix=" + urllib.parse.quote(os.fsencode(prefix), safe="/") + "&delimiter=/"
        with self.request("GET", "/keys/?" + query, path) as response:
            listing = response.json(path)
        names = []
        for field in ("keys", "prefixes"):
            listed = listing.get(field) or []
            below = (name[len(prefix) :] if name.startswith(prefix) else name for name in listed)
            names.append(sorted({name.rstrip("/") for name in below} - {""}))
        return names

    def get_meta(self, key, path, attribute=None):
        with self.request("GET", meta_target(key, attribute), path) as response:
            answer = response.json(path)
        return answer["attrs" if attribute is None else "value"]

    def set_meta(self, key, path, attribute, value):
        body = json.dumps({"value": value}).encode()
        headers = {"Content-Type": "application/json"}
        target = meta_target(key, attribute)
        self.request("PUT", target, path, headers, [body], len(body)).close()


class Request:
    """A request whose body may be sent piece by piece."""

    def __init__(self, store, method, target, path, headers, has_body, length):
        self.store = store
        self.path = path
        self.connection = UnixConnection(store.socket_path, store.timeout)
        self.chunked = has_body and length is None
        self.refused = False
        self.is_meta = target.startswith("/meta/")
        try:
            self.connection.putrequest(method, target)
            for name, value in headers.items():
                self.connection.putheader(name, value)
            if self.chunked:
                self.connection.putheader("Transfer-Encoding", "chunked")
            elif has_body or method == "PUT":
                self.connection.putheader("Content-Length", str(length or 0))
            self.connection.endheaders()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            store.is_reached = False
            self.fail(error)
        except OSError as error:
            self.fail(error)

    def send_piece(self, data):
        if self.refused or not data:
            return
        try:
            if self.chunked:
                self.connection.send(b"%x\r\n%b\r\n" % (len(data), bytes(data)))
            else:
                self.connection.send(data)
        except (BrokenPipeError, ConnectionResetError):
            self.refused = True  # the answer says why
        except OSError as error:
            self.fail(error)

    def finish(self):
        """The response; raises what its status means."""
        try:
            if self.chunked and not self.refused:
                self.connection.send(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        except OSError as error:
            self.fail(error)
        try:
            response = self.connection.getresponse()
            if response.status >= 300:
                body = response.read(MAX_ERROR_BYTES)
        except (OSError, http.client.HTTPException) as error:
            self.fail(error)
        if response.status < 300:
            return Response(response, self.connection)
        self.close()
        raise error_of(response.status, body, self.path, self.is_meta)

    def fail(self, error):
        self.close()
        if isinstance(error, socket.timeout):
            seconds = f"{self.store.timeout:g} s"
            text = f"state proxy connector did not answer within {seconds}"
            raise TimeoutError(errno.ETIMEDOUT, text, self.path) from None
        reason = getattr(error, "strerror", None) or type(error).__name__
        text = f"state proxy connector broke off: {reason.lower()}"
        raise ConnectionError(errno.ECONNRESET, text, self.path) from error

    def close(self):
        """Before `finish`: the connector gets no whole body and stores nothing."""
        self.connection.close()


class Response:
    """A successful response; its connection ends with it."""

    def __init__(self, response, connection):
        self.response, self.connection = response, connection
        self.headers = response.headers

    def pieces(self, path, size=PIECE_BYTES):
        """The body; an error of the connection is not its end."""
        while True:
            try:
                data = self.response.read(size)
                if not data and self.response.length:
                    raise http.client.IncompleteRead(b"", self.response.length)
            except socket.timeout:
                text = "state proxy connector stopped sending"
                raise TimeoutError(errno.ETIMEDOUT, text, path) from None
            except (OSError, http.client.HTTPException) as error:
                text = "state proxy connector broke off inside the file"
                raise ConnectionError(errno.ECONNRESET, text, path) from error
            if not data:
                return
            yield data

    def json(self, path):
        try:
            return json.loads(b"".join(self.pieces(path)).decode())
        except ValueError:
            text = "state proxy connector answered what is not JSON"
            raise OSError(errno.EIO, text, path) from None

    def close(self):
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def key_target(key):
    return "/keys/" + urllib.parse.quote(os.fsencode(key), safe="/")


def meta_target(key, attribute):
    target = "/meta/" + urllib.parse.quote(os.fsencode(key), safe="/")
    return target + ("?attr=" + urllib.parse.quote(attribute, safe="") if attribute else "")


def moment(text):
    """Seconds since 1970 of a date as HTTP writes it; 0 for none."""
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return 0


def pieces(spool):
    while True:
        piece = spool.read(PIECE_BYTES)
        if not piece:
            return
        yield piece


def error_of(status, body, path, is_meta):
    """The exception that a status stands for."""
    text = ""
    try:
        answer = json.loads(body.decode())
        text = str(answer.get("message") or answer.get("error") or "")
    except (ValueError, AttributeError):
        pass
    if status == 400 and not is_meta:
        return ValueError(f"{path!r}: {text or 'the connector refuses this key'}")
    kinds = {
        400: (OSError, errno.ENODATA),
        403: (PermissionError, errno.EACCES),
        404: (FileNotFoundError, errno.ENOENT),
        409: (FileExistsError, errno.EEXIST),
        412: (FileExistsError, errno.EEXIST),
        413: (OSError, errno.EFBIG),
        503: (ConnectionError, errno.ECONNREFUSED),
        504: (TimeoutError, errno.ETIMEDOUT),
    }
    kind, number = kinds.get(status, (OSError, errno.EIO))
    if status not in kinds:
        text = f"the connector answers {status}" + (f": {text}" if text else "")
    return kind(number, text or os.strerror(number), path)
