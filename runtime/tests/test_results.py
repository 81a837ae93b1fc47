"""Results of types that JSON does not know by itself."""

import unittest

from harness import SharedProcessTestCase

POINT = {"x": 1, "when": "2024-01-02"}

SERIALISED = [
    # (name in typed.VALUES, payload)
    ("dataclass", POINT),
    ("datetime", "2024-01-02T03:04:05+00:00"),
    ("date", "2024-01-02"),
    ("time", "03:04:05"),
    ("uuid", "00000000-0000-0000-0000-000000000001"),
    ("decimal", "1.10"),
    ("bytes", "AP8="),
    ("bytearray", "YWI="),
    ("memoryview", "YWI="),
    ("set", [1, 2, 3]),
    ("mixed set", ["a"]),
    ("enum", "red"),
    ("int enum", 3),
    ("named tuple", [1, 2]),
    ("path", "/a/b"),
    ("pydantic 2", {"mode": "json", "at": "2024-01-02T03:04:05Z"}),
    ("pydantic 1", {"at": "2024-01-02T00:00:00"}),
    ("deep", {"list": [{"point": POINT, "colors": ["red"]}]}),
]


class Results(SharedProcessTestCase):
    handler = "typed.results"

    def test_common_types_have_a_form_in_json(self):
        for name, payload in SERIALISED:
            with self.subTest(name):
                answer = self.runtime.invoke(name)
                self.assertEqual(answer.status, 200, answer.json)
                self.assertEqual(answer.payloads, [payload])

    def test_a_class_is_no_value_of_it(self):
        answer = self.runtime.invoke("class")
        self.assertEqual(answer.status, 500)
        self.assertIn("type 'builtins.type' has no form in JSON", answer.json["details"]["message"])


if __name__ == "__main__":
    unittest.main()
