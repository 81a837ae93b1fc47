"""Results of types that JSON does not know."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date


class Pair(typing.NamedTuple):
    left: int
    right: int


class Pydantic2:
    """Behaves as a model of pydantic 2 does."""

    def model_dump(self, mode="python"):
        return {"mode": mode, "at": "2024-01-02T03:04:05Z"}


class Pydantic1:
    __fields__ = {}

    def dict(self):
        return {"at": datetime.datetime(2024, 1, 2)}


UTC = datetime.timezone.utc
VALUES = {
    "dataclass": Point(1, datetime.date(2024, 1, 2)),
    "datetime": datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    "date": datetime.date(2024, 1, 2),
    "time": datetime.time(3, 4, 5),
    "uuid": uuid.UUID(int=1),
    "decimal": decimal.Decimal("1.10"),
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"ab"),
    "memoryview": memoryview(b"ab"),
    "set": {3, 1, 2},
    "mixed set": frozenset(["a"]),
    "enum": Color.RED,
    "int enum": Level.HIGH,
    "named tuple": Pair(1, 2),
    "path": pathlib.PurePosixPath("/a/b"),
    "pydantic 2": Pydantic2(),
    "pydantic 1": Pydantic1(),
    "deep": {"list": [{"point": Point(1, datetime.date(2024, 1, 2)), "colors": {Color.RED}}]},
    "class": Point,
}


def results(name):
    return VALUES[name]
