"""Assigns codes without hand labels: each chunk takes the domain, task and modifier of the nearest description.

    code = argmax_i cos(v − m, p_i − m)          p_i the description's vector, m the mean of that field's descriptions

The mean of the descriptions is subtracted first; else one of them is nearest to everything. Ties go to the smaller
number. A code depends only on the vector and the descriptions.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadRecord, ConfigError
from assay.protocols import Embedder
from assay.score.tmd_layout import Bits, Layout, Numbers
from assay.types import Floats, Vectors

FIELDS = ("domain", "task", "modifier")
_BLOCK = 8_192


@cache
def read_descriptions() -> dict[str, tuple[tuple[str, str], ...]]:
    """(name, description) of the 16 domains, 32 tasks and 64 modifiers that ship with us, by number."""
    table = tomllib.loads(resources.files("assay.cascade.tmd").joinpath("descriptions.toml").read_text("utf-8"))
    return {field: tuple((str(name), str(text)) for name, text in table[field].items()) for field in FIELDS}


@dataclass(frozen=True, eq=False)
class Prototypes:
    """For each field the mean and the centred directions of its descriptions."""

    directions: dict[str, tuple[Floats, Floats]]
    layout: Layout

    def codes(self, vectors: Vectors) -> Bits:
        """The code of every vector."""
        return self.layout.pack(*(self._nearest(field, vectors) for field in FIELDS))

    def _nearest(self, field: str, vectors: Vectors) -> Numbers:
        mean, directions = self.directions[field]
        blocks = []
        for start in range(0, len(vectors), _BLOCK):
            centred = vectors[start : start + _BLOCK].astype(np.float64) - mean
            # A vector's own length changes no argmax, so it is not divided out.
            blocks.append(np.argmax(np.einsum("nd,pd->np", centred, directions), axis=1))
        return np.concatenate(blocks).astype(np.int64)


def embed_prototypes(embedder: Embedder, layout: Layout) -> Prototypes:
    """The shipped descriptions under an embedder; a layout with fewer places than descriptions is refused."""
    directions = {}
    for field in FIELDS:
        texts = [text for _, text in read_descriptions()[field]]
        if len(texts) > getattr(layout, field).count:
            raise ConfigError(f"layout {layout.name!r} holds fewer than {len(texts)} {field}s", "take layout spec")
        vectors = np.asarray(embedder.encode(texts), np.float64)
        mean = vectors.mean(axis=0)
        centred = vectors - mean
        directions[field] = (mean, centred / np.linalg.norm(centred, axis=1, keepdims=True))
    return Prototypes(directions, layout)


def read_codes(path: Path, ids: NDArray[np.int64]) -> Bits:
    """Codes from a file: NPY uint16 in the bank's order, or lines `id<TAB>code` for every id of the bank."""
    if path.suffix == ".npy":
        try:
            with path.open(
                "rb"
            ) as file:  # np.load would take an NPZ under this name too, and ends otherwise on nothing
                codes: Bits = np.lib.format.read_array(file, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise BadRecord(f"{path} cannot be read: {error}", "save uint16 codes with numpy.save") from error
        if codes.dtype != np.uint16 or codes.shape != ids.shape:
            raise BadRecord(f"{path} holds {codes.dtype} {codes.shape}", f"give uint16 ({len(ids)},), in bank order")
        return codes
    return _from_lines(path, ids)


def _from_lines(path: Path, ids: NDArray[np.int64]) -> Bits:
    codes: dict[int, int] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, line in enumerate(csv.reader(file, delimiter="\t"), 1):
                try:
                    name, code = (int(word) for word in line)
                except ValueError:
                    name, code = -1, -1
                if name in codes or not 0 <= code < 65_536:
                    cure = "write id<TAB>code, one line for each id and no other, a code from 0 to 65535"
                    raise BadRecord(f"{path}, line {number}: {str(line)[:80]}", cure)
                codes[name] = code
    except (OSError, ValueError, csv.Error) as error:
        raise BadRecord(f"{path} cannot be read: {error}", "name a file with lines id<TAB>code") from error
    missing = [name for name in ids.tolist() if name not in codes]
    if missing:
        raise BadRecord(
            f"{path} has no code for id {missing[0]} and {len(missing) - 1} others", "name every id of the bank"
        )
    return np.array([codes[name] for name in ids.tolist()], np.uint16)
