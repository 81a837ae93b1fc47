"""Handlers with a readiness check and a stop of their own."""

import http.client
import os
import unittest

from harness import ProcessTestCase, wait_until


class Readiness(ProcessTestCase):
    def begin(self):
        runtime = self.start("readiness.handler.run", ready=False)
        wait_until(lambda: os.path.exists(runtime.socket_path), "the socket")
        return runtime

    def health(self, runtime):
        answer = runtime.request("GET", "/healthz")
        return answer.status, answer.json

    def is_ready(self, runtime):
        return os.path.exists(runtime.ready_path)

    def test_the_ready_file_and_the_health_check_follow_the_handlers_check(self):
        runtime = self.begin()
        reason = "the handler's check failed"
        wait_until(lambda: self.health(runtime)[1].get("reason") == reason, "a first check")
        self.assertEqual(self.health(runtime)[0], 503)
        self.assertFalse(self.is_ready(runtime))
        runtime.write("up")
        wait_until(lambda: self.is_ready(runtime), "the ready file")
        wait_until(lambda: self.health(runtime) == (200, {"status": "ready"}), "health")
        self.assertEqual(runtime.invoke(1).payloads, [1])
        runtime.write("raise")
        wait_until(lambda: not self.is_ready(runtime), "the ready file to go")
        wait_until(
            lambda: self.health(runtime)[1].get("reason") == "the server is gone", "a reason"
        )
        os.remove(runtime.file("raise"))
        wait_until(lambda: self.is_ready(runtime), "the ready file again")
        self.assertEqual(runtime.stop(), 0)
        self.assertFalse(self.is_ready(runtime))
        texts = [line["message"] for line in runtime.log]
        expected = ["listening", "ready", "not ready: the server is gone", "ready", "stopped"]
        self.assertEqual(texts, expected)

    def test_a_message_that_is_given_back_makes_it_unready_at_once(self):
        runtime = self.begin()
        runtime.write("up")
        wait_until(lambda: self.is_ready(runtime), "the ready file")
        with self.assertRaises(http.client.RemoteDisconnected):
            runtime.invoke("give back")
        self.assertFalse(self.is_ready(runtime))
        runtime.write("up")
        wait_until(lambda: self.is_ready(runtime), "the ready file again")

    def test_the_handler_is_told_to_stop_while_a_call_runs(self):
        runtime = self.begin()
        call = runtime.invoke_later("hold")
        runtime.wait_for_file("begun")
        runtime.kill()
        self.assertEqual(call.result().payloads, ["hold"])
        self.assertEqual(runtime.finish(), 0)


if __name__ == "__main__":
    unittest.main()
