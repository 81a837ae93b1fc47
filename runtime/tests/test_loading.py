"""How `ASYA_HANDLER` is found, and the one line that says why it was not."""

import os
import shutil
import tempfile
import unittest

from harness import HANDLERS, SCRIPT, ProcessTestCase, Runtime

FOUND = [
    # (reason, handler, its answer)
    ("a function of a package", "package.process", "package.process"),
    ("an attribute wins over a submodule at the end", "package.work", "package.work.work"),
    ("a submodule wins over an attribute before it", "package.work.work", "package.work.work"),
    ("a method in a submodule", "package.work.Model.predict", "package.work.Model.predict"),
    ("a deep module", "package.inner.deep.process", "package.inner.deep.process"),
    ("blanks around the name", " package.process ", "package.process"),
]

EXPECTED = "expected 'module.function' or 'module.Class.method'"

NOT_FOUND = [
    # (reason, handler, the parts of the line in their order)
    ("not set", None, ["ASYA_HANDLER is not set: " + EXPECTED]),
    ("empty", "", ["ASYA_HANDLER is not set: " + EXPECTED]),
    ("no dot", "payloads", ["ASYA_HANDLER is 'payloads': " + EXPECTED]),
    ("a file name", "payloads.py:same", ["ASYA_HANDLER is 'payloads.py:same'"]),
    ("an empty part", "payloads..same", ["ASYA_HANDLER is 'payloads..same'"]),
    (
        "no such module",
        "nowhere.process",
        ["cannot load handler 'nowhere.process': no module 'nowhere' in the working directory '"],
    ),
    (
        "no such submodule",
        "package.nowhere.process",
        ["'package.nowhere.process': no 'nowhere' in 'package': builtins.AttributeError: "],
    ),
    ("no such function", "payloads.sane", ["no 'sane' in 'payloads': builtins.AttributeError: "]),
    ("no such method", "kinds.Model.nothing", ["no 'nothing' in 'kinds.Model': "]),
    ("a class", "kinds.Model", ["'kinds.Model': it is a class, expected a function or method"]),
    (
        "not callable",
        "broken.construct.number",
        ["'broken.construct.number': it is builtins.int, expected a function or method"],
    ),
    (
        "a dependency is missing",
        "broken.missing_import.process",
        [
            "import of 'broken.missing_import' failed: ",
            "builtins.ModuleNotFoundError: No module named 'no_such_dependency' (",
            "broken/missing_import.py:3)",
        ],
    ),
    (
        "a module of the user's own package is missing",
        "broken.missing_sibling.process",
        ["import of 'broken.missing_sibling' failed: builtins.ImportError: cannot import name"],
    ),
    (
        "a name is missing",
        "broken.bad_name.process",
        ["import of 'broken.bad_name' failed: builtins.ImportError: cannot import name"],
    ),
    (
        "the module raises, in several lines",
        "broken.raises.process",
        ["'broken.raises' failed: builtins.RuntimeError: no model file in two lines (", ".py:1)"],
    ),
    (
        "the module exits",
        "broken.exits.process",
        ["import of 'broken.exits' failed: builtins.SystemExit: 7 (", "broken/exits.py:3)"],
    ),
    (
        "the module is not Python",
        "broken.syntax.process",
        ["import of 'broken.syntax' failed: builtins.SyntaxError: ", "syntax.py, line "],
    ),
    (
        "the class needs arguments",
        "broken.construct.NeedsArguments.run",
        ["creating a 'broken.construct.NeedsArguments' failed: builtins.TypeError: ", "'path'"],
    ),
    (
        "the class fails",
        "broken.construct.Fails.run",
        ["creating a 'broken.construct.Fails' failed: builtins.OSError: no GPU (", ".py:"],
    ),
    (
        "the class fails and has started a thread that never ends",
        "broken.construct.LeavesThread.run",
        ["creating a 'broken.construct.LeavesThread' failed: builtins.OSError: no GPU"],
    ),
]

LONG_DIRECTORY = os.path.join(tempfile.gettempdir(), "asya-" + "x" * 120)

