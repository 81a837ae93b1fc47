"""What a handler may be, return, yield and raise."""

import json
import os
import unittest

from harness import (
    NEXT_ROUTE,
    ROUTE,
    ProcessTestCase,
    Runtime,
    SharedProcessTestCase,
    raw_invoke,
    wait_until,
)

GOT = [{"got": 2}]
NUMBERS = [{"number": 0}, {"number": 1}]

KINDS = [
    # (handler in kinds.py, payloads of the frames for the payload 2)
    ("function", GOT),
    ("coroutine", GOT),
    ("generator", NUMBERS),
    ("async_generator", NUMBERS),
    ("generator_with_nones", [2]),
    ("async_generator_with_nones", [2]),
    ("reused_object", NUMBERS),
    ("coroutine_of_generator", [0, 1]),
    ("runs_own_loop", GOT),
    ("decorated", GOT),
    ("decorated_coroutine", GOT),
    ("partial", GOT),
    ("partial_coroutine", GOT),
    ("short", GOT),
    ("model", GOT),
    ("model.static", GOT),
    ("async_callable", GOT),
    ("Model.coroutine", GOT),
    ("Model.generator", NUMBERS),
    ("Model.async_generator", NUMBERS),
    ("Model.static", GOT),
    ("Model.of_class", GOT),
    ("Model.Inner.run", GOT),
    ("Lock.run", GOT),
]


NO_FRAMES = ["generator", "async_generator", "coroutine_none"]


class HandlerKinds(ProcessTestCase):
    def test_each_kind_of_handler_gives_its_frames(self):
        runtimes = self.start_all(Runtime("kinds." + name) for name, _ in KINDS)
        for (name, payloads), runtime in zip(KINDS, runtimes):
            with self.subTest(name):
                frames = [
                    {"payload": payload, "route": NEXT_ROUTE, "headers": {}} for payload in payloads
                ]
                answer = runtime.invoke(2)
                self.assertEqual((answer.status, answer.json), (200, {"frames": frames}))
                self.assertEqual(runtime.stop(), 0)
                self.assertEqual(len(runtime.log), 2, runtime.stderr)

    def test_no_frames_are_no_content(self):
        runtimes = self.start_all(Runtime("kinds." + name) for name in NO_FRAMES)
        for name, runtime in zip(NO_FRAMES, runtimes):
            with self.subTest(name):
                answer = runtime.invoke(0)
                self.assertEqual((answer.status, answer.body), (204, b""))

    def test_a_class_is_instantiated_once_for_all_messages(self):
        runtime = self.start("kinds.Model.count")
        counts = [runtime.invoke().payloads[0] for _ in range(3)]
        # One more instance is the module's own.
        self.assertEqual(counts, [{"instances": 2, "calls": calls} for calls in (1, 2, 3)])

    def test_one_event_loop_serves_all_messages_and_turns_between_them(self):
        runtime = self.start("kinds.Loops.run")
        first = runtime.invoke().payloads[0]
        ticks = [runtime.invoke().payloads[0]["ticks"]]
        while ticks[-1] < 5 and len(ticks) < 1000:
            ticks.append(runtime.invoke().payloads[0]["ticks"])
        last = runtime.invoke().payloads[0]
        self.assertEqual((first["loops"], last["loops"]), (1, 1))
        self.assertGreaterEqual(last["ticks"], 5)

    def test_the_handler_gets_the_payload_and_nothing_else(self):
        runtime = self.start("payloads.received")
        self.assertEqual(
            runtime.invoke({"k": [1]}).payloads, [{"args": [{"k": [1]}], "kwargs": {}}]
        )


RESULTS = [
    # (name in payloads.results, payloads of the frames)
    ("dict", [{"a": 1}]),
    ("list", [[1, [2], {"three": 3}]]),
    ("zero", [0]),
    ("false", [False]),
    ("empty text", [""]),
    ("empty list", [[]]),
    ("text", ["grüße \U0001f600 \ud800"]),
]

UNSERIALISABLE = [
    # (name in payloads.results, type of the result, what the message says besides)
    ("nan", "builtins.dict", "at .score: nan is not a JSON value"),
    ("infinity", "builtins.list", "at [0]: -inf is not a JSON value"),
    ("object", "builtins.object", "at .: type 'builtins.object' has no form in JSON"),
    ("deep object", "builtins.dict", "at .users[1].owner: type 'builtins.object' has no form"),
    ("tuple key", "builtins.dict", "at .users: a key of type 'builtins.tuple': keys must be"),
    ("circle", "builtins.list", "at [0]: list contains itself: circular reference"),
    ("depth", "builtins.list", "recursion"),
    ("iterator", "builtins.map", "at .: type 'builtins.map'"),
]


