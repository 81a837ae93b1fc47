"""The adapters and the end actors as they run in a pod: loaded and called by the real runtime."""

import json
import unittest

from harness import RUNTIME_DIR, ProcessTestCase, Runtime
from target import FAST, Answer, Target

CHAT = {"model": "phi-3", "messages": [{"role": "user", "content": "Why?"}]}


class ThroughTheRuntime(ProcessTestCase):
    def adapter(self, name, *answers, **environ):
        """A target and a runtime with the adapter for it."""
        target = Target(*answers)
        self.addCleanup(target.close)
        environ = dict(FAST, PYTHONPATH=RUNTIME_DIR, ASYA_TARGET_URL=target.url, **environ)
        return target, self.start(f"adapters.{name}.forward", environ)

    def test_a_message_is_forwarded_and_answered(self):
        answer = {"object": "chat.completion", "choices": []}
        target, runtime = self.adapter("kaito_openai", Answer(503), Answer(body=answer))
        reply = runtime.invoke(CHAT)
        self.assertEqual((reply.status, reply.payloads), (200, [answer]))
        self.assertEqual([request.body for request in target.requests], [CHAT, CHAT])

    def test_every_adapter_can_be_loaded(self):
        wanted = [
            ("kserve_v2", {"model_name": "m", "x": [1]}, "/v2/models/m/infer"),
            ("triton", {"model_name": "m", "x": [1]}, "/v2/models/m/infer"),
            ("http", {}, "/"),
        ]
        target = Target(*[Answer(body={"outputs": []}) for _ in wanted])
        self.addCleanup(target.close)
        environ = dict(FAST, PYTHONPATH=RUNTIME_DIR, ASYA_TARGET_URL=target.url)
        names = [f"adapters.{name}.forward" for name, _, _ in wanted]
        runtimes = self.start_all(Runtime(name, environ) for name in names)
        for runtime, (name, payload, path) in zip(runtimes, wanted):
            with self.subTest(name):
                self.assertEqual(runtime.invoke(payload).status, 200)
                self.assertEqual(target.requests[-1].path, path)

    def test_an_error_says_by_its_types_whether_to_try_again(self):
        refused = Answer(400, body={"error": {"message": "max_tokens is too large"}})
        target, runtime = self.adapter("kaito_openai", refused)
        details = runtime.invoke(CHAT).json["details"]
        self.assertEqual(
            details["mro"],
            ["adapters.errors.TargetRefused", "adapters.errors.TargetError"]
            + ["builtins.Exception", "builtins.BaseException"],
        )
        text = f"POST {target.url}/v1/chat/completions: answered 400: max_tokens is too large"
        self.assertEqual(details["message"], text)
        details = runtime.invoke({"text": "Why?"}).json["details"]
        self.assertEqual(
            details["mro"][:3],
            [
                "adapters.errors.InvalidPayload",
                "adapters.errors.TargetError",
                "builtins.ValueError",
            ],
        )

    def test_nothing_of_a_failure_shows_a_credential(self):
        answers = [Answer(401, body={"error": "wrong key sk-secret"}), Answer(text="sk-secret")]
        _, runtime = self.adapter("kaito_openai", *answers, ASYA_TARGET_TOKEN="sk-secret")
        for _ in range(2):
            details = runtime.invoke(CHAT).json["details"]
            self.assertNotIn("sk-secret", json.dumps(details))
        self.assertNotIn("sk-secret", runtime.stderr)

    def test_a_wrong_setting_ends_the_runtime_with_one_line(self):
        environ = {"PYTHONPATH": RUNTIME_DIR}
        runtime = self.start("adapters.http.forward", environ, ready=False)
        self.assertEqual(runtime.finish(), 1)
        (line,) = runtime.log
        self.assertIn("adapters.errors.InvalidSetting: ASYA_TARGET_URL is not set", line["message"])


END_ACTORS = [
    # (handler, payload, the line less its time and the payload's size)
    ("x_sink", {"id": "p-1"}, {"actor": "x-sink", "outcome": "succeeded", "id": "p-1"}),
    ("happy_end", ["a"], {"actor": "happy-end", "outcome": "succeeded", "id": None}),
    (
        "x_sump",
        {"error": "processing_error", "details": {"type": "adapters.errors.TargetRefused"}},
        {
            "actor": "x-sump",
            "outcome": "failed",
            "id": None,
            "error": "adapters.errors.TargetRefused",
        },
    ),
    (
        "error_end",
        {"id": 5, "error": "a text with somebody's secret"},
        {"actor": "error-end", "outcome": "failed", "id": None, "error": None},
    ),
    (
        "error_end",
        {"error": {"type": "builtins.ValueError"}},
        {"actor": "error-end", "outcome": "failed", "id": None, "error": "builtins.ValueError"},
    ),
]


class EndActors(ProcessTestCase):
    def test_each_writes_one_line_and_sends_nothing_on(self):
        environ = {"PYTHONPATH": RUNTIME_DIR, "ASYA_ENABLE_VALIDATION": "false"}
        environ["ASYA_LOG_LEVEL"] = "debug"
        names = sorted({name for name, _, _ in END_ACTORS})
        started = self.start_all(Runtime("end_actors." + name, environ) for name in names)
        runtimes = dict(zip(names, started))
        for name, payload, expected in END_ACTORS:
            with self.subTest(name, payload=payload):
                answer = runtimes[name].send({"id": "m-7", "payload": payload})
                self.assertEqual((answer.status, answer.body), (204, b""))
                line = json.loads(runtimes[name].stdout.splitlines()[-1])
                self.assertEqual(line.pop("payload")["bytes"], len(json.dumps(payload)))
                self.assertRegex(line.pop("time"), r"^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$")
                self.assertEqual(line, expected)
                # What the docstring says of the envelope's id.
                answered = [entry for entry in runtimes[name].log if "frames" in entry]
                self.assertEqual(answered[-1]["id"], "m-7")
        lines = sum(len(runtime.stdout.splitlines()) for runtime in runtimes.values())
        self.assertEqual(lines, len(END_ACTORS))


if __name__ == "__main__":
    unittest.main()
