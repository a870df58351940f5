"""Extracts the links of a text: wiki links, Markdown links, superseded documents; and the addresses of documents.

    [[Keys]]  [[keys|the page on keys]]           wiki: a title or a file's name
    [keys](../security/keys.md#rotation)          markdown: a path, from the linking document's place or from the root
    supersedes, replaces, superseded_by, …        supersedes: fields of the metadata, ids or paths

A link matches a document when their addresses are equal: lower case, without file suffix, without a final `index` or
`readme`. Links that leave the collection have no address. Linear time.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import unquote

from assay.text.normalisation import normalise

LinkKind = Literal["wiki", "markdown", "supersedes"]
LONGEST_ADDRESS = 200

_WIKI = re.compile(r"\[\[([^\[\]|#\n]{1,200}+)[^\[\]\n]{0,400}+\]\]")
_MARKDOWN = re.compile(r"(?<!!)\[[^\]\[\n]{0,400}+\]\(\s{0,8}+<?([^)\s>]{1,500}+)>?[^)\n]{0,200}+\)")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_ENDING = re.compile(r"\.(?:md|markdown|mdx|html?|rst|txt|adoc|org)$")
_INDEX = re.compile(r"(?:^|/)(?:_?index|readme)$")
_REPLACING = frozenset({"supersedes", "superseded_by", "replaces", "replaced_by"})


def extract_links(text: str, doc_id: str) -> list[tuple[LinkKind, str]]:
    """Return the links of a text as (kind, address), in order, each once. Relative paths start at `doc_id`."""
    found: list[tuple[LinkKind, str]] = []
    if "[[" in text:
        found += [("wiki", normalise_title(link[1])) for link in _WIKI.finditer(text)]
    if "](" in text:
        found += [("markdown", _resolve_target(link[1], doc_id)) for link in _MARKDOWN.finditer(text)]
    return [link for link in dict.fromkeys(found) if link[1]]


def extract_replacements(meta: Mapping[str, Any]) -> list[tuple[LinkKind, str]]:
    """Return the documents that the metadata names as replaced by this one, or as replacing it."""
    found: list[tuple[LinkKind, str]] = []
    for field, value in meta.items():
        if field.lower().replace("-", "_") in _REPLACING and value is not None:
            members = value if isinstance(value, list | tuple) else str(value).split(",")
            found += [("supersedes", normalise_path(str(member).strip())) for member in members]
    return [link for link in dict.fromkeys(found) if link[1]]


def list_addresses(doc_id: str, title: str, aliases: Sequence[str] = ()) -> list[str]:
    """Return the addresses of a document: its path, also without its first folder, its last part, title, aliases."""
    path = normalise_path(doc_id)
    candidates = (path, path.partition("/")[2], path.rpartition("/")[2], *map(normalise_title, (title, *aliases)))
    return list(dict.fromkeys(address for address in candidates if address))


def normalise_path(path: str) -> str:
    """Return a path in the form in which addresses are compared."""
    stem = _ENDING.sub("", normalise(path).strip("/ "))
    return _INDEX.sub("", stem)[:LONGEST_ADDRESS]


def normalise_title(title: str) -> str:
    """Return a title, or the target of a wiki link, in the form in which addresses are compared."""
    return _ENDING.sub("", normalise(title))[:LONGEST_ADDRESS]


def _resolve_target(target: str, doc_id: str) -> str:
    """Return a Markdown link's target from the root; "" when it leaves the collection or stays in its document."""
    if _SCHEME.match(target):
        return ""
    path = unquote(target.split("#")[0].split("?")[0])
    if not path:
        return ""
    return normalise_path(
        posixpath.normpath(posixpath.join(posixpath.dirname(doc_id), path))
    )  # a path from the root stays
