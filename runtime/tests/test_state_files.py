"""Files below the mounts of state proxies, through the real runtime and a connector."""

import errno
import os
import tempfile
import textwrap
import unittest

from connector import Connector
from harness import ProcessTestCase, wait_until


class StateTestCase(ProcessTestCase):
    write = "buffered"

    def begin(self, write=None, ready=True, connector=True, **options):
        """A connector and a runtime whose handler runs lines of Python."""
        directory = tempfile.mkdtemp(prefix="asya-state-")
        self.addCleanup(os.rmdir, directory)
        self.socket_path = os.path.join(directory, "memory.sock")
        if connector:
            self.connect(**options)
        mounts = f"memory:/state/memory:write={write or self.write}"
        environ = {"ASYA_STATE_PROXY_MOUNTS": mounts, "ASYA_STATE_PROXY_DIR": directory}
        environ.update(STATE="/state/memory", ASYA_STATE_PROXY_TIMEOUT="10s")
        environ.update(options.get("environ", {}))
        self.runtime = self.start("state.run", environ, ready=ready)

    def connect(self, **options):
        self.connector = Connector(self.socket_path, **options)
        self.addCleanup(self.connector.close)
        self.values = self.connector.values
        self.values["read-at-import"] = b"at import"

    def run_lines(self, lines):
        """What the lines leave in `result`."""
        answer = self.runtime.invoke(textwrap.dedent(lines))
        if answer.status != 204:
            self.assertEqual(answer.status, 200, answer.json)
            return answer.payloads[0]
        return None

    def failure(self, lines):
        """The details of the error that the lines raise."""
        answer = self.runtime.invoke(textwrap.dedent(lines))
        self.assertEqual(answer.status, 500, answer.json)
        return answer.json["details"]


READS = [
    # (reason, lines, result)
    ("text", "result = open(state + '/poem').read()", "grüße\nund\n"),
    ("bytes", "result = open(state + '/poem', 'rb').read(3)", "Z3LD"),
    ("lines", "result = [line for line in open(state + '/poem')]", ["grüße\n", "und\n"]),
    ("an encoding", "result = open(state + '/old', encoding='latin-1').read()", "grüße"),
    ("errors", "result = open(state + '/old', errors='replace').read()", "gr\ufffd\ufffde"),
    ("newlines", "result = open(state + '/dos', newline='').read()", "a\r\nb"),
    ("io.open", "result = io.open(state + '/dos').read()", "a\nb"),
    ("pathlib", "result = pathlib.Path(state, 'dos').read_text()", "a\nb"),
    ("pathlib bytes", "result = pathlib.Path(state, 'dos').read_bytes()", "YQ0KYg=="),
    ("a copy of open", "result = copied_open(state + '/dos').read()", "a\nb"),
    ("a seek", "f = open(state + '/dos', 'rb'); f.seek(-1, 2); result = f.read()", "Yg=="),
    ("a path that is not normal", "result = open(state + '//x/../dos').read()", "a\nb"),
    ("bytes as a path", "result = open((state + '/dos').encode()).read()", "a\nb"),
    ("a relative path", "os.chdir('/'); result = open('state/memory/dos').read()", "a\nb"),
    ("a key with a blank", "result = open(state + '/a b/ü?#%41').read()", "odd"),
    ("other files are as ever", "result = open(os.devnull).read()", ""),
    ("at import", "result = AT_IMPORT", "at import"),
    (
        "mode and name",
        "f = open(state + '/dos'); result = [f.mode, f.name]",
        ["r", "/state/memory/dos"],
    ),
]


class Reading(StateTestCase):
    def test_files_are_read_in_every_way(self):
        self.begin()
        self.values.update(poem="grüße\nund\n".encode(), old="grüße".encode("latin-1"))
        self.values.update({"dos": b"a\r\nb", "a b/ü?#%41": b"odd"})
        for reason, lines, result in READS:
            with self.subTest(reason):
                self.assertEqual(self.run_lines(lines), result)

    def test_a_value_of_unknown_length_is_a_stream(self):
        self.begin(length=False)
        self.values["poem"] = b"a\nb\n"
        lines = "f = open(state + '/poem'); result = [f.seekable(), f.readlines()]"
        self.assertEqual(self.run_lines(lines), [False, ["a\n", "b\n"]])

    def test_a_large_value_needs_little_memory(self):
        self.begin()
        self.values["large"] = bytes(100 << 20)
        lines = """
            result = 0
            with open(state + '/large', 'rb') as file:
                for piece in iter(lambda: file.read(1 << 20), b''):
                    result += len(piece)
        """
        self.assertEqual(self.run_lines(lines), 100 << 20)
        with open(f"/proc/{self.runtime.process.pid}/status", encoding="ascii") as file:
            (line,) = [line for line in file if line.startswith("VmHWM:")]
        self.assertLess(int(line.split()[1]), 64 << 10)


