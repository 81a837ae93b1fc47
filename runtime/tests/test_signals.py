"""SIGTERM ends the process, whatever a handler does with signals."""

import os
import signal
import unittest

from harness import ProcessTestCase, Runtime, wait_until

BY_SIGINT = ("on_own_loop", "resets", "stops_shared_loop")

CHANGES = [
    # (function in changes_signals.py, ASYA_PREFETCH, payload)
    ("on_shared_loop", "1", "SIGUSR1"),
    ("on_shared_loop", "2", "SIGUSR1"),
    ("on_shared_loop", "1", "SIGTERM"),
    ("on_shared_loop", "2", "SIGTERM"),
    ("on_own_loop", "1", "SIGUSR1"),
    ("on_own_loop", "1", "SIGTERM"),
    ("on_own_loop", "1", "SIGINT"),
    ("stops_shared_loop", "1", None),
    ("stops_shared_loop", "2", None),
    ("without_wakeup", "1", 1),
    ("ignores", "1", 1),
    ("resets", "1", 1),
    ("by_native_code", "1", 1),
    ("blocks", "1", 1),
]

OWN_FUNCTIONS = [
    # (function in changes_signals.py, ASYA_PREFETCH, payload)
    ("on_shared_loop", "1", "SIGTERM"),
    ("on_shared_loop", "2", "SIGTERM"),
    ("own_function", "1", 1),
]


class SignalTestCase(ProcessTestCase):
    def start_changes(self, rows):
        """One runtime for each row, in which a call has changed the signals."""
        runtimes = self.start_all(
            Runtime("changes_signals." + name, {"ASYA_PREFETCH": prefetch})
            for name, prefetch, _ in rows
        )
        for runtime, (_, _, payload) in zip(runtimes, rows):
            self.assertIn(runtime.invoke(payload).status, (200, 204))
        return zip(rows, runtimes)

    def assert_clean_end(self, runtime):
        self.assertEqual(runtime.finish(), 0)
        self.assertFalse(os.path.exists(runtime.ready_path))
        self.assertEqual([line["message"] for line in runtime.log], ["listening", "stopped"])


class Ends(SignalTestCase):
    def test_a_stop_signal_ends_the_process_after_any_change(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            rows = [row for row in CHANGES if number == signal.SIGTERM or row[0] in BY_SIGINT]
            for row, runtime in self.start_changes(rows):
                with self.subTest(row, number=number):
                    runtime.kill(number)
                    self.assert_clean_end(runtime)

    def test_a_call_is_finished_although_its_own_function_exits(self):
        for name in ("exits_in_call", "stops_shared_loop_in_call"):
            with self.subTest(name):
                runtime = self.start("changes_signals." + name)
                call = runtime.invoke_later("done")
                runtime.wait_for_file("begun")
                runtime.kill()
                wait_until(lambda: runtime.request("GET", "/healthz").status == 200, "health")
                if name == "exits_in_call":
                    text = "the handler's own function for SIGTERM failed"
                    wait_until(lambda: text in runtime.stderr, "the warning")
                runtime.write("release")
                self.assertEqual(call.result().payloads, ["done"])
                self.assertEqual(runtime.finish(), 0)


class OwnFunctions(SignalTestCase):
    def test_a_function_for_sigterm_runs_and_the_process_ends(self):
        for row, runtime in self.start_changes(OWN_FUNCTIONS):
            with self.subTest(row):
                runtime.kill()
                self.assert_clean_end(runtime)
                self.assertTrue(os.path.exists(runtime.file("received")))

    def test_a_function_that_the_module_sets_at_import_runs_too(self):
        runtime = self.start("changes_signals.without_wakeup")
        runtime.kill()
        self.assert_clean_end(runtime)
        self.assertTrue(os.path.exists(runtime.file("at-import")))

    def test_other_signals_reach_the_event_loop_more_than_once(self):
        rows = [row for row in CHANGES if row[0] == "on_shared_loop" and row[2] == "SIGUSR1"]
        for row, runtime in self.start_changes(rows):
            with self.subTest(row):
                for _ in range(2):
                    runtime.kill(signal.SIGUSR1)
                    runtime.wait_for_file("received")
                    os.remove(runtime.file("received"))
                runtime.kill()
                self.assert_clean_end(runtime)

    def test_the_functions_return_and_raise_what_pythons_do(self):
        for name, payload in (
            ("puts_back", [True] * 4),
            ("refused", ["TypeError", "OSError", "ValueError"]),
        ):
            with self.subTest(name):
                runtime = self.start("changes_signals." + name)
                self.assertEqual(runtime.invoke(1).payloads, [payload])
                runtime.kill()
                self.assert_clean_end(runtime)

    def test_a_forked_child_has_pythons_own_functions(self):
        # Python 3.12 warns of every fork in a process with threads.
        runtime = self.start("changes_signals.child", strict=False)
        self.assertEqual(runtime.invoke(1).payloads, [7])
        self.assertEqual(runtime.stop(), 0)


if __name__ == "__main__":
    unittest.main()
