"""What a chunk says, as (subject, relation, object), by whoever can read it: a language model, a tagger, a table.

A store names its reader, `NAME` or `NAME:ARGUMENT`; third parties bring theirs through the entry point group
`assay.triples`: a callable that takes what stands after the colon (a string, possibly empty) and returns a
`protocols.TripleReader`. It is asked once for each chunk, when the chunk comes in, and what it says becomes metadata:

    triples      ["Ada Lovelace | wrote | Note G", …]     what the graph is built from (see `index.mentions`)
    triples_by   "NAME:ARGUMENT"                          who said so; such a chunk is not read again

So the record of truth holds them, and an index follows from it without a model. Triples that a document brings itself
are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from assay.errors import AssayError, BadFile, ConfigError, nearest
from assay.ingest.files import tidy
from assay.protocols import TripleReader
from assay.types import Chunk

GROUP = "assay.triples"
FIELD, BY = "triples", "triples_by"
MOST = 50
"""Triples of one chunk; the graph takes no more names from one."""
LONGEST = 200
"""Characters of a subject, a relation or an object."""
Reading = Callable[[Chunk, Mapping[str, Any]], Chunk]
"""A chunk, and its metadata as the store has them, to the chunk with its triples."""


def load(spec: str) -> TripleReader | None:
    """The reader that a spec names; None for `none`. ConfigError for an unknown name, listing the known ones."""
    if spec == "none":
        return None
    from importlib.metadata import entry_points  # 50 ms that a store without one need not pay

    name, _, argument = spec.partition(":")
    others = entry_points(group=GROUP)
    for entry in others.select(name=name):
        found: TripleReader = entry.load()(argument)
        return found
    raise ConfigError(
        f"no reader of triples is called {name!r} on this machine",
        f"{nearest(name, {'none', *others.names})}; install it, or go on without one: assay optimize --triples none",
    )


def reading(spec: str) -> Reading | None:
    """What the reader of a spec does to a chunk that comes in; None for `none`."""
    reader = load(spec)
    return None if reader is None else lambda chunk, before: with_triples(chunk, spec, reader, before)


def wanted(chunk: Chunk, spec: str) -> bool:
    """Is a chunk still to be read by this reader? Not if it was, nor if its document brought triples itself."""
    return FIELD not in chunk.meta or chunk.meta.get(BY, spec) != spec


def with_triples(chunk: Chunk, spec: str, reader: TripleReader, before: Mapping[str, Any]) -> Chunk:
    """A chunk with its triples. `before` is the metadata of the same chunk as the store has it: what this reader found
    then is not asked again. BadFile when the reader fails, or says what no triple is."""
    if FIELD in chunk.meta and BY not in chunk.meta:
        return chunk
    known = before.get(FIELD) if before.get(BY) == spec else None
    found = _asked(chunk, spec, reader) if known is None else known
    return replace(chunk, meta={**chunk.meta, FIELD: found, BY: spec})


def _asked(chunk: Chunk, spec: str, reader: TripleReader) -> list[str]:
    try:
        given = list(islice(reader.triples(chunk), MOST))
    except AssayError as error:
        raise BadFile(f"{spec} could not read triples: {error.message}", error.cure) from error
    except Exception as error:  # a plug-in's bug costs its file, never the run
        said = str(error).partition("\n")[0] or type(error).__name__
        raise BadFile(f"{spec} could not read triples: {said}", f"mend {spec}, or add without it") from error
    return list(dict.fromkeys(_line(triple, spec) for triple in given))


def _line(triple: object, spec: str) -> str:
    """A triple as metadata hold it; a bar inside one of its parts would make a fourth."""
    parts = triple if isinstance(triple, list | tuple) else ()
    clean = [" ".join(tidy(part).replace("|", " ").split())[:LONGEST] for part in parts if isinstance(part, str)]
    if len(parts) != 3 or len(clean) != 3 or not all(clean):
        raise BadFile(f"{spec} gave {triple!r:.80} as a triple", "it should give (subject, relation, object), all text")
    return " | ".join(clean)
