"""Mutations for the fuzzing campaign: bytes, numbers, nesting, encodings, and pieces that once caused trouble."""

from __future__ import annotations

import contextlib
import json
import random
from typing import Any

PIECES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n\r\n", b"\x1f\x8b", b"PK\x03\x04", b"%PDF-", b"{", b"[" * 300,
    b"(" * 200, b"<" * 100, b"<!--", b"]]>", b"---\n", b"+++\n", b'"', b"'", b"\\", b"`", b"NaN", b"Infinity", b"-0",
    b"1e999", b"9" * 400, b"2025-13-45", b"\xed\xa0\x80", "\u202e\u0301\ufffd".encode(), b"a" * 5_000, b" " * 5_000,
    b"\n" * 2_000, b"null", b"true", b"{}", b"[]", b"__import__", b"../../etc/passwd", b"$HOME", b"%n%s", b"\x1b[2J",
    b"=?utf-8?b?////?=", b"From ", b"Content-Type: multipart/mixed; boundary=x\n\n--x\n", b"&#x110000;", b"&amp;",
    b"<div>" * 200, b"<b a=1>" * 70, b",,,,", b";", b"\t", b"|", b"not ", b" or ", b" in (", b"is missing",
)  # fmt: skip
"""What is inserted: marks of formats, numbers out of range, deep nesting, odd characters, long runs."""


def mutate(seed: bytes, draw: random.Random) -> bytes:
    """A seed changed in one to eight places: cut, flipped, doubled, spliced, or with a piece inserted."""
    data = bytearray(seed)
    for _ in range(draw.randint(1, 8)):
        _change(data, draw)
    return bytes(data)


def mutate_once(seed: bytes, draw: random.Random) -> bytes:
    """A seed with one change; where it ends with JSON, mostly to values of it, so that it can be read further."""
    head, separator, body = seed.rpartition(b"\n") if seed[:1].isalpha() else (b"", b"", seed)
    if draw.random() < 0.7:
        with contextlib.suppress(ValueError, RecursionError):
            content = json.loads(body)
            replace_values(content, draw)
            return head + separator + json.dumps(content).encode()
    data = bytearray(seed)
    _change(data, draw)
    return bytes(data)


def replace_values(node: Any, draw: random.Random) -> None:
    """Replace some values of a JSON document, in place."""
    pairs = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for key, value in draw.sample(pairs, min(len(pairs), 3)):
        if draw.random() < 0.3:
            node[key] = draw.choice([None, -1, 1e300, "", "x" * 1_000, [], {}, True, [[[]]]])
        else:
            replace_values(value, draw)


def _change(data: bytearray, draw: random.Random) -> None:
    place = draw.randint(0, len(data))
    end = min(len(data), place + draw.randint(0, 64))
    action = draw.randrange(6)
    if action == 0:
        data[place:place] = draw.choice(PIECES)
    elif action == 1:
        del data[place:end]
    elif action == 2 and place < len(data):
        data[place] = draw.randrange(256)
    elif action == 3:
        data[place:place] = bytes(data[place:end]) * draw.randint(1, 40)
    elif action == 4:
        del data[place:]
        data += draw.choice(PIECES)
    else:
        data[place:end] = bytes(draw.randrange(256) for _ in range(draw.randint(0, 16)))
    return bytes(data[: 1 << 20])
