"""Handlers of the actors at which routes end: `end_actors.x_sink`, `end_actors.happy_end`,
`end_actors.x_sump` and `end_actors.error_end`.

Each writes one JSON line to standard output and returns None, so that nothing is sent on:

    {"time": "...", "actor": "x-sump", "outcome": "failed", "id": "m-1", "error": "KeyError",
     "failed_at": "parser", "payload": {"type": "object", "bytes": 17}}

`id` is the envelope's. `outcome` is `failed` at `x_sump` and `error_end`, and wherever the
envelope's status or the payload reports a failure; `error` is then the error's type and
`failed_at` the actor at which it happened, null where the message does not contain it. Of the
payload only type and size are logged, of an error no text: either may hold somebody's secrets.

Python 3.8 and later, standard library only.
"""

import datetime
import json
import re
import sys

SUCCEEDED, FAILED = "succeeded", "failed"
FAILED_PHASES = ("failed", "error", "cancelled", "canceled", "timeout", "timed_out", "expired")
MAX_TEXT_CHARACTERS = 200


def x_sink(payload, metadata=None):
    """The end of routes that were completed; newer sidecars send failed messages here too."""
    log("x-sink", payload, metadata)


def happy_end(payload, metadata=None):
    """The same under its older name."""
    log("happy-end", payload, metadata)


def x_sump(payload, metadata=None):
    """The end of messages that failed for good."""
    log("x-sump", payload, metadata, failed=True)


def error_end(payload, metadata=None):
    """The same under its older name."""
    log("error-end", payload, metadata, failed=True)


def log(actor, payload, metadata, failed=False):
    """Writes one line, whole: other threads may write as well."""
    metadata = metadata or {}
    status = metadata.get("status")
    status = status if isinstance(status, dict) else {}
    failed = failed or is_failure(metadata, status, payload)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    line = {
        "time": now,
        "actor": actor,
        "outcome": FAILED if failed else SUCCEEDED,
        "id": member(metadata, "id") or member(payload, "id"),
    }
    if failed:
        line["error"] = error_type(status, payload)
        line["failed_at"] = member(status, "actor")
    line["payload"] = {"type": type_name(payload), "bytes": len(json.dumps(payload))}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def is_failure(metadata, status, payload):
    """Whether a message reports a failure: in its status, or in its payload as the
    runtime and sidecars without a status write it (`{"error": code, "details": {...}}` and
    `{"error": {"type": ...}}`)."""
    phase = metadata.get("status") if isinstance(metadata.get("status"), str) else ""
    phase = status.get("phase") or phase
    if str(phase).lower() in FAILED_PHASES or status.get("error"):
        return True
    error = payload.get("error") if isinstance(payload, dict) else None
    if isinstance(error, dict):
        return member(error, "type") is not None
    return isinstance(error, str) and isinstance(payload.get("details"), dict)


def member(owner, key):
    """A text or whole number in an object, cut to a length that a log can hold; None for anything else."""
    value = owner.get(key) if isinstance(owner, dict) else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value[:MAX_TEXT_CHARACTERS] if isinstance(value, str) else None


def error_type(status, payload):
    """The error's type or code: that of the status, or of the payload in one of the
    forms `{"error": code, "details": {"type": ...}}` and `{"error": {"type": ...}}`."""
    payload = payload if isinstance(payload, dict) else {}
    owners = (status.get("error"), payload.get("details"), payload.get("error"))
    texts = [member(owner, "type") for owner in owners]
    for text in texts + [member(status, "error"), member(payload, "error")]:
        if text and re.fullmatch(r"[A-Za-z_][\w.]*", text):
            return text
    return None


def type_name(value):
    """The type as JSON calls it."""
    names = {type(None): "null", bool: "boolean", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")
