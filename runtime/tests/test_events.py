"""Answers as server-sent events: what is sent, when, and in how much memory."""

import contextlib
import http.client
import json
import os
import unittest

from harness import NEXT_ROUTE, ROUTE, ProcessTestCase, UnixConnection

EVENTS = {"Accept": "text/event-stream", "Content-Type": "application/json"}
MAX_RESIDENT_KIB = 64 << 10


class Stream:
    """The events of one answer, read while it is sent."""

    def __init__(self, runtime, payload, **fields):
        self.connection = UnixConnection(runtime.socket_path)
        message = dict({"id": "m-1", "route": ROUTE, "payload": payload}, **fields)
        try:
            self.connection.request("POST", "/invoke", json.dumps(message).encode(), EVENTS)
            self.response = self.connection.getresponse()
        except BaseException:
            self.connection.close()
            raise

    def next(self):
        """`(name, data)` of the next event; None at the end of the answer."""
        lines = []
        while True:
            line = self.response.readline()
            if not line:
                assert not lines, "the answer ended inside an event"
                return None
            if line == b"\n":
                break
            lines.append(line.decode().rstrip("\n").split(": ", 1))
        (event, name), (data, text) = lines
        assert (event, data) == ("event", "data"), lines
        return name, json.loads(text)

    def rest(self):
        events = []
        while True:
            event = self.next()
            if event is None:
                return events
            events.append(event)

    def close(self):
        self.response.close()
        self.connection.close()


def frame(payload):
    return ("downstream", {"payload": payload, "route": NEXT_ROUTE, "headers": {}})


DONE = ("done", {})

ANSWERS = [
    # (handler, payload, events)
    ("streams.numbers", 2, [frame(0), frame(1), DONE]),
    ("streams.numbers", 0, [DONE]),
    ("streams.returns", "one", [frame("one"), DONE]),
    ("streams.returns", None, [DONE]),
    ("kinds.coroutine", 1, [frame({"got": 1}), DONE]),
    ("kinds.async_generator", 1, [frame({"number": 0}), DONE]),
    (
        "streams.flies",
        None,
        [
            ("upstream", {"payload": {"token": "a"}}),
            ("upstream", {"payload": {"token": "b"}, "path": "text"}),
            frame({"done": True}),
            DONE,
        ],
    ),
]


class Events(ProcessTestCase):
    def stream(self, runtime, payload, **fields):
        stream = Stream(runtime, payload, **fields)
        self.addCleanup(stream.close)
        return stream

    def test_each_yield_is_an_event(self):
        for concurrency in ("1", "2"):
            for handler, payload, events in ANSWERS:
                with self.subTest(handler, payload=payload, concurrency=concurrency):
                    runtime = self.start(handler, {"ASYA_PREFETCH": concurrency})
                    stream = self.stream(runtime, payload)
                    self.assertEqual(stream.response.status, 200)
                    headers = stream.response.headers
                    self.assertEqual(headers["Content-Type"], "text/event-stream")
                    self.assertEqual(headers["Transfer-Encoding"], "chunked")
                    self.assertEqual(stream.rest(), events)

    def test_events_are_sent_while_the_generator_runs(self):
        for handler in ("streams.step", "streams.step_async"):
            for concurrency in ("1", "2"):
                with self.subTest(handler, concurrency=concurrency):
                    runtime = self.start(handler, {"ASYA_PREFETCH": concurrency})
                    stream = self.stream(runtime, None)
                    self.assertEqual(stream.next(), frame("first"))
                    runtime.write("go-on")
                    self.assertEqual(stream.rest(), [frame("second"), DONE])

    def test_a_failure_half_way_is_an_error_event(self):
        runtime = self.start("streams.fails")
        first, (name, body), done = self.stream(runtime, None).rest()
        self.assertEqual((first, name, done), (frame(1), "error", DONE))
        self.assertEqual(body["error"], "processing_error")
        self.assertEqual(body["details"]["type"], "KeyError")
        self.assertIn("streams.py", body["details"]["traceback"])

    def test_a_message_that_cannot_be_read_is_a_plain_400(self):
        runtime = self.start("streams.returns")
        stream = self.stream(runtime, None, id="")
        self.assertEqual(stream.response.status, 400)
        body = json.loads(stream.response.read().decode())
        self.assertEqual(body["error"], "msg_parsing_error")

    def test_a_message_that_is_given_back_has_no_answer_or_none_that_ends(self):
        runtime = self.start("streams.unavailable")
        with self.assertRaises(http.client.RemoteDisconnected):
            Stream(runtime, False)
        with self.assertRaises(http.client.RemoteDisconnected):
            runtime.invoke(False)
        stream = self.stream(runtime, True)
        self.assertEqual(stream.next(), frame(1))
        with self.assertRaises((http.client.IncompleteRead, AssertionError)):
            self.assertIsNotNone(stream.next())
        self.assertEqual(runtime.request("GET", "/healthz").status, 200)
        lines = [line for line in runtime.log if "given back" in line["message"]]
        self.assertEqual([line["type"] for line in lines], ["GiveBack"] * 3)
        self.assertIn("the target is ending", lines[0]["message"])

    def test_without_the_header_nothing_flies_and_frames_are_json(self):
        runtime = self.start("streams.flies")
        self.assertEqual(runtime.invoke(None).payloads, [{"done": True}])

    def test_a_generator_is_closed_when_its_client_leaves(self):
        for handler in ("streams.endless", "streams.endless_async"):
            with self.subTest(handler):
                runtime = self.start(handler)
                stream = Stream(runtime, None)
                self.assertEqual(stream.next()[0], "downstream")
                stream.close()
                runtime.wait_for_file("closed")
                self.assertEqual(runtime.request("GET", "/healthz").status, 200)
                self.assertNotIn("handler failed", runtime.stderr)


def peak_kib(runtime):
    """The largest resident size that the process ever had."""
    with open(f"/proc/{runtime.process.pid}/status", encoding="ascii") as file:
        (line,) = [line for line in file if line.startswith("VmHWM:")]
    return int(line.split()[1])


@unittest.skipUnless(os.path.exists("/proc/self/status"), "needs Linux's /proc")
class Memory(ProcessTestCase):
    def test_two_hundred_megabytes_of_events_need_little_memory(self):
        for handler in ("streams.large", "streams.large_async"):
            with self.subTest(handler):
                runtime = self.start(handler)
                with contextlib.closing(Stream(runtime, 200)) as stream:
                    for number in range(200):
                        name, data = stream.next()
                        self.assertEqual((name, data["payload"]["number"]), ("downstream", number))
                    self.assertEqual(stream.rest(), [DONE])
                self.assertLess(peak_kib(runtime), MAX_RESIDENT_KIB)

    def test_two_hundred_megabytes_of_json_need_little_memory_too(self):
        runtime = self.start("streams.large")
        connection = UnixConnection(runtime.socket_path)
        with contextlib.closing(connection):
            message = {"id": "m-1", "route": ROUTE, "payload": 200}
            connection.request("POST", "/invoke", json.dumps(message).encode())
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            size = 0
            while True:
                piece = response.read(1 << 20)
                if not piece:
                    break
                size += len(piece)
        self.assertEqual(size, int(response.headers["Content-Length"]))
        self.assertGreater(size, 200 << 20)
        self.assertLess(peak_kib(runtime), MAX_RESIDENT_KIB)


if __name__ == "__main__":
    unittest.main()
