"""Masks what near-duplicates differ in: numbers, dates, times, versions and identifiers.

    <date>      2024-03-15  2024-05-01T10:30:00Z  15/03/2024  12/2024  Q3 2024  15 March 2024  Mar 15th, 2024  May 2024
                3. Mai 2024  1er juin  5 de mayo de 2024  September
    <time>      09:40  23:59:59  9am
    <version>   v2  3.0.4  1.2-rc1  10.0.0.1
    <number>    41  1,000.50  2.0  3rd
    <id>        TKT-738401  G8-409  sha256  gpt-4  #34524

A path is masked part by part (api/v2/users becomes api/<version>/users). A month alone is masked where it is
unmistakable (September, not May or march). Scripts without spaces keep their characters around a number. Linear time,
any string.
"""

from __future__ import annotations

import re

from assay.text.bounded_cache import BoundedCache
from assay.text.query.date_words import MONTH_NAMES
from assay.text.query.words import make_table
from assay.text.tokeniser import is_unspaced, run_pattern

_MONTHS = make_table("""
    januar februar märz maerz mai juni juli oktober dezember
    janvier février fevrier mars avril mai juin juillet août aout septembre octobre novembre décembre decembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
    janeiro fevereiro março marco maio junho julho setembro outubro novembro dezembro
    januari februari maart mei augustus
    sept mär mrz okt dez
""")
_MONTHS |= {*MONTH_NAMES, *(name[:3] for name in MONTH_NAMES)}
_INITIALS = "".join(sorted({initial for name in _MONTHS for initial in (name[0], name[0].upper())}))
_YEAR = r"(?:1[89]|20)\d\d"
# A month is any word here; `_mask_date` looks it up. Both expressions begin with a set of characters, which is searched
# fast; the look-behind after it says that no word or number goes on there.
_DAY_FIRST = re.compile(
    rf"""\d(?<!\d.)\d?(?:st|nd|rd|th|er|\.|º|ª)?[ -](?:(?:of|de|del)\ )?           # 15th of  3.  5 de
         (?P<month>[^\W\d_]{{3,10}})\b\.?(?:,?[ -](?:(?:de|del|of)\ )?{_YEAR}\b)?      # March  Mar. 2024
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"""(?P<month>[{_INITIALS}](?<!\w.)[^\W\d_]{{2,9}})\.?,?[ -]                       # March  Mar.
         (?:(?:(?:de|of)\ )?{_YEAR}\b | \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ {_YEAR}\b)?)      # 2024  15th, 2024
    """,
    re.VERBOSE,
)
_QUARTER = re.compile(rf"[QqHh](?<!\w.)[1-4][ /-]{_YEAR}\b")
_MONTH_ALONE = re.compile(r"\b(?:January|February|April|June|July|September|October|November|December)\b")

_SUFFIX = r"(?:[-.+]?(?:rc|alpha|beta|a|b|dev|post|pre|final|snapshot)[-.]?\d*)"
_KINDS = (
    ("<date>", rf"{_YEAR}([-/.])\d{{1,2}}(?:\1\d{{1,2}})?(?:t[\d:.]+z?)?|{_YEAR}-?[wqh]\d{{1,2}}"),
    ("<date>", rf"\d{{1,2}}([-/.])\d{{1,2}}\1{_YEAR}|\d{{1,2}}([-/])\d{{1,2}}\2\d\d|\d{{1,2}}[-/.]{_YEAR}"),
    ("<time>", r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:am|pm|z|h)?|\d{1,2}(?:am|pm)"),
    ("<version>", rf"v\d+(?:\.\d+)*{_SUFFIX}?|\d+(?:\.\d+){{2,}}{_SUFFIX}?|\d+\.\d+{_SUFFIX}"),
    ("<number>", r"\d+(?:[.,:'/-]\d+)*(?:st|nd|rd|th|s|er|e)?"),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_DIGIT = re.compile(r"\d")
_TOKENS = re.compile(r"<[a-z]+>|[^\W_]+")


def mask_text(text: str) -> str:
    """Return a text with placeholders for numbers, dates, times, versions and identifiers; white space collapsed."""
    text = " ".join(text.split())
    if _DIGIT.search(text):
        for pattern in (_DAY_FIRST, _MONTH_FIRST):
            text = pattern.sub(_mask_date, text)
        text = _QUARTER.sub("<date>", text)
        text = " ".join(map(_MASKS.__getitem__, text.split()))  # no run crosses white space
    return _MONTH_ALONE.sub("<date>", text)


def split_masked(masked: str) -> list[str]:
    """Return the tokens of a masked text: placeholders, case-folded words, single characters of unspaced scripts."""
    tokens: list[str] = _TOKENS.findall(masked.casefold())
    if masked.isascii():
        return tokens
    return [part for token in tokens for part in (token if is_unspaced(token) else (token,))]


def _mask_date(found: re.Match[str]) -> str:
    return "<date>" if found["month"].lower() in _MONTHS else found[0]


def _mask_piece(piece: str) -> str:
    return run_pattern(piece).sub(_mask_run, piece) if _DIGIT.search(piece) else piece


def _mask_run(run: re.Match[str]) -> str:
    whole = _mask_word(run[0])
    if whole == "<id>" and "/" in run[0]:
        return "/".join(map(_mask_word, run[0].split("/")))
    return whole


def _mask_word(word: str) -> str:
    if not _DIGIT.search(word):
        return word
    return next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(word)), "<id>")


_MASKS: BoundedCache[str, str] = BoundedCache(_mask_piece)
