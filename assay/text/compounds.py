"""Derives the terms of one run of characters, with their places in it.

A plain word gives its stem. A compound gives itself whole, unstemmed, and its parts as words:

    JINA_API_KEY      jina_api_key  jina  api  key
    camelCaseName     camelcasename  (its stem, as a lower-case writer would spell it)  camel  case  name
    v1.29.3           v1.29.3  1.29.3  1.29  1                  numbers give their prefixes: 2024-01 finds 2024-01-15
    CVE-2024-1234     cve-2024-1234  cve  2024  1234
    user@example.com  user@example.com  user  example.com  example  com
    non-profit        non-profit  nonprofit  non  profit        two words also give them joined
    O'Brien, U.S.     o'brien  obrien  brien;  u.s  us
    John's, don't     john;  don't
    1,000.5           1000.5  1000
    .NET  #34524      .net  net;  #34524  34524
    C++17             c++17  c++
    日本語             日本  本語  and, for the index only, 日  本  語

One-letter parts of a compound, and parts of hashes and base64, are left out. Terms that a query does not look for are
marked: single characters of an unspaced run, and bare digits of an identifier with letters (the 2024 and 1234 of
CVE-2024-1234, the 256 of sha256), which would match any number. Ordinals, decades, quantities and years joined to a
word (3rd, 1990s, 30-day, mid-2023) are words, not identifiers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

from assay.text.normalisation import fold, strip_marks
from assay.text.tokeniser import is_simple, is_unspaced, split_clusters

Forms = Callable[[str], tuple[str, ...]]
Span = tuple[int, int]

LONGEST_COMPOUND = 128  # characters; a longer one gives its parts only
LONGEST_NAME = 64  # characters of a camelCase or alphanumeric name that is still split
MOST_PARTS = 8
YEAR_DIGITS = 4
MOST_CHANGES = 2  # from letters to digits or back; sha256sum has two, a hash has many

Kind = Literal["word", "character", "digits"]
Term = tuple[str, int, int, Kind]
"""A term, its start and end, and its kind: one character of a longer unspaced run, bare digits of an identifier, or
any other term, which is what queries look for."""

_LEADS = frozenset(".-#")
_DIGITS = re.compile(r"\d+")
_SNAKE = re.compile(r"[^_]+")
_TOP = re.compile(r"[^/\\@]+")
_ATOM = re.compile(r"[^.'’‘＇׳״·‐‑\-:,&]+")
_SIGNED = re.compile(r"(?P<lead>\.|--|\#)?(?P<body>[^+#]+)(?P<tail>\+\+(?P<version>\d*)|\#)?", re.DOTALL)
_POSSESSIVE = re.compile(r"['’‘＇][sS]\Z")
_CONTRACTION = re.compile(r"[^\W\d_]+(?:n['’‘＇]t|['’‘＇](?:re|ve|ll|d|m))", re.IGNORECASE)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMERIC = re.compile(r"[vV]?\d+(?:[-.:,/\\]\d+)+")
_VERSION = re.compile(r"[vV]?\d+(?:\.\d+)+(?![^\W_])")
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_PAIR = re.compile(r"[^\W\d_]+['’‘＇׳״·‐‑\-][^\W\d_]+")
_QUANTITY = re.compile(r"\d+(?:st|nd|rd|th|s|er|e)|\d[\d,.]*(?:-[^\W\d_]+)+|[^\W\d_]+-[12]\d{3}")
"""Ordinals, decades, 30-day, mid-2023; with other capitals (CVE-2024, 2019-nCoV) they are identifiers."""
_WORD = re.compile(r"[^\W\d_]+")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")


def derive_terms(run: str, forms: Forms, pairs: bool = True) -> list[Term]:
    """Return the terms of one run, each once per place. `forms` gives the terms of a plain word."""
    if run.isascii() and is_plain(run):
        return [(term, 0, len(run), "word") for term in forms(run)]
    if is_unspaced(run):
        return _character_grams(run, pairs)
    splitter = _CompoundSplitter(run, forms)
    splitter.add_signed()
    return _mark_digits(run, [term for term in dict.fromkeys(splitter.terms) if term[0]])


def _mark_digits(run: str, terms: list[tuple[str, int, int]]) -> list[Term]:
    """Mark bare digits inside a longer term with letters. Terms nest and a longer one stands before those in it."""
    if not any(map(str.isdigit, run)) or _is_quantity(run):
        return [(term, start, end, "word") for term, start, end in terms]
    marked: list[Term] = []
    identifier_end = 0  # where the last term with letters ends; what starts before it is inside
    for term, start, end in terms:
        marked.append((term, start, end, "digits" if term.isnumeric() and start < identifier_end else "word"))
        if any(map(str.isalpha, term)):
            identifier_end = max(identifier_end, end)
    return marked


def _is_quantity(run: str) -> bool:
    return _QUANTITY.fullmatch(run) is not None and not run.isupper() and all(map(is_plain, _WORD.findall(run)))


def split_segments(run: str) -> tuple[tuple[str, ...], list[str]]:
    """Return a path or address in ASCII without signs as a whole term and as the runs it is made of, whose terms are
    its terms too; two empty values for any other run."""
    if not run.isascii() or run[0] in _LEADS or "+" in run or run[-1] == "#":
        return (), []
    parts = _TOP.findall(run)
    if len(parts) == 1 or _NUMERIC.fullmatch(run):
        return (), []
    whole = (run.lower().replace("\\", "/"),) if len(run) <= LONGEST_COMPOUND else ()
    return whole, [part for part in parts if len(part) > 1 or not part.isalpha()]


def _character_grams(run: str, pairs: bool) -> list[Term]:
    """Return overlapping pairs of characters, and each character for one-character queries."""
    spans = split_clusters(run)
    units = list(run) if is_simple(run) else [fold(run[start:end]) for start, end in spans]
    inner = pairs and len(units) > 1
    kind: Kind = "character" if inner else "word"
    terms: list[Term] = []
    for place, (unit, (start, end)) in enumerate(zip(units, spans, strict=True)):
        if unit:
            terms.append((unit, start, end, kind))
        if inner and place + 1 < len(units) and unit and units[place + 1]:
            terms.append((unit + units[place + 1], start, spans[place + 1][1], "word"))
    return terms


class _CompoundSplitter:
    """Splits one run, from the largest unit to the smallest; `terms` collects (term, start, end)."""

    def __init__(self, run: str, forms: Forms) -> None:
        self.run = run
        self.forms = forms
        self.terms: list[tuple[str, int, int]] = []

    def add_signed(self) -> None:
        """.NET --dry-run #34524 C++ C#, and what they are without their sign."""
        signs = _SIGNED.fullmatch(self.run)
        if signs is None or not (signs["lead"] or signs["tail"]):
            self.add_compound(0, len(self.run))
            return
        self.add_whole(0, len(self.run))
        if signs["version"]:
            self.add_whole(0, signs.start("version"))
        start, end = signs.span("body")
        if not self.is_letter(start, end):
            self.add_compound(start, end)

    def add_compound(self, start: int, end: int) -> None:
        """Paths and addresses: whole, and each segment."""
        segments = [match.span() for match in _TOP.finditer(self.run, start, end)]
        if len(segments) == 1:
            self.add_segment(start, end)
        elif _NUMERIC.fullmatch(self.run, start, end):
            self.add_number(start, end)
        else:
            self.add_whole(start, end)
            for first, last in segments:
                if not self.is_letter(first, last):
                    self.add_segment(first, last)

    def add_segment(self, start: int, end: int) -> None:
        """Words joined by . - ' and their kin."""
        run = self.run
        possessive = _POSSESSIVE.match(run, max(start + 1, end - 2), end)
        if possessive:
            end = possessive.start()
        atoms = [match.span() for match in _ATOM.finditer(run, start, end)]
        if len(atoms) == 1:
            self.add_atom(*atoms[0])
            return
        if _NUMERIC.fullmatch(run, start, end):
            self.add_number(start, end)
            return
        self.add_whole(start, end)
        if _CONTRACTION.fullmatch(run, start, end):
            return
        if _ACRONYM.fullmatch(run, start, end) or _PAIR.fullmatch(run, start, end):
            self.add_word("".join([run[first:last] for first, last in atoms]), start, end)
        position = start
        for first, last in atoms:
            if first < position:
                continue  # inside a version
            version = _VERSION.match(run, first, end)
            if version:
                position = version.end()
                self.add_number(first, position)
            elif not self.is_letter(first, last):
                self.add_atom(first, last)

    def add_number(self, start: int, end: int) -> None:
        """Versions, dates, amounts: whole, without a leading v, prefixes, and later parts that may be years."""
        run = self.run
        grouped = _THOUSANDS.fullmatch(run, start, end) is not None
        parts = [match.span() for match in _DIGITS.finditer(run, start, end)]
        ends = [last for _, last in parts if not (grouped and run[last : last + 1] == ",")]
        self.add_whole(start, end)
        for last in ends[:MOST_PARTS]:
            self.add_whole(parts[0][0], last)
        for first, last in parts[1:]:
            if not grouped and (last - first >= YEAR_DIGITS or run[first - 1] == ","):
                self.add_whole(first, last)

    def add_atom(self, start: int, end: int) -> None:
        """A word between connectors: snake_case, or a name."""
        run = self.run
        if "_" not in run[start:end]:
            self.add_name(start, end)
            return
        parts = [match.span() for match in _SNAKE.finditer(run, start, end)]
        if parts and run.startswith("__", start):
            self.add_whole(start, end)  # __init__
        elif len(parts) > 1:
            self.add_whole(parts[0][0], parts[-1][1])  # without the _ of Markdown emphasis
        for first, last in parts:
            if len(parts) == 1 or not self.is_letter(first, last):
                self.add_name(first, last)

    def add_name(self, start: int, end: int) -> None:
        """camelCase, letters with digits, or a plain word."""
        text = self.run[start:end]
        if is_plain(text):
            self.add_word(text, start, end)
            return
        parts = _split_camel_case(text) if len(text) <= LONGEST_NAME else []
        is_split = 1 < len(parts) <= MOST_PARTS
        numeric = any(map(str.isnumeric, text))
        if is_split or numeric:
            self.terms.append((strip_marks(fold(text)), start, end))
        if not numeric:  # in lower case the name looks like a plain word, so it is also indexed as one
            self.add_word(text, start, end)
        if is_split:
            for first, last in parts:
                if not self.is_letter(start + first, start + last):
                    self.add_word(text[first:last], start + first, start + last)

    def add_word(self, text: str, start: int, end: int) -> None:
        """A plain word, in all its forms."""
        for term in self.forms(text):
            self.terms.append((term, start, end))

    def add_whole(self, start: int, end: int) -> None:
        """A compound unsplit, unless it is too long to be a name."""
        if end - start <= LONGEST_COMPOUND:
            term = strip_marks(fold(self.run[start:end])).replace("\\", "/")
            grouped = _THOUSANDS.fullmatch(self.run, start, end)
            self.terms.append((term.replace(",", "") if grouped else term, start, end))

    def is_letter(self, start: int, end: int) -> bool:
        """Is it one letter alone, which is no useful part?"""
        return end - start == 1 and self.run[start].isalpha()


