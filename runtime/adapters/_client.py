"""One target over HTTP: one deadline for a whole call, one way to fail, one way to try again.

    ASYA_TARGET_URL               required         http(s)://host[:port][/path]; no redirect is
                                                   followed and no proxy is used
    ASYA_TARGET_TOKEN             none             sent as `Authorization: Bearer <token>`
    ASYA_TARGET_CA_FILE           the system's     PEM file of the authorities that are trusted
    ASYA_TARGET_CA_PEM            none             the same as text, for example from a Secret
    ASYA_RUNTIME_TIMEOUT          5m               Go duration or whole seconds: what the sidecar
                                                   allows for a message; a tenth of it, at most
                                                   10 s, is kept back
    ASYA_TARGET_RETRIES           until the time   how often a request is sent again
                                  is up
    ASYA_TARGET_RETRY_DELAY       1s               pause before the first retry; it doubles
    ASYA_TARGET_RETRY_MAX_DELAY   30s              longest pause that is not the target's wish
    ASYA_TARGET_MAX_ANSWER_BYTES  67108864         longest answer, or event of a streamed one,
                                                   that is read

A request is sent again only if the target has not begun to process it: no connection, 429, 503.
"""

import contextlib
import email.utils
import http.client
import io
import itertools
import json
import random
import socket
import ssl
import threading
import time

from adapters.errors import (
    InvalidAnswer,
    InvalidSetting,
    TargetFailed,
    TargetRefused,
    TargetTimeout,
    TargetUnavailable,
)

DEFAULT_TIMEOUT_SECONDS = 300.0
LONGEST_MARGIN_SECONDS = 10.0
CONNECT_TIMEOUT_SECONDS = 10.0  # for each address of the host
DEFAULT_MAX_ANSWER_BYTES = 64 << 20
MAX_ERROR_BYTES = 64 << 10  # read of an answer that only explains a failure
MAX_EXPLANATION_CHARACTERS = 300
PIECE_BYTES = 64 << 10
PROBE_SECONDS = 5.0  # for a readiness check
STOP_SECONDS = 1.0  # for a signal to end, which a target in the same pod may get first


