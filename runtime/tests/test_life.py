"""From start to end: files, modes, log lines, signals."""

import http.client
import os
import signal
import socket
import stat
import unittest

from harness import ProcessTestCase, Runtime, wait_until

MODES = [
    # (reason, environment, mode of the socket, None for what the umask leaves)
    ("the default lets the sidecar's user in", {}, 0o666),
    ("octal as Python writes it", {"ASYA_SOCKET_CHMOD": "0o660"}, 0o660),
    ("octal as C writes it", {"ASYA_SOCKET_CHMOD": "0600"}, 0o600),
    ("octal as chmod reads it", {"ASYA_SOCKET_CHMOD": "644"}, 0o644),
    ("empty leaves it alone", {"ASYA_SOCKET_CHMOD": ""}, None),
]

VALIDATION = [
    # (value of ASYA_ENABLE_VALIDATION, whether the shape is checked)
    (None, True),
    ("", True),
    ("true", True),
    ("False", False),
    ("0", False),
    ("no", False),
]

LOG_LEVELS = [
    # (value of ASYA_LOG_LEVEL, messages of a life with one call)
    (None, ["listening", "stopped"]),
    ("INFO", ["listening", "stopped"]),
    ("warning", []),
    ("error", []),
    ("debug", ["listening", "answered", "stopping", "stopped"]),
    ("loud", ["listening", "stopped"]),
]


def without_none(**variables):
    return {name: value for name, value in variables.items() if value is not None}


class Start(ProcessTestCase):
    def test_the_socket_gets_its_mode(self):
        umask = os.umask(0)
        os.umask(umask)
        runtimes = self.start_all(Runtime("payloads.same", row[1]) for row in MODES)
        for (reason, _, mode), runtime in zip(MODES, runtimes):
            with self.subTest(reason):
                found = stat.S_IMODE(os.stat(runtime.socket_path).st_mode)
                self.assertEqual(oct(found), oct(0o777 & ~umask if mode is None else mode))
                self.assertEqual(runtime.invoke(1).status, 200)

    def test_what_a_killed_process_left_is_replaced(self):
        runtime = self.start("payloads.same")
        runtime.stop(signal.SIGKILL)
        self.assertTrue(os.path.exists(runtime.ready_path))
        self.assertTrue(os.path.exists(runtime.socket_path))
        runtime.wanted_ready = False
        runtime.start()
        wait_until(lambda: "listening" in runtime.stderr, "the log line of the start")
        self.assertTrue(os.path.exists(runtime.ready_path))
        self.assertEqual(runtime.invoke(1).status, 200)

    def test_stale_files_go_before_the_handler_is_loaded(self):
        runtime = self.start("slow_to_load.same", ready=False)
        runtime.wait_for_file("loading")
        runtime.stop(signal.SIGKILL)
        os.remove(runtime.file("loading"))
        runtime.write("runtime-ready")
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(runtime.socket_path)
        runtime.start()
        runtime.wait_for_file("loading")
        self.assertFalse(os.path.exists(runtime.ready_path))
        self.assertFalse(os.path.exists(runtime.socket_path))

    def test_a_missing_socket_directory_is_made(self):
        runtime = self.start("payloads.same", socket_dir="made/here")
        self.assertEqual(runtime.invoke(1).status, 200)

    def test_validation_is_switched_off_by_three_words(self):
        runtimes = self.start_all(
            Runtime("payloads.same", without_none(ASYA_ENABLE_VALIDATION=value))
            for value, _ in VALIDATION
        )
        for (value, checked), runtime in zip(VALIDATION, runtimes):
            with self.subTest(value):
                self.assertEqual(runtime.send({"payload": 1}).status, 400 if checked else 200)


class Logs(ProcessTestCase):
    def test_the_level_chooses_the_lines(self):
        runtimes = self.start_all(
            Runtime("payloads.same", without_none(ASYA_LOG_LEVEL=level)) for level, _ in LOG_LEVELS
        )
        for (level, messages), runtime in zip(LOG_LEVELS, runtimes):
            with self.subTest(level):
                self.assertEqual(runtime.invoke(1).status, 200)
                self.assertEqual(runtime.stop(), 0)
                self.assertEqual([line["message"] for line in runtime.log], messages)

    def test_the_first_line_says_what_is_served_and_where(self):
        runtime = self.start("payloads.same")
        line = runtime.log[0]
        self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$")
        self.assertEqual(line["socket"], runtime.socket_path)
        self.assertEqual(line["handler"], "payloads.same")
        self.assertRegex(line["version"], r"^\d+\.\d+\.\d+$")


