"""Adapters whose target is not ready, ends, or streams, through the real runtime."""

import http.client
import json
import os
import threading

from harness import RUNTIME_DIR, ProcessTestCase, wait_until
from target import FAST, Answer, Custom, Target
from test_events import DONE, Stream, frame

CHAT = {"model": "phi-3", "messages": [{"role": "user", "content": "Why?"}]}
READY = Answer(body={"data": []})

PROBES = [
    # (adapter, environment, path that is asked, answer, reason that it is not ready or None)
    ("kaito_openai", {}, "/v1/models", Answer(body={"data": []}), None),
    ("kaito_openai", {}, "/v1/models", Answer(404), None),
    ("kaito_openai", {}, "/v1/models", Answer(503), "answered 503"),
    ("kserve_v2", {}, "/v2/health/ready", Answer(), None),
    ("kserve_v2", {}, "/v2/health/ready", Answer(400), "answered 400"),
    ("kserve_v2", {}, "/v2/health/ready", Answer(body={"ready": False}), "it is not ready"),
    ("triton", {"ASYA_TARGET_API_PATH": "/t/v2"}, "/t/v2/health/ready", Answer(), None),
    ("http", {"ASYA_TARGET_READINESS": "/up"}, "/up", Answer(204), None),
    ("http", {"ASYA_TARGET_READINESS": "/up"}, "/up", Answer(404), "answered 404"),
    ("http", {}, None, None, None),
    ("kaito_openai", {"ASYA_TARGET_READINESS": "tcp"}, None, None, None),
    ("kaito_openai", {"ASYA_TARGET_READINESS": "none"}, None, None, None),
]


class AdapterProcess(ProcessTestCase):
    def begin(self, name, *answers, listening=True, ready=True, **environ):
        """A target and a runtime with the adapter for it."""
        target = Target(*answers, listening=listening)
        self.addCleanup(target.close)
        wanted = dict(FAST, PYTHONPATH=RUNTIME_DIR, ASYA_TARGET_URL=target.url)
        del wanted["ASYA_TARGET_READINESS"]
        runtime = self.start(f"adapters.{name}.forward", dict(wanted, **environ), ready=ready)
        return target, runtime

    def is_ready(self, runtime):
        return os.path.exists(runtime.ready_path)


class Readiness(AdapterProcess):
    def test_each_adapter_asks_its_protocol(self):
        for name, environ, path, answer, reason in PROBES:
            with self.subTest(name, path=path, reason=reason):
                answers = [answer] * 50 if answer else []
                target, runtime = self.begin(name, *answers, ready=False, **environ)
                if reason is None:
                    wait_until(lambda: self.is_ready(runtime), "the ready file")
                else:
                    wait_until(lambda: target.requests, "a check")
                    text = lambda: runtime.request("GET", "/healthz").json.get("reason", "")
                    wait_until(lambda: reason in text(), "the reason")
                    self.assertFalse(self.is_ready(runtime))
                self.assertEqual({request.path for request in target.requests} - {path}, set())
                self.assertEqual(bool(target.requests), path is not None)

    def test_it_is_ready_when_its_target_listens_and_no_longer_when_it_stops(self):
        target, runtime = self.begin("kaito_openai", *[READY] * 50, listening=False, ready=False)
        wait_until(lambda: os.path.exists(runtime.socket_path), "the socket")
        health = lambda: runtime.request("GET", "/healthz")
        wait_until(lambda: "connection refused" in health().json.get("reason", ""), "a check")
        self.assertFalse(self.is_ready(runtime))
        target.listen()
        wait_until(lambda: self.is_ready(runtime), "the ready file")
        self.assertEqual(health().status, 200)
        target.close()
        wait_until(lambda: not self.is_ready(runtime), "the ready file to go")
        self.assertEqual(health().status, 503)


