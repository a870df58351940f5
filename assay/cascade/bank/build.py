"""Builds a bank and its sequences from ordered documents, split by document into a training and a validation half.

A chunk whose vector occurred before (boilerplate, a template's paragraph) is dropped and breaks its sequence: in the
other half it would leak an answer, and as a target it could not be told from the first occurrence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank.bank import Bank, write_bank
from assay.cascade.bank.documents import OrderedDocument
from assay.cascade.bank.errors import EmptyColumn
from assay.cascade.bank.sequences import NONE, Pairs, Sequences, write_sequences
from assay.protocols import Embedder
from assay.score.tmd_layout import Layout
from assay.types import Progress, Vectors
from assay.util.atomic_files import write_text

_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Split:
    """How windows are cut and split. The hash of its name decides which half a document is in."""

    context: int = 8
    val_share: float = 0.15
    seed: int = 1

    def is_val(self, name: str) -> bool:
        digest = hashlib.blake2b(f"{self.seed}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest) < self.val_share * 2**64


@dataclass(frozen=True, eq=False)
class BuiltBank:
    bank: Bank
    sequences: Sequences
    manifest: dict[str, Any]


def build_bank(
    folder: Path,
    documents: Iterable[OrderedDocument],
    embedder: Embedder,
    codes: Callable[[Vectors], NDArray[np.uint16]],
    layout: Layout,
    split: Split | None = None,
    progress: Progress = lambda *_: None,
) -> BuiltBank:
    """Writes bank.npz, sequences.npz, chunks.tsv (id, document, place) and bank.json into a folder."""
    split = split or Split()
    folder.mkdir(parents=True, exist_ok=True)
    ordered = list(documents)
    texts = [text for _, chunks in ordered for text in chunks]
    if not texts:
        raise EmptyColumn("the documents hold no text", "name a file or a folder with text in order", "vectors")
    _check_halves(ordered, split)
    vectors = _encode(embedder, texts, progress)
    is_first = _mark_first(vectors)
    places = _assign_ids(ordered, is_first)
    bits = codes(vectors[is_first])
    ids = np.arange(len(bits), dtype=np.int64)
    bank = write_bank(folder / "bank.npz", vectors[is_first], ids, bits, layout.lanes(bits))
    train, val = (_pairs(ordered, places, split, half) for half in (False, True))
    sequences = write_sequences(folder / "sequences.npz", train, val, bank)
    lines = [f"{number}\t{_escape_name(name)}\t{place}" for name, place, number in _list_chunks(ordered, places)]
    write_text(folder / "chunks.tsv", "id\tdocument\tplace\n" + "\n".join(lines) + "\n")
    manifest = {
        "bank": bank.digest,
        "sequences": sequences.digest,
        "documents": len(ordered),
        "chunks": len(texts),
        "vectors": len(bank),
        "dropped_twins": len(texts) - len(bank),
        "dim": bank.dim,
        "embedder": {"name": embedder.name, "digest": embedder.digest},
        "layout": layout.name,
        "split": {"by": "document", "context": split.context, "val_share": split.val_share, "seed": split.seed},
        "pairs": {"train": len(sequences.train), "val": len(sequences.val)},
    }
    write_text(folder / "bank.json", json.dumps(manifest, sort_keys=True, indent=1) + "\n")
    return BuiltBank(bank, sequences, manifest)


def _check_halves(documents: list[OrderedDocument], split: Split) -> None:
    """Raise before embedding, which may take an hour, if a half has no document of two chunks or more."""
    long = [name for name, chunks in documents if len(chunks) > 1]
    held_out = sum(split.is_val(name) for name in long)
    for count, half, column in (
        (held_out, "hold out", "val_curr_ids"),
        (len(long) - held_out, "learn from", "train_curr_ids"),
    ):
        if not count:
            raise EmptyColumn(
                f"of {len(documents)} documents, {len(long)} with two chunks or more, none is left to {half} "
                f"(share held out {split.val_share:g}, seed {split.seed})",
                "give more documents, another share or another seed; records of one document need --by",
                column,
            )


def _encode(embedder: Embedder, texts: list[str], progress: Progress) -> Vectors:
    blocks = []
    for start in range(0, len(texts), _AT_ONCE):
        blocks.append(embedder.encode(texts[start : start + _AT_ONCE]))
        progress("embedding", min(start + _AT_ONCE, len(texts)), len(texts))
    return np.concatenate(blocks)


def _mark_first(vectors: Vectors) -> NDArray[np.bool_]:
    """True for each vector whose bytes did not occur before."""
    seen: set[bytes] = set()
    is_first = np.zeros(len(vectors), np.bool_)
    for place, vector in enumerate(vectors):
        key = vector.tobytes()
        is_first[place] = key not in seen
        seen.add(key)
    return is_first


def _assign_ids(documents: list[OrderedDocument], is_first: NDArray[np.bool_]) -> list[list[int]]:
    """For each document the ids of its chunks in order, NONE where one was dropped."""
    number = np.where(is_first, np.cumsum(is_first) - 1, NONE)
    ends = np.cumsum([len(chunks) for _, chunks in documents])[:-1]
    return [part.tolist() for part in np.split(number, ends)]


def _pairs(documents: list[OrderedDocument], places: list[list[int]], split: Split, val: bool) -> Pairs:
    current, following, context = [], [], []
    for (name, _), ids in zip(documents, places, strict=True):
        if split.is_val(name) != val:
            continue
        for place in range(len(ids) - 1):
            if ids[place] == NONE or ids[place + 1] == NONE:
                continue
            before = [one for one in ids[:place] if one != NONE][-split.context :] if split.context else []
            current.append(ids[place])
            following.append(ids[place + 1])
            context.append([NONE] * (split.context - len(before)) + before)
    return Pairs(
        np.array(current, np.int64),
        np.array(following, np.int64),
        np.array(context, np.int64).reshape(len(current), split.context),
    )


def _escape_name(name: str) -> str:
    return name.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _list_chunks(documents: list[OrderedDocument], places: list[list[int]]) -> list[tuple[str, int, int]]:
    """(document, place in it, id) of every vector of the bank."""
    return [
        (name, place, number)
        for (name, _), ids in zip(documents, places, strict=True)
        for place, number in enumerate(ids)
        if number != NONE
    ]
