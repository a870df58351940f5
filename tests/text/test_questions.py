"""Questions and statements: the time asked about, the subject, the kind of answer, words of change."""

import pytest

from assay.text.questions import cut_time_clause, find_subject_words, read_asked_time
from assay.text.statements import find_names, find_turns, hints_at_change, is_mention, is_tentative, states_change


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
        ("Who led the club at first?", "first"),
        ("Who ran the club before Jo came back?", "previous"),
        ("Who supplied the fruit earlier?", "previous"),
        ("Where is the tool stored?", "present"),
        ("When did Ada move?", "past"),
        ("What was said last week?", "past"),
        ("", "present"),
        ("Where does my former pupil Ada live?", "present"),
        ("What was Ada's former address?", "previous"),
        ("Which former tenant lived there?", "previous"),
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


@pytest.mark.parametrize(
    ("question", "clause"),
    [
        ("What was the rent before the letter?", "What was the rent"),
        ("Who led the club right before Jo came back?", "Who led the club"),
        ("Who has run it since Easter?", "Who has run it"),
        ("Before the move, where did Ada live?", "Before the move, where did Ada live?"),
        ("Where does Ada live?", "Where does Ada live?"),
        ("", ""),
    ],
)
def test_the_time_clause_tells_no_subject(question, clause):
    assert cut_time_clause(question) == clause


def test_change_hint_and_mention():
    assert states_change("Ada has moved to Porto.")
    assert states_change("The exam was called off.")
    assert not states_change("Ada lives in Porto.")
    assert hints_at_change("Ada lives in Porto now.")
    assert is_mention("A visitor asked about the lift.")
    assert is_mention("The lift came up again over dinner.")
    assert is_tentative("Ada is thinking about a move.")
    assert is_tentative("Ben teaches the class, just for tonight.")
    assert not is_tentative("Ada has moved to Porto.")


def test_turns_are_most_of_their_list_and_begin_with_a_name():
    assert find_turns(["Ada: Hi!", "Ben Li: Hello!", "Ada likes jazz."]) == [True, True, False]
    assert find_turns(["Pancakes: 3 eggs", "One egg will do.", "Ada likes jazz."]) == [False] * 3
    assert find_turns(["Price label: 3 euros", "Bus 62: ten past"]) == [False] * 2
    assert find_turns(["Ada: Hi!\nBen: Hello!", "Ben: I moved.", "Ada likes jazz."]) == [
        True,
        True,
        False,
    ]  # a longer piece
    assert find_turns([]) == []


def test_the_first_person_is_no_name():
    assert find_names("Which network do I use, and what I'm told by Bert?") == ["Bert"]


@pytest.mark.parametrize("text", ["the " * 50_000, "no " * 50_000, "a" * 200_000, "\ud800?", "do the " * 30_000])
def test_long_and_broken_texts_are_read_in_part(text):
    read_asked_time(text)
    find_subject_words(text)
    states_change(text)
    assert len(find_subject_words(text)) <= 2_000
