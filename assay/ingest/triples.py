"""Reads (subject, relation, object) triples from chunks with a plug-in: a language model, a tagger, a table.

A store names its reader, `NAME` or `NAME:ARGUMENT`; plug-ins register in the entry point group `assay.triples`: a
callable that takes the text after the colon (possibly empty) and returns a `protocols.TripleReader`. It reads each
chunk once, when the chunk is added, and its triples become metadata:

    triples      ["Ada Lovelace | wrote | Note G", …]     input of the graph (see `index.mentions`)
    triples_by   "NAME:ARGUMENT"                          the reader; it does not read such a chunk again

The chunk store holds them, so an index is rebuilt without a model. Triples in a document's own metadata are left
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from assay.errors import AssayError, BadFile, ConfigError, nearest
from assay.ingest.files import clean_text
from assay.protocols import TripleReader
from assay.types import Chunk

GROUP = "assay.triples"
TRIPLES_FIELD, READER_FIELD = "triples", "triples_by"
MOST = 50
"""Triples of one chunk; the graph takes no more names from one."""
LONGEST = 200
"""Characters of a subject, a relation or an object."""
ChunkAnnotator = Callable[[Chunk, Mapping[str, Any]], Chunk]
"""(chunk, its metadata in the store) → the chunk with its triples."""


def load_reader(spec: str) -> TripleReader | None:
    """Return the reader that a spec names; None for `none`. ConfigError for an unknown name, listing the known ones."""
    if spec == "none":
        return None
    from importlib.metadata import entry_points  # 50 ms that a store without one need not pay

    name, _, argument = spec.partition(":")
    plugins = entry_points(group=GROUP)
    for entry in plugins.select(name=name):
        reader: TripleReader = entry.load()(argument)
        return reader
    raise ConfigError(
        f"no reader of triples is called {name!r} on this machine",
        f"{nearest(name, {'none', *plugins.names})}; install it, or go on without one: assay optimize --triples none",
    )


def load_annotator(spec: str) -> ChunkAnnotator | None:
    """Return the function that adds the triples of a spec's reader to a chunk; None for `none`."""
    reader = load_reader(spec)
    return None if reader is None else lambda chunk, before: add_triples(chunk, spec, reader, before)


def needs_triples(chunk: Chunk, spec: str) -> bool:
    """Must this reader read a chunk? Not if it has, nor if the document has its own triples."""
    return TRIPLES_FIELD not in chunk.meta or chunk.meta.get(READER_FIELD, spec) != spec


def add_triples(chunk: Chunk, spec: str, reader: TripleReader, before: Mapping[str, Any]) -> Chunk:
    """Return a chunk with its triples. `before` is the metadata of the same chunk in the store: triples of this reader
    are taken from it. BadFile when the reader fails, or returns something that is no triple."""
    if TRIPLES_FIELD in chunk.meta and READER_FIELD not in chunk.meta:
        return chunk
    known = before.get(TRIPLES_FIELD) if before.get(READER_FIELD) == spec else None
    triples = _read_triples(chunk, spec, reader) if known is None else known
    return replace(chunk, meta={**chunk.meta, TRIPLES_FIELD: triples, READER_FIELD: spec})


def _read_triples(chunk: Chunk, spec: str, reader: TripleReader) -> list[str]:
    try:
        triples = list(islice(reader.triples(chunk), MOST))
    except AssayError as error:
        raise BadFile(f"{spec} could not read triples: {error.message}", error.cure) from error
    except Exception as error:  # a plug-in's bug costs its file, never the run
        message = str(error).partition("\n")[0] or type(error).__name__
        raise BadFile(f"{spec} could not read triples: {message}", f"mend {spec}, or add without it") from error
    return list(dict.fromkeys(_format_triple(triple, spec) for triple in triples))


def _format_triple(triple: object, spec: str) -> str:
    """Return a triple as one line; a bar inside one of its parts is replaced, because bars separate the parts."""
    parts = triple if isinstance(triple, list | tuple) else ()
    clean = [" ".join(clean_text(part).replace("|", " ").split())[:LONGEST] for part in parts if isinstance(part, str)]
    if len(parts) != 3 or len(clean) != 3 or not all(clean):
        raise BadFile(f"{spec} gave {triple!r:.80} as a triple", "it should give (subject, relation, object), all text")
    return " | ".join(clean)