class GiveBack(AdapterProcess):
    def test_a_message_goes_back_when_the_target_could_not_be_reached_in_time(self):
        settings = {"ASYA_RUNTIME_TIMEOUT": "400ms", "ASYA_TARGET_READINESS": "none"}
        for answers, listening in (([], False), ([Answer(503)] * 1000, True)):
            with self.subTest(listening=listening):
                settings["ASYA_TARGET_RETRY_DELAY"] = "50ms"
                _, runtime = self.begin("kaito_openai", *answers, listening=listening, **settings)
                with self.assertRaises(http.client.RemoteDisconnected):
                    runtime.invoke(CHAT)
                line = [line for line in runtime.log if line["message"].startswith("message given")]
                self.assertEqual([entry["type"] for entry in line], ["TargetUnavailable"])

    def test_a_target_that_is_busy_fails_the_message_as_before(self):
        settings = {"ASYA_RUNTIME_TIMEOUT": "300ms", "ASYA_TARGET_READINESS": "none"}
        _, runtime = self.begin("kaito_openai", *[Answer(429)] * 1000, **settings)
        answer = runtime.invoke(CHAT)
        self.assertEqual(
            (answer.status, answer.json["details"]["type"]), (500, "TargetUnavailable")
        )

    def test_a_message_that_waits_for_its_target_goes_back_on_sigterm(self):
        settings = {"ASYA_TARGET_RETRY_DELAY": "15s", "ASYA_TARGET_READINESS": "none"}
        target, runtime = self.begin("kaito_openai", *[Answer(503)] * 3, **settings)
        call = runtime.invoke_later(CHAT)
        wait_until(lambda: target.requests, "the first attempt")
        runtime.kill()
        self.assertIsInstance(call.result(), http.client.RemoteDisconnected)
        self.assertEqual(runtime.finish(), 0)
        self.assertEqual(len(target.requests), 1)

    def test_a_message_goes_back_when_its_target_ends_with_the_process(self):
        for text in ("", 'data: {"n":1}\n\n'):
            with self.subTest(text):
                begun, ending = threading.Event(), threading.Event()

                def break_off(handler):
                    handler.send_response(200)
                    handler.send_header("Content-Type", "text/event-stream")
                    handler.send_header("Content-Length", "1000")
                    handler.end_headers()
                    handler.wfile.write(text.encode())
                    handler.wfile.flush()
                    begun.set()
                    ending.wait(20)
                    handler.close_connection = True

                settings = {"ASYA_TARGET_READINESS": "none", "ASYA_LOG_LEVEL": "debug"}
                _, runtime = self.begin("kaito_openai", Custom(break_off), **settings)
                call = runtime.invoke_later(dict(CHAT, stream=bool(text)))
                self.assertTrue(begun.wait(20))
                runtime.kill()
                wait_until(lambda: '"stopping"' in runtime.stderr, "the signal to arrive")
                ending.set()
                self.assertIsInstance(call.result(), http.client.RemoteDisconnected)
                self.assertEqual(runtime.finish(), 0)

    def test_a_message_goes_back_when_its_target_is_told_to_end_first(self):
        runtimes = []

        def break_off(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.flush()
            handler.close_connection = True
            threading.Timer(0.2, lambda: runtimes[0].kill()).start()

        _, runtime = self.begin("kaito_openai", Custom(break_off), ASYA_TARGET_READINESS="none")
        runtimes.append(runtime)
        call = runtime.invoke_later(CHAT)
        self.assertIsInstance(call.result(), http.client.RemoteDisconnected)
        self.assertEqual(runtime.finish(), 0)

    def test_a_message_that_its_target_aborts_while_it_ends_goes_back(self):
        for status in (500, 503):
            with self.subTest(status):
                begun, ending = threading.Event(), threading.Event()

                def abort(handler):
                    begun.set()
                    ending.wait(20)
                    Answer(status, body={"error": "shutting down"}).write(handler)

                settings = {"ASYA_TARGET_READINESS": "none", "ASYA_LOG_LEVEL": "debug"}
                _, runtime = self.begin("kaito_openai", Custom(abort), **settings)
                call = runtime.invoke_later(CHAT)
                self.assertTrue(begun.wait(20))
                runtime.kill()
                wait_until(lambda: '"stopping"' in runtime.stderr, "the signal to arrive")
                ending.set()
                self.assertIsInstance(call.result(), http.client.RemoteDisconnected)
                self.assertEqual(runtime.finish(), 0)

    def test_a_target_that_breaks_off_otherwise_fails_the_message(self):
        def break_off(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.close_connection = True

        settings = {"ASYA_TARGET_READINESS": "none"}
        _, runtime = self.begin("kaito_openai", Custom(break_off), **settings)
        answer = runtime.invoke(CHAT)
        self.assertEqual(
            (answer.status, answer.json["details"]["type"]), (500, "TargetUnavailable")
        )


class Streams(AdapterProcess):
    def test_parts_arrive_while_the_target_streams(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def stream(handler):
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            for number in range(2):
                event = b'data: {"n":%d}\n\n' % number
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
                handler.wfile.flush()
                go_on.wait(20)
            handler.wfile.write(b"0\r\n\r\n")

        settings = {"ASYA_TARGET_READINESS": "none"}
        _, runtime = self.begin("kaito_openai", Custom(stream), **settings)
        events = Stream(runtime, dict(CHAT, stream=True))
        self.addCleanup(events.close)
        self.assertEqual(events.next(), frame({"n": 0}))
        go_on.set()
        self.assertEqual(events.rest(), [frame({"n": 1}), DONE])

    def test_a_failure_inside_a_stream_is_one(self):
        cut = 'data: {"n":1}\n\ndata: {"n"'
        failed = 'data: {"n":1}\n\ndata: {"error":{"message":"out of memory"}}\n\ndata: [DONE]\n\n'
        kind = {"Content-Type": "text/event-stream"}

        def chunked_and_cut(handler):
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            handler.wfile.write(b"%x\r\n%b" % (len(cut) + 10, cut.encode()))
            handler.close_connection = True

        for answer, error, text in (
            (Answer(200, kind, text=failed), "TargetFailed", "while it streamed: out of memory"),
            (Answer(200, kind, text=cut), "InvalidAnswer", "the answer is not JSON"),
            (Custom(chunked_and_cut), "TargetUnavailable", "broke off"),
        ):
            with self.subTest(error):
                _, runtime = self.begin("kaito_openai", answer, ASYA_TARGET_READINESS="none")
                details = runtime.invoke(dict(CHAT, stream=True)).json["details"]
                self.assertEqual(details["type"], error)
                self.assertIn(text, details["message"])

    def test_an_event_has_a_limit(self):
        kind = {"Content-Type": "text/event-stream"}
        text = "data: " + json.dumps({"n": "x" * 5000}) + "\n\n"
        settings = {"ASYA_TARGET_READINESS": "none", "ASYA_TARGET_MAX_ANSWER_BYTES": "1000"}
        _, runtime = self.begin("kaito_openai", Answer(200, kind, text=text), **settings)
        details = runtime.invoke(dict(CHAT, stream=True)).json["details"]
        self.assertEqual(details["type"], "InvalidAnswer")
        self.assertIn("longer than 1000 bytes", details["message"])


if __name__ == "__main__":
    import unittest

    unittest.main()
