"""One handler of each kind; all of them say `{"got": payload}` in their own way."""

import asyncio
import functools


def function(payload):
    return {"got": payload}


async def coroutine(payload):
    await asyncio.sleep(0)
    return {"got": payload}


def generator(payload):
    for number in range(payload):
        yield {"number": number}


async def async_generator(payload):
    for number in range(payload):
        await asyncio.sleep(0)
        yield {"number": number}


def generator_with_nones(payload):
    yield None
    yield payload
    yield None


async def async_generator_with_nones(payload):
    yield None
    yield payload


async def coroutine_none(payload):
    return None


def reused_object(payload):
    """Yields one object again and again, changed in between."""
    frame = {}
    for number in range(payload):
        frame["number"] = number
        yield frame


def failing_generator(payload):
    yield 1
    raise ValueError("after one frame")


def generator_with_bad_value(payload):
    yield 1
    yield object()


async def async_generator_with_bad_value(payload):
    yield 1
    yield object()


async def failing_coroutine(payload):
    await asyncio.sleep(0)
    raise ValueError("in the coroutine")


async def exiting_coroutine(payload):
    await asyncio.sleep(0)
    raise SystemExit(3)


async def coroutine_of_generator(payload):
    return (number for number in range(payload))


def runs_own_loop(payload):
    """A sync handler may start a loop of its own: none is running around it."""
    return asyncio.run(coroutine(payload))


def logged(function):
    @functools.wraps(function)
    def wrapper(payload):
        return function(payload)

    return wrapper


@logged
def decorated(payload):
    return {"got": payload}


@logged
async def decorated_coroutine(payload):
    return {"got": payload}


def with_key(key, payload):
    return {key: payload}


async def coroutine_with_key(key, payload):
    return {key: payload}


partial = functools.partial(with_key, "got")
partial_coroutine = functools.partial(coroutine_with_key, "got")
short = lambda payload: {"got": payload}  # noqa: E731


class Model:
    instances = 0

    def __init__(self):
        Model.instances += 1
        self.calls = 0

    def count(self, payload):
        self.calls += 1
        return {"instances": Model.instances, "calls": self.calls}

    async def coroutine(self, payload):
        return {"got": payload}

    def generator(self, payload):
        for number in range(payload):
            yield {"number": number}

    async def async_generator(self, payload):
        for number in range(payload):
            yield {"number": number}

    @staticmethod
    def static(payload):
        return {"got": payload}

    @classmethod
    def of_class(cls, payload):
        return {"got": payload}

    def __call__(self, payload):
        return {"got": payload}

    class Inner:
        def run(self, payload):
            return {"got": payload}


class AsyncCallable:
    async def __call__(self, payload):
        return {"got": payload}


model = Model()
async_callable = AsyncCallable()


class Lock:
    """An asyncio lock that is made before the loop runs."""

    def __init__(self):
        self.lock = asyncio.Lock()

    async def run(self, payload):
        waiting = asyncio.ensure_future(self.hold())
        await asyncio.sleep(0)
        async with self.lock:
            await waiting
        return {"got": payload}

    async def hold(self):
        async with self.lock:
            await asyncio.sleep(0.001)


class Loops:
    """Tells whether each call runs on the same loop, and whether tasks go on between calls."""

    def __init__(self):
        self.loops = set()
        self.ticks = 0
        self.task = None

    async def run(self, payload):
        self.loops.add(id(asyncio.get_event_loop()))
        if self.task is None:
            self.task = asyncio.ensure_future(self.tick())
        return {"loops": len(self.loops), "ticks": self.ticks}

    async def tick(self):
        while True:
            self.ticks += 1
            await asyncio.sleep(0.001)