def names(*kinds):
    """Short and qualified names of built-in classes."""
    return [name for kind in kinds for name in (kind, "builtins." + kind)]


EXCEPTION = names("Exception", "BaseException")
LOOKUP = names("LookupError") + EXCEPTION

ERRORS = [
    # (name in payloads.results, message, mro, which begins with the type itself)
    ("ValueError", "bad value", names("ValueError") + EXCEPTION),
    ("KeyError", "'missing'", names("KeyError") + LOOKUP),
    ("surrogate", "no file \\udcff", names("ValueError") + EXCEPTION),
    (
        "OSError",
        "gone",
        names("OSError", "IOError", "EnvironmentError") + ["select.error", "socket.error"] + EXCEPTION,
    ),
    (
        "UnicodeDecodeError",
        "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        names("UnicodeDecodeError", "UnicodeError", "ValueError") + EXCEPTION,
    ),
    (
        "JSONDecodeError",
        "Expecting value: line 1 column 1 (char 0)",
        ["JSONDecodeError", "json.decoder.JSONDecodeError", "json.JSONDecodeError"]
        + names("ValueError")
        + EXCEPTION,
    ),
    ("nested", "twice", ["Twice", "payloads.Unlucky.Twice"] + LOOKUP),
    ("no text", "<str() of the exception failed>", ["Unlucky", "payloads.Unlucky"] + EXCEPTION),
    ("SystemExit", "3", names("SystemExit", "BaseException")),
    ("KeyboardInterrupt", "", names("KeyboardInterrupt", "BaseException")),
    ("GeneratorExit", "", names("GeneratorExit", "BaseException")),
    ("BaseException", "base", names("BaseException")),
    ("StopIteration", "stop", names("StopIteration") + EXCEPTION),
]


AS_UTF8 = [
    # (payload, its JSON in the answer)
    ("grüße 漢字 \U0001f600", '"grüße 漢字 \U0001f600"'),
    ({"clé": ["ä\n"]}, '{"clé":["ä\\n"]}'),
    ("ä\ud800", '"\\u00e4\\ud800"'),
    ("\x7f\u2028", '"\x7f\u2028"'),
]


class HandlerText(SharedProcessTestCase):
    def test_text_is_sent_as_utf8_unless_it_has_lone_surrogates(self):
        for payload, text in AS_UTF8:
            with self.subTest(payload):
                body = self.runtime.invoke(payload, headers={"ü": "é"}).body
                self.assertIn(f'"payload":{text},'.encode(), body)
                self.assertIn('"headers":{"ü":"é"}'.encode(), body)


class HandlerResults(SharedProcessTestCase):
    handler = "payloads.results"

    def test_a_returned_value_is_one_frame(self):
        for name, payloads in RESULTS:
            with self.subTest(name):
                answer = self.runtime.invoke(name)
                self.assertEqual((answer.status, answer.payloads), (200, payloads))

    def test_none_gives_no_content(self):
        answer = self.runtime.invoke("none")
        self.assertEqual((answer.status, answer.body), (204, b""))
        self.assertIsNone(answer.headers["Content-Length"])

    def test_a_result_that_is_not_json_names_its_type(self):
        for name, kind, text in UNSERIALISABLE:
            with self.subTest(name):
                answer = self.runtime.invoke(name)
                self.assertEqual((answer.status, answer.json["error"]), (500, "processing_error"))
                details = answer.json["details"]
                self.assertEqual(details["type"], "TypeError")
                start = "a result of type {!r} is not JSON serialisable".format(kind)
                self.assertEqual(details["message"][: len(start)], start)
                self.assertIn(text, details["message"])

    def test_whatever_a_handler_raises_fails_its_message_only(self):
        for name, message, mro in ERRORS:
            with self.subTest(name):
                answer = self.runtime.invoke(name)
                self.assertEqual((answer.status, answer.json["error"]), (500, "processing_error"))
                details = answer.json["details"]
                self.assertEqual(sorted(details), ["message", "mro", "traceback", "type"])
                self.assertEqual(details["message"], message)
                self.assertEqual((details["type"], details["mro"]), (mro[0], mro))
                self.assertIn("payloads.py", details["traceback"])
                self.assertEqual(self.runtime.invoke("zero").status, 200)

    def test_a_failed_call_is_one_log_line_without_the_payload(self):
        self.runtime.invoke("ValueError", id="m-logged")
        line = [line for line in self.runtime.log if line.get("id") == "m-logged"]
        expected = {"level": "error", "message": "handler failed", "type": "ValueError"}
        self.assertEqual(len(line), 1)
        self.assertEqual({key: line[0][key] for key in expected}, expected)
        self.assertNotIn("bad value", self.runtime.stderr)


