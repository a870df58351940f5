"""Reads HTML: the visible text, a section per heading, without scripts, menus and other navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from assay.errors import MissingExtra
from assay.ingest.fields import DocumentFields, parse_fields
from assay.ingest.files import bad_file, check_size, clean_text, inspect_text_file
from assay.ingest.outline import LONGEST_HEADING, Heading, Outline, build_documents
from assay.ingest.readers.markup import find_excess, remove_unshown
from assay.types import Document

MOST_BYTES = 64 << 20

# `form` and `aside` stay: some pages are one form, and asides hold notes as often as adverts.
_SKIPPED_TAGS = frozenset(
    {"script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "embed", "head"}
    | {"nav", "footer", "button", "select", "textarea", "dialog"}
)
_SKIPPED_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "dialog"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    {"address", "article", "blockquote", "body", "br", "caption", "center", "dd", "details", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "header", "hr", "html", "li", "main", "ol", "p", "pre", "section"}
    | {"summary", "table", "tbody", "tfoot", "thead", "tr", "ul", *_HEADINGS}
)
_SPACED_BLOCKS = frozenset(
    {"p", "pre", "table", "ul", "ol", "dl", "blockquote", "figure"}
)  # a blank line before and after
_CELLS = frozenset({"td", "th"})
_INLINE_IN_CELL = frozenset({"p", "div", "br"})  # within a cell these do not end the row's line
_DATES = (
    "article:published_time",
    "og:published_time",
    "date",
    "dc.date",
    "dcterms.created",
    "dcterms.date",
    "article:modified_time",
    "last-modified",
)
_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_SPACE = re.compile(r"\s+")


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the readable text of a page."""
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise MissingExtra("reading .html files", "docs") from error
    text, notes = _decode_page(path)
    text = remove_unshown(text)
    if excess := find_excess(text):
        raise bad_file(path, excess, "clean the page up, or remove it")
    tree = LexborHTMLParser(text)
    fields = _read_fields(tree, notes)
    root = tree.css_first("main, [role=main]") or _only_article(tree) or tree.body
    outline = Outline(_events(root) if root is not None else ())
    yield from build_documents(name, outline, fields)


def html_text(text: str) -> str:
    """Return the readable text of a piece of HTML without its structure; for mails without a plain part."""
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise MissingExtra("reading HTML mail", "docs") from error
    text = remove_unshown(text)
    if find_excess(text):  # not for the parser
        return "\n".join(
            " ".join(line.split()) for line in unescape(re.sub("<[^>]*+>?", " ", text)).split("\n")
        ).strip()
    root = LexborHTMLParser(text).body
    events = _events(root) if root is not None else iter(())
    return "\n".join(event.title if isinstance(event, Heading) else event for event in events).strip()


def _decode_page(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the page as text: by its byte order mark, then UTF-8, then the charset it declares."""
    check_size(path, MOST_BYTES)
    text_file = inspect_text_file(path, html=True)
    data = path.read_bytes()
    if text_file.notes and (declared := _CHARSET.search(data[:4096])):
        try:
            return clean_text(data.decode(declared[1].decode("ascii"))), ()
        except (LookupError, UnicodeDecodeError):
            pass  # a wrong charset counts as none
    return clean_text(data.decode(text_file.encoding, text_file.errors)), text_file.notes


def _only_article(tree: Any) -> Any:
    articles = tree.css("article")
    return articles[0] if len(articles) == 1 else None


def _read_fields(tree: Any, notes: tuple[str, ...]) -> DocumentFields:
    metas: dict[str, str] = {}
    for node in tree.css("meta"):
        key = node.attributes.get("name") or node.attributes.get("property") or node.attributes.get("itemprop") or ""
        metas.setdefault(key.strip().lower(), node.attributes.get("content") or "")
    title = tree.css_first("head > title") or tree.css_first("title")
    root = tree.css_first("html")
    fields: dict[str, Any] = {
        "title": (title.text() if title is not None else "").strip() or metas.get("og:title", ""),
        "lang": (root.attributes.get("lang") if root is not None else "") or "",
        "tags": metas.get("keywords", ""),
        "author": metas.get("author", ""),
        "description": metas.get("description", ""),
        "date": next((metas[key] for key in _DATES if metas.get(key)), ""),
    }
    return parse_fields({key: value for key, value in fields.items() if value}, notes=notes)


def _events(root: Any) -> Iterator[Heading | str]:
    """Yield the lines and headings below a node, in order. A stack, not recursion: pages nest thousands deep."""
    writer = _Writer()
    stack: list[tuple[Any, bool]] = [(root, True)]
    while stack:
        node, entering = stack.pop()
        tag = node.tag
        if not entering:
            yield from writer.leave(tag)
            continue
        if node.is_text_node:
            writer.text(node.text_content or "")
            continue
        if not node.is_element_node or _is_skipped(node, tag):
            continue
        yield from writer.enter(tag)
        stack.append((node, False))
        children = []
        child = node.child
        while child is not None:
            children.append(child)
            child = child.next
        stack.extend((child, True) for child in reversed(children))
    yield from writer.flush()


def _is_skipped(node: Any, tag: str) -> bool:
    if tag in _SKIPPED_TAGS:
        return True
    attributes = node.attributes
    return bool(attributes) and (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or (attributes.get("role") or "").lower() in _SKIPPED_ROLES
    )


class _Writer:
    """Turns tags and text into lines: white space as in a browser, `- ` for items, ` | ` between cells."""

    def __init__(self) -> None:
        self._line: list[str] = []
        self._has_text = False  # is there more than white space in the line?
        self._level = 0  # of the current heading
        self._preformatted = 0
        self._in_cell = 0

    def text(self, text: str) -> None:
        self._has_text = self._has_text or bool(text.strip())
        self._line.append(text if self._preformatted else _SPACE.sub(" ", text))

    def enter(self, tag: str) -> Iterator[Heading | str]:
        if tag in _CELLS:
            self._in_cell += 1
            if self._has_text:
                self._line.append(" | ")
        elif tag in _INLINE_IN_CELL and self._in_cell:
            self._line.append(" ")
        elif tag in _BLOCKS:
            yield from self.flush()
            if tag in _SPACED_BLOCKS:
                yield ""
            if tag == "li":
                self._line.append("- ")
                self._has_text = True
            elif tag == "pre":
                yield "```"
                self._preformatted += 1
            else:
                self._level = _HEADINGS.get(tag, self._level)

    def leave(self, tag: str) -> Iterator[Heading | str]:
        if tag in _CELLS:
            self._in_cell -= 1
        elif tag in _INLINE_IN_CELL and self._in_cell:
            self._line.append(" ")
        elif tag in _BLOCKS:
            yield from self.flush()
            if tag == "pre":
                yield "```"
                self._preformatted -= 1
            elif tag in _HEADINGS:
                self._level = 0
            if tag in _SPACED_BLOCKS:
                yield ""

    def flush(self) -> Iterator[Heading | str]:
        """Yield the current line, as a heading or as text."""
        text = "".join(self._line)
        self._line.clear()
        self._has_text = False
        if self._preformatted:
            yield from text.strip("\n").split("\n")
            return
        text = _SPACE.sub(" ", text).strip()
        if not text.strip("-"):
            return
        if self._level and len(text) <= LONGEST_HEADING:
            yield Heading(self._level, text.rstrip(" ¶#") or text)
        else:
            yield text
