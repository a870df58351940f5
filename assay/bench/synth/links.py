"""Queries from links: what one document calls another. People's own words for a page, often not the page's own."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from assay.bench.synth.generated import Made, Relevant
from assay.bench.synth.library import MOST_RELEVANT, Library
from assay.bench.synth.plain import plain
from assay.bench.synth.round_robin import spread

LEAST_SHARED = 0.5
"""The linked document holds at least this share of the anchor's terms, else the link may mean anything."""
MOST_WORDS = 10
_LINK = re.compile(r"(?<!!)\[([^\]\[]{3,120})\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_INDEX = re.compile(r"(?:^|/)(?:_?index|readme)$", re.IGNORECASE)
_EMPTY = frozenset(
    (
        "here",
        "page",
        "link",
        "click",
        "read",
        "see",
        "docs",
        "details",
        "above",
        "below",
        "section",
        "handbook",
        "issue",
    )
)


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one document to another, both by place."""

    anchor: str
    source: int
    target: int


def links_of(library: Library) -> Iterator[Link]:
    """Every link between two documents of the collection."""
    known = _addresses(library)
    for place, document in enumerate(library.documents):
        here = posixpath.dirname(document.id)
        for found in _LINK.finditer(document.text):
            target = _resolved(found[2], here, known)
            if target is not None and target != place:
                yield Link(plain(found[1]).strip(" .,:"), place, target)


def anchor(library: Library, seed: int) -> Iterator[Made]:
    """An anchor's text; every document it leads to is relevant, and nobody else but the linking pages may hold it."""
    called: dict[str, list[Link]] = {}
    for link in links_of(library):
        called.setdefault(link.anchor.casefold(), []).append(link)
    fitting = [group for group in called.values() if _says_something(library, group)]
    for group in spread(fitting, lambda g: (str(g[0].target), g[0].anchor), seed, "anchor"):
        text = group[0].anchor
        targets = sorted({link.target for link in group})
        sources = {link.source for link in group}
        others = set(library.holders(library.analyser.query_terms(text))) - set(targets) - sources
        if not others and all(library.copied(text, place) >= LEAST_SHARED for place in targets):
            pages = [library.documents[place].id for place in sorted(sources)]
            yield Made("anchor", text, tuple(Relevant(t, 1) for t in targets), {"source_pages": pages})


def _says_something(library: Library, group: list[Link]) -> bool:
    words = library.words(group[0].anchor)
    telling = [word for word in words if not word.stop and word.text.casefold() not in _EMPTY]
    if len(telling) < 2 or len(words) > MOST_WORDS or "/" in group[0].anchor:
        return False
    return len({link.target for link in group}) <= MOST_RELEVANT


def _addresses(library: Library) -> dict[str, int]:
    """Address → document: its id, without the ending, without a closing index, with and without the folder's name."""
    known: dict[str, int] = {}
    for place, document in enumerate(library.documents):
        stem = posixpath.splitext(document.id)[0]
        spelt = (document.id, stem, _INDEX.sub("", stem))
        for name in (*spelt, *(one.partition("/")[2] for one in spelt)):
            if name:
                known.setdefault(name, place)
    return known


def _resolved(target: str, here: str, known: dict[str, int]) -> int | None:
    """The document a link leads to: beside the linking one, from the root, or under a site's own prefix."""
    address = urlsplit(target)
    if address.scheme or address.netloc or not address.path:
        return None
    path = unquote(address.path)
    if not path.startswith("/"):
        beside = posixpath.normpath(posixpath.join(here, path))
        return known.get(beside, known.get(posixpath.splitext(beside)[0]))
    steps = [step for step in path.split("/") if step]
    # A site may be mounted anywhere, but a single name at the end of a path may be anybody's.
    for start in range(max(len(steps) - 1, 1)):
        name = "/".join(steps[start:])
        place = known.get(name, known.get(posixpath.splitext(name)[0]))
        if place is not None:
            return place
    return None
