"""File objects for the values of a state proxy, as the built-in `open` gives them.

What is read or written is kept in memory and, beyond 4 MiB, in a temporary file. It is stored when
the file is closed, in one request; with write mode `passthrough` it is sent at once. A file whose
`with` block fails stores nothing.

Python 3.8 and later, standard library only.
"""

import errno
import io
import opcode
import os
import random
import sys
import tempfile
import time

from asya_state_client import key_target, pieces

SPOOL_BYTES = 4 << 20  # of a file's content kept in memory
# Upper limits of the random pause before an append tries again: the first, and any.
MIN_PAUSE_SECONDS = 0.01
MAX_PAUSE_SECONDS = 0.5
PAUSES = random.SystemRandom()  # leaves the handler's own random numbers as they are
# The instruction that calls `__exit__` when a `with` block has raised: Python 3.8, and later ones.
EXIT_NAMES = ("WITH_CLEANUP_START", "WITH_EXCEPT_START")
EXIT_CODES = tuple(opcode.opmap[name] for name in EXIT_NAMES if name in opcode.opmap)


def handled_error():
    """Identifies the exception that is being handled; None without one. Not the exception itself:
    its traceback would keep the file from being closed."""
    error = sys.exc_info()[1]
    return None if error is None else id(error)


def is_block_failing(known_error):
    """Whether this is called, through any wrapper such as `gzip.open` or `zipfile.ZipFile`, at the
    end of a `with` block that has raised an exception other than the known one. An explicit
    `close()` in an `except` or `finally` clause is no such end."""
    if handled_error() in (None, known_error):
        return False
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] in EXIT_CODES:
            return True
        frame = frame.f_back
    return False


class Spool(io.RawIOBase):
    """The content of an open file, in memory and beyond SPOOL_BYTES on disk. What was written is
    stored when the file is closed, unless it was aborted."""

    def __init__(self, store, key, path, mode, response=None):
        super().__init__()
        self.store, self.key, self.name, self.mode = store, key, path, mode
        self.may_read = "r" in mode or "+" in mode
        self.may_write = mode.strip("bt") != "r"
        self.appends = "a" in mode
        self.etag = None
        self.exists = False
        self.is_changed = "w" in mode or "x" in mode
        self.is_aborted = False
        self.known_error = handled_error()
        self.content = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)
        if response is not None:
            self.fill(response)
        elif "r" in mode or self.appends and self.may_read:
            self.load()
        if self.appends:
            self.seek(0, os.SEEK_END)

    def load(self):
        try:
            response = self.store.request("GET", key_target(self.key), self.name)
        except FileNotFoundError:
            if not self.appends:
                raise
            self.is_changed = True
            return
        self.exists = True
        self.fill(response)

    def fill(self, response):
        self.etag = response.headers.get("ETag")
        with response:
            for piece in response.pieces(self.name):
                self.content.write(piece)
        self.content.seek(0)

    def readable(self):
        return self.may_read

    def writable(self):
        return self.may_write

    def seekable(self):
        return True

    def readinto(self, buffer):
        data = self.content.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data):
        if self.appends:
            self.content.seek(0, os.SEEK_END)
        self.is_changed = True
        data = bytes(data)
        self.content.write(data)
        return len(data)

    def seek(self, offset, whence=os.SEEK_SET):
        self.content.seek(offset, whence)
        return self.content.tell()

    def tell(self):
        return self.content.tell()

    def truncate(self, size=None):
        self.is_changed = True
        position = self.tell()
        size = position if size is None else size
        self.content.truncate(size)
        missing = size - self.content.seek(0, os.SEEK_END) if size else 0
        if missing > 0:
            self.content.write(bytes(missing))
        self.content.seek(position)
        return size

    def abort(self):
        """Nothing is stored when the file is closed."""
        self.is_aborted = True

    def close(self):
        if self.closed:
            return
        try:
            if self.may_write and self.is_changed and not self.is_aborted:
                if not is_block_failing(self.known_error):
                    self.commit()
        finally:
            super().close()
            self.content.close()

    def commit(self):
        conditions = {}
        if "x" in self.mode or (self.appends and not self.exists):
            conditions["If-None-Match"] = "*"
        elif self.etag:
            conditions["If-Match"] = self.etag
        self.store.put(self.key, self.name, self.content, conditions)


