"""Handlers that do not end by themselves."""

import asyncio
import os
import re
import threading
import time


def write(name):
    open(os.path.join(os.environ["TEST_DIR"], name), "w").close()


def sleep(payload):
    write("begun")
    time.sleep(3600)


def spin(payload):
    write("begun")
    while True:
        try:
            len("")
        except BaseException:
            pass


def spin_empty(payload):
    """Python 3.10 never releases its lock here: no instruction between two `try` looks."""
    if payload == "quick":
        return payload
    write("begun")
    while True:
        try:
            pass
        except BaseException:
            pass


def backtrack(payload):
    """Never releases Python's lock."""
    if payload == "quick":
        return payload
    write("begun")
    re.match("(a+)+$", "a" * 60 + "b")


def lock(payload):
    write("begun")
    threading.Event().wait()


def generator(payload):
    yield 1
    write("begun")
    time.sleep(3600)


async def cancellable(payload):
    """Ends when it is cancelled."""
    if payload == "quick":
        return payload
    write("begun")
    try:
        await asyncio.sleep(3600)
    finally:
        write("cancelled")


async def cancellable_generator(payload):
    if payload == "quick":
        yield payload
        return
    write("begun")
    try:
        await asyncio.sleep(3600)
    finally:
        write("cancelled")


async def stubborn(payload):
    """Does not end when it is cancelled."""
    write("begun")
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            write("cancelled")


async def blocks_loop(payload):
    write("begun")
    time.sleep(3600)


async def leaves_blocking_task(payload):
    """Answers, and leaves a task that blocks the event loop."""

    async def block():
        write("begun")
        time.sleep(3600)

    asyncio.get_event_loop().call_later(0.05, asyncio.ensure_future, block())
    return payload


def slow(payload):
    """Ends a while after its caller has left."""
    if payload == "quick":
        return payload
    write("begun")
    time.sleep(payload)
    write("ended")
    return payload