FAILURES = [
    # (handler, payload, details.type, in details.message)
    ("payloads.recursion", 1, "RecursionError", "recursion"),
    ("kinds.failing_generator", 1, "ValueError", "after one frame"),
    ("kinds.generator_with_bad_value", 1, "TypeError", "'builtins.object'"),
    ("kinds.async_generator_with_bad_value", 1, "TypeError", "'builtins.object'"),
    ("kinds.failing_coroutine", 1, "ValueError", "in the coroutine"),
    ("kinds.exiting_coroutine", 1, "SystemExit", "3"),
    ("controlled.SystemExitInTask.run", "leave", "SystemExit", "3"),
]


class ErrorTexts(ProcessTestCase):
    """Strict JSON parsers reject lone surrogates, also as escapes."""

    def assert_strict(self, value):
        json.dumps(value, ensure_ascii=False).encode()

    def test_errors_and_log_lines_have_no_lone_surrogates(self):
        runtime = self.start("payloads.results")
        answer = runtime.invoke("surrogate")
        self.assert_strict(answer.json)
        self.assertIn("\\udcff", answer.json["details"]["traceback"])
        self.assert_strict(runtime.log)

    def test_an_error_event_has_no_lone_surrogates(self):
        runtime = self.start("payloads.results")
        body = json.dumps({"id": "m-1", "route": ROUTE, "payload": "surrogate"}).encode()
        headers = ["Accept: text/event-stream", f"Content-Length: {len(body)}"]
        (line,) = [
            line
            for line in runtime.exchange(raw_invoke(headers, body)).splitlines()
            if line.startswith(b'data: {"error"')
        ]
        data = json.loads(line[len(b"data: ") :])
        self.assert_strict(data)
        self.assertEqual(data["details"]["type"], "ValueError")

    def test_a_failed_readiness_check_and_a_failed_import_have_no_lone_surrogates(self):
        runtime = self.start("odd_text.Handler.run", ready=False)
        wait_until(lambda: os.path.exists(runtime.socket_path), "the socket")
        health = lambda: runtime.request("GET", "/healthz").json
        wait_until(lambda: "no server" in health()["reason"], "a first check")
        self.assert_strict(health())
        self.assertEqual(runtime.stop(), 0)
        self.assert_strict(runtime.log)
        runtime = self.start("odd_text.Broken.run", ready=False)
        self.assertEqual(runtime.finish(), 1)
        self.assert_strict(runtime.log)


class HandlerFailures(ProcessTestCase):
    def test_the_server_goes_on_after_each_failure(self):
        # Not strict: a coroutine or generator that is left behind makes Python warn.
        runtimes = self.start_all(Runtime(row[0], strict=False) for row in FAILURES)
        for (handler, payload, kind, text), runtime in zip(FAILURES, runtimes):
            with self.subTest(handler):
                for _ in range(2):
                    answer = runtime.invoke(payload)
                    self.assertEqual(answer.status, 500)
                    self.assertEqual(answer.json["details"]["type"], kind)
                    self.assertIn(text, answer.json["details"]["message"])
                self.assertEqual(runtime.request("GET", "/healthz").status, 200)
                self.assertEqual(runtime.stop(), 0)


class HandlerOutput(ProcessTestCase):
    def test_standard_streams_belong_to_the_handler(self):
        runtime = self.start("controlled.talk")
        self.assertEqual(runtime.invoke(1).payloads, [1])
        self.assertEqual(runtime.stdout, "to stdout\n")
        self.assertIn("to stderr\n", runtime.stderr)

    def test_a_handler_that_removes_the_streams_does_not_stop_the_server(self):
        runtime = self.start("controlled.close_streams")
        self.assertEqual(runtime.invoke(1).payloads, [1])
        self.assertEqual(runtime.stop(), 0)
        self.assertEqual([line["message"] for line in runtime.log], ["listening", "stopped"])


if __name__ == "__main__":
    unittest.main()
