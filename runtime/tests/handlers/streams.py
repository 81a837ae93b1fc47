"""Generators that a test watches while they run."""

import asyncio
import os
import time

MEGABYTE = "x" * (1 << 20)


def path(name):
    return os.path.join(os.environ["TEST_DIR"], name)


def numbers(payload):
    for number in range(payload):
        yield number


def step(payload):
    """Yields the first frame, waits for the test, then yields the second."""
    yield "first"
    deadline = time.monotonic() + 20
    while not os.path.exists(path("go-on")) and time.monotonic() < deadline:
        time.sleep(0.005)
    yield "second"


async def step_async(payload):
    yield "first"
    while not os.path.exists(path("go-on")):
        await asyncio.sleep(0.005)
    yield "second"


def flies(payload):
    yield "FLY", {"token": "a"}
    yield "FLY", "text", {"token": "b"}
    yield {"done": True}


def fails(payload):
    yield 1
    raise KeyError("after one frame")


def unavailable(payload):
    if payload:
        yield 1
    raise GiveBack("the target is ending")


class GiveBack(Exception):
    asya_give_back = True


def large(count):
    for number in range(count):
        yield {"number": number, "data": MEGABYTE}


async def large_async(count):
    for number in range(count):
        yield {"number": number, "data": MEGABYTE}


def endless(payload):
    """Ends when it is closed."""
    try:
        while True:
            yield MEGABYTE
    finally:
        open(path("closed"), "w").close()


async def endless_async(payload):
    try:
        while True:
            yield MEGABYTE
    finally:
        open(path("closed"), "w").close()


def returns(payload):
    return payload
