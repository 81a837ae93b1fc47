"""What all adapters do about a target that is slow, late, broken or gone, and what they show."""

import email.utils
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import unittest
import unittest.mock

from target import FAST, AdapterTestCase, Answer, Custom, load

CHAT = {"model": "phi-3", "messages": []}
MODELS = {"object": "list", "data": [{"id": "phi-3", "parent": None}]}


def forever(start, piece):
    """An answer that never ends: a piece, as long as somebody reads."""

    def write(handler):
        handler.wfile.write(start)
        while True:
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(0.005)

    return Custom(write)


def silence(handler):
    """Waits until the adapter has left."""
    handler.rfile.read(1)


def hang_up(handler):
    handler.close_connection = True


def truncated(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    handler.close_connection = True


class Time(AdapterTestCase):
    def test_every_kind_of_slowness_ends_at_the_deadline(self):
        head = b"HTTP/1.1 200 OK\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        for reason, answer in [
            ("no answer", Custom(silence)),
            ("the status line never ends", forever(b"HTTP/1.1 200 ", b"O")),
            ("a body drips", forever(head + b"Content-Length: 100000\r\n\r\n", b"1")),
            ("chunks drip", forever(chunked, b"1\r\n1\r\n")),
        ]:
            with self.subTest(reason):
                target = self.target(answer)
                forward = self.adapter("http", target, ASYA_RUNTIME_TIMEOUT="500ms")
                error = self.failure(forward, {})
                self.assertEqual(type(error).__name__, "TargetTimeout")
                self.assertIsInstance(error, TimeoutError)
                self.assertEqual(str(error), f"POST {target.url}: no answer within 0.45 s")

    def test_the_adapter_gives_up_before_the_sidecar(self):
        for text, budget in [
            ("", 290),
            ("5m", 290),
            ("300", 290),
            ("1h30m", 5390),
            ("30s", 27),
            ("1.5s", 1.35),
            (".5s", 0.45),
            ("500ms", 0.45),
        ]:
            with self.subTest(text):
                environ = {"ASYA_TARGET_URL": "http://phi-3", "ASYA_RUNTIME_TIMEOUT": text}
                self.assertAlmostEqual(load("http", environ).target.budget, budget)

    def pauses(self, target, **environ):
        """How long the adapter would have slept between its tries, until it gives up."""
        pauses = []
        forward = self.adapter("http", target, **environ)
        with unittest.mock.patch.object(forward.target, "wait", pauses.append):
            error = self.failure(forward, {})
        return pauses, error

    def test_pauses_double_up_to_a_limit_and_are_spread(self):
        target = self.target(*[Answer(503)] * 6)
        pauses, _ = self.pauses(
            target,
            ASYA_TARGET_RETRY_DELAY="1s",
            ASYA_TARGET_RETRY_MAX_DELAY="4s",
            ASYA_TARGET_RETRIES="5",
        )
        for pause, longest in zip(pauses, [1, 2, 4, 4, 4]):
            self.assertTrue(longest / 2 <= pause <= longest, pauses)
        self.assertEqual(len(pauses), 5)

    def test_the_target_says_when_to_come_back(self):
        date = email.utils.formatdate(time.time() + 100, usegmt=True)
        past = email.utils.formatdate(time.time() - 100, usegmt=True)
        for text, least, most in [
            ("7", 7, 7),
            (date, 50, 100),
            (past, 0, 1),
            ("soon", 0, 1),
            ("-1", 0, 1),
            ("1.5", 0, 1),
        ]:
            with self.subTest(text):
                target = self.target(Answer(503, {"Retry-After": text}), Answer(503))
                limits = {"ASYA_TARGET_RETRIES": "1", "ASYA_RUNTIME_TIMEOUT": "1h"}
                pauses, _ = self.pauses(target, **limits)
                self.assertTrue(least <= pauses[0] <= most, pauses)

    def test_a_pause_beyond_the_deadline_is_not_begun(self):
        target = self.target(Answer(429, {"Retry-After": "3600"}, {"error": "later"}))
        pauses, error = self.pauses(target)
        self.assertEqual(pauses, [])
        self.assertEqual(type(error).__name__, "TargetUnavailable")
        expected = f"not available within 18 s: POST {target.url}: answered 429: later"
        self.assertEqual(str(error), expected)


