"""Writes and reads the few messages of the ONNX format that Assay uses, in the protobuf wire format.

The `onnx` package is not needed: a model is nodes and constants, and a message is fields, each a tag (number · 8 +
wire type) and a value. Wire types: 0 a varint, 2 a length and that many bytes, 5 four bytes. Fields are written in
the order of their numbers, as protobuf's deterministic form has them, so the same graph gives the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError

Array = NDArray[Any]
Value = int | memoryview

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
FLOAT, INT, INTS = 1, 2, 7  # AttributeProto.type
DTYPES: Mapping[int, str] = {1: "<f4", 3: "|i1", 7: "<i8"}  # TensorProto.data_type
DATA_TYPES: Mapping[str, int] = {np.dtype(name).str: number for number, name in DTYPES.items()}
FLOAT_DATA = 4  # the field of a TensorProto that some writers use in place of raw data


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a graph, as it is read."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def write_tensor(name: str, value: Array) -> bytes:
    """Return a TensorProto: shape, type, name, and the bytes in C order, little end first."""
    value = np.ascontiguousarray(value)
    value = value.astype(value.dtype.newbyteorder("<"), copy=False)
    dims = b"".join(_integer(1, size) for size in value.shape)
    return dims + _integer(2, DATA_TYPES[value.dtype.str]) + _text(8, name) + _bytes(9, value.tobytes())


def write_node(
    op: str, inputs: Iterable[str], outputs: Iterable[str], name: str, domain: str | None, attributes: Mapping[str, Any]
) -> bytes:
    """Return a NodeProto; attributes are integers, floats, or integers in a sequence. None as domain is not written."""
    parts = [_text(1, one) for one in inputs] + [_text(2, one) for one in outputs] + [_text(3, name), _text(4, op)]
    parts += [_bytes(5, _attribute(key, attributes[key])) for key in sorted(attributes)]
    return b"".join(parts if domain is None else [*parts, _text(7, domain)])


def write_model(
    graph: str,
    nodes: Sequence[bytes],
    constants: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    *,
    opsets: Mapping[str, int],
    ir_version: int,
    producer: str,
) -> bytes:
    """Return a ModelProto with one graph; `inputs` and `outputs` are of `write_value_info`."""
    body = [_bytes(1, node) for node in nodes] + [_text(2, graph)] + [_bytes(5, constant) for constant in constants]
    body += [_bytes(11, one) for one in inputs] + [_bytes(12, one) for one in outputs]
    sets = [_bytes(8, _text(1, domain) + _integer(2, version)) for domain, version in opsets.items()]
    return b"".join([_integer(1, ir_version), _text(2, producer), _bytes(7, b"".join(body)), *sets])


def write_value_info(name: str, dtype: str, shape: Sequence[int | str]) -> bytes:
    """Return a ValueInfoProto: a tensor's name, type, and shape; a size that varies has a name."""
    dims = [_bytes(1, _text(2, size) if isinstance(size, str) else _integer(1, size)) for size in shape]
    tensor = _integer(1, DATA_TYPES[np.dtype(dtype).str]) + _bytes(2, b"".join(dims))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def read_model(raw: bytes) -> tuple[list[Node], dict[str, Array]]:
    """Return the nodes and the constants of a model; ModelError when it is not one."""
    try:
        graph = next(
            value for number, value in _fields(memoryview(raw)) if number == 7 and isinstance(value, memoryview)
        )
        nodes, constants = [], {}
        for number, value in _fields(graph):
            if number == 1:
                nodes.append(_read_node(value))
            elif number == 5:
                name, tensor = _read_tensor(value)
                if tensor is not None:
                    constants[name] = tensor
        return nodes, constants
    except (StopIteration, IndexError, ValueError, TypeError, struct.error) as error:
        raise ModelError("this is not a model in ONNX form", "fetch the file again") from error


def _read_node(message: Value) -> Node:
    op, inputs, outputs = "", [], []
    for number, value in _fields(message):
        if number == 1:
            inputs.append(_string(value))
        elif number == 2:
            outputs.append(_string(value))
        elif number == 4:
            op = _string(value)
    return Node(op, tuple(inputs), tuple(outputs))


def _read_tensor(message: Value) -> tuple[str, Array | None]:
    """Return a constant's name and values; None for a type that Assay does not read, such as strings."""
    dims: list[int] = []
    name, kind, data = "", 0, memoryview(b"")
    for number, value in _fields(message):
        if number == 1:
            dims += [value] if isinstance(value, int) else list(_varints(value))
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number == 8:
            name = _string(value)
        elif number in (9, FLOAT_DATA) and isinstance(value, memoryview):
            data = value
    return name, np.frombuffer(data, DTYPES[kind]).reshape(dims) if kind in DTYPES and len(data) else None


def _fields(message: Value) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a message: their number, and an integer or the bytes."""
    if isinstance(message, int):
        raise ValueError("a message was expected")
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind not in (FIXED64, LENGTH, FIXED32):
            raise ValueError(f"wire type {kind}")
        size = {FIXED64: 8, FIXED32: 4}.get(kind)
        if size is None:
            size, place = _varint(message, place)
        if place + size > len(message):
            raise ValueError("the file ends inside a field")
        yield number, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """Return the varint at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
        if shift > 63:
            raise ValueError("a number is too long")


def _varints(packed: memoryview) -> Iterator[int]:
    place = 0
    while place < len(packed):
        value, place = _varint(packed, place)
        yield value


def _string(value: Value) -> str:
    if isinstance(value, int):
        raise ValueError("a string was expected")
    return bytes(value).decode("utf-8")


def _encode_varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number is its two's complement in 64 bits
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(number: int, value: int) -> bytes:
    return _encode_varint(number << 3 | VARINT) + _encode_varint(value)


def _bytes(number: int, value: bytes) -> bytes:
    return b"".join((_encode_varint(number << 3 | LENGTH), _encode_varint(len(value)), value))


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode("utf-8"))


def _attribute(name: str, value: Any) -> bytes:
    """Return an AttributeProto: name, value, type."""
    if isinstance(value, float):
        body, kind = _encode_varint(2 << 3 | FIXED32) + struct.pack("<f", value), FLOAT
    elif isinstance(value, int):
        body, kind = _integer(3, value), INT
    else:
        body, kind = b"".join(_integer(8, one) for one in value), INTS
    return _text(1, name) + body + _integer(20, kind)
