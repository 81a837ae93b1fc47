"""Installs signal handlers of its own at import, as some frameworks do."""

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)


def same(payload):
    return payload