class Deadline:
    """A moment of the monotonic clock."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def seconds_left(self):
        return self.end - time.monotonic()

    def arm(self, sock):
        """Lets the next operation of the socket take what time is left."""
        left = self.seconds_left()
        if left <= 0:
            raise socket.timeout("timed out")
        sock.settimeout(left)


class DeadlineSocket:
    """What `http.client` needs of a socket. A socket's own timeout counts from byte to byte, so
    that a target that sends one byte a minute would never time out."""

    def __init__(self, sock, deadline):
        self.sock = sock
        self.deadline = deadline

    def sendall(self, data):
        self.deadline.arm(self.sock)
        self.sock.sendall(data)

    def makefile(self, _mode):
        return io.BufferedReader(DeadlineReader(self.sock, self.deadline))

    def close(self):
        self.sock.close()


class DeadlineReader(io.RawIOBase):
    """The reading half; it keeps the connection open while `http.client` has let go of it."""

    def __init__(self, sock, deadline):
        super().__init__()
        self.sock = sock
        self.deadline = deadline
        self.raw = sock.makefile("rb", buffering=0)

    def readable(self):
        return True

    def readinto(self, buffer):
        self.deadline.arm(self.sock)
        return self.raw.readinto(buffer)

    def close(self):
        self.raw.close()
        super().close()


class Target:
    """An HTTP server that speaks JSON."""

    def __init__(self, settings):
        url = settings.url("ASYA_TARGET_URL")
        self.scheme, self.host, self.port = url.scheme, url.hostname, url.port
        self.base_path = url.path.rstrip("/")
        self.shown = f"{url.scheme}://{url.netloc}"
        self.tls = tls_context(settings) if url.scheme == "https" else None
        self.timeout = settings.seconds("ASYA_RUNTIME_TIMEOUT", DEFAULT_TIMEOUT_SECONDS)
        self.budget = self.timeout - min(self.timeout / 10, LONGEST_MARGIN_SECONDS)
        self.retries = settings.count("ASYA_TARGET_RETRIES", None)
        self.first_delay = settings.seconds("ASYA_TARGET_RETRY_DELAY", 1.0)
        self.longest_delay = settings.seconds("ASYA_TARGET_RETRY_MAX_DELAY", 30.0)
        self.max_answer = settings.count("ASYA_TARGET_MAX_ANSWER_BYTES", DEFAULT_MAX_ANSWER_BYTES)
        self.stopping = threading.Event()
        self.headers = {"Accept": "application/json", "User-Agent": "asya-adapter"}
        self.secrets = []
        token = settings.secret("ASYA_TARGET_TOKEN")
        if token:
            self.add_secret_headers({"Authorization": "Bearer " + token})
            self.secrets.append(token)

    def add_secret_headers(self, headers):
        """Headers of every request, whose values no error shows."""
        self.headers.update(headers)
        self.secrets.extend(value for value in headers.values() if value)

    def persist(self, attempt):
        """The result of `attempt(deadline)`, which is repeated while the target cannot be reached.

        Raises what the last attempt raised, a TargetUnavailable with the time it was given. The
        message is given back if the target could not be reached in all this time, or if this
        process is ending.
        """
        deadline = Deadline(self.budget)
        for tries in itertools.count(1):
            try:
                return attempt(deadline)
            except TargetFailed as error:
                self.give_back_if_stopping(error)
                raise
            except TargetUnavailable as error:
                self.give_back_if_stopping(error)
                if not error.may_retry:
                    raise
                delay = max(self.pause(tries), error.retry_after)
                if self.retries is not None and tries > self.retries:
                    limit = f"after {self.retries} retries"
                elif delay >= deadline.seconds_left():
                    limit = f"within {self.budget:g} s"
                else:
                    if self.wait(delay):
                        self.give_back_if_stopping(error)
                        raise
                    continue
                failure = TargetUnavailable(f"not available {limit}: {error}", status=error.status)
                is_absent = error.status in (None, 503)
                failure.asya_give_back = is_absent and limit.startswith("within")
                raise failure from error

    def wait(self, seconds):
        """A pause; whether the process is to end."""
        return self.stopping.wait(seconds)

    def give_back_if_stopping(self, error):
        """While this process ends, and with it in mode Inject the target, a connection that cannot
        be made or breaks off, and an answer that the target fails, are no fault of the message."""
        has_failed = isinstance(error, TargetFailed)
        if not has_failed and error.status is None and not error.may_retry:
            self.wait(STOP_SECONDS)
        if self.stopping.is_set() and (has_failed or error.status in (None, 503)):
            error.asya_give_back = True
            raise error

    def probe(self, path, any_answer):
        """Raises a TargetError unless the target answers: a GET of `path` by success or, with
        `any_answer`, by anything but a server's error; without a path by a connection."""
        deadline = Deadline(PROBE_SECONDS)
        what = f"GET {self.shown}{path or ''}"
        with contextlib.closing(self.connect(deadline, what)) as connection:
            if path is None:
                return
            with self.translated_errors(what, PROBE_SECONDS):
                connection.request("GET", path, headers=self.headers)
                response = connection.getresponse()
                data = self.read(response, MAX_ERROR_BYTES)
        status = response.status
        if not (status < 500 if any_answer else 200 <= status < 300):
            raise self.failure(what, response, data)
        # Most report it by the status alone, some by `{"ready": false}` with status 200.
        with contextlib.suppress(ValueError, AttributeError, RecursionError):
            if json.loads(data.decode("utf-8")).get("ready") is False:
                raise TargetUnavailable(f"{what}: answered that it is not ready", status=503)

    def pause(self, tries):
        """Exponential, and spread so that many actors do not come back at the same moment."""
        longest = min(self.first_delay * 2 ** min(tries - 1, 30), self.longest_delay)
        return longest * random.uniform(0.5, 1)

    def request(self, deadline, method, path, value=None, shown_path=None, headers=None):
        """Sends `value` as JSON, unless it is None, and returns the JSON value of the answer,
        None if it has no body. `shown_path` stands for the path in errors."""
        what = f"{method} {self.shown}{self.base_path}{shown_path or path}"
        with contextlib.closing(self.connect(deadline, what)) as connection:
            with self.translated_errors(what):
                response = self.send(connection, method, path, value, headers)
                succeeded = 200 <= response.status < 300
                data = self.read(response, self.max_answer if succeeded else MAX_ERROR_BYTES)
        if not succeeded:
            raise self.failure(what, response, data)
        return self.parsed_within_limit(what, data)

    def request_events(self, deadline, path, value):
        """Posts `value` as JSON and returns an iterator over the JSON values of the server-sent
        events of the answer; a target that does not stream gives one."""
        what = f"POST {self.shown}{self.base_path}{path}"
        connection = self.connect(deadline, what)
        try:
            with self.translated_errors(what):
                accept = {"Accept": "text/event-stream, application/json"}
                response = self.send(connection, "POST", path, value, accept)
                succeeded = 200 <= response.status < 300
                kind = response.headers.get("Content-Type", "")
                is_stream = succeeded and kind.strip().lower().startswith("text/event-stream")
                limit = self.max_answer if succeeded else MAX_ERROR_BYTES
                data = b"" if is_stream else self.read(response, limit)
            if not succeeded:
                raise self.failure(what, response, data)
            if not is_stream:
                connection.close()
                return iter([self.parsed_within_limit(what, data)])
        except BaseException:
            connection.close()
            raise
        return self.events(what, connection, response)

    def events(self, what, connection, response):
        """The JSON values of server-sent events up to `[DONE]` or the end of the answer."""
        with contextlib.closing(connection):
            for data in event_data(self.pieces(what, response), what, self.max_answer):
                if data.strip() == b"[DONE]":
                    return
                value = parsed(what, data)
                if isinstance(value, dict) and "error" in value and "choices" not in value:
                    text = self.one_line(message_in(value) or "no reason given")
                    raise TargetFailed(f"{what}: failed while it streamed: {text}")
                yield value

    def pieces(self, what, response):
        """The body as it arrives."""
        while True:
            with self.translated_errors(what):
                piece = response.read1(PIECE_BYTES)
                if not piece and response.length:
                    raise http.client.IncompleteRead(b"", response.length)
            if not piece:
                return
            yield piece

    def send(self, connection, method, path, value, headers):
        """Sends a request and returns the response, whose body is not read yet."""
        headers, body = dict(self.headers, **(headers or {})), None
        if value is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
        # A target that refuses a long body may close before it has read it: its answer still
        # contains the reason.
        with contextlib.suppress(ConnectionError):
            connection.request(method, self.base_path + path, body, headers)
        return connection.getresponse()

    @contextlib.contextmanager
    def translated_errors(self, what, seconds=None):
        """Turns errors of a connection into a TargetError."""
        try:
            yield
        except socket.timeout:
            text = f"{what}: no answer within {seconds or self.budget:g} s"
            raise TargetTimeout(text) from None
        except (OSError, http.client.HTTPException) as error:
            text = f"{what}: broke off before the answer was complete: {name_of(error)}"
            raise TargetUnavailable(text) from error

    def parsed_within_limit(self, what, data):
        if len(data) > self.max_answer:
            raise too_long(what, self.max_answer)
        return parsed(what, data)

    def connect(self, deadline, what):
        """A connection, of which nothing has been asked yet: any failure may be tried again."""
        left = deadline.seconds_left()
        if left <= 0:
            raise TargetTimeout(f"{what}: no time left of {self.budget:g} s")
        timeout = min(left, CONNECT_TIMEOUT_SECONDS)
        if self.tls is None:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(
                self.host, self.port, timeout=timeout, context=self.tls
            )
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            trusted = not isinstance(error, ssl.SSLCertVerificationError)
            text = f"{what}: cannot connect: {name_of(error)}"
            raise TargetUnavailable(text, may_retry=trusted) from error
        connection.sock = DeadlineSocket(connection.sock, deadline)
        return connection

    @staticmethod
    def read(response, limit):
        """At most one piece more than `limit` bytes."""
        data = bytearray()
        while len(data) <= limit:
            piece = response.read(PIECE_BYTES)
            if not piece:
                # `http.client` itself notices this only when it reads all at once.
                if response.length:
                    raise http.client.IncompleteRead(b"", response.length)
                break
            data += piece
        return bytes(data)

    def failure(self, what, response, data):
        """The error that stands for an answer without success."""
        status = response.status
        text = f"{what}: answered {status}"
        explanation = self.explanation(response, data)
        if explanation:
            text += f": {explanation}"
        if status in (429, 503):
            return TargetUnavailable(
                text, True, retry_after(response.headers.get("Retry-After")), status
            )
        if status in (502, 504):
            return TargetUnavailable(text, status=status)
        if status >= 500:
            return TargetFailed(text)
        if status < 400:
            text += ": redirects are not followed, set ASYA_TARGET_URL to where it leads"
        return TargetRefused(text, status)

    def explanation(self, response, data):
        """The target's own reason, on one line."""
        if "html" in response.headers.get("Content-Type", ""):
            return ""
        text = data.decode("utf-8", "replace")
        with contextlib.suppress(ValueError, RecursionError):
            text = message_in(json.loads(text))
        return self.one_line(text)

    def one_line(self, text):
        """A text of the target's on one line, without our credentials."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        text = " ".join(text.split())
        if len(text) > MAX_EXPLANATION_CHARACTERS:
            text = text[:MAX_EXPLANATION_CHARACTERS] + "..."
        return text


def event_data(pieces, what, limit):
    """The data of each server-sent event in a stream of bytes."""
    buffer, lines, size = b"", [], 0
    for piece in pieces:
        buffer += piece
        *complete, buffer = buffer.split(b"\n")
        if size + len(buffer) > limit:
            raise too_long(what, limit)
        for line in complete:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                lines.append(line[5:])
                size += len(line)
                if size > limit:
                    raise too_long(what, limit)
            elif not line and lines:
                yield b"\n".join(lines)
                lines, size = [], 0
    if buffer.startswith(b"data:"):
        lines.append(buffer[5:])
    if lines:
        yield b"\n".join(lines)


def too_long(what, limit):
    return InvalidAnswer(
        f"{what}: the answer is longer than {limit} bytes:"
        " ask for less or raise ASYA_TARGET_MAX_ANSWER_BYTES"
    )


def tls_context(settings):
    """Verifies the target's certificate and name, always."""
    file, text = settings.text("ASYA_TARGET_CA_FILE"), settings.text("ASYA_TARGET_CA_PEM")
    try:
        return ssl.create_default_context(cafile=file or None, cadata=text or None)
    except (OSError, ValueError) as error:
        source = f"ASYA_TARGET_CA_FILE {file!r}" if file else "ASYA_TARGET_CA_PEM"
        raise InvalidSetting(f"{source} cannot be used: {name_of(error)}") from error


