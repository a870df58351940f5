"""Prepares HTML for the parser: removes what is never shown, and refuses markup that costs it quadratic time.

The parser compares every attribute of a tag with all before it, walks through all open tags for many a tag, opens all
formatting tags that were left open again in every paragraph, and visits all options of a list for each of them. Tags
are scanned by the rules of the HTML standard (possessive quantifiers: the scan takes linear time).
"""

from __future__ import annotations

import re
from collections import Counter

DEEPEST = 1000
"""Open tags at once."""
MOST_ATTRIBUTES = 1000
"""Attributes of one tag; of all tags html and body together, because they are added to the first."""
MOST_FORMATS = 64
"""Different formatting tags that are open at once."""

_CODE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)
_S = r"\t\n\f\r "
_VALUE = rf"""(?:"[^"]*+"?|'[^']*+'?|[^{_S}>]*+)"""
_ATTRIBUTE = rf"[{_S}/]*+[^{_S}/>][^{_S}/>=]*+(?:[{_S}]*+=[{_S}]*+{_VALUE})?+"
_TAG = re.compile(rf"<(/?)([a-z][^{_S}/>]*+)((?:{_ATTRIBUTE})*+)", re.IGNORECASE)
_OPTION = re.compile(rf"</?option(?=[{_S}/>])(?:{_ATTRIBUTE})*+[{_S}/]*+>", re.IGNORECASE)
_DRAWING, _DRAWING_END = re.compile(r"<svg\b", re.IGNORECASE), re.compile(r"</svg\s*>", re.IGNORECASE)
_EACH_ATTRIBUTE = re.compile(_ATTRIBUTE)
_UNPAIRED = frozenset(  # never closed, or closed by what follows
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
    | {"a", "p", "li", "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "html", "head", "body"}
)
_FORMATS = frozenset(  # without "a", which closes the one before
    {"b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}
)


def remove_unshown(text: str) -> str:
    """Return HTML without scripts, styles, comments, drawings, and the tags of options, whose text a list hides."""
    return _OPTION.sub(" ", _remove_drawings(_CODE.sub(" ", text)))


def _remove_drawings(text: str) -> str:
    """Return HTML without SVG: a drawing may have thousands of tags that close themselves."""
    kept: list[str] = []
    at = 0
    while (start := _DRAWING.search(text, at)) and (end := _DRAWING_END.search(text, start.end())):
        kept += text[at : start.start()], " "
        at = end.end()
    return "".join([*kept, text[at:]])


def find_excess(text: str) -> str:
    """Return what is too much in this HTML for the parser; empty when nothing is."""
    depth = shared = 0
    formats: dict[str, list[str]] = {}
    open_formats: Counter[tuple[str, str]] = Counter()
    for closing, name, attributes in _TAG.findall(text):
        tag = name.lower()
        if len(attributes) > 2 * MOST_ATTRIBUTES or (attributes and tag in ("html", "body")):
            count = len(_EACH_ATTRIBUTE.findall(attributes))
            shared += count if tag in ("html", "body") else 0
            if max(count, shared) > MOST_ATTRIBUTES:
                return f"a tag has more than {MOST_ATTRIBUTES} attributes"
        if tag in _FORMATS:
            opened = formats.setdefault(tag, [])
            if not closing:
                opened.append(attributes)
                open_formats[tag, attributes] += 1
            elif opened:
                open_formats[tag, opened.pop()] -= 1
            if not closing and len(open_formats) > MOST_FORMATS:
                open_formats = +open_formats  # without those that were closed
                if len(open_formats) > MOST_FORMATS:
                    return f"more than {MOST_FORMATS} different formatting tags are never closed"
        if tag not in _UNPAIRED:
            depth = max(0, depth - 1) if closing else depth + 1
            if depth > DEEPEST:
                return f"more than {DEEPEST} tags are nested or never closed"
    return ""
