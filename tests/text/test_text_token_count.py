"""Budget tokens: known counts, any string, many threads."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.text.token_count import TOKENISER, count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        (" ", 1),
        ("\x00", 1),
        ("antidisestablishmentarianism", 6),
        ("<|endoftext|>", 7),  # ordinary characters, not one special token
        ("日本語", 2),
        ("1234567", 3),  # digits in threes
    ],
)
def test_known_counts(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_the_tokeniser_has_a_name() -> None:
    assert TOKENISER == "o200k_base"


@pytest.mark.parametrize(
    ("lone", "valid"),
    [("\ud800", "\ufffd"), ("a\udc00b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("x" * 9 + "\udfff", "x" * 9 + "\ufffd")],
)
def test_a_lone_surrogate_counts_as_its_replacement(lone: str, valid: str) -> None:
    assert count_tokens(lone) == count_tokens(valid)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=80))
def test_any_text_has_at_most_one_token_per_byte(text: str) -> None:
    tokens = count_tokens(text)
    assert (tokens == 0) == (text == "")
    assert tokens <= len(text.encode("utf-8", "surrogatepass"))


def test_threads_agree() -> None:
    texts = [f"chunk {number} of the handbook, é {'x' * number}" for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count_tokens, texts)) == [count_tokens(text) for text in texts]


def test_the_first_count_may_come_from_many_threads_at_once() -> None:
    program = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from assay.text.token_count import count_tokens\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(sorted(set(pool.map(count_tokens, ['hello world'] * 64))))\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "import bpe_openai\n"
        "print(len(bpe_openai.get_encoding('o200k_base').encode('hello world')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[2]", "2"]