MISCONFIGURED = [
    # (reason, environment, in the line)
    ("a mode of letters", {"ASYA_SOCKET_CHMOD": "rw"}, "ASYA_SOCKET_CHMOD is 'rw': expected"),
    ("not octal", {"ASYA_SOCKET_CHMOD": "0o888"}, "ASYA_SOCKET_CHMOD is '0o888': expected"),
    ("hexadecimal", {"ASYA_SOCKET_CHMOD": "0x1b6"}, "ASYA_SOCKET_CHMOD is '0x1b6': expected"),
    ("no directory", {"ASYA_SOCKET_DIR": "/dev/null/asya"}, "cannot listen on '/dev/null/asya/"),
    ("too long for a socket", {"ASYA_SOCKET_DIR": LONG_DIRECTORY}, "cannot listen on '"),
]


class Found(ProcessTestCase):
    def test_the_longest_module_prefix_decides(self):
        runtimes = self.start_all(Runtime(handler) for _, handler, _ in FOUND)
        for (reason, _, answer), runtime in zip(FOUND, runtimes):
            with self.subTest(reason):
                self.assertEqual(runtime.invoke().payloads, [answer])


class NotFound(ProcessTestCase):
    def check(self, runtime, parts):
        self.assertEqual(runtime.finish(), 1)
        self.assertEqual(len(runtime.log), 1, runtime.stderr)
        line = runtime.log[0]
        self.assertEqual(line["level"], "error")
        self.assertNotIn("\n", line["message"])
        position = 0
        for part in parts:
            position = line["message"].find(part, position)
            self.assertNotEqual(position, -1, (part, line["message"]))
        self.assertFalse(os.path.exists(runtime.ready_path))
        self.assertFalse(os.path.exists(runtime.socket_path))

    def test_the_process_ends_with_one_clear_line(self):
        runtimes = self.start_all(Runtime(row[1], ready=False) for row in NOT_FOUND)
        for (reason, _, parts), runtime in zip(NOT_FOUND, runtimes):
            with self.subTest(reason):
                self.check(runtime, parts)

    def test_the_line_is_written_at_every_log_level(self):
        for level in ("debug", "error"):
            with self.subTest(level):
                runtime = self.start(None, {"ASYA_LOG_LEVEL": level}, ready=False)
                self.check(runtime, ["ASYA_HANDLER is not set"])

    def test_an_invalid_environment_ends_the_process_likewise(self):
        self.addCleanup(shutil.rmtree, LONG_DIRECTORY, ignore_errors=True)
        runtimes = self.start_all(
            Runtime("payloads.same", environment, ready=False)
            for _, environment, _ in MISCONFIGURED
        )
        for (reason, _, part), runtime in zip(MISCONFIGURED, runtimes):
            with self.subTest(reason):
                self.check(runtime, [part])


class SearchPath(ProcessTestCase):
    def test_the_working_directory_comes_before_pythonpath(self):
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "payloads.py"), "w") as module:
                module.write("def same(payload):\n    return 'from PYTHONPATH'\n")
            with open(os.path.join(other, "elsewhere.py"), "w") as module:
                module.write("from payloads import surroundings\n")
            environment = {"PYTHONPATH": other}
            runtime = self.start("payloads.same", environment)
            self.assertEqual(runtime.invoke(1).payloads, [1])
            runtime = self.start("elsewhere.surroundings", environment)
            answer = runtime.invoke(1).payloads[0]
        self.assertEqual(answer["path"][:2], [os.path.realpath(HANDLERS), other])

    def test_the_directory_of_the_script_is_not_searched(self):
        runtime = self.start("payloads.surroundings")
        path = runtime.invoke(1).payloads[0]["path"]
        self.assertNotIn(os.path.dirname(SCRIPT), path)

    def test_a_module_with_the_name_of_the_script_is_the_users(self):
        runtime = self.start("asya_runtime.same")
        self.assertEqual(runtime.invoke(1).payloads, [1])

    def test_a_module_beside_the_script_is_not_found(self):
        with tempfile.TemporaryDirectory() as place:
            script = shutil.copy(SCRIPT, place)
            with open(os.path.join(place, "beside.py"), "w") as module:
                module.write("def same(payload):\n    return payload\n")
            runtime = self.start("beside.same", script=script, ready=False)
            self.assertEqual(runtime.finish(), 1)
            self.assertIn("no module 'beside'", runtime.log[0]["message"])

    def test_nothing_is_removed_where_python_added_nothing(self):
        """With -I the first entry is the standard library's."""
        runtime = self.start("payloads.same")
        runtime.stop()
        runtime.command[1:1] = ["-I", "-B"]
        runtime.start()
        self.assertEqual(runtime.invoke(1).payloads, [1])


if __name__ == "__main__":
    unittest.main()
