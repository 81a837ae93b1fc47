"""HTTP on the socket: paths and methods, how bodies arrive, what broken clients do."""

import json
import os
import socket
import unittest

from harness import (
    ROUTE,
    PendingAnswer,
    ProcessTestCase,
    SharedProcessTestCase,
    raw_invoke,
    status_of,
)

BODY = json.dumps({"id": "m-1", "route": ROUTE, "payload": "p"}).encode()
LENGTH = "Content-Length: {}".format(len(BODY))

NOT_FOUND = [
    ("GET", "/"),
    ("GET", "/invoke"),
    ("GET", "/healthz/"),
    ("POST", "/healthz"),
    ("POST", "/"),
    ("POST", "/invoke/x"),
    ("PUT", "/invoke"),
    ("DELETE", "/healthz"),
    ("PATCH", "/invoke"),
    ("OPTIONS", "/invoke"),
]


def chunks(*pieces):
    """The pieces in chunked coding."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces + (b"",))


CHUNKED = "Transfer-Encoding: chunked"

BODIES = [
    # (reason, header lines, body bytes, status)
    ("as long as it says", [LENGTH], BODY, 200),
    ("the same length twice", [LENGTH, LENGTH], BODY, 200),
    ("one chunk", [CHUNKED], chunks(BODY), 200),
    ("several chunks", [CHUNKED], chunks(BODY[:1], BODY[1:7], BODY[7:]), 200),
    ("chunked in capitals", ["transfer-encoding: Chunked"], chunks(BODY), 200),
    (
        "chunk extensions and trailers",
        [CHUNKED],
        b"%X;name=value\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (len(BODY), BODY),
        200,
    ),
    ("the coding wins over a length", [CHUNKED, "Content-Length: 3"], chunks(BODY), 200),
    ("the server says continue", [LENGTH, "Expect: 100-continue"], BODY, 200),
    ("more bytes than it says", ["Content-Length: 5"], BODY, 400),
    ("fewer bytes than it says", ["Content-Length: 5000"], BODY, 400),
    ("far fewer bytes than it says", ["Content-Length: 999999999999999999"], BODY, 400),
    ("a length that is a word", ["Content-Length: many"], BODY, 400),
    ("a negative length", ["Content-Length: -1"], BODY, 400),
    ("a length with a sign", ["Content-Length: +5"], BODY, 400),
    ("an endless length", ["Content-Length: " + "9" * 5000], BODY, 400),
    ("two lengths", [LENGTH, "Content-Length: 1"], BODY, 400),
    ("length zero", ["Content-Length: 0"], b"", 400),
    ("no chunk", [CHUNKED], chunks(), 400),
    ("a chunk that ends early", [CHUNKED], b"ffff\r\n" + BODY, 400),
    ("a chunk longer than it says", [CHUNKED], b"5\r\n" + BODY + b"\r\n0\r\n\r\n", 400),
    ("a chunk size that is a word", [CHUNKED], b"many\r\n" + BODY, 400),
    ("a chunk size without end", [CHUNKED], b"1" * 10000, 400),
    ("a chunk body without chunks", [CHUNKED], b"", 400),
    ("a coding nobody knows", ["Transfer-Encoding: gzip, chunked"], chunks(BODY), 400),
]

NOT_HTTP = [
    # (reason, bytes, status)
    ("words", b"hello\r\n\r\n", 400),
    ("a version of the future", b"GET /healthz HTTP/9.9\r\n\r\n", 505),
    ("a header without end", b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 70000 + b"\r\n\r\n", 431),
    ("a path without end", b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\n\r\n", 414),
]


class Paths(SharedProcessTestCase):
    def test_the_server_says_that_it_is_ready(self):
        answer = self.runtime.request("GET", "/healthz")
        self.assertEqual((answer.status, answer.json), (200, {"status": "ready"}))

    def test_any_other_path_or_method_is_not_found(self):
        for method, path in NOT_FOUND:
            with self.subTest(method + " " + path):
                answer = self.runtime.request(method, path, BODY if method != "GET" else None)
                self.assertEqual((answer.status, answer.json), (404, {"error": "not_found"}))

    def test_an_answer_to_head_has_no_body(self):
        data = self.runtime.exchange(b"HEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(status_of(data), 404)
        self.assertTrue(data.endswith(b"\r\n\r\n"))

    def test_answers_are_json_with_a_length_and_close_the_connection(self):
        for answer in (self.runtime.invoke(1), self.runtime.request("GET", "/healthz")):
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            self.assertEqual(answer.headers["Content-Length"], str(len(answer.body)))
            self.assertEqual(answer.headers["Connection"], "close")

    def test_no_content_is_one_write_and_its_client_may_leave_at_once(self):
        body = json.dumps({"id": "m-204", "route": ROUTE, "payload": None}).encode()
        for _ in range(20):
            with self.runtime.connect() as connection:
                connection.sendall(raw_invoke([f"Content-Length: {len(body)}"], body))
                answer = connection.recv(10000)
            self.assertEqual(answer, b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        self.assertEqual(self.runtime.invoke(1).status, 200)
        self.assertNotIn("answer not sent", self.runtime.stderr)

    def test_a_second_request_on_a_connection_is_not_answered(self):
        data = self.runtime.exchange(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        self.assertEqual(data.count(b"HTTP/1.1 200"), 1)


class Bodies(SharedProcessTestCase):
    def test_a_body_is_read_as_the_headers_say(self):
        for reason, headers, body, status in BODIES:
            with self.subTest(reason):
                data = self.runtime.exchange(raw_invoke(headers, body), close_writing=True)
                self.assertEqual(status_of(data), status, data)
                error = b'{"error":"msg_parsing_error"'
                self.assertEqual(error in data, status == 400, data)

    def test_what_is_not_http_is_refused_in_json(self):
        for reason, data, status in NOT_HTTP:
            with self.subTest(reason):
                answer = self.runtime.exchange(data, close_writing=True)
                self.assertEqual(status_of(answer), status)
                body = json.loads(answer.split(b"\r\n\r\n", 1)[1].decode())
                self.assertEqual(body["error"], "msg_parsing_error")

    def test_a_client_may_wait_for_continue(self):
        with self.runtime.connect() as connection:
            connection.sendall(raw_invoke([LENGTH, "Expect: 100-continue"], b""))
            self.assertEqual(connection.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(BODY)
            self.assertEqual(status_of(connection.recv(10000)), 200)

    def test_a_body_may_arrive_byte_by_byte(self):
        with self.runtime.connect() as connection:
            for byte in raw_invoke([LENGTH], BODY):
                connection.sendall(bytes([byte]))
            self.assertEqual(status_of(connection.recv(10000)), 200)

    def test_ten_megabytes_come_and_go(self):
        text = "0123456789abcdef" * (10 * 1024 * 1024 // 16)
        answer = self.runtime.invoke(text)
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.payloads == [text], "the payload changed")


class Clients(ProcessTestCase):
    def test_one_message_runs_at_a_time(self):
        runtime = self.start("controlled.count")
        pending = [runtime.invoke_later(number) for number in range(20)]
        self.assertEqual([answer.result().payloads for answer in pending], [[1]] * 20)

    def test_further_connections_wait_and_health_is_told_meanwhile(self):
        runtime = self.start("controlled.hold_and_count")
        first = runtime.invoke_later("first")
        runtime.wait_for_file("first.begun")
        second = runtime.invoke_later("second")
        self.assertEqual(runtime.request("GET", "/healthz").status, 200)
        self.assertFalse(os.path.exists(runtime.file("second.begun")))
        runtime.write("second.release")
        runtime.write("first.release")
        self.assertEqual(first.result().payloads, [0])
        self.assertEqual(second.result().payloads, [0])

    def test_a_silent_client_holds_up_nobody(self):
        runtime = self.start("payloads.same")
        with runtime.connect(), runtime.connect() as half:
            half.sendall(raw_invoke([LENGTH], BODY[:5]))
            self.assertEqual(runtime.invoke(1).payloads, [1])
            self.assertEqual(runtime.stop(), 0)

    def test_a_client_that_leaves_during_its_call_ends_nothing(self):
        for close in (socket.socket.close, lambda gone: gone.shutdown(socket.SHUT_RDWR)):
            with self.subTest(close):
                runtime = self.start("controlled.hold")
                body = BODY.replace(b'"p"', b'"gone"')
                gone = runtime.connect()
                gone.sendall(raw_invoke(["Content-Length: {}".format(len(body))], body))
                runtime.wait_for_file("gone.begun")
                close(gone)
                runtime.write("gone.release")
                runtime.write("next.release")
                self.assertEqual(runtime.invoke("next").payloads, ["next"])
                self.assertTrue(os.path.exists(runtime.file("gone.ended")))
                gone.close()

    def test_a_message_whose_client_left_before_its_turn_is_not_run(self):
        runtime = self.start("controlled.hold")
        first = runtime.invoke_later("first")
        runtime.wait_for_file("first.begun")
        body = BODY.replace(b'"p"', b'"gone"')
        with runtime.connect() as gone:
            gone.sendall(raw_invoke(["Content-Length: {}".format(len(body))], body))
            # The answer to a later connection tells that this one was accepted before it.
            self.assertEqual(runtime.request("GET", "/healthz").status, 200)
        runtime.write("first.release")
        self.assertEqual(first.result().payloads, ["first"])
        runtime.write("next.release")
        runtime.write("gone.release")
        self.assertEqual(runtime.invoke("next").payloads, ["next"])
        self.assertFalse(os.path.exists(runtime.file("gone.begun")))

    def test_a_client_that_only_ends_its_writing_gets_its_answer(self):
        runtime = self.start("controlled.hold")
        body = BODY.replace(b'"p"', b'"half"')
        request = raw_invoke(["Content-Length: {}".format(len(body))], body)
        half = PendingAnswer(lambda: runtime.exchange(request, close_writing=True))
        runtime.wait_for_file("half.begun")
        runtime.write("half.release")
        self.assertEqual(status_of(half.result()), 200)


if __name__ == "__main__":
    unittest.main()
