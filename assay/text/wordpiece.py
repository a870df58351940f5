"""WordPiece tokens of BERT-uncased: the input of the default embedding model, and the length of a chunk for it.

`encode_pieces(text)` equals the reference tokeniser (padding and truncation off, no [CLS] and [SEP] added) id by id;
`count_pieces(text) == len(encode_pieces(text))`. A word is cleaned (control characters dropped, Han characters
separated, accents stripped, lower case), split at punctuation, and covered greedily by the longest vocabulary entries;
a word that cannot be covered, or is longer than 100 characters, is one [UNK]. Lone surrogates are dropped,
as U+FFFD is.
"""

from __future__ import annotations

import gzip
import re
import string
import unicodedata
from bisect import bisect_right
from functools import cache
from importlib.resources import files

from assay.text.bounded_cache import BoundedCache
from assay.text.combining_marks import limit_marks

PAD, UNK, CLS, SEP, MASK = 0, 100, 101, 102, 103

LONGEST_WORD = 100  # characters; longer words are [UNK], as in the reference
LONGEST_PIECE = 18  # characters of the longest vocabulary entry

# The reference cuts at these characters before anything else, so a run between them is a unit that can be cached.
_SPACE = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PUNCT = r"!-/:-@\[-`{-~"
_HAN = (
    "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f"
)
_SPECIAL = r"\[(?:PAD|UNK|CLS|SEP|MASK)\]"
_ASCII_RUN = re.compile(rf"[^ \t\n\r{_PUNCT}]+|{_SPECIAL}|[{_PUNCT}]")
_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_APART = bytes.maketrans(string.punctuation.encode() + b"\n", b"\n" * len(string.punctuation) + b" ")
"""Punctuation becomes line ends, which can be counted, and line ends become spaces."""
_RUN = re.compile(rf"[^{_SPACE}{_PUNCT}{_HAN}]+|{_SPECIAL}|[{_PUNCT}{_HAN}]")

# Capitals younger than the oldest supported Python whose small letter is in the vocabulary.
_YOUNG_CAPITALS = {"\ua7cb": "ɤ"}


def encode_pieces(text: str) -> list[int]:
    """Return the vocabulary ids of a text, without [CLS] and [SEP]."""
    ids: list[int] = []
    for run in _split_runs(text):
        ids.extend(_IDS[run])
    return ids


def count_pieces(text: str) -> int:
    """Return the number of pieces of a text, without [CLS] and [SEP]."""
    if text.isascii() and not _is_odd(text):
        # Each punctuation mark is a piece, and the text between marks and white space is a run.
        apart = text.encode().translate(_APART)
        return apart.count(b"\n") + sum(map(_ASCII_COUNTS.__getitem__, apart.split()))
    return sum(map(_COUNTS.__getitem__, _split_runs(text)))


def _is_odd(text: str) -> bool:
    """Has an ASCII text white space that the reference does not cut at, or a special token?"""
    return "\x0b" in text or "\x0c" in text or ("[" in text and any(token in text for token in _SPECIAL_TOKENS))


def _split_runs(text: str) -> list[str]:
    return (_ASCII_RUN if text.isascii() else _RUN).findall(text)


def _encode_run(run: str) -> list[int]:
    """Return the piece ids of one run: a special token, or its words one after another."""
    if len(run) > 2 and run[0] == "[":  # only a special token is a run of several characters with punctuation
        return [read_vocabulary()[run]]
    ids: list[int] = []
    for word in _words(run):
        ids.extend(_encode_word(word))
    return ids


def _encode_word(word: str) -> list[int]:
    """Greedy longest match from the left; [UNK] for the whole word if a remainder matches nothing."""
    size = len(word)
    if size > LONGEST_WORD:
        return [UNK]
    ids: list[int] = []
    known, start = read_vocabulary(), 0
    while start < size:
        for end in range(min(size, start + LONGEST_PIECE), start, -1):
            number = known.get(word[start:end])
            if number is not None:
                ids.append(number)
                start = end
                break
        else:
            return [UNK]
        known = _continuations()
    return ids


def _words(run: str) -> list[str]:
    """Return the normalised words of a run; every punctuation character is a word."""
    if run.isascii() and run.isalnum():
        return [run.lower()]
    clean = "".join([c for c in run if _kind(c) != "drop"])
    spaced: list[str] = []
    for c in unicodedata.normalize("NFD", limit_marks(clean)):
        kind = _kind(c)
        if kind == "punct":
            spaced += (" ", c, " ")
        elif kind != "mark":
            # One character at a time: str.lower() on a word turns a final Σ into ς, the reference never does.
            spaced.append(_YOUNG_CAPITALS.get(c) or c.lower())
    return "".join(spaced).split()


@cache
def read_vocabulary() -> dict[str, int]:
    packed = files("assay.text").joinpath("data/wordpiece.txt.gz").read_bytes()
    lines = gzip.decompress(packed).decode("utf-8").split("\n")
    return {piece: number for number, piece in enumerate(lines) if piece}


@cache
def _continuations() -> dict[str, int]:
    """The pieces that continue a word, without the ## that marks them."""
    return {
        piece[2:]: number for piece, number in read_vocabulary().items() if piece.startswith("##") and len(piece) > 2
    }


@cache
def _kinds() -> tuple[list[int], list[str]]:
    """Character classes of the reference as (starts, kinds) of adjoining ranges.

    Shipped instead of read from `unicodedata`: the reference knows Unicode 8, and the ids of a text must not change
    with the Python version.
    """
    ranges: list[tuple[int, int, str]] = []
    for line in files("assay.text").joinpath("data/wordpiece_chars.txt").read_text("ascii").splitlines():
        kind, *spans = line.split()
        for span in spans:
            first, _, last = span.partition("-")
            ranges.append((int(first, 16), int(last or first, 16), kind))
    starts, kinds = [0], [""]
    for begin, end, kind in sorted(ranges):
        starts += (begin, end + 1)
        kinds += (kind, "")
    return starts, kinds


def _kind(character: str) -> str:
    """drop (never seen by the model) | mark (dropped after decomposition) | punct (a word of its own) | ""."""
    starts, kinds = _kinds()
    return kinds[bisect_right(starts, ord(character)) - 1]


# Counting a large folder needs no ids, so counts have their own cache.
_IDS: BoundedCache[str, tuple[int, ...]] = BoundedCache(lambda run: tuple(_encode_run(run)))
_COUNTS: BoundedCache[str, int] = BoundedCache(lambda run: len(_encode_run(run)))
_ASCII_COUNTS: BoundedCache[bytes, int] = BoundedCache(lambda run: len(_encode_run(run.decode())))
