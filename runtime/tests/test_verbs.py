"""What handlers read and change of the envelope: verbs and the parameter `metadata`."""

import unittest

from harness import NEXT_ROUTE, ROUTE, ProcessTestCase, Runtime, SharedProcessTestCase

HEADERS = {"trace": "t", "model.name": "m", "deep": {"list": [1, 2]}}
STATUS = {"phase": "processing", "attempt": 2}
ENVELOPE = {"parent_id": "p-1", "headers": HEADERS, "status": STATUS}

READS = [
    # (reason, path, value)
    ("the actors before", ".route.prev", []),
    ("this actor", ".route.curr", "first"),
    ("the actors after", ".route.next", ["second", "third"]),
    ("one of them", ".route.next[0]", "second"),
    ("the last of them", ".route.next[-1]", "third"),
    ("one that there is not", ".route.next[7]", None),
    ("the whole route", ".route", ROUTE),
    ("all headers", ".headers", HEADERS),
    ("a header", ".headers.trace", "t"),
    ("a header with a dot", '.headers["model.name"]', "m"),
    ("a part of a header", ".headers.deep.list[1]", 2),
    ("a header that there is not", ".headers.missing", None),
    ("a part of what has none", ".headers.trace.part", None),
    ("the status", ".status", STATUS),
    ("a part of the status", ".status.attempt", 2),
    ("the id", ".id", "m-1"),
    ("the id of the parent", ".parent_id", "p-1"),
]

NEXT = ".route.next"
WRITES = [
    # (reason, verb, what changes in the frame)
    ("another route", ("SET", NEXT, ["x"]), {"route": ("x", [])}),
    ("no route", ("SET", NEXT, []), {"route": ("", [])}),
    ("deleted route", ("DEL", NEXT), {"route": ("", [])}),
    ("in front", ("SET", NEXT + "[:0]", ["x"]), {"route": ("x", ["second", "third"])}),
    ("behind", ("SET", NEXT + "[999:]", ["x"]), {"route": ("second", ["third", "x"])}),
    ("in the middle", ("SET", NEXT + "[1:1]", ["x"]), {"route": ("second", ["x", "third"])}),
    ("one of them", ("SET", NEXT + "[0]", "x"), {"route": ("x", ["third"])}),
    ("without one", ("DEL", NEXT + "[0]"), {"route": ("third", [])}),
    ("a header", ("SET", ".headers.new", [1]), {"headers": dict(HEADERS, new=[1])}),
    ("a deep header", ("SET", ".headers.a.b", 1), {"headers": dict(HEADERS, a={"b": 1})}),
    ("all headers", ("SET", ".headers", {"a": 1}), {"headers": {"a": 1}}),
    (
        "a header less",
        ("DEL", ".headers.trace"),
        {"headers": {key: HEADERS[key] for key in HEADERS if key != "trace"}},
    ),
    ("no headers", ("DEL", ".headers"), {"headers": {}}),
    ("nothing to delete", ("DEL", ".headers.missing.part"), {}),
    ("the status", ("SET", ".status.phase", "paused"), {"status": dict(STATUS, phase="paused")}),
    ("no status", ("SET", ".status", {}), {"status": {}}),
]

REFUSED = [
    # (reason, yielded tuple, error)
    ("the past", ("SET", ".route.prev", []), "PermissionError: SET '.route.prev': only .route."),
    ("this actor", ("SET", ".route.curr", "x"), "PermissionError: SET '.route.curr'"),
    ("the id", ("DEL", ".id"), "PermissionError: DEL '.id'"),
    ("a name like one", ("SET", ".headersx", 1), "PermissionError: SET '.headersx'"),
    ("no list", ("SET", NEXT, "x"), "TypeError: SET '.route.next': route.next must stay a list"),
    ("no names", ("SET", NEXT, [1]), "TypeError: SET '.route.next': route.next must stay a list"),
    ("no object", ("SET", ".status", 1), "TypeError: SET '.status': status must stay an object"),
    ("no path", ("GET", "headers"), "ValueError: 'headers' is not a path"),
    ("an empty path", ("GET", ""), "ValueError: '' is not a path"),
    ("an open bracket", ("GET", ".headers["), "ValueError: '.headers[' is not a path"),
    ("a path of numbers", ("GET", 5), "ValueError: 5 is not a path"),
    ("a slice to read", ("GET", NEXT + "[:1]"), "ValueError: GET '.route.next[:1]': a slice"),
    ("no value", ("SET", NEXT), "ValueError: SET with 1 operands: expected ('SET', path, value)"),
    ("a list in the way", ("SET", NEXT + ".x", 1), "TypeError: SET '.route.next.x': the value"),
    ("too far", ("SET", NEXT + "[9]", "x"), "IndexError: SET '.route.next[9]': the list is"),
]