WRITES = [
    # (reason, lines, stored)
    ("text", "with open(state + '/k', 'w') as f: f.write('grüße')", "grüße".encode()),
    ("bytes", "with open(state + '/k', 'wb') as f: f.write(b'\\0\\xff')", b"\0\xff"),
    ("an encoding", "open(state + '/k', 'w', encoding='utf-16-le').write('a')", b"a\0"),
    ("newlines", "with open(state + '/k', 'w', newline='\\r\\n') as f: f.write('a\\n')", b"a\r\n"),
    ("pathlib", "pathlib.Path(state, 'k').write_text('a')", b"a"),
    ("nothing", "open(state + '/k', 'w').close()", b""),
    (
        "piece by piece",
        "f = open(state + '/k', 'wb'); f.write(b'a'); f.flush(); f.write(b'b'); f.close()",
        b"ab",
    ),
    ("print", "with open(state + '/k', 'w') as f: print('a', 1, file=f)", b"a 1\n"),
    ("writelines", "with open(state + '/k', 'w') as f: f.writelines(['a', 'b'])", b"ab"),
    ("exclusive", "with open(state + '/k', 'x') as f: f.write('new')", b"new"),
    ("append to nothing", "with open(state + '/k', 'a') as f: f.write('a')", b"a"),
    ("touch", "pathlib.Path(state, 'k').touch()", b""),
]


HALF_WRITTEN = [
    # (reason, the `with` statement whose block raises)
    ("a binary file", "open(path, 'wb') as f: f.write(b'half')"),
    ("gzip", "gzip.open(path, 'wt') as f: f.write('half')"),
    ("bz2", "bz2.open(path, 'wt') as f: f.write('half')"),
    ("zip", "zipfile.ZipFile(path, 'w') as f: f.writestr('name', 'half')"),
    ("a stream of codecs", "codecs.open(path, 'w', 'utf-16') as f: f.write('half')"),
    ("tar", "tarfile.open(path, 'w:gz') as f: f.addfile(tarfile.TarInfo('name'))"),
    ("a wrapper", "io.TextIOWrapper(open(path, 'wb')) as f: f.write('half')"),
    ("closing", "contextlib.closing(open(path, 'w')) as f: f.write('half')"),
    ("a context manager of the handler's", "managed(path) as f: f.write('half')"),
    ("two files", "open(path, 'wb') as raw, gzip.open(raw, 'wt') as f: f.write('half')"),
]

WHOLE_DESPITE_ERRORS = [
    # (reason, lines that store `whole` while or after an exception is handled)
    (
        "closed in an except clause",
        """
        f = open(path, 'w')
        f.write('whole')
        try:
            next(iter(()))
        except StopIteration:
            f.close()
        """,
    ),
    (
        "closed in a finally clause",
        """
        with contextlib.suppress(KeyError):
            f = open(path, 'w')
            try:
                f.write('whole')
                raise KeyError
            except KeyError:
                pass
            finally:
                f.close()
        """,
    ),
    (
        "written in an except clause",
        """
        try:
            raise KeyError
        except KeyError:
            with open(path, 'w') as f:
                f.write('whole')
        """,
    ),
    (
        "opened before, in a block that ends in an except clause",
        """
        f = open(path, 'w')
        try:
            raise KeyError
        except KeyError:
            with f:
                f.write('whole')
        """,
    ),
    (
        "written when another block fails",
        """
        class Report:
            def __enter__(self):
                pass
            def __exit__(self, *_):
                with open(path, 'w') as f:
                    f.write('whole')
                return True
        with Report():
            raise KeyError
        """,
    ),
    (
        "an exception that the block handles",
        """
        with open(path, 'w') as f:
            try:
                raise KeyError
            except KeyError:
                f.write('whole')
        """,
    ),
]

MANAGED = """
@contextlib.contextmanager
def managed(path):
    f = open(path, 'w')
    try:
        yield f
    finally:
        f.close()
"""


