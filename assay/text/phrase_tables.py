"""The phrases of adaptive retrieval and the noise filter, from small_talk.toml."""

from __future__ import annotations

from assay.text.phrases import Phrases, load_tables

_TABLES = load_tables("small_talk.toml")


def _select_phrases(*categories: str) -> Phrases:
    return Phrases({category: _TABLES[category] for category in categories})


FORCING = _select_phrases("memory", "temporal", "personal")
QUESTIONS = _select_phrases("question")
TALK = _select_phrases("greeting", "affirmation", "continuation", "filler")
OPENING = _select_phrases("greeting", "affirmation", "continuation", "filler", "lead")
NOISES = _select_phrases("denial", "meta_question", "boilerplate")
WEIGHTLESS, LIGHT, RECALLED, NEGATING = (
    frozenset(_TABLES[table].split()) for table in ("weightless", "light", "recalled", "negating")
)
