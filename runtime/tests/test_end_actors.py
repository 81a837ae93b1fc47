"""The end actors, loaded and called by the real runtime: one truthful line for each message."""

import json
import unittest

from harness import ROUTE, RUNTIME_DIR, ProcessTestCase, Runtime

FAILED_STATUS = {"phase": "failed", "actor": "parser", "error": {"type": "KeyError"}}
OLDER = {"error": "processing_error", "details": {"type": "adapters.errors.TargetRefused"}}

LINES = [
    # (handler, payload, envelope besides, the line less time, payload, and id m-7)
    ("x_sink", {"id": "p-1"}, {}, {"outcome": "succeeded"}),
    ("x_sink", None, {"status": {"phase": "succeeded"}}, {"outcome": "succeeded"}),
    ("x_sink", {"error": None, "details": {}}, {}, {"outcome": "succeeded"}),
    ("x_sink", {"error": "a text of the user's"}, {}, {"outcome": "succeeded"}),
    ("happy_end", ["a"], {}, {"outcome": "succeeded"}),
    (
        "x_sink",
        {"n": 1},
        {"status": FAILED_STATUS},
        {"outcome": "failed", "error": "KeyError", "failed_at": "parser"},
    ),
    (
        "happy_end",
        OLDER,
        {},
        {"outcome": "failed", "error": "adapters.errors.TargetRefused", "failed_at": None},
    ),
    (
        "x_sink",
        1,
        {"status": {"phase": "processing", "error": {"type": "Timeout"}}},
        {"outcome": "failed", "error": "Timeout", "failed_at": None},
    ),
    (
        "x_sump",
        {"n": 1},
        {"status": FAILED_STATUS},
        {"outcome": "failed", "error": "KeyError", "failed_at": "parser"},
    ),
    ("x_sump", {"n": 1}, {}, {"outcome": "failed", "error": None, "failed_at": None}),
    (
        "error_end",
        {"id": 5, "error": "a text with somebody's secret"},
        {},
        {"outcome": "failed", "error": None, "failed_at": None},
    ),
    (
        "error_end",
        {"error": {"type": "ValueError"}},
        {},
        {"outcome": "failed", "error": "ValueError", "failed_at": None},
    ),
    (
        "x_sink",
        {"error": {"type": "KeyError"}},
        {},
        {"outcome": "failed", "error": "KeyError", "failed_at": None},
    ),
    (
        "x_sink",
        {"n": 1},
        {"status": "failed"},
        {"outcome": "failed", "error": None, "failed_at": None},
    ),
]


class EndActors(ProcessTestCase):
    def test_each_message_is_one_line_with_its_id_and_outcome(self):
        environ = {"PYTHONPATH": RUNTIME_DIR, "ASYA_ENABLE_VALIDATION": "false"}
        names = sorted({line[0] for line in LINES})
        started = self.start_all(Runtime("end_actors." + name, environ) for name in names)
        runtimes = dict(zip(names, started))
        for name, payload, besides, expected in LINES:
            with self.subTest(name, payload=payload):
                envelope = dict({"id": "m-7", "route": ROUTE, "payload": payload}, **besides)
                answer = runtimes[name].send(envelope)
                self.assertEqual((answer.status, answer.body), (204, b""))
                line = json.loads(runtimes[name].stdout.splitlines()[-1])
                self.assertEqual(line.pop("payload")["bytes"], len(json.dumps(payload)))
                self.assertRegex(line.pop("time"), r"^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$")
                actor = name.replace("_", "-")
                self.assertEqual(line, dict(expected, actor=actor, id="m-7"))
        lines = sum(len(runtime.stdout.splitlines()) for runtime in runtimes.values())
        self.assertEqual(lines, len(LINES))

    def test_no_text_of_the_message_is_logged(self):
        environ = {"PYTHONPATH": RUNTIME_DIR, "ASYA_ENABLE_VALIDATION": "false"}
        runtime = self.start("end_actors.x_sump", environ)
        secret = "sk-secret"
        status = {"phase": "failed", "error": {"type": "a " + secret, "message": secret}}
        runtime.send({"id": "m", "payload": {"error": secret + "!"}, "status": status})
        runtime.send({"payload": [secret]})
        self.assertEqual(len(runtime.stdout.splitlines()), 2)
        self.assertNotIn(secret, runtime.stdout + runtime.stderr)


if __name__ == "__main__":
    unittest.main()
