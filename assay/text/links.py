"""Where does a text lead? Wiki links, Markdown links and what it takes the place of; and how documents are addressed.

    [[Keys]]  [[keys|the page on keys]]           wiki: a title or a file's name
    [keys](../security/keys.md#rotation)          markdown: a path, from the linking document's place or from the root
    supersedes, replaces, superseded_by, …        supersedes: fields of the metadata, ids or paths

A link and a document meet where an address of one equals an address of the other: lower case, without the ending of
a file, without a closing `index` or `readme`. Links that leave the collection have no address. Linear time.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import unquote

from assay.text.fold import normal

LinkKind = Literal["wiki", "markdown", "supersedes"]
LONGEST_ADDRESS = 200

_WIKI = re.compile(r"\[\[([^\[\]|#\n]{1,200}+)[^\[\]\n]{0,400}+\]\]")
_MARKDOWN = re.compile(r"(?<!!)\[[^\]\[\n]{0,400}+\]\(\s{0,8}+<?([^)\s>]{1,500}+)>?[^)\n]{0,200}+\)")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_ENDING = re.compile(r"\.(?:md|markdown|mdx|html?|rst|txt|adoc|org)$")
_INDEX = re.compile(r"(?:^|/)(?:_?index|readme)$")
_REPLACING = frozenset({"supersedes", "superseded_by", "replaces", "replaced_by"})


def links(text: str, doc_id: str) -> list[tuple[LinkKind, str]]:
    """The links of a text as (kind, address), in order, each once. `doc_id` says where the text stands."""
    found: list[tuple[LinkKind, str]] = []
    if "[[" in text:
        found += [("wiki", title_address(link[1])) for link in _WIKI.finditer(text)]
    if "](" in text:
        found += [("markdown", _path(link[1], doc_id)) for link in _MARKDOWN.finditer(text)]
    return [link for link in dict.fromkeys(found) if link[1]]


def replaced(meta: Mapping[str, Any]) -> list[tuple[LinkKind, str]]:
    """What the metadata says a document takes the place of, or what takes its own."""
    found: list[tuple[LinkKind, str]] = []
    for field, value in meta.items():
        if field.lower().replace("-", "_") in _REPLACING and value is not None:
            members = value if isinstance(value, list | tuple) else str(value).split(",")
            found += [("supersedes", address(str(member).strip())) for member in members]
    return [link for link in dict.fromkeys(found) if link[1]]


def addresses(doc_id: str, title: str, aliases: Sequence[str] = ()) -> list[str]:
    """What a document answers to: its id as a path, without its first folder, its last part, its title and aliases."""
    path = address(doc_id)
    found = (path, path.partition("/")[2], path.rpartition("/")[2], *map(title_address, (title, *aliases)))
    return list(dict.fromkeys(one for one in found if one))


def address(path: str) -> str:
    """A path in the form in which addresses are compared."""
    said = _ENDING.sub("", normal(path).strip("/ "))
    return _INDEX.sub("", said)[:LONGEST_ADDRESS]


def title_address(title: str) -> str:
    """A title, or what a wiki link says of one."""
    return _ENDING.sub("", normal(title))[:LONGEST_ADDRESS]


def _path(target: str, doc_id: str) -> str:
    """A Markdown link's target seen from the root; "" when it leaves the collection or stays in its document."""
    if _SCHEME.match(target):
        return ""
    path = unquote(target.split("#")[0].split("?")[0])
    if not path:
        return ""
    return address(posixpath.normpath(posixpath.join(posixpath.dirname(doc_id), path)))  # a path from the root stays
