"""WordPiece equals the reference tokeniser, id by id."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.text import wordpiece
from assay.text.bounded_cache import MAX_KEY_LENGTH, BoundedCache
from assay.text.wordpiece import CLS, LONGEST_PIECE, MASK, PAD, SEP, UNK, count_pieces, encode_pieces

tokenizers = pytest.importorskip("tokenizers")

VOCABULARY = gzip.decompress(files("assay.text").joinpath("data/wordpiece.txt.gz").read_bytes())
SPECIAL = {"[PAD]": PAD, "[UNK]": UNK, "[CLS]": CLS, "[SEP]": SEP, "[MASK]": MASK}


def reference() -> object:
    """The reference library with the settings of the model's tokenizer.json, padding and truncation off."""
    lines = VOCABULARY.decode("utf-8").splitlines()
    model = tokenizers.models.WordPiece(
        {piece: number for number, piece in enumerate(lines)}, unk_token="[UNK]", max_input_chars_per_word=100
    )
    built = tokenizers.Tokenizer(model)
    built.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    built.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    built.add_special_tokens([tokenizers.AddedToken(name, normalized=False, special=True) for name in SPECIAL])
    return built


REFERENCE = reference()


def expected(text: str) -> list[int]:
    """Lone surrogates count as U+FFFD; the reference cannot take them at all."""
    valid = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)
    ids: list[int] = REFERENCE.encode(valid, add_special_tokens=False).ids  # type: ignore[attr-defined]
    return ids


def test_the_vocabulary_is_the_models() -> None:
    assert hashlib.sha256(VOCABULARY).hexdigest() == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    lines = VOCABULARY.decode("utf-8").splitlines()
    assert len(lines) == 30_522
    assert {name: lines.index(name) for name in SPECIAL} == SPECIAL
    assert max(map(len, lines)) == LONGEST_PIECE


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("hello world", [7592, 2088]),
        ("Hello, World!", [7592, 1010, 2088, 999]),
        ("unaffable", [14477, 20961, 3468]),
        ("x" * 100, encode_pieces("x" * 100)),
        ("x" * 101, [UNK]),
        ("[CLS] hello [SEP]", [CLS, 7592, SEP]),
        ("\x00\ufffd\ud800", []),
        ("Café", [7668]),
        ("\u26f7", [UNK]),
    ],
)
def test_known_ids(text: str, ids: list[int]) -> None:
    assert encode_pieces(text) == ids
    assert count_pieces(text) == len(ids)


@pytest.mark.parametrize(
    "text",
    [
        "ΑΣ ΣΑΣ Σ",  # no final sigma
        "İstanbul ıI ŒUVRE straße ﬁne ＡＢＣ",
        "深度学习 이것은 日本語です。 ｶﾞｲﾄﾞ か\u3099",
        "a\u0345\u302e\u0300b \U0001d165\U0001d16d\u0300",  # marks that reorder
        "👨‍👩‍👧 ☃ €5 ½ ² ①",
        "a\x0bb a\x1cb a\x85b a\u00a0b a\u2028b a\u200bb a\u3000b a\tb\r\nc",
        "[UNK]x [[CLS]] [cls] [MASK",
        "don't — “quoted” …",
        "हिन्दी में สวัสดี שָׁלוֹם كِتَابٌ",
        "\ua7cb\ua7dc \U00020000\U0002b820\U0002b920",
        "x" * 99 + "é" + " " + "é" * 100 + " " + "é" * 101,
        "\ud83d\ude00 \udc00a\ud800",
    ],
)
def test_hostile_text_equals_the_reference(text: str) -> None:
    assert encode_pieces(text) == expected(text)
    assert count_pieces(text) == len(expected(text))


def test_every_character_equals_the_reference() -> None:
    """Inside a word and at its end, for every code point of the planes in use; in lines, to spare calls."""
    for first in [*range(0, 0x30000, 64), *range(0xE0000, 0xE0400, 64)]:
        codes = [code for code in range(first, first + 64) if not 0xD800 <= code < 0xE000]
        line = " ".join(f"x{chr(code)}x a{chr(code)}" for code in codes)
        assert encode_pieces(line) == expected(line), hex(first)


ALPHABET = st.one_of(
    st.characters(),
    st.sampled_from("abcXYZ 019.,'-[]_\t\n"),
    st.sampled_from("éÜßİΣ中日한か\u3099\u0301\u200d\u00ad\x00\x1f\u00a0\u3000\ufffd😀[CLS]"),
)


@settings(max_examples=400, deadline=None)
@given(st.text(ALPHABET, max_size=60))
@example("\ud800")
def test_any_text_equals_the_reference(text: str) -> None:
    assert encode_pieces(text) == expected(text)
    assert count_pieces(text) == len(encode_pieces(text))


def test_real_documents_equal_the_reference() -> None:
    data = os.environ.get("ASSAY_DATA", "")
    if not Path(data, "peps").is_dir():
        pytest.skip("ASSAY_DATA is not set to a folder with peps")
    with Path(data, "peps", "corpus.jsonl").open(encoding="utf-8") as lines:
        for line, _ in zip(lines, range(40), strict=False):
            text = json.loads(line)["text"]
            assert encode_pieces(text) == expected(text)


def test_a_memory_stays_bounded_and_changes_nothing() -> None:
    calls: list[str] = []

    def compute(key: str) -> int:
        calls.append(key)
        return len(key)

    memo = BoundedCache(compute, entries=8)
    assert [memo[f"w{number}"] for number in range(100)] == [len(f"w{number}") for number in range(100)]
    assert len(memo) <= 8
    assert memo["w0"] == 2
    assert calls.count("w0") == 1, "the words met first are kept"
    assert memo["x" * (MAX_KEY_LENGTH + 1)] == MAX_KEY_LENGTH + 1
    assert "x" * (MAX_KEY_LENGTH + 1) not in memo


def test_counting_keeps_no_ids() -> None:
    count_pieces("zzqqxx")
    assert "zzqqxx" not in wordpiece._IDS