class Connections(AdapterTestCase):
    def test_a_target_that_does_not_listen_yet_is_waited_for(self):
        target = self.target(Answer(body={"ok": True}), listening=False)
        pauses = []

        def sleep(seconds):
            pauses.append(seconds)
            if len(pauses) == 3:
                target.listen()

        forward = self.adapter("http", target)
        with unittest.mock.patch.object(forward.target, "wait", sleep):
            self.assertEqual(forward({}), {"ok": True})
        self.assertEqual(len(pauses), 3)

    def test_a_target_that_never_listens_is_unavailable(self):
        target = self.target(listening=False)
        error = self.failure(self.adapter("http", target, ASYA_TARGET_RETRIES="1"), {})
        self.assertEqual(type(error).__name__, "TargetUnavailable")
        expected = f"POST {target.url}: cannot connect: connection refused"
        self.assertEqual(str(error), f"not available after 1 retries: {expected}")

    def test_a_request_that_may_have_begun_is_not_sent_again(self):
        for reason, answer, name in [
            ("no answer", Custom(hang_up), "RemoteDisconnected"),
            ("half an answer", Custom(truncated), "IncompleteRead"),
        ]:
            with self.subTest(reason):
                target = self.target(answer, Answer(body={}))
                error = self.failure(self.adapter("http", target), {})
                self.assertEqual(type(error).__name__, "TargetUnavailable")
                expected = "broke off before the answer was complete"
                self.assertEqual(str(error), f"POST {target.url}: {expected}: {name}")
                self.assertEqual(len(target.requests), 1)

    def test_what_is_not_http_is_unavailable(self):
        target = self.target(Custom(lambda handler: handler.wfile.write(b"+PONG\r\n")))
        error = self.failure(self.adapter("http", target), {})
        self.assertEqual(type(error).__name__, "TargetUnavailable")
        self.assertTrue(str(error).endswith("complete: BadStatusLine"), error)

    def test_an_endless_answer_is_cut_off(self):
        start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        target = self.target(forever(start, b"1000\r\n" + b"1" * 4096 + b"\r\n"))
        limit = {"ASYA_TARGET_MAX_ANSWER_BYTES": "10000"}
        error = self.failure(self.adapter("http", target, **limit), {})
        self.assertEqual(type(error).__name__, "InvalidAnswer")
        self.assertIn("the answer is longer than 10000 bytes", str(error))

    def test_an_answer_at_the_limit_is_read(self):
        text = json.dumps("a" * 98)
        for limit, fits in [("100", True), ("99", False)]:
            with self.subTest(limit):
                target = self.target(Answer(text=text))
                forward = self.adapter("http", target, ASYA_TARGET_MAX_ANSWER_BYTES=limit)
                if fits:
                    self.assertEqual(forward({}), "a" * 98)
                else:
                    self.failure(forward, {})

    def test_a_large_request_and_answer_arrive_whole(self):
        payload = {"text": "ü" * 3_000_000}
        target = self.target(Answer(body=payload))
        self.assertEqual(self.adapter("http", target)(payload), payload)
        self.assertEqual(target.requests[0].body, payload)

    def test_a_long_explanation_is_cut(self):
        target = self.target(Answer(400, body={"error": "a" * 1000}))
        error = self.failure(self.adapter("http", target), {})
        self.assertTrue(str(error).endswith(": " + "a" * 300 + "..."), error)


class Discovery(AdapterTestCase):
    def test_the_model_is_asked_for_once(self):
        target = self.target(Answer(body=MODELS), *[Answer(body={}) for _ in range(3)])
        forward = self.adapter("kaito_openai", target)
        for _ in range(3):
            self.assertEqual(forward({"messages": []}), {})
        paths = [request.path for request in target.requests]
        self.assertEqual(paths, ["/v1/models"] + ["/v1/chat/completions"] * 3)

    def test_another_model_is_found_when_the_known_one_is_gone(self):
        other = {"object": "list", "data": [{"id": "phi-4"}]}
        gone = Answer(404, body={"error": {"message": "The model `phi-3` does not exist."}})
        answers = [Answer(body=MODELS), Answer(body={}), gone, Answer(body=other), Answer(body={})]
        target = self.target(*answers)
        forward = self.adapter("kaito_openai", target)
        for _ in range(2):
            self.assertEqual(forward({"messages": []}), {})
        asked = [request.body["model"] for request in target.requests if request.data]
        self.assertEqual(asked, ["phi-3", "phi-3", "phi-4"])

    def test_a_path_that_is_not_there_is_not_taken_for_a_missing_model(self):
        gone = Answer(404, body={"detail": "Not Found"})
        target = self.target(*[Answer(body=MODELS), Answer(body={}), gone, Answer(body=MODELS)])
        forward = self.adapter("kaito_openai", target)
        forward({"messages": []})
        self.assertEqual(type(self.failure(forward, {"input": "a"})).__name__, "TargetRefused")
        self.assertEqual(len(target.requests), 4)

    def test_an_address_that_has_the_api_path_keeps_it_once(self):
        target = self.target(Answer(body={}))
        environ = dict(FAST, ASYA_TARGET_URL=target.url + "/llm/v1/")
        load("kaito_openai", environ)(CHAT)
        self.assertEqual(target.requests[0].path, "/llm/v1/chat/completions")