def message_in(answer):
    """The text in the error bodies of the servers that are known:

    OpenAI and vLLM  {"error": {"message": text}}, older ones {"object": "error", "message": text}
    Triton, KServe   {"error": text}
    FastAPI          {"detail": text} or {"detail": [{"loc": [...], "msg": text, "input": ...}]}

    The `input` of the last is a part of the payload and left out; so is any other form.
    """
    if not isinstance(answer, dict):
        return answer if isinstance(answer, str) else ""
    for value in (answer.get("error"), answer.get("detail"), answer.get("message")):
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, list):
            value = "; ".join(fault(entry) for entry in value if isinstance(entry, dict))
        if isinstance(value, str) and value:
            return value
    return ""


def fault(entry):
    """`body.messages.0.role: field required`."""
    place = entry.get("loc")
    parts = place if isinstance(place, list) else []
    return f"{'.'.join(str(part) for part in parts)}: {entry.get('msg', 'invalid')}"


def retry_after(text):
    """Seconds, from a number or a date; 0 for none and for nonsense."""
    text = (text or "").strip()
    if text.isdigit():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
        return max(0.0, moment.timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return 0.0


def parsed(what, data):
    """The strict JSON value of an answer's body."""

    def refuse(name):
        raise ValueError(f"{name} is not a JSON value")

    if not data.strip():
        return None
    try:
        return json.loads(data.decode("utf-8"), parse_constant=refuse)
    except RecursionError:
        reason = "it is nested too deep"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except ValueError as error:
        reason = str(error)
    raise InvalidAnswer(f"{what}: the answer is not JSON: {reason}")


def name_of(error):
    """`connection refused`: the system's words, or else the type; some texts hold addresses of
    objects or, of http.client, pieces of what was read."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {error.verify_message}"
    if isinstance(error, socket.timeout):
        return "timed out"
    words = getattr(error, "strerror", None)
    return words.lower() if words else type(error).__name__
