"""The envelope: what is accepted, what is refused and with which words, and how routes shift."""

import json
import unittest

from harness import NEXT_ROUTE, ROUTE, SharedProcessTestCase, raw_invoke, status_of

ENVELOPE = {"id": "m-1", "route": ROUTE, "headers": {"trace": "t"}, "payload": 1}


def without(*path):
    """The envelope less the member at the path."""
    envelope = json.loads(json.dumps(ENVELOPE))
    owner = envelope
    for key in path[:-1]:
        owner = owner[key]
    del owner[path[-1]]
    return envelope


def with_route(**fields):
    return dict(ENVELOPE, route=dict(ROUTE, **fields))


ACCEPTED = [
    # (reason, envelope)
    ("the whole envelope", ENVELOPE),
    ("parent_id and status are optional and not ours", dict(ENVELOPE, parent_id="p", status={})),
    ("headers are optional", without("headers")),
    ("Go writes an empty map as null", dict(ENVELOPE, headers=None)),
    ("Go writes empty lists as null", with_route(prev=None, next=None)),
    ("an end actor has nothing before or after it", with_route(prev=[], curr="", next=[])),
    ("null is a payload", dict(ENVELOPE, payload=None)),
    ("members of a later protocol are passed over", dict(ENVELOPE, later=True)),
]

VALUE, TYPE = "ValueError", "TypeError"

REFUSED = [
    # (reason, message, details.message without its prefix, details.type)
    ("a message is an object", [], "expected a JSON object, found list", TYPE),
    ("a text is none", "text", "expected a JSON object, found str", TYPE),
    ("null is none", None, "expected a JSON object, found NoneType", TYPE),
    ("no id", without("id"), "id: missing", VALUE),
    ("an id is a text", dict(ENVELOPE, id=5), "id: expected str, found int", TYPE),
    ("an id says something", dict(ENVELOPE, id=""), "id: must not be empty", VALUE),
    ("no route", without("route"), "route: missing", VALUE),
    ("a route is no list", dict(ENVELOPE, route=[]), "route: expected dict, found list", TYPE),
    (
        "a route is not null",
        dict(ENVELOPE, route=None),
        "route: expected dict, found NoneType",
        TYPE,
    ),
    ("no prev", without("route", "prev"), "route.prev: missing", VALUE),
    ("no curr", without("route", "curr"), "route.curr: missing", VALUE),
    ("no next", without("route", "next"), "route.next: missing", VALUE),
    ("prev is no text", with_route(prev="a"), "route.prev: expected list, found str", TYPE),
    ("next is no map", with_route(next={}), "route.next: expected list, found dict", TYPE),
    ("curr is not null", with_route(curr=None), "route.curr: expected str, found NoneType", TYPE),
    ("curr is no list", with_route(curr=["a"]), "route.curr: expected str, found list", TYPE),
    (
        "every actor before is a text",
        with_route(prev=["a", 1]),
        "route.prev: expected a list of strings",
        TYPE,
    ),
    (
        "every actor after is a text",
        with_route(next=[False]),
        "route.next: expected a list of strings",
        TYPE,
    ),
    (
        "headers are a map",
        dict(ENVELOPE, headers=["a"]),
        "headers: expected dict, found list",
        TYPE,
    ),
    ("no payload", without("payload"), "payload: missing", VALUE),
]

DECODE = "JSONDecodeError"

NOT_JSON = [
    # (reason, body, details.type)
    ("an empty body", b"", DECODE),
    ("a broken body", b'{"id":', DECODE),
    ("two values", b"{} {}", DECODE),
    ("not UTF-8", b'"\xff"', "UnicodeDecodeError"),
    ("UTF-16 is not JSON's encoding", '{"id":"m"}'.encode("utf-16"), "UnicodeDecodeError"),
    ("NaN is not JSON", b'{"payload":NaN}', "ValueError"),
    ("Infinity is not JSON", b'{"payload":-Infinity}', "ValueError"),
    ("nested too deeply", b"[" * 200000, "RecursionError"),
]