class End(ProcessTestCase):
    def assert_clean_end(self, runtime):
        self.assertEqual(runtime.finish(), 0)
        self.assertFalse(os.path.exists(runtime.ready_path))
        self.assertFalse(os.path.exists(runtime.socket_path))
        self.assertEqual([line["message"] for line in runtime.log], ["listening", "stopped"])

    def test_an_idle_server_ends_at_once(self):
        for handler in ("payloads.same", "kinds.coroutine"):
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest((handler, number)):
                    runtime = self.start(handler)
                    self.assertEqual(runtime.invoke(1).status, 200)
                    runtime.kill(number)
                    self.assert_clean_end(runtime)
                    self.assertEqual(runtime.log[-1]["signal"], signal.Signals(number).name)

    def test_a_server_that_never_ran_a_call_ends_at_once(self):
        runtime = self.start("payloads.same")
        runtime.kill()
        self.assert_clean_end(runtime)

    def test_a_running_call_is_finished_and_answered_whatever_signals_come(self):
        for handler in ("controlled.hold", "controlled.hold_async"):
            with self.subTest(handler):
                runtime = self.start(handler)
                call = runtime.invoke_later("call")
                runtime.wait_for_file("call.begun")
                for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
                    runtime.kill(number)
                self.assertEqual(runtime.request("GET", "/healthz").status, 200)
                self.assertTrue(os.path.exists(runtime.ready_path))
                runtime.write("call.release")
                self.assertEqual(call.result().payloads, ["call"])
                self.assert_clean_end(runtime)

    def test_a_large_answer_is_sent_whole_before_the_end(self):
        runtime = self.start("controlled.hold_for_large")
        call = runtime.invoke_later("call")
        runtime.wait_for_file("call.begun")
        runtime.kill()
        runtime.write("call.release")
        self.assertEqual(len(call.result().payloads[0]), 10 * 1024 * 1024)
        self.assert_clean_end(runtime)

    def test_waiting_calls_are_not_started_after_the_signal(self):
        runtime = self.start("controlled.hold")
        running = runtime.invoke_later("running")
        runtime.wait_for_file("running.begun")
        before = runtime.invoke_later("before")
        self.assertEqual(runtime.request("GET", "/healthz").status, 200)
        runtime.kill()
        after = runtime.invoke_later("after")
        runtime.write("before.release")
        runtime.write("after.release")
        runtime.write("running.release")
        self.assertEqual(running.result().payloads, ["running"])
        for waiting in (before, after):
            self.assertIsInstance(waiting.result(), (OSError, http.client.HTTPException))
        self.assert_clean_end(runtime)
        self.assertFalse(os.path.exists(runtime.file("before.begun")))
        self.assertFalse(os.path.exists(runtime.file("after.begun")))

    def test_a_signal_while_the_handler_loads_ends_the_process(self):
        runtime = self.start("slow_to_load.same", ready=False)
        runtime.wait_for_file("loading")
        self.assertEqual(runtime.stop(), 0)
        self.assertEqual(runtime.stderr, "")

    def test_signal_handlers_of_the_users_module_do_not_count(self):
        runtime = self.start("own_signals.same")
        runtime.kill()
        self.assert_clean_end(runtime)

    def test_a_signal_that_does_not_interrupt_the_wait_ends_it(self):
        runtime = self.start("own_thread.same")
        self.assertEqual(runtime.invoke(1).payloads, [1])
        runtime.kill()
        self.assert_clean_end(runtime)

    def test_tasks_are_cancelled_and_may_clean_up(self):
        runtime = self.start("controlled.leave_task")
        self.assertEqual(runtime.invoke(1).payloads, [1])
        runtime.kill()
        self.assert_clean_end(runtime)
        self.assertTrue(os.path.exists(runtime.file("cleaned-up")))

    def test_a_thread_that_never_ends_does_not_keep_the_process(self):
        runtime = self.start("controlled.leave_thread")
        self.assertEqual(runtime.invoke(1).payloads, [1])
        runtime.kill()
        self.assert_clean_end(runtime)

    def test_exit_hooks_run(self):
        runtime = self.start("controlled.leave_hook")
        self.assertEqual(runtime.invoke(1).payloads, [1])
        runtime.kill()
        self.assert_clean_end(runtime)
        self.assertTrue(os.path.exists(runtime.file("exit-hook")))

    def test_a_forked_child_can_be_terminated(self):
        # Python 3.12 warns of every fork in a process with threads.
        runtime = self.start("controlled.terminate_child", strict=False)
        self.assertEqual(runtime.invoke(1).payloads, [-signal.SIGTERM])
        self.assertEqual(runtime.stop(), 0)


if __name__ == "__main__":
    unittest.main()
