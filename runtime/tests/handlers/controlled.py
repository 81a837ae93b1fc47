"""Handlers that a test steers through files in TEST_DIR."""

import asyncio
import atexit
import multiprocessing
import os
import threading
import time

DEADLINE_SECONDS = 20


def path(name):
    return os.path.join(os.environ["TEST_DIR"], name)


def write(name):
    open(path(name), "w").close()


def exists(name):
    return os.path.exists(path(name))


def wait_for(name):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not exists(name):
        if time.monotonic() > deadline:
            raise TimeoutError(name)
        time.sleep(0.005)


def hold(name):
    """Says that it began, then waits until the test releases it."""
    write(name + ".begun")
    wait_for(name + ".release")
    write(name + ".ended")
    return name


async def hold_async(name):
    write(name + ".begun")
    while not exists(name + ".release"):
        await asyncio.sleep(0.005)
    return name


running = []
most_at_once = 0


def count(payload):
    """How many calls ran at the same time, at most."""
    global most_at_once
    running.append(payload)
    most_at_once = max(most_at_once, len(running))
    time.sleep(0.002)
    running.pop()
    return most_at_once


def hold_and_count(name):
    running.append(name)
    hold(name)
    running.pop()
    return len(running)


tasks = []


async def leave_task(payload):
    """Leaves a task that does something when it is cancelled."""

    async def clean_up():
        try:
            await asyncio.sleep(3600)
        finally:
            write("cleaned-up")

    tasks.append(asyncio.ensure_future(clean_up()))
    await asyncio.sleep(0)
    return payload


def leave_thread(payload):
    """Leaves a thread that never ends."""
    threading.Thread(target=threading.Event().wait).start()
    return payload


def leave_hook(payload):
    atexit.register(write, "exit-hook")
    return payload


def terminate_child(payload):
    """Ends a forked child by SIGTERM, as `multiprocessing.Pool` does."""
    begun, _keep_open = multiprocessing.Pipe(duplex=False)
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=threading.Event().wait)
    child.start()
    child.terminate()
    child.join(DEADLINE_SECONDS)
    code = child.exitcode
    if code is None:
        child.kill()
    return code


def talk(payload):
    """Writes to both standard streams."""
    import sys

    print("to stdout", flush=True)
    print("to stderr", file=sys.stderr, flush=True)
    return payload


def close_streams(payload):
    import sys

    sys.stderr = None
    sys.stdout = None
    return payload


class SystemExitInTask:
    """A task of the handler's own ends the loop by SystemExit while the handler waits."""

    async def run(self, payload):
        async def leave():
            raise SystemExit(3)

        if payload == "leave":
            asyncio.ensure_future(leave())
            await asyncio.sleep(3600)
        return payload


def hold_for_large(name):
    hold(name)
    return "x" * (10 * 1024 * 1024)
