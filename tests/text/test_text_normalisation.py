"""When two spellings are one."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.text.normalisation import fold, normalise, strip_marks, strip_points

ANY = st.text(
    st.one_of(st.characters(), st.sampled_from("aéßİΣῼŉǰΐﷺ½ﬁ’‑\u0301\u0345\u3099\x00\ud800 \t\n")), max_size=30
)


@pytest.mark.parametrize(
    ("word", "folded", "stripped"),
    [
        ("Word", "word", "word"),
        ("Straße", "strasse", "strasse"),
        ("STRASSE", "strasse", "strasse"),
        ("İstanbul", "i\u0307stanbul", "istanbul"),
        ("ISTANBUL", "istanbul", "istanbul"),
        ("ısı", "ısı", "isi"),
        ("Café", "café", "cafe"),
        ("Cafe\u0301", "café", "cafe"),
        ("Łódź", "łódź", "lodz"),
        ("Ærøskøbing", "ærøskøbing", "aeroskobing"),
        ("Ελλάδα", "ελλάδα", "ελλαδα"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ", "σισυφοσ"),
        ("ёлка", "ёлка", "елка"),
        ("Йод", "йод", "йод"),  # a letter of its own
        ("їжак", "їжак", "їжак"),
        ("за\u0301мок", "за\u0301мок", "замок"),  # a stress mark
        ("हिन्दी", "हिन्दी", "हिन्दी"),  # vowel signs spell the word
        ("ที่", "ที่", "ที่"),
        ("ガ", "ガ", "ガ"),
        ("ｶﾞ", "ガ", "ガ"),
        ("ＡＢＣ", "abc", "abc"),
        ("ﬁne", "fine", "fine"),
        ("٢٠٢٤", "2024", "2024"),
        ("soft\u00adhyphen", "softhyphen", "softhyphen"),
        ("can’t", "can't", "can't"),
        ("co‑op", "co-op", "co-op"),
        ("عـــربي", "عربي", "عربي"),  # tatweel only stretches
    ],
)
def test_folding(word: str, folded: str, stripped: str) -> None:
    assert fold(word) == unicodedata.normalize("NFC", folded)
    assert strip_marks(fold(word)) == unicodedata.normalize("NFC", stripped)


def test_optional_vowel_points_can_be_left_out() -> None:
    assert strip_points(fold("שָׁלוֹם")) == "שלום"
    assert strip_points(fold("كِتَابٌ")) == "كتاب"
    assert strip_points("أحمد") == "أحمد", "hamza is part of the letter"
    assert strip_marks(fold("שָׁלוֹם")) == fold("שָׁלוֹם"), "points go only by `strip_points`"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("  The\tQuick\n\nFOX ", "the quick fox"),
        ("don’t  PANIC", "don't panic"),
        ("a\x00b", "a b"),
        ("a\u00a0b\u3000c", "a b c"),
        ("ﬀ", "ff"),
        ("\ud800", "\ufffd"),
        ("", ""),
        ("Straße", "strasse"),
    ],
)
def test_the_normal_form(text: str, same: str) -> None:
    assert normalise(text) == same


@settings(max_examples=500, deadline=None)
@given(ANY)
def test_the_normal_form_is_idempotent_and_encodable(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert "\x00" not in once
    once.encode("utf-8")


def test_every_character_has_a_stable_normal_form() -> None:
    for first in range(0, 0x110000, 256):
        once = normalise(" ".join(f"a{chr(code)} {chr(code)}" for code in range(first, first + 256)))
        assert normalise(once) == once, hex(first)


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_baring_is_idempotent_and_keeps_no_latin_mark(text: str) -> None:
    once = strip_marks(fold(text))
    assert strip_marks(once) == once
    decomposed = unicodedata.normalize("NFD", once)
    assert not any(a.isascii() and a.isalpha() and unicodedata.combining(b) for a, b in pairwise(decomposed))
