"""Greets whoever is named in the message."""

import os


def handle(payload):
    name = payload["name"]
    if not name:
        raise ValueError("nobody to greet")
    return {"greeting": f"{os.environ['GREETING']}, {name}!"}
