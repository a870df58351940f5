"""Whether a text holds a key: always what folding the whole text would say."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.text.normalisation import contains_normalised, normalise

# What folding turns into ASCII, joins with a letter before it, or stretches; white space and controls.
ODD = "ﬁﬂ²½™K ıİiſßŉǰjẖhé‐‑’'－Ａ１\u0301\u0307\u030c\u0331\u00a0\u2003\u00ad\u200b\x00\x1f\ud800…ΣςÅάαеё中۱"
texts = st.text(st.sampled_from(ODD + "aAbIkK1l-_. \n"), max_size=14) | st.text(max_size=12)


@given(texts, texts)
@example("ﬁx", "fi")
@example("K1", "k1")
@example("Éa\u0301 a", "a")
@example("a\u0301", "a")
@example("x İ1", "i")
@example("IL‐1", "il-1")
@example("a\x00b", "b")
@example("naïve IL-1β", "il-1")
@example("ǰ", "j")
def test_the_same_as_folding_all_of_it(text: str, key: str) -> None:
    wanted = normalise(key)
    assert contains_normalised(text, wanted) == (wanted in normalise(text))


@given(texts, st.data())
def test_any_piece_of_the_folded_text_is_held(text: str, data: st.DataObject) -> None:
    whole = normalise(text)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    piece = whole[start:end]
    if normalise(piece) == piece:
        assert contains_normalised(text, piece)


@pytest.mark.parametrize("text", ["plain CVE-2024-1234 text", "naïve β CVE-2024-1234, or so", "nothing of it β"])
def test_folding_is_avoided(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what makes look-ups in large stores fast."""

    def unwanted(folded: str) -> str:
        assert len(folded) <= 3, "the whole text was folded"
        return normalise(folded)

    monkeypatch.setattr("assay.text.normalisation.normalise", unwanted)
    assert contains_normalised(text, "cve-2024-1234") == ("CVE" in text)
