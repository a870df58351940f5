"""Words that ask for everything, and words that only look like it."""

import pytest

from assay.answerability.cues import find_cues
from assay.text.query.words import split_words

ASKS_FOR_ALL = [
    ("List all tickets of the importer.", {"list", "all"}),
    ("Give me every decision of the board", {"every"}),
    ("Can you list the vendors?", {"list"}),
    ("I need a full list of codes", {"full", "full list"}),
    ("the complete history of the gateway", {"complete", "complete history"}),
    ("Go through the rules one by one", {"one by one"}),
    ("What happened, minute by minute?", {"minute by minute"}),
    ("Who handled what? All cases.", {"all"}),
]
DOES_NOT = [
    "How long does the whole project take?",
    "By what date do I aim to complete the modules?",
    "Explain step by step how to pay an invoice",
    "What was given to her by her professor?",
    "What does the log of the gateway say?",
    'Who wrote "All the King\'s Men"?',
    "Put the two offers side by side",
    "",
]


@pytest.mark.parametrize(("text", "cues"), ASKS_FOR_ALL)
def test_words_that_ask_for_everything(text: str, cues: set[str]) -> None:
    assert set(find_cues(split_words(text)).exhaustive) == cues


@pytest.mark.parametrize("text", DOES_NOT)
def test_words_that_do_not(text: str) -> None:
    assert find_cues(split_words(text)).exhaustive == ()


def test_a_quantifier_deep_in_a_clause_is_loose() -> None:
    cues = find_cues(split_words("What is the phone number of each member of the board?"))
    assert cues.exhaustive == ()
    assert cues.loose == ("each",)


def test_changes_sides_and_accounts() -> None:
    cues = find_cues(split_words("How do the versions differ?"))
    assert (cues.change, cues.editions, cues.sides, cues.narrative) == (True, True, False, False)
    assert find_cues(split_words("compare 1.0 with 2.0")).sides
    assert find_cues(split_words("put 1.0 and 2.0 side by side")).sides
    assert find_cues(split_words("recount the outage")).narrative


def test_only_the_first_words_of_a_long_text_are_read() -> None:
    assert find_cues(split_words("word " * 64 + ". List all tickets.")).exhaustive == ()