class Certificates(AdapterTestCase):
    """With a certificate that is made for the test and signed by nobody else."""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="asya-")
        cls.key, cls.certificate = (os.path.join(cls.dir, name) for name in ("key", "cert"))
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1"
        command += " -subj /CN=target -addext subjectAltName=IP:127.0.0.1"
        files = ["-keyout", cls.key, "-out", cls.certificate]
        subprocess.run(command.split() + files, check=True, stderr=subprocess.DEVNULL)
        cls.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.context.load_cert_chain(cls.certificate, cls.key)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def test_a_configured_authority_is_trusted(self):
        with open(self.certificate, encoding="ascii") as file:
            text = file.read()
        for environ in [
            {"ASYA_TARGET_CA_FILE": self.certificate},
            {"ASYA_TARGET_CA_PEM": text},
        ]:
            with self.subTest(sorted(environ)):
                target = self.target(Answer(body={"ok": True}), tls=self.context)
                self.assertEqual(self.adapter("http", target, **environ)({}), {"ok": True})

    def test_any_other_certificate_is_refused_at_once(self):
        target = self.target(Answer(body={}), tls=self.context)
        error = self.failure(self.adapter("http", target, ASYA_TARGET_TOKEN="sk"), {})
        self.assertEqual(type(error).__name__, "TargetUnavailable")
        expected = f"POST {target.url}: cannot connect: the certificate is not trusted: self"
        self.assertTrue(str(error).startswith(expected), error)
        self.assertEqual(target.requests, [])


