"""Handlers of the actors at which routes end: `end_actors.x_sink`, `end_actors.happy_end`,
`end_actors.x_sump` and `end_actors.error_end`.

Each writes one JSON line to standard output and returns None, so that nothing is sent on:

    {"time": "...", "actor": "x-sump", "outcome": "failed", "id": "m-1", "payload": {...}}

The runtime gives a handler the payload and nothing else. `id` is therefore the payload's own
member of that name, null where it has none; the envelope's id stands in the runtime's line
`answered` on standard error, which `ASYA_LOG_LEVEL=debug` turns on. Of the payload only type and
size are written, of a failure the error's type: what the payload holds may be anybody's secret.

Python 3.7 and later, standard library only.
"""

import datetime
import json
import re
import sys

SUCCEEDED, FAILED = "succeeded", "failed"
MAX_TEXT_CHARACTERS = 200


def x_sink(payload):
    """A route that came to its end."""
    log("x-sink", SUCCEEDED, payload)


def happy_end(payload):
    """The same, under its older name."""
    log("happy-end", SUCCEEDED, payload)


def x_sump(payload):
    """A message that an actor failed on for good."""
    log("x-sump", FAILED, payload)


def error_end(payload):
    """The same, under its older name."""
    log("error-end", FAILED, payload)


def log(actor, outcome, payload):
    """One line, whole: other threads may write as well."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    line = {
        "time": now,
        "actor": actor,
        "outcome": outcome,
        "id": member(payload, "id"),
    }
    if outcome == FAILED:
        line["error"] = error_type(payload)
    line["payload"] = {"type": type_name(payload), "bytes": len(json.dumps(payload))}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def member(payload, key):
    """A text of the payload, cut to a length that a log can hold; null for anything else."""
    value = payload.get(key) if isinstance(payload, dict) else None
    return value[:MAX_TEXT_CHARACTERS] if isinstance(value, str) else None


def error_type(payload):
    """The error's type or code, in the forms in which the runtime and sidecars write it:
    `{"error": code, "details": {"type": ...}}` or `{"error": {"type": ...}}`; no other text."""
    error = payload.get("error") if isinstance(payload, dict) else None
    details = payload.get("details") if isinstance(payload, dict) else None
    for text in (member(details, "type"), member(error, "type"), member(payload, "error")):
        if text and re.fullmatch(r"[A-Za-z_][\w.]*", text):
            return text
    return None


def type_name(value):
    """The type as JSON calls it."""
    names = {type(None): "null", bool: "boolean", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")
