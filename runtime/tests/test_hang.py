"""Calls that do not end: the process must not stay alive with a handler that nobody waits for."""

import http.client
import json
import os
import socket
import unittest

from harness import ROUTE, ProcessTestCase, raw_invoke, wait_until

EXIT_HUNG = 75
GRACE = {"ASYA_RUNTIME_HANG_GRACE": "300ms"}

HANGING = [
    # (handler, ASYA_PREFETCH, function named by the log line)
    ("hang.sleep", "1", "sleep"),
    ("hang.spin", "1", "spin"),
    ("hang.lock", "1", "lock"),
    ("hang.generator", "1", "generator"),
    ("hang.stubborn", "1", "stubborn"),
    ("hang.blocks_loop", "1", "blocks_loop"),
    ("hang.sleep", "2", "sleep"),
    ("hang.stubborn", "2", "stubborn"),
    ("hang.blocks_loop", "2", "blocks_loop"),
]


class Hang(ProcessTestCase):
    def leave(self, runtime, payload=None, how=socket.socket.close):
        """A client that sends a message and leaves as soon as the handler runs."""
        body = json.dumps({"id": "m-left", "route": ROUTE, "payload": payload}).encode()
        client = runtime.connect()
        client.sendall(raw_invoke([f"Content-Length: {len(body)}"], body))
        runtime.wait_for_file("begun")
        how(client)
        return client

    def test_the_process_ends_when_a_call_outlives_its_caller(self):
        for handler, prefetch, function in HANGING:
            with self.subTest(handler, prefetch=prefetch):
                runtime = self.start(handler, dict(GRACE, ASYA_PREFETCH=prefetch), strict=False)
                self.leave(runtime)
                self.assertEqual(runtime.finish(), EXIT_HUNG)
                self.assertFalse(os.path.exists(runtime.ready_path))
                self.assertFalse(os.path.exists(runtime.socket_path))
                line = runtime.log[-1]
                self.assertEqual((line["level"], line["handler"]), ("error", handler))
                self.assertEqual(line["id"], "m-left")
                self.assertIn(f"handler {handler!r} still runs 0.3 s after", line["message"])
                self.assertIn(f"in {function}", line["where"])

    def test_a_coroutine_is_cancelled_and_the_process_goes_on(self):
        for handler in ("hang.cancellable", "hang.cancellable_generator"):
            for prefetch in ("1", "2"):
                with self.subTest(handler, prefetch=prefetch):
                    # Long enough for a cancellation on a busy machine: it must never be over.
                    limits = {"ASYA_RUNTIME_HANG_GRACE": "30s", "ASYA_PREFETCH": prefetch}
                    runtime = self.start(handler, limits)
                    self.leave(runtime)
                    runtime.wait_for_file("cancelled")
                    self.assertEqual(runtime.invoke("quick").payloads, ["quick"])
                    self.assertNotIn("handler failed", runtime.stderr)
                    self.assertEqual(runtime.stop(), 0)

    def test_a_call_that_ends_within_the_grace_time_ends_nothing(self):
        runtime = self.start("hang.slow", {"ASYA_RUNTIME_HANG_GRACE": "20s"})
        self.leave(runtime, 0.7)
        runtime.wait_for_file("ended")
        self.assertEqual(runtime.invoke("quick").payloads, ["quick"])
        self.assertEqual(runtime.stop(), 0)

    def test_a_call_whose_caller_waits_may_take_longer_than_the_grace_time(self):
        runtime = self.start("hang.slow", {"ASYA_RUNTIME_HANG_GRACE": "50ms"})
        self.assertEqual(runtime.invoke(0.8).payloads, [0.8])

    def test_sigterm_ends_a_process_whose_caller_has_left(self):
        for handler in ("hang.sleep", "hang.spin", "hang.stubborn", "hang.blocks_loop"):
            with self.subTest(handler):
                runtime = self.start(handler, GRACE, strict=False)
                self.leave(runtime)
                runtime.kill()
                self.assertEqual(runtime.finish(), EXIT_HUNG)

    def test_sigterm_ends_a_process_whose_caller_waits_longer_than_the_timeout(self):
        runtime = self.start("hang.sleep", dict(GRACE, ASYA_RUNTIME_TIMEOUT="400ms"))
        client = self.leave(runtime, how=lambda _: None)
        runtime.kill()
        self.assertEqual(runtime.finish(), EXIT_HUNG)
        self.assertIn("after SIGTERM", runtime.log[-1]["message"])
        client.close()

    def test_a_call_that_never_releases_the_lock_ends_the_process_after_the_timeout(self):
        for handler in ("hang.backtrack", "hang.spin_empty"):
            for prefetch in ("1", "2"):
                with self.subTest(handler, prefetch=prefetch):
                    limits = dict(GRACE, ASYA_RUNTIME_TIMEOUT="500ms", ASYA_PREFETCH=prefetch)
                    runtime = self.start(handler, limits, strict=False)
                    for _ in range(3):
                        self.assertEqual(runtime.invoke("quick").payloads, ["quick"])
                    self.leave(runtime)
                    # 75 where this version of Python does release it.
                    codes = (1,) if handler == "hang.backtrack" else (1, EXIT_HUNG)
                    self.assertIn(runtime.finish(), codes)
                    self.assertIn("in " + handler.partition(".")[2], runtime.stderr)

    def test_a_long_call_that_releases_the_lock_is_no_such_call(self):
        limits = {"ASYA_RUNTIME_TIMEOUT": "10ms", "ASYA_RUNTIME_HANG_GRACE": "2s"}
        runtime = self.start("hang.slow", limits)
        self.assertEqual(runtime.invoke(4).payloads, [4])

    def test_sigterm_ends_a_process_whose_event_loop_is_blocked_between_calls(self):
        runtime = self.start("hang.leaves_blocking_task", GRACE, strict=False)
        self.assertEqual(runtime.invoke(1).payloads, [1])
        runtime.wait_for_file("begun")
        runtime.kill()
        self.assertEqual(runtime.finish(), EXIT_HUNG)
        self.assertIn("blocks the event loop", runtime.log[-1]["message"])

    def test_wrong_settings_end_the_process_at_start(self):
        for name, value in (
            ("ASYA_RUNTIME_HANG_GRACE", "soon"),
            ("ASYA_RUNTIME_TIMEOUT", "-1s"),
            ("ASYA_PREFETCH", "0"),
            ("ASYA_PREFETCH", "many"),
        ):
            with self.subTest(name, value=value):
                runtime = self.start("payloads.same", {name: value}, ready=False)
                self.assertEqual(runtime.finish(), 1)
                (line,) = runtime.log
                self.assertIn(f"{name} is {value!r}: expected", line["message"])


