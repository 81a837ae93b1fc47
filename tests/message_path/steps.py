"""Handlers of the actors of the message path.

Each adds its actor's name to the payload's `trail`, and writes one JSON line to standard output
when it has done so. A payload with `hold` is held by the actor of that name: the file `<id>.begun`
in STEP_FILES says so, and the call goes on when `<id>.release` is there. One with `fail` fails at
the actor of that name.
"""

import json
import os
import sys
import time

STEP = os.environ["STEP"]
FILES = os.environ["STEP_FILES"]


def step(payload):
    if payload.get("hold") == STEP:
        hold(payload["id"])
    if payload.get("fail") == STEP:
        raise ValueError(f"{payload['id']} was to fail at {STEP}")
    trail = payload.get("trail", []) + [STEP]
    sys.stdout.write(json.dumps({"id": payload["id"], "trail": trail}) + "\n")
    sys.stdout.flush()
    return dict(payload, trail=trail)


def hold(name):
    with open(os.path.join(FILES, name + ".begun"), "w", encoding="utf-8"):
        pass
    while not os.path.exists(os.path.join(FILES, name + ".release")):
        time.sleep(0.005)
