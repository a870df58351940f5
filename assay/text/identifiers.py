"""Extracts the identifiers and quoted phrases of a query, which must match exactly.

`extract_identifiers(text)` returns, normalised and in order of appearance, each once: quoted phrases ("like this",
`like this`, “like this”, «like this»), and tokens that look like names rather than words:

    digits with letters or signs   v1.29.3  CVE-2024-1234  gpt-4  sha256  #34524  10.0.0.1  99999
    underscores, inner capitals    JINA_API_KEY  __init__  camelCaseName  GitHub
    inner dots, paths, addresses   foo.bar.baz  .NET  /etc/hosts  a/b/c  user@example.com
    signs                          C++  C#  --dry-run

Plain numbers below five digits, ordinals (3rd), decades (1990s), dotted abbreviations (e.g.) and hyphenated
words (state-of-the-art) are ordinary words.
"""

from __future__ import annotations

import re

from assay.text.normalisation import normalise
from assay.text.tokeniser import run_pattern

# The bound on a phrase keeps a stray quote from matching the rest of the query, and the search linear.
_QUOTED = re.compile(
    r'"([^"]{1,200})"|“([^”]{1,200})”|«([^»]{1,200})»|`([^`]{1,200})`|„([^“”]{1,200})[“”]|「([^」]{1,200})」'
)
_ORDINARY = re.compile(
    r"""\d{1,4}                          # 404  2024
      | \d{1,3}(?:,\d{3})+               # 1,000
      | \d+(?:st|nd|rd|th|s|er|e)        # 3rd  1990s
      | [^\W\d_](?:\.[^\W\d_])+          # e.g  U.S
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAME = re.compile(
    r"""\d                                                   # any digit
      | (?<=[^\W_])_(?=[^\W_]) | __                          # snake_case, __init__
      | [^\W\d_]\.[^\W\d_] | \A\. | \A--                     # foo.bar  .NET  --flag
      | @ | [/\\].*[/\\] | \+\+ | \#                         # user@host  a/b/c  C++  C#
    """,
    re.VERBOSE,
)
_LETTERS = re.compile(r"[^\W\d_]+")


def extract_identifiers(text: str) -> list[str]:
    """Return the phrases and identifiers of a query, normalised, in order, each once."""
    found: list[tuple[int, str]] = []

    def take_phrase(quoted: re.Match[str]) -> str:
        found.append((quoted.start(), normalise(next(group for group in quoted.groups() if group))))
        return " " * len(quoted[0])

    rest = _QUOTED.sub(take_phrase, text)
    for token in run_pattern(rest).finditer(rest):
        start, end = token.span()
        before = rest[max(start - 2, 0) : start]
        rooted = before.endswith(("/", "\\")) and before not in ("//", "</")  # /etc/hosts, not ://host or </tag>
        if rooted or is_name(token[0]):
            found.append((start, normalise(rest[start - rooted : end])))
    return list(dict.fromkeys(name for _, name in sorted(found) if name))


def find_quotes(text: str) -> list[tuple[int, int]]:
    """Return the spans of the quoted phrases of a query, with their quotation marks, in order."""
    return [quoted.span() for quoted in _QUOTED.finditer(text)]


def is_name(token: str) -> bool:
    """Does a token look like a name rather than a word?"""
    if _ORDINARY.fullmatch(token):
        return False
    return _NAME.search(token) is not None or any(map(_has_inner_capital, _LETTERS.findall(token)))


def _has_inner_capital(word: str) -> bool:
    """camelCase, GitHub, but not Word, WORD or APIs."""
    return any(map(str.isupper, word[1:])) and any(map(str.islower, word)) and not re.fullmatch(r"[A-Z]{2,}s", word)
