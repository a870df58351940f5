"""Questions and statements: the time asked about, the subject, the kind of answer, words of change."""

import pytest

from assay.text.questions import find_answer_kinds, find_subject_words, may_answer, read_asked_time
from assay.text.statements import find_names, hints_at_change, is_mention, states_change


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("Where does Ada live?", "present"),
        ("Where is the old camera?", "present"),
        ("What must I do before the meeting?", "present"),
        ("Who is first in the queue?", "present"),
        ("Where did Ada live before?", "previous"),
        ("Where does Ada live? And before?", "previous"),
        ("Which was Ada's previous employer?", "previous"),
        ("What was Ada's old phone number?", "previous"),
        ("Who used to be Ada's doctor?", "previous"),
        ("Where did Ada live at first?", "first"),
        ("When was the exam planned originally?", "first"),
        ("When did Ada move?", "past"),
        ("What was said last week?", "past"),
        ("", "present"),
    ],
)
def test_the_time_that_a_question_asks_about(question, time):
    assert read_asked_time(question) == time


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which database does the shop use?", ["shop"]),
        ("In which room is the first aid training?", ["first", "aid", "training"]),
        ("Where does the newsletter tool store its data?", ["newsletter", "tool"]),
        ("What is the limit for the print quota?", ["limit", "print", "quota"]),
        ("Where does Ada live?", []),
        ("the", []),
        ("", []),
    ],
)
def test_the_noun_phrases_of_a_question(question, words):
    assert find_subject_words(question) == words


def test_the_kind_of_answer_and_what_may_be_one():
    assert find_answer_kinds("Who owns the boat?") == ["person"]
    assert find_answer_kinds("How much is it, and when is it due?") == ["time", "number"]
    assert find_answer_kinds("Which sport does Ada do?") == []
    assert may_answer("person", "Bert took over the boat.")
    assert not may_answer("person", "Ada argued about the boat.", {"ada"})
    assert may_answer("number", "It went up to 19 euros.")
    assert not may_answer("time", "The boat is blue.")


def test_change_hint_and_mention():
    assert states_change("Ada has moved to Porto.")
    assert states_change("The exam was called off.")
    assert not states_change("Ada lives in Porto.")
    assert hints_at_change("Ada lives in Porto now.")
    assert is_mention("A visitor asked about the lift.")


def test_the_first_person_is_no_name():
    assert find_names("Which network do I use, and what I'm told by Bert?") == ["Bert"]


@pytest.mark.parametrize("text", ["the " * 50_000, "no " * 50_000, "a" * 200_000, "\ud800?", "do the " * 30_000])
def test_long_and_broken_texts_are_read_in_part(text):
    read_asked_time(text)
    find_subject_words(text)
    states_change(text)
    assert len(find_subject_words(text)) <= 2_000
