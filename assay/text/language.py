"""Detects the language of a document.

`detect_language(text)` returns an ISO 639-1 code, or "" when the text is too short or the model is not sure. It reads
the first 1,000 characters without addresses and code. A script that only one language uses decides alone;
otherwise a naive Bayes model over byte n-grams does, if it gives its first choice more than half of the
probability. Never raises; the same text has the same language on every run.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Protocol

READ = 1_000  # characters
FEWEST_LETTERS = 20  # with fewer the model is unreliable
MIN_PROBABILITY = 0.5  # probability

# Scripts that identify a language, with the share of letters that is enough. Japanese mixes kana with Han,
# so any fair share of kana is Japanese.
_SCRIPTS = (
    ("ja", re.compile("[\u3041-\u30ff\uff66-\uff9f]"), 0.1),
    ("ko", re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]"), 0.3),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"), 0.5),
    ("th", re.compile("[\u0e01-\u0e4e]"), 0.5),
    ("lo", re.compile("[\u0e81-\u0edf]"), 0.5),
    ("km", re.compile("[\u1780-\u17d3]"), 0.5),
    ("my", re.compile("[\u1000-\u109f]"), 0.5),
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), 0.5),
    ("hy", re.compile("[\u0531-\u0587]"), 0.5),
    ("ka", re.compile("[\u10a0-\u10ff]"), 0.5),
)
_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|<[^<>\n]*>|\]\([^)\n]*\)|(?<!\S)\S*[\d_=/\\{}@]\S*",  # code, markup, addresses
    re.DOTALL,
)
_LETTER = re.compile(r"[^\W\d_]")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())

SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian",
    "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""ISO 639-1 code → the analyser's name for that language."""


class _Model(Protocol):
    def classify(self, text: str) -> tuple[str, float]: ...


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, or "" if it is too short or unclear."""
    prose = _NOT_PROSE.sub(" ", text[:READ])
    if prose.isascii():  # one alphabet, which many languages use
        letters = len(prose.encode().translate(None, _NO_LETTERS))
    else:
        letters = len(_LETTER.findall(prose))
        for code, script, share in _SCRIPTS:
            count = len(script.findall(prose))
            if count > 1 and count >= share * letters:
                return code
    if letters < FEWEST_LETTERS:
        return ""
    try:
        code, probability = _model().classify(prose)
    except OSError:  # the model unpacks itself into a temporary file; a full disk there must not stop an add
        return ""
    return code if probability > MIN_PROBABILITY else ""


@cache
def _model() -> _Model:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    # Without dialects and the label for "no language", whose shares would make a clear answer look unsure.
    model.set_languages([code for code in model.labels if len(code) == 2])
    model.nb_ptc = model.nb_ptc.astype("float32")  # converted once; else every call would convert it from float16
    identifier: _Model = model
    return identifier
