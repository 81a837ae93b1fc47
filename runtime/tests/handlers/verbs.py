"""Generators that read and change the envelope by verbs."""


def run(payload):
    """Executes the verbs in the payload and yields what each of them gave, at the end."""
    given = []
    for verb in payload["verbs"]:
        given.append((yield tuple(verb)))
    yield given


async def run_async(payload):
    given = []
    for verb in payload["verbs"]:
        given.append((yield tuple(verb)))
    yield given


def catches(payload):
    """What is wrong with a verb is raised at its `yield`."""
    try:
        yield tuple(payload)
    except Exception as error:
        yield f"{type(error).__name__}: {error}"


def between_frames(payload):
    """Each frame has the envelope of its moment."""
    yield "a"
    yield "SET", ".headers.n", 1
    yield "SET", ".route.next", ["other"]
    yield "b"
    yield "DEL", ".headers.n"
    yield "SET", ".status.phase", "paused"
    yield "c"


def delegates(payload):
    yield from route("helper")
    yield payload


def route(*actors):
    yield "SET", ".route.next", list(actors)


def changes_what_it_got(payload):
    headers = yield "GET", ".headers"
    headers["own"] = True
    yield (yield "GET", ".headers")


def tuple_payload(payload):
    yield "NAME", 1, 2


def bare(payload):
    yield
    yield None


def metadata(payload, metadata=None):
    metadata["headers"]["own"] = True
    return metadata


def metadata_only(payload, *, metadata):
    yield {"id": metadata["id"]}


def metadata_is_the_payload(metadata):
    return metadata


class Model:
    async def run(self, payload, metadata):
        return metadata["status"]
