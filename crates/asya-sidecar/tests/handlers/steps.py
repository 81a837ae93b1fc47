"""The handler of tests: does what the payload's member `do` names, and notes each call in the file
CALLS, one line each."""

import json
import os
import sys
import time


def handle(payload):
    do = payload.get("do") if isinstance(payload, dict) else None
    with open(os.environ["CALLS"], "a", encoding="utf-8") as calls:
        calls.write(json.dumps(payload) + "\n")
    if do == "raise":
        raise ValueError("as asked")
    if do == "raise-key":
        raise KeyError("as asked")
    if do == "hold":
        wait_for(payload["release"])
    if do == "sleep":
        time.sleep(payload["seconds"])
    if do == "exit":
        os._exit(7)
    if do == "nothing":
        return None
    if do == "fly":
        return fly()
    if do == "fan":
        return fan(payload)
    return payload


def fan(payload):
    for number in range(payload["count"]):
        if payload.get("fail_at") == number:
            raise ValueError("half-way")
        if payload.get("hold_at") == number:
            wait_for(payload["release"])
        yield {"number": number, "filler": "x" * payload.get("bytes", 0)}


def fly():
    yield "FLY", {"token": "partial"}
    yield {"done": True}


def wait_for(path):
    deadline = time.monotonic() + 120
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.005)


if __name__ == "__main__":
    sys.exit("this is a handler")
