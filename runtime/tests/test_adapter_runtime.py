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
        self.assertEqual(details["type"], "TargetRefused")
        self.assertEqual(details["mro"][:2], ["TargetRefused", "adapters.errors.TargetRefused"])
        for name in ("TargetError", "adapters.errors.TargetError"):
            self.assertIn(name, details["mro"])
        text = f"POST {target.url}/v1/chat/completions: answered 400: max_tokens is too large"
        self.assertEqual(details["message"], text)
        details = runtime.invoke({"text": "Why?"}).json["details"]
        for name in ("InvalidPayload", "adapters.errors.TargetError", "builtins.ValueError"):
            self.assertIn(name, details["mro"])

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


if __name__ == "__main__":
    unittest.main()
