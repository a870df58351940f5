"""Languages by name, and silence where the text says too little."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.text.analyser import list_languages
from assay.text.language import SNOWBALL, detect_language


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "The quick brown fox jumps over the lazy dog."),
        ("de", "Der schnelle braune Fuchs springt über den faulen Hund."),
        ("fr", "Le renard brun rapide saute par-dessus le chien paresseux."),
        ("es", "El rápido zorro marrón salta sobre el perro perezoso."),
        ("it", "La volpe marrone salta velocemente sopra il cane pigro della casa."),
        ("sv", "Jag tycker om att läsa böcker på kvällen."),
        ("ru", "Привет, как у тебя дела сегодня вечером?"),
        ("ar", "مرحبا كيف حالك اليوم يا صديقي العزيز"),
        ("he", "שלום עולם איך אתה היום בבוקר"),
        ("ja", "これは日本語です"),
        ("zh", "你好世界"),
        ("ko", "안녕하세요"),
        ("th", "สวัสดีครับ"),
        ("el", "Η γρήγορη καφέ αλεπού"),
        ("en", "The word 日本 means Japan and is often seen in English texts."),
        ("en", "THE SIGNING KEY MUST BE ROTATED EVERY MONTH BY THE OWNER."),
        ("en", "See https://example.de/über/uns and `für x in liste:` for how the keys of the service are rotated."),
        ("", ""),
        ("", "ok"),
        ("", "JINA_API_KEY=abc"),
        ("", "12345 67890 12345 67890 12345"),
        ("", "😀😀😀"),
        ("", "\ud800" * 50),
        ("", "https://example.com/foo/bar/baz/qux/quux"),
    ],
)
def test_hand_checked(code: str, text: str) -> None:
    assert detect_language(text) == code


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_any_text_has_a_code_or_none_and_keeps_it(text: str) -> None:
    code = detect_language(text)
    assert code == "" or (len(code) == 2 and code.isascii() and code.islower())
    assert detect_language(text) == code


def test_only_the_beginning_is_read() -> None:
    english = "The owner of the key rotates it every month. " * 30
    assert detect_language(english + "これは日本語です" * 10_000) == "en"


def test_every_stemmer_is_reached_by_a_code() -> None:
    assert set(SNOWBALL.values()) <= list_languages()
    assert list_languages() - set(SNOWBALL.values()) == {"none", "porter", "dutch_porter"}


def test_a_full_disk_for_temporary_files_costs_only_the_language(monkeypatch):
    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("assay.text.language._model", full)
    assert detect_language("The quick brown fox jumps over the lazy dog and sleeps.") == ""
    assert detect_language("ひらがなとカタカナの文章です") == "ja"
