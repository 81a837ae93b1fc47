"""Needs a module that is not installed."""

import no_such_dependency  # noqa: F401


def process(payload):
    return payload
