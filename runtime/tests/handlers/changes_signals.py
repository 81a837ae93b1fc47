"""Handlers that change how signals are received."""

import _signal
import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time

DEADLINE_SECONDS = 20


def path(name):
    return os.path.join(os.environ["TEST_DIR"], name)


def write(name, *_):
    open(path(name), "w").close()


signal.signal(signal.SIGTERM, lambda *_: write("at-import"))


def loop():
    return asyncio.get_running_loop()


async def on_shared_loop(payload):
    """`payload` is the name of the signal."""
    loop().add_signal_handler(getattr(signal, payload), write, "received")
    return payload


async def stops_shared_loop(payload):
    loop().add_signal_handler(signal.SIGTERM, loop().stop)
    return payload


async def stops_shared_loop_in_call(payload):
    loop().add_signal_handler(signal.SIGTERM, loop().stop)
    write("begun")
    while not os.path.exists(path("release")):
        await asyncio.sleep(0.005)
    return payload


def on_own_loop(payload):
    """`payload` is the name of the signal."""

    async def add():
        loop().add_signal_handler(getattr(signal, payload), lambda: None)

    asyncio.run(add())
    return payload


def without_wakeup(payload):
    signal.set_wakeup_fd(-1)
    return payload


def ignores(payload):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return payload


def resets(payload):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return payload


def by_native_code(payload):
    """As libraries do that do not use the module `signal`."""
    _signal.signal(_signal.SIGTERM, _signal.SIG_IGN)
    _signal.set_wakeup_fd(-1)
    return payload


def blocks(payload):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    return payload


def own_function(payload):
    signal.signal(signal.SIGTERM, lambda *_: write("received"))
    return payload


def puts_back(payload):
    """What `getsignal` and `signal` return, for a function of the handler's own."""

    def own(*_):
        pass

    first = signal.getsignal(signal.SIGTERM)
    results = [signal.signal(signal.SIGTERM, own) is first]
    results.append(signal.getsignal(signal.SIGTERM) is own)
    results.append(signal.signal(signal.SIGTERM, first) is own)
    results.append(signal.getsignal(signal.SIGTERM) is first)
    return results


def refused(payload):
    """What the real functions raise."""
    failures = []

    def attempt(function, *values):
        try:
            function(*values)
        except Exception as error:
            failures.append(type(error).__name__)

    attempt(signal.signal, signal.SIGTERM, "text")
    attempt(signal.set_wakeup_fd, 1 << 20)
    other = threading.Thread(target=attempt, args=(signal.signal, signal.SIGTERM, write))
    other.start()
    other.join()
    return failures


def exits_in_call(payload):
    """The function for the signal raises SystemExit inside the call."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    write("begun")
    while not os.path.exists(path("release")):
        time.sleep(0.005)
    return payload


def exit_with_seven(*_):
    os._exit(7)


def child_main(ready):
    signal.signal(signal.SIGTERM, exit_with_seven)
    ready.send(None)
    threading.Event().wait()


def child(payload):
    """The exit code of a forked child that has a function for SIGTERM."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child_main, args=(there,))
    process.start()
    here.recv()
    process.terminate()
    process.join(DEADLINE_SECONDS)
    code = process.exitcode
    if code is None:
        process.kill()
    return code
