"""Small generated documents whose chunks are known in advance, so that a test can say what must be in a store."""

from __future__ import annotations

import random
from pathlib import Path

from assay.ingest.chunker import PROFILES, chunk_document
from assay.ingest.discovery import read_file
from assay.types import Chunk

_TEXT = """key signing rotate vault secret office lisbon travel policy budget cat sleeps day night server error retry
timeout release gateway invoice holiday parking coffee meeting backup restore index query vector answer"""
WORDS = tuple(_TEXT.split())


def text_of(number: int, revision: int = 0, sections: int = 3, words: int = 60) -> str:
    """A markdown file with a mark of its own (`mark00012r0`) in every section."""
    rng = random.Random(number * 1_000 + revision)
    parts = [f"# Document {number}\n"]
    for section in range(sections):
        body = " ".join(rng.choice(WORDS) for _ in range(words))
        parts.append(f"## Part {section}\n\n{mark_of(number, revision)} common {body}.\n")
    return "\n".join(parts)


def mark_of(number: int, revision: int = 0) -> str:
    return f"mark{number:05d}r{revision}"


def write(folder: Path, numbers: range | list[int], revision: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / f"{number:05d}.md").write_text(text_of(number, revision), "utf-8")
    return folder


def expected(path: Path, origin: str) -> dict[str, Chunk]:
    """id → chunk of what a file must give."""
    chunks = [c for document in read_file(path, origin) for c in chunk_document(document, PROFILES["default"])]
    return {chunk.id: chunk for chunk in chunks}
