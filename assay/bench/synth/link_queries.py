"""Queries from link anchors: what one document calls another, often in other words than the page itself."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from assay.bench.synth.collection_index import MAX_RELEVANT, CollectionIndex
from assay.bench.synth.plain_text import strip_markup
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.synthetic_query import RelevantDocument, SyntheticQuery

MIN_SHARED = 0.5
"""The linked document must contain at least this share of the anchor's terms."""
MAX_WORDS = 10
_LINK = re.compile(r"(?<!!)\[([^\]\[]{3,120})\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_INDEX = re.compile(r"(?:^|/)(?:_?index|readme)$", re.IGNORECASE)
_UNINFORMATIVE = frozenset(
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
class DocumentLink:
    """A link from one document to another, both by position."""

    anchor: str
    source: int
    target: int


def find_links(index: CollectionIndex) -> Iterator[DocumentLink]:
    """Every link between two documents of the collection."""
    addresses = _map_addresses(index)
    for place, document in enumerate(index.documents):
        folder = posixpath.dirname(document.id)
        for found in _LINK.finditer(document.text):
            target = _resolve_target(found[2], folder, addresses)
            if target is not None and target != place:
                yield DocumentLink(strip_markup(found[1]).strip(" .,:"), place, target)


def make_anchor_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """An anchor's text; every linked document is relevant, and no other document but the linking ones may match."""
    links_by_anchor: dict[str, list[DocumentLink]] = {}
    for link in find_links(index):
        links_by_anchor.setdefault(link.anchor.casefold(), []).append(link)
    groups = [group for group in links_by_anchor.values() if _is_descriptive(index, group)]
    for group in draw_round_robin(groups, lambda g: (str(g[0].target), g[0].anchor), seed, "anchor"):
        text = group[0].anchor
        targets = sorted({link.target for link in group})
        sources = {link.source for link in group}
        others = set(index.documents_with(index.analyser.query_terms(text))) - set(targets) - sources
        if not others and all(index.copied_share(text, place) >= MIN_SHARED for place in targets):
            pages = [index.documents[place].id for place in sorted(sources)]
            yield SyntheticQuery(
                "anchor", text, tuple(RelevantDocument(t, 1) for t in targets), {"source_pages": pages}
            )


def _is_descriptive(index: CollectionIndex, group: list[DocumentLink]) -> bool:
    words = index.words(group[0].anchor)
    informative = [word for word in words if not word.stop and word.text.casefold() not in _UNINFORMATIVE]
    if len(informative) < 2 or len(words) > MAX_WORDS or "/" in group[0].anchor:
        return False
    return len({link.target for link in group}) <= MAX_RELEVANT


def _map_addresses(index: CollectionIndex) -> dict[str, int]:
    """Address → document: its id, without extension, without a final index, with and without the folder's name."""
    addresses: dict[str, int] = {}
    for place, document in enumerate(index.documents):
        stem = posixpath.splitext(document.id)[0]
        spellings = (document.id, stem, _INDEX.sub("", stem))
        for name in (*spellings, *(one.partition("/")[2] for one in spellings)):
            if name:
                addresses.setdefault(name, place)
    return addresses


def _resolve_target(target: str, folder: str, addresses: dict[str, int]) -> int | None:
    """The document a link leads to: relative, from the root, or below a site's prefix."""
    address = urlsplit(target)
    if address.scheme or address.netloc or not address.path:
        return None
    path = unquote(address.path)
    if not path.startswith("/"):
        relative = posixpath.normpath(posixpath.join(folder, path))
        return addresses.get(relative, addresses.get(posixpath.splitext(relative)[0]))
    steps = [step for step in path.split("/") if step]
    # A site may have any prefix, but the last name of a path alone is ambiguous.
    for start in range(max(len(steps) - 1, 1)):
        name = "/".join(steps[start:])
        place = addresses.get(name, addresses.get(posixpath.splitext(name)[0]))
        if place is not None:
            return place
    return None