class Concurrency(ProcessTestCase):
    def test_as_many_calls_run_at_once_as_are_prefetched(self):
        for handler in ("controlled.hold", "controlled.hold_async"):
            with self.subTest(handler):
                runtime = self.start(handler, {"ASYA_PREFETCH": "3"})
                calls = [runtime.invoke_later(name) for name in ("a", "b", "c", "d")]
                begun = lambda: [n for n in "abcd" if os.path.exists(runtime.file(n + ".begun"))]
                wait_until(lambda: len(begun()) == 3, "three calls to begin")
                self.assertEqual(runtime.request("GET", "/healthz").status, 200)
                self.assertEqual(len(begun()), 3)
                for name in "abcd":
                    runtime.write(name + ".release")
                self.assertEqual([call.result().payloads for call in calls], [[n] for n in "abcd"])
                self.assertEqual(runtime.stop(), 0)

    def test_running_calls_are_finished_after_sigterm_and_no_others_begin(self):
        runtime = self.start("controlled.hold", {"ASYA_PREFETCH": "2"})
        calls = [runtime.invoke_later(name) for name in "ab"]
        for name in "ab":
            runtime.wait_for_file(name + ".begun")
        runtime.kill()
        late = runtime.invoke_later("late")
        for name in ("a", "b", "late"):
            runtime.write(name + ".release")
        self.assertEqual(sorted(call.result().payloads[0] for call in calls), ["a", "b"])
        self.assertIsInstance(late.result(), (OSError, http.client.HTTPException))
        self.assertEqual(runtime.finish(), 0)
        self.assertFalse(os.path.exists(runtime.file("late.begun")))

    def test_every_kind_of_handler_runs_in_threads_too(self):
        for name in ("function", "coroutine", "partial_coroutine", "async_callable", "Lock.run"):
            with self.subTest(name):
                runtime = self.start("kinds." + name, {"ASYA_PREFETCH": "4"})
                calls = [runtime.invoke_later(number) for number in range(8)]
                payloads = [call.result().payloads for call in calls]
                self.assertEqual(payloads, [[{"got": number}] for number in range(8)])
                self.assertEqual(runtime.stop(), 0)


if __name__ == "__main__":
    unittest.main()
