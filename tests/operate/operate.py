"""Handlers of the actors on which the commands of operators run."""

import os
import sys


def handle(payload):
    sys.stdout.write("handled " + payload["text"] + "\n")
    sys.stdout.flush()
    return payload


def crash(payload):
    """Ends the process, until a file of the payload's name is in the folder FIXED, relative to the root."""
    if not os.path.exists(os.path.join("/", os.environ["FIXED"], payload["text"])):
        os._exit(3)
    return handle(payload)
