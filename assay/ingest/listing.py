"""Finds the files of a folder that a list names, without walking the folder: what a bucket of objects, or another tool,
lists much faster than a file system does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from assay.errors import ConfigError
from assay.ingest.discovery import IGNORED_FOLDERS, FoundFile, SkippedFile, classify_path, normalise_name
from assay.ingest.files import bad_file
from assay.ingest.ignore_rules import IgnoreRules

MAX_LINE = 1 << 16


def read_listing(source: Path) -> Iterator[str]:
    """The names in a file, one per line, or separated by NUL as `find -print0` writes them; - is standard input."""
    try:
        with nullcontext(sys.stdin.buffer) if str(source) == "-" else source.open("rb") as file:
            first = file.readline(MAX_LINE)
            if b"\0" in first:
                names: Iterable[bytes] = (first + file.read()).split(b"\0")
            else:
                names = iter(lambda: file.readline(MAX_LINE), b"")
                yield from _decode(first)
            for name in names:
                yield from _decode(name)
    except OSError as error:
        raise bad_file(source, f"cannot be read: {error.strerror}", "name a file with one path per line") from error


def _decode(line: bytes) -> Iterator[str]:
    if len(line) == MAX_LINE:
        raise ConfigError("a line of the listing is longer than a path can be", "write one path per line")
    name = line.rstrip(b"\r\n")
    if name.strip():
        yield name.decode("utf-8", "surrogateescape")


def discover_listed(
    root: Path, names: Iterable[str], exclude: Sequence[str], wanted: Callable[[str], bool]
) -> Iterator[FoundFile | SkippedFile]:
    """Yield the listed files under a folder as `discover` does: in its order, with its names and its reasons to pass
    over. A listed name is relative to the folder; `wanted` is asked with a file's name before the file is looked at."""
    base = Path(root).absolute()
    if not base.is_dir():
        raise bad_file(root, "is no folder, and only the files of a folder can be listed", "name the folder")
    real, prefix = base.resolve(), normalise_name(base.name)
    rules: dict[tuple[str, ...], IgnoreRules] = {(): IgnoreRules.excluding(base, exclude).enter(base)}
    found: dict[tuple[str, ...], Path] = {}
    for listed in names:
        parts = [part for part in listed.split("/") if part not in ("", ".")]
        if listed.startswith("/") or ".." in parts or "\0" in listed:
            yield SkippedFile(Path(listed), listed, "not a path inside the added folder", unreadable=True)
        elif parts and wanted("/".join((prefix, *map(normalise_name, parts)))):
            found[tuple(map(normalise_name, parts))] = base.joinpath(*parts)
    for names_inside, path in sorted(found.items()):
        name = "/".join((prefix, *names_inside))
        if why := _passed_over(base, path.relative_to(base).parts, rules):
            yield SkippedFile(path, name, why)
        elif isinstance(item := classify_path(path, name, real), tuple):
            yield SkippedFile(path, name, "a folder; list the files in it", unreadable=True)
        else:
            yield item


def _passed_over(base: Path, inside: tuple[str, ...], rules: dict[tuple[str, ...], IgnoreRules]) -> str:
    """Why a walk of the folder would not come to this path; "" if it would. `rules` keeps those of every folder."""
    for length, name in enumerate(inside):
        folder, path = inside[:length], base.joinpath(*inside[: length + 1])
        if folder not in rules:
            rules[folder] = rules[folder[:-1]].enter(path.parent)
        if name.startswith("."):
            return "hidden"
        if name in IGNORED_FOLDERS:
            return f"always passed over ({name})"
        is_folder = length + 1 < len(inside)
        if why := rules[folder].reason(path, is_folder):
            return why
        if is_folder and path.is_symlink():
            return "behind a link to a folder; add the folder itself"
    return ""
