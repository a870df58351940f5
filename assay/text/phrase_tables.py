"""The phrases that adaptive retrieval and the noise filter know: small_talk.toml, ready to be looked up."""

from __future__ import annotations

from assay.text.phrases import Phrases, tables

_TABLES = tables("small_talk.toml")


def _phrases(*categories: str) -> Phrases:
    return Phrases({category: _TABLES[category] for category in categories})


FORCING = _phrases("memory", "temporal", "personal")
QUESTIONS = _phrases("question")
TALK = _phrases("greeting", "affirmation", "continuation", "filler")
OPENING = _phrases("greeting", "affirmation", "continuation", "filler", "lead")
NOISES = _phrases("denial", "meta_question", "boilerplate")
WEIGHTLESS, LIGHT, RECALLED, NEGATING = (
    frozenset(_TABLES[table].split()) for table in ("weightless", "light", "recalled", "negating")
)