class Writing(StateTestCase):
    def test_what_is_written_is_stored_at_the_close(self):
        for write in ("buffered", "passthrough"):
            self.begin(write)
            for reason, lines, stored in WRITES:
                with self.subTest(reason, write=write):
                    self.values.pop("k", None)
                    self.run_lines(lines)
                    self.assertEqual(self.values.get("k"), stored)

    def test_a_block_that_fails_stores_nothing(self):
        for write in ("buffered", "passthrough"):
            for mode in ("w", "wb", "a", "r+"):
                with self.subTest(write=write, mode=mode):
                    self.begin(write)
                    self.values["k"] = b"old"
                    data = "b'half'" if "b" in mode else "'half'"
                    lines = f"""
                        with open(state + '/k', {mode!r}) as file:
                            file.write({data})
                            file.flush()
                            raise KeyError('half-way')
                    """
                    self.assertEqual(self.failure(lines)["type"], "KeyError")
                    self.assertEqual(self.run_lines("result = 'alive'"), "alive")
                    self.assertEqual(self.values["k"], b"old")

    def test_a_block_that_fails_stores_nothing_through_any_wrapper(self):
        for write in ("buffered", "passthrough"):
            self.begin(write)
            for reason, statement in HALF_WRITTEN:
                if reason == "tar" and write == "passthrough":
                    continue  # needs a position, which a stream does not have
                with self.subTest(reason, write=write):
                    self.values["k"] = b"old"
                    lines = f"path = state + '/k'{MANAGED}with {statement}; raise KeyError('half-way')"
                    self.assertEqual(self.failure(lines)["type"], "KeyError")
                    self.assertEqual(self.run_lines("result = 'alive'"), "alive")
                    self.assertEqual(self.values["k"], b"old")

    def test_a_file_is_stored_when_the_exception_is_not_of_its_block(self):
        for write in ("buffered", "passthrough"):
            self.begin(write)
            for reason, lines in WHOLE_DESPITE_ERRORS:
                with self.subTest(reason, write=write):
                    self.values["k"] = b"old"
                    self.run_lines("path = state + '/k'\n" + textwrap.dedent(lines))
                    self.assertEqual(self.values["k"], b"whole")

    def test_appends_of_many_threads_are_all_stored(self):
        for etags in (True, False):
            with self.subTest(etags=etags):
                self.begin(etags=etags)
                lines = """
                    errors = []
                    def append(number):
                        try:
                            with open(state + '/k', 'a') as file:
                                print(number, file=file)
                        except Exception as error:
                            errors.append(repr(error))
                    threads = [threading.Thread(target=append, args=(n,)) for n in range(32)]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()
                    result = errors
                """
                self.assertEqual(self.run_lines(lines), [])
                self.assertEqual(sorted(map(int, self.values["k"].split())), list(range(32)))

    def test_append_tries_until_the_timeout(self):
        self.begin(environ={"ASYA_STATE_PROXY_TIMEOUT": "300ms"})
        self.values["k"] = b""
        self.connector.before_put = lambda: self.values.update(k=self.values["k"] + b"x")
        details = self.failure("with open(state + '/k', 'a') as f: f.write('a')")
        self.assertEqual(details["type"], "FileExistsError")
        self.assertNotIn(b"a", self.values["k"])

    def test_append_keeps_what_is_there(self):
        for write in ("buffered", "passthrough"):
            for options in ({}, {"etags": False}):
                with self.subTest(write=write, **options):
                    self.begin(write, **options)
                    self.values["k"] = b"old "
                    lines = """
                        with open(state + '/k', 'a') as file:
                            result = file.tell()
                            file.write('new')
                    """
                    self.assertEqual(self.run_lines(lines), 4)
                    self.assertEqual(self.values["k"], b"old new")

    def test_append_tries_again_when_the_value_has_changed(self):
        self.begin()
        self.values["k"] = b"0"
        changes = [b"%d" % number for number in range(1, 13)]

        def change():
            if changes:
                self.values["k"] += changes.pop(0)

        self.connector.before_put = change
        self.run_lines("with open(state + '/k', 'a') as f: f.write('.')")
        self.assertEqual(self.values["k"], b"0123456789101112.")

    def test_a_change_is_refused_when_the_value_has_changed(self):
        self.begin()
        self.values["k"] = b"abc"
        self.connector.before_put = lambda: self.values.update(k=b"other")
        details = self.failure("with open(state + '/k', 'r+') as f: f.write('X')")
        self.assertEqual(details["type"], "FileExistsError")
        self.assertEqual(self.values["k"], b"other")

    def test_a_file_is_changed_in_place(self):
        self.begin()
        self.values["k"] = b"abcdef"
        lines = """
            with open(state + '/k', 'r+b') as file:
                file.seek(2)
                file.write(b'X')
                result = file.read().decode()
                file.truncate(5)
        """
        self.assertEqual(self.run_lines(lines), "def")
        self.assertEqual(self.values["k"], b"abXde")

    def test_what_is_written_can_be_read_back_before_the_close(self):
        self.begin()
        lines = """
            with open(state + '/k', 'w+') as file:
                file.write('abc')
                file.seek(1)
                result = file.read()
        """
        self.assertEqual(self.run_lines(lines), "bc")

    def test_an_existing_file_is_not_created_exclusively(self):
        for write in ("buffered", "passthrough"):
            self.begin(write)
            self.values["k"] = b"old"
            details = self.failure("with open(state + '/k', 'x') as f: f.write('new')")
            self.assertEqual((details["type"], self.values["k"]), ("FileExistsError", b"old"))

    def test_buffered_is_one_request_with_a_length_and_seekable(self):
        self.begin()
        lines = """
            with open(state + '/k', 'wb') as file:
                file.write(bytes(6 << 20))
                file.seek(0)
                file.write(b'X')
                result = file.seekable()
        """
        self.assertTrue(self.run_lines(lines))
        self.assertEqual(self.values["k"], b"X" + bytes((6 << 20) - 1))
        self.assertEqual(self.connector.requests.count("PUT /keys/k"), 1)

    def test_passthrough_sends_while_it_is_written_and_cannot_seek(self):
        self.begin("passthrough")
        self.assertEqual(
            self.failure("f = open(state + '/k', 'wb'); f.seek(0)")["type"], "UnsupportedOperation"
        )
        lines = """
            with open(state + '/k', 'wb') as file:
                for _ in range(32):
                    file.write(bytes(1 << 20))
        """
        self.run_lines(lines)
        self.assertEqual(len(self.values["k"]), 32 << 20)


