"""Each adapter's protocol, as files: payload, the requests that it must become, the answers that
are given, and the result, frames or error.

`cases/<adapter>/<what holds>.json` has `reason`, `env` (besides the address), `payload`,
`exchanges` (a list of `request` and `response`), and `result`, `frames` (what a generator yields)
or `error` (`type`, `message`).
In `message`, `{url}` stands for the address. Headers of a request are those that must be there.
"""

import glob
import json
import os
import unittest

from target import AdapterTestCase, Answer

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")


def cases(adapter):
    """`(name, case)`, sorted by name."""
    for path in sorted(glob.glob(os.path.join(CASES, adapter, "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.splitext(os.path.basename(path))[0], json.load(file)


class Cases(AdapterTestCase):
    def check(self, adapter, case):
        exchanges = case["exchanges"]
        target = self.target(*(Answer(**exchange["response"]) for exchange in exchanges))
        forward = self.adapter(adapter, target, **case.get("env", {}))
        if "error" in case:
            error = self.failure(forward, case["payload"])
            self.assertEqual(
                {"type": type(error).__name__, "message": str(error)},
                dict(case["error"], message=case["error"]["message"].replace("{url}", target.url)),
            )
        elif "frames" in case:
            frames = list(forward(case["payload"]))
            self.assertEqual(json.loads(json.dumps(frames)), case["frames"])
        else:
            self.assertEqual(forward(case["payload"]), case["result"])
        self.assertEqual(
            [self.seen(*pair) for pair in zip(target.requests, exchanges)],
            [exchange["request"] for exchange in exchanges],
        )
        self.assertEqual(len(target.requests), len(exchanges))

    @staticmethod
    def seen(request, exchange):
        """A request in the form of the file, with the headers that the file names."""
        expected = exchange["request"]
        seen = {"method": request.method, "path": request.path}
        if request.data:
            seen["body"] = request.body
        if "headers" in expected:
            seen["headers"] = {name: request.headers[name] for name in expected["headers"]}
        return seen

    def check_all(self, adapter):
        names = []
        for name, case in cases(adapter):
            with self.subTest(name, reason=case["reason"]):
                self.check(adapter, case)
            names.append(name)
        self.assertGreater(len(names), 5, "the files are not where they are looked for")

    def test_openai(self):
        self.check_all("kaito_openai")

    def test_open_inference(self):
        self.check_all("kserve_v2")

    def test_triton(self):
        self.check_all("triton")

    def test_plain_http(self):
        self.check_all("http")


if __name__ == "__main__":
    unittest.main()
