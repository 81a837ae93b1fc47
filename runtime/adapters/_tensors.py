"""Tensors of the Open Inference Protocol from nested lists, and back."""

from adapters._adapter import kind
from adapters.errors import InvalidAnswer, InvalidPayload

INT64 = range(-(1 << 63), 1 << 63)
UINT64 = range(1 << 64)


def tensor(name, value):
    """The input tensor of a value: a nested list, one element, or an object with `data` and, where
    they are not to be inferred, `datatype` and `shape`; what else it has is passed on."""
    given = dict(value) if isinstance(value, dict) else {"data": value}
    if given.get("data") is None:
        raise InvalidPayload(
            f"input {name!r} has no data: expected a nested list, or an object with 'data'"
        )
    data = given["data"] if isinstance(given["data"], list) else [given["data"]]
    shape = shape_of(data)
    elements = []
    flatten(name, data, shape, elements)
    if "shape" not in given:
        given["shape"] = shape
    elif product(name, given["shape"]) != len(elements):
        raise InvalidPayload(
            f"input {name!r} has {len(elements)} elements, which is not its shape {given['shape']}"
        )
    if not given.get("datatype"):
        given["datatype"] = datatype_of(name, elements)
    given.update(name=name, data=elements)
    return given


def shape_of(data):
    """The lengths of the lists, outermost first, along the first element of each."""
    shape = []
    while isinstance(data, list):
        shape.append(len(data))
        data = data[0] if data else None
    return shape


def flatten(name, data, shape, elements):
    """Appends the elements in row-major order; all lists of one depth must have one length."""
    if not isinstance(data, list) or len(data) != shape[0]:
        raise InvalidPayload(f"input {name!r} is ragged: the lists of one depth differ in length")
    if len(shape) > 1:
        for part in data:
            flatten(name, part, shape[1:], elements)
        return
    for element in data:
        if isinstance(element, (list, dict)) or element is None:
            raise InvalidPayload(f"input {name!r} has {kind(element)} among its elements")
    elements.extend(data)


def product(name, shape):
    """The number of elements of a shape."""
    if not is_shape(shape):
        raise InvalidPayload(f"input {name!r}: 'shape' is not a list of whole numbers")
    count = 1
    for length in shape:
        count *= length
    return count


def is_shape(shape):
    return isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)


def datatype_of(name, elements):
    """BOOL, INT64 (UINT64 if it must be), FP32 or BYTES."""
    kinds = {type(element) for element in elements}
    if not kinds:
        raise InvalidPayload(f"input {name!r} is empty: say its 'datatype' and 'shape'")
    if kinds == {bool}:
        return "BOOL"
    if kinds == {str}:
        return "BYTES"
    if kinds == {int}:
        low, high = min(elements), max(elements)
        if low in INT64 and high in INT64:
            return "INT64"
        if low in UINT64 and high in UINT64:
            return "UINT64"
        raise InvalidPayload(f"input {name!r} has whole numbers of more than 64 bits")
    if kinds <= {int, float}:
        return "FP32"
    raise InvalidPayload(f"input {name!r} mixes texts, booleans and numbers")


def nested(output):
    """`(name, nested list)` of an output tensor, whether its data came flat or nested."""
    try:
        name, shape, data = output["name"], output["shape"], output["data"]
    except (TypeError, KeyError):
        raise InvalidAnswer("an output has no name, shape and data as JSON") from None
    if not isinstance(name, str) or not is_shape(shape) or not isinstance(data, list):
        raise InvalidAnswer("an output has no name, shape and data as JSON")
    if shape_of(data) == shape:
        return name, data
    count = 1
    for length in shape:
        count *= length
    if len(data) != count or any(isinstance(element, list) for element in data):
        raise InvalidAnswer(f"output {name!r} has {len(data)} elements, which is not its {shape}")
    for length in reversed(shape[1:]):
        data = [data[start : start + length] for start in range(0, len(data), length or 1)]
    return name, data