class Append(Spool):
    """A file that is only appended to: holds what is new, reads the rest when it is closed, and
    tries again if somebody else has changed the file in between."""

    def __init__(self, store, key, path, mode):
        super().__init__(store, key, path, mode)
        try:
            self.start, is_file = store.head(key, path)[:2]
            self.exists = True
            if not is_file:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        except FileNotFoundError:
            self.start = 0
            self.is_changed = True

    def tell(self):
        return self.start + super().tell()

    def seek(self, offset, whence=os.SEEK_SET):
        """All writes go to the end, wherever the position is."""
        self.content.seek(0, os.SEEK_END)
        return getattr(self, "start", 0) + self.content.tell()

    def truncate(self, size=None):
        raise io.UnsupportedOperation("truncate: open the file with 'r+' instead of 'a'")

    def commit(self):
        """Tries until the store's timeout. The lock keeps threads of this process from disturbing
        each other; a thread that does not get it in time tries once without it."""
        latest = time.monotonic() + self.store.timeout
        lock = self.store.append_locks.get(self.key)
        is_locked = lock.acquire(timeout=self.store.timeout)
        try:
            pause = MIN_PAUSE_SECONDS
            while not self.try_commit(may_fail=time.monotonic() >= latest):
                left = max(latest - time.monotonic(), 0)
                time.sleep(min(PAUSES.uniform(0, pause), left))
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
        finally:
            if is_locked:
                lock.release()

    def try_commit(self, may_fail):
        """Whether it is stored; raises the FileExistsError of a change in between if it may."""
        whole = Spool(self.store, self.key, self.name, "ab+")
        try:
            self.content.seek(0)
            for piece in pieces(self.content):
                whole.write(piece)
        except BaseException:
            whole.abort()
            raise
        try:
            if whole.is_changed:
                whole.commit()
        except FileExistsError:
            if may_fail:
                raise
            return False
        finally:
            whole.abort()
            whole.close()
        return True


class StreamReader(io.RawIOBase):
    """A value of unknown length, as it arrives."""

    def __init__(self, response, path):
        super().__init__()
        self.response, self.name, self.mode = response, path, "rb"

    def readable(self):
        return True

    def readinto(self, buffer):
        for data in self.response.pieces(self.name, len(buffer)):
            buffer[: len(data)] = data
            return len(data)
        return 0

    def close(self):
        if not self.closed:
            super().close()
            self.response.close()


class StreamWriter(io.RawIOBase):
    """Sends what is written at once; the result is known when the file is closed."""

    def __init__(self, store, key, path):
        super().__init__()
        self.name, self.mode = path, "wb"
        self.is_aborted = False
        self.known_error = handled_error()
        headers = {"Content-Type": "application/octet-stream"}
        self.request = store.open_request("PUT", key_target(key), path, headers, True, None)

    def writable(self):
        return True

    def write(self, data):
        if not self.is_aborted:
            self.request.send_piece(bytes(data))
        return len(data)

    def abort(self):
        self.is_aborted = True

    def close(self):
        if self.closed:
            return
        super().close()
        if self.is_aborted or is_block_failing(self.known_error):
            self.request.close()
        else:
            self.request.finish().close()


class AbortOnError:
    """A file that is not stored if the `with` block around it fails."""

    def __exit__(self, kind, error, trace):
        raw = getattr(self, "buffer", self).raw
        if kind is None:
            raw.known_error = handled_error()
        elif hasattr(raw, "abort"):
            raw.abort()
        self.close()


class Reader(io.BufferedReader):
    """A binary file that is read."""


class Writer(AbortOnError, io.BufferedWriter):
    """A binary file that is written."""


class ReadWriter(AbortOnError, io.BufferedRandom):
    """A binary file that is read and written."""


class TextFile(AbortOnError, io.TextIOWrapper):
    """A text file."""


def open_file(store, key, path, streams, mode, encoding=None, errors=None, newline=None):
    """The file object for a path, as the built-in `open` gives it. `streams`: whether writes are
    sent at once (mode `w` only: the others need the whole content)."""
    check_mode(mode, encoding, errors, newline)
    plain = "".join(sorted(set(mode) - set("bt")))
    if plain == "r":
        response = store.request("GET", key_target(key), path)
        if response.headers.get("Content-Length") is None:
            raw = StreamReader(response, path)
        else:
            raw = Spool(store, key, path, "rb", response)
    elif plain == "w" and streams:
        raw = StreamWriter(store, key, path)
    else:
        raw = (Append if plain == "a" else Spool)(store, key, path, mode)
    kind = ReadWriter if "+" in mode else Reader if plain == "r" else Writer
    file = kind(raw)
    if "b" in mode:
        return file
    text = TextFile(file, encoding, errors, newline)
    text.mode = mode
    return text


def check_mode(mode, encoding, errors, newline):
    letters = set(mode)
    if letters - set("axrwb+t") or len(letters) != len(mode) or len(letters & set("rwax")) != 1:
        raise ValueError(f"invalid mode: {mode!r}")
    if "b" in mode and "t" in mode:
        raise ValueError("can't have text and binary mode at once")
    if "b" in mode and not (encoding is errors is newline is None):
        raise ValueError("binary mode takes no encoding, errors or newline argument")