URL = {"ASYA_TARGET_URL": "http://phi-3"}
WRONG = [
    # (environment, what the error says)
    ({}, "ASYA_TARGET_URL is not set: say where the target listens, for example 'http://phi-3:80'"),
    (
        {"ASYA_TARGET_URL": "phi-3:80"},
        "ASYA_TARGET_URL is 'phi-3:80': expected 'http://host:port' or 'https://host:port',"
        " write 'http://phi-3:80'",
    ),
    (
        {"ASYA_TARGET_URL": "http://:80"},
        "ASYA_TARGET_URL is 'http://:80': expected 'http://host:port' or 'https://host:port'",
    ),
    (
        {"ASYA_TARGET_URL": "http://phi-3:port"},
        "ASYA_TARGET_URL is not an address: its host or port is malformed",
    ),
    (
        {"ASYA_TARGET_URL": "http://phi..3"},
        "ASYA_TARGET_URL is not an address: its host or port is malformed",
    ),
    (
        {"ASYA_TARGET_URL": "http://me:secret@phi-3"},
        "ASYA_TARGET_URL holds credentials: write them in ASYA_TARGET_TOKEN",
    ),
    (
        {"ASYA_TARGET_URL": "http://phi-3/?key=secret"},
        "ASYA_TARGET_URL must end with its path: no '?' and no '#'",
    ),
    (
        {"ASYA_TARGET_URL": "http://phi-3/ä"},
        "ASYA_TARGET_URL is 'http://phi-3/ä': percent-encode what is not printable ASCII",
    ),
    (
        {"ASYA_TARGET_URL": "http://LOCALHOST.:80", "ASYA_BINDING_STRATEGY": "Adapter"},
        "ASYA_TARGET_URL is 'http://LOCALHOST.:80': with binding strategy Adapter the target is in"
        " another pod: name its Service",
    ),
    (
        {"ASYA_TARGET_URL": "http://127.0.0.1", "ASYA_BINDING_STRATEGY": "Adapter"},
        "ASYA_TARGET_URL is 'http://127.0.0.1': with binding strategy Adapter the target is in"
        " another pod: name its Service",
    ),
    (
        dict(URL, ASYA_TARGET_READINESS="ready"),
        "ASYA_TARGET_READINESS is 'ready': expected a path that begins with '/'",
    ),
    (
        dict(URL, ASYA_RUNTIME_TIMEOUT="5 min"),
        "ASYA_RUNTIME_TIMEOUT is '5 min': expected a duration above zero such as '90s', '5m' or '300'",
    ),
    (
        dict(URL, ASYA_RUNTIME_TIMEOUT="0"),
        "ASYA_RUNTIME_TIMEOUT is '0': expected a duration above zero such as '90s', '5m' or '300'",
    ),
    (
        dict(URL, ASYA_TARGET_RETRIES="-1"),
        "ASYA_TARGET_RETRIES is '-1': expected a whole number, zero or more",
    ),
    (
        dict(URL, ASYA_TARGET_TOKEN="secret\nX: y"),
        "ASYA_TARGET_TOKEN cannot be sent: it holds a character that is not printable ASCII",
    ),
    (
        dict(URL, ASYA_TARGET_API_PATH="v1"),
        "ASYA_TARGET_API_PATH is 'v1': expected a path that begins with '/'",
    ),
    (
        dict(URL, ASYA_TARGET_API_PATH="/{id"),
        "ASYA_TARGET_API_PATH is '/{id': braces stand around the name of a member of the payload,"
        " as in '/items/{id}'",
    ),
    (
        dict(URL, ASYA_TARGET_METHOD="TRACE"),
        "ASYA_TARGET_METHOD is 'TRACE': expected one of POST, PUT, PATCH, GET, DELETE",
    ),
    (
        dict(URL, ASYA_TARGET_HEADERS="X-Key: secret"),
        "ASYA_TARGET_HEADERS is not a JSON object of header names and texts",
    ),
    (
        dict(URL, ASYA_TARGET_HEADERS='{"X Key": "secret"}'),
        "ASYA_TARGET_HEADERS names 'X Key', which is no header",
    ),
    (
        dict(URL, ASYA_TARGET_HEADERS='{"host": "elsewhere"}'),
        "ASYA_TARGET_HEADERS must not set 'host': it belongs to the connection",
    ),
    (
        dict(URL, ASYA_TARGET_HEADERS='{"X-Key": "secret\\r\\nX: y"}'),
        "ASYA_TARGET_HEADERS: 'X-Key' is not a text of printable ASCII characters",
    ),
    (
        dict(URL, ASYA_TARGET_URL="https://phi-3", ASYA_TARGET_CA_FILE="/nowhere/ca.pem"),
        "ASYA_TARGET_CA_FILE '/nowhere/ca.pem' cannot be used: no such file or directory",
    ),
]


class Addresses(unittest.TestCase):
    def test_the_adapter_and_lint_accept_the_same_addresses(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "target_urls.json")
        with open(path, encoding="utf-8") as file:
            cases = json.load(file)
        for case in cases:
            for strategy in ("Inject", "Adapter"):
                with self.subTest(url=case["url"], strategy=strategy, reason=case["reason"]):
                    environ = dict(FAST, ASYA_TARGET_URL=case["url"], ASYA_BINDING_STRATEGY=strategy)
                    try:
                        load("http", environ)
                        is_accepted = True
                    except ValueError as error:
                        self.assertEqual(type(error).__name__, "InvalidSetting")
                        is_accepted = False
                    self.assertEqual(is_accepted, case[strategy.lower()])


class WrongSettings(unittest.TestCase):
    def test_a_wrong_setting_is_found_at_start_and_never_shown_where_it_is_secret(self):
        for environ, expected in WRONG:
            with self.subTest(expected):
                with self.assertRaises(ValueError) as caught:
                    load("http", environ)
                self.assertEqual(type(caught.exception).__name__, "InvalidSetting")
                self.assertEqual(str(caught.exception), expected)

    def test_an_authority_that_is_no_certificate(self):
        environ = {"ASYA_TARGET_URL": "https://phi-3", "ASYA_TARGET_CA_PEM": "secret"}
        with self.assertRaises(ValueError) as caught:
            load("http", environ)
        self.assertTrue(str(caught.exception).startswith("ASYA_TARGET_CA_PEM cannot be used: "))
        self.assertNotIn("secret", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