class Verbs(ProcessTestCase):
    def test_get_returns_the_value_at_the_path(self):
        for handler in ("verbs.run", "verbs.run_async"):
            runtime = self.start(handler)
            for reason, path, value in READS:
                with self.subTest(reason, handler=handler):
                    answer = runtime.invoke({"verbs": [("GET", path)]}, **ENVELOPE)
                    self.assertEqual(answer.payloads, [[value]])

    def test_more_than_a_path_is_ignored(self):
        runtime = self.start("verbs.run")
        verb = ("GET", ".headers.trace", "a default")
        answer = runtime.invoke({"verbs": [verb]}, **ENVELOPE)
        self.assertEqual(answer.payloads, [[HEADERS["trace"]]])

    def test_a_message_without_a_parent_has_an_empty_one(self):
        runtime = self.start("verbs.run")
        self.assertEqual(runtime.invoke({"verbs": [("GET", ".parent_id")]}).payloads, [[""]])

    def test_set_and_del_change_the_frames_that_follow(self):
        runtime = self.start("verbs.run")
        for reason, verb, changes in WRITES:
            with self.subTest(reason):
                (frame,) = runtime.invoke({"verbs": [verb]}, **ENVELOPE).json["frames"]
                curr, following = changes.get("route", ("second", ["third"]))
                route = {"prev": ["first"], "curr": curr, "next": following}
                expected = {"payload": [None], "route": route}
                expected["headers"] = changes.get("headers", HEADERS)
                expected["status"] = changes.get("status", STATUS)
                if expected["status"] is None:
                    del expected["status"]
                self.assertEqual(frame, expected)

    def test_what_is_wrong_with_a_verb_is_raised_at_its_yield(self):
        runtime = self.start("verbs.catches")
        for reason, verb, error in REFUSED:
            with self.subTest(reason):
                (payload,) = runtime.invoke(verb).payloads
                self.assertEqual(payload[: len(error)], error)

    def test_an_uncaught_error_of_a_verb_fails_the_call_with_the_handlers_line(self):
        runtime = self.start("verbs.run")
        answer = runtime.invoke({"verbs": [("SET", ".id", "x")]})
        details = answer.json["details"]
        self.assertEqual((answer.status, details["type"]), (500, "PermissionError"))
        self.assertIn("given.append((yield tuple(verb)))", details["traceback"])

    def test_each_frame_has_the_envelope_of_its_moment(self):
        runtime = self.start("verbs.between_frames")
        frames = runtime.invoke(1, headers={"h": 0}).json["frames"]
        other = {"prev": ["first"], "curr": "other", "next": []}
        expected = [
            {"payload": "a", "route": NEXT_ROUTE, "headers": {"h": 0}},
            {"payload": "b", "route": other, "headers": {"h": 0, "n": 1}},
            {"payload": "c", "route": other, "headers": {"h": 0}, "status": {"phase": "paused"}},
        ]
        self.assertEqual(frames, expected)

    def test_delegated_verbs_count(self):
        runtime = self.start("verbs.delegates")
        self.assertEqual(runtime.invoke(1).json["frames"][0]["route"]["curr"], "helper")

    def test_what_get_returns_is_a_copy(self):
        runtime = self.start("verbs.changes_what_it_got")
        self.assertEqual(runtime.invoke(1, headers={"h": 0}).payloads, [{"h": 0}])

    def test_a_tuple_that_begins_with_no_verb_is_a_payload(self):
        runtime = self.start("verbs.tuple_payload")
        self.assertEqual(runtime.invoke(1).payloads, [["NAME", 1, 2]])

    def test_a_bare_yield_passes_nothing_on(self):
        runtime = self.start("verbs.bare")
        self.assertEqual(runtime.invoke(1).status, 204)


class Metadata(ProcessTestCase):
    def test_a_parameter_of_that_name_gets_the_envelope_without_the_payload(self):
        runtime = self.start("verbs.metadata")
        (frame,) = runtime.invoke(1, **ENVELOPE).json["frames"]
        expected = dict(ENVELOPE, id="m-1", route=ROUTE, headers=dict(HEADERS, own=True))
        self.assertEqual(frame["payload"], expected)
        # What the handler changes in it is its own.
        self.assertEqual(frame["headers"], HEADERS)

    def test_keyword_only_and_methods_too(self):
        runtimes = self.start_all(map(Runtime, ("verbs.metadata_only", "verbs.Model.run")))
        payloads = [runtime.invoke(1, status=STATUS).payloads for runtime in runtimes]
        self.assertEqual(payloads, [[{"id": "m-1"}], [STATUS]])

    def test_the_first_parameter_is_the_payload_whatever_its_name(self):
        runtime = self.start("verbs.metadata_is_the_payload")
        self.assertEqual(runtime.invoke({"a": 1}).payloads, [{"a": 1}])


class Status(SharedProcessTestCase):
    def test_the_status_passes_through(self):
        frames = self.runtime.invoke(1, status=STATUS).json["frames"]
        self.assertEqual(frames[0]["status"], STATUS)

    def test_no_status_stays_none(self):
        for fields in ({}, {"status": None}, {"status": {}}):
            self.assertNotIn("status", self.runtime.invoke(1, **fields).json["frames"][0])


if __name__ == "__main__":
    unittest.main()