class Failures(StateTestCase):
    def test_statuses_are_exceptions(self):
        self.begin()
        for status, kind, number in (
            (400, "ValueError", None),
            (403, "PermissionError", errno.EACCES),
            (404, "FileNotFoundError", errno.ENOENT),
            (409, "FileExistsError", errno.EEXIST),
            (412, "FileExistsError", errno.EEXIST),
            (413, "OSError", errno.EFBIG),
            (500, "OSError", errno.EIO),
            (503, "ConnectionError", errno.ECONNREFUSED),
            (504, "TimeoutError", errno.ETIMEDOUT),
        ):
            with self.subTest(status):
                self.connector.refuse = (status, "error", "the reason")
                for operation in (
                    "open(state + '/k').close()",
                    "pathlib.Path(state, 'k').write_text('a')",
                ):
                    lines = f"""
                        try:
                            {operation}
                        except Exception as e:
                            result = [type(e).__name__, getattr(e, 'errno', None), str(e)]
                    """
                    found, code, text = self.run_lines(lines)
                    self.assertEqual((found, code), (kind, number))
                    self.assertIn("the reason", text)
                    self.assertIn("/state/memory/k", text)

    def test_a_missing_file_is_not_found(self):
        self.begin()
        for lines in ("open(state + '/no')", "os.stat(state + '/no')", "os.remove(state + '/no')"):
            self.assertEqual(self.failure(lines)["type"], "FileNotFoundError")

    def test_a_connector_that_starts_later_is_waited_for(self):
        self.begin(connector=False, ready=False)
        wait_until(lambda: self.runtime.process.poll() is None, "the process")
        self.assertFalse(os.path.exists(self.runtime.ready_path))
        self.connect(unhealthy=2)
        self.runtime.wait_until_ready()
        self.assertEqual(self.run_lines("result = AT_IMPORT"), "at import")

    def test_a_connector_that_is_not_there_is_no_missing_file(self):
        self.begin(environ={"ASYA_STATE_PROXY_TIMEOUT": "200ms"})
        self.connector.close()
        details = self.failure("open(state + '/k')")
        self.assertEqual(details["type"], "ConnectionError")
        self.assertIn("memory.sock", details["message"])
        self.connect()
        lines = "result = open(state + '/read-at-import').read()"
        self.assertEqual(self.run_lines(lines), "at import")

    def test_a_connector_that_hangs_is_a_timeout(self):
        self.begin(environ={"ASYA_STATE_PROXY_TIMEOUT": "300ms"})
        self.connector.stall.clear()
        self.assertEqual(self.failure("open(state + '/k')")["type"], "TimeoutError")

    def test_wrong_mounts_end_the_process_at_start(self):
        for mounts in ("memory", "memory:state", "m:/s:write=often", "a:/s;b:/s", "m:/"):
            with self.subTest(mounts):
                environ = {"ASYA_STATE_PROXY_MOUNTS": mounts}
                runtime = self.start("payloads.same", environ, ready=False)
                self.assertEqual(runtime.finish(), 1)
                self.assertIn("ASYA_STATE_PROXY_MOUNTS is", runtime.log[-1]["message"])


if __name__ == "__main__":
    unittest.main()