def is_plain(text: str) -> bool:
    """Is it word, Word or WORD?"""
    return text.isalpha() and (text.islower() or text[1:].islower() or text.isupper())


class _CharacterKinds(dict[int, str]):
    """A character's kind, by code: U(pper), l(ower), d(igit), m(ark) or x."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        kind = "U" if c.isupper() else "l" if c.islower() else "d" if c.isnumeric() else "x"
        self[code] = kind = "m" if unicodedata.combining(c) else kind
        return kind


_KINDS = _CharacterKinds()
_CUT = re.compile(r"(?<=l)(?=U)|(?<=U)(?=Ul)|(?P<change>(?<=d)(?=[^dm])|(?<=[^d])(?=d))")

_ASCII_CUT = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?P<change>(?<=[0-9])(?=[^0-9])|(?<=[^0-9])(?=[0-9]))"
)


def _split_camel_case(name: str) -> list[Span]:
    """camelCaseName → camel Case Name; HTMLParser → HTML Parser; sha256sum → sha 256 sum; [] for a hash."""
    if _PLURAL_ACRONYM.fullmatch(name):
        return []
    cuts = list(_ASCII_CUT.finditer(name) if name.isascii() else _CUT.finditer(name.translate(_KINDS)))
    if sum(cut["change"] is not None for cut in cuts) > MOST_CHANGES:
        return []
    places = [cut.start() for cut in cuts]
    return list(zip([0, *places], [*places, len(name)], strict=True))