SHIFTS = [
    # (reason, route, route of the frame)
    ("the next actor becomes the current one", ROUTE, NEXT_ROUTE),
    (
        "the last actor leaves nothing",
        {"prev": ["a"], "curr": "b", "next": []},
        {"prev": ["a", "b"], "curr": "", "next": []},
    ),
    (
        "no current actor adds nothing to the past",
        {"prev": ["a"], "curr": "", "next": []},
        {"prev": ["a"], "curr": "", "next": []},
    ),
    (
        "null lists count as empty ones",
        {"prev": None, "curr": "a", "next": None},
        {"prev": ["a"], "curr": "", "next": []},
    ),
    (
        "members of a later protocol stay",
        {"prev": [], "curr": "a", "next": ["b"], "meta": {"k": 1}},
        {"prev": ["a"], "curr": "b", "next": [], "meta": {"k": 1}},
    ),
]


class ValidatedMessages(SharedProcessTestCase):
    def test_well_formed_envelopes_reach_the_handler(self):
        for reason, envelope in ACCEPTED:
            with self.subTest(reason):
                answer = self.runtime.send(envelope)
                expected = 204 if envelope["payload"] is None else 200
                self.assertEqual(answer.status, expected, answer.json)

    def test_misshapen_envelopes_are_refused_with_the_place(self):
        for reason, message, text, kind in REFUSED:
            with self.subTest(reason):
                answer = self.runtime.send(message)
                details = {"message": "cannot read the message: " + text, "type": kind}
                self.assertEqual(answer.json, {"error": "msg_parsing_error", "details": details})
                self.assertEqual(answer.status, 400)

    def test_a_body_that_is_not_json_is_refused(self):
        for reason, body, kind in NOT_JSON:
            with self.subTest(reason):
                answer = self.runtime.request("POST", "/invoke", body)
                self.assertEqual(answer.status, 400)
                self.assertEqual(answer.json["error"], "msg_parsing_error")
                self.assertEqual(answer.json["details"]["type"], kind)
                self.assertTrue(answer.json["details"]["message"])

    def test_a_body_without_a_length_is_empty_and_refused(self):
        self.assertEqual(status_of(self.runtime.exchange(raw_invoke([], b""))), 400)

    def test_each_frame_has_the_shifted_route(self):
        for reason, route, shifted in SHIFTS:
            with self.subTest(reason):
                answer = self.runtime.invoke(1, route=route)
                self.assertEqual(answer.json["frames"][0]["route"], shifted)

    def test_headers_pass_through_unchanged(self):
        headers = {"trace": "t", "deep": {"list": [1, None, "\ud800"]}}
        frames = self.runtime.invoke(1, headers=headers).json["frames"]
        self.assertEqual(frames, [{"payload": 1, "route": NEXT_ROUTE, "headers": headers}])

    def test_absent_headers_become_an_empty_map(self):
        self.assertEqual(self.runtime.invoke(1).json["frames"][0]["headers"], {})


LENIENT = [
    # (reason, message, frames)
    (
        "nothing but a payload",
        {"payload": 1},
        [{"payload": 1, "route": {"prev": [], "curr": "", "next": []}, "headers": {}}],
    ),
    (
        "a route that is none",
        {"payload": 1, "route": "text"},
        [{"payload": 1, "route": {"prev": [], "curr": "", "next": []}, "headers": {}}],
    ),
    (
        "a route with parts that are none",
        {"payload": 1, "route": {"prev": "a", "curr": "b", "next": 5}},
        [{"payload": 1, "route": {"prev": ["b"], "curr": "", "next": []}, "headers": {}}],
    ),
    (
        "a whole envelope is treated as ever",
        ENVELOPE,
        [{"payload": 1, "route": NEXT_ROUTE, "headers": {"trace": "t"}}],
    ),
]


class UnvalidatedMessages(SharedProcessTestCase):
    environment = {"ASYA_ENABLE_VALIDATION": "false"}

    def test_any_object_reaches_the_handler(self):
        for reason, message, frames in LENIENT:
            with self.subTest(reason):
                answer = self.runtime.send(message)
                self.assertEqual((answer.status, answer.json), (200, {"frames": frames}))

    def test_an_absent_payload_is_none(self):
        self.assertEqual(self.runtime.send({}).status, 204)

    def test_what_is_not_a_json_object_is_still_refused(self):
        for body in (b"", b"{", b"[]", b'{"payload":NaN}'):
            with self.subTest(body):
                self.assertEqual(self.runtime.request("POST", "/invoke", body).status, 400)


if __name__ == "__main__":
    unittest.main()
