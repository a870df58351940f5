"""The scorers of the preset `recall`: who spoke, when it was, and which version of a fact is the newest."""

import math

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.score.currency import Currency
from assay.score.period import Period
from assay.score.speaker import Speaker
from assay.score.version_features import find_versions
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import DAY, Chunk, Query

NOW = 1_790_000_000.0  # 2026-09-21


def make_snapshot(texts, ages=None, vectors=None):
    """Chunks a, b, c, … with these texts and ages in days."""
    ages = ages or [0] * len(texts)
    names = [chr(ord("a") + place) for place in range(len(texts))]
    created = [math.nan if age is None else NOW - age * DAY for age in ages]
    chunks = [Chunk(name, name, text, 1, then) for name, text, then in zip(names, texts, created, strict=True)]
    if vectors is None:
        return MemorySnapshot(chunks)
    units = np.array(vectors, np.float32)
    return MemorySnapshot(chunks, units / np.linalg.norm(units, axis=1, keepdims=True))


def scores(ranking):
    return dict(zip(ranking.ids.tolist(), ranking.score.tolist(), strict=True))


def test_a_turn_of_a_named_speaker_is_raised():
    snapshot = make_snapshot(["Caroline: I went to Rome.", "Mel: Caroline, how was Rome?", "Caroline went to Rome."])
    ranking = Speaker(0.2).apply(Query("Where did Caroline go?"), found({"a": 0.3, "b": 0.4, "c": 0.35}), snapshot)
    assert scores(ranking) == pytest.approx({"a": 0.5, "b": 0.4, "c": 0.35})
    assert ranking.ids.tolist() == ["a", "b", "c"]


def test_the_first_person_is_the_user():
    snapshot = make_snapshot(["user: I use Flask.", "assistant: You could use Flask."])
    ranking = Speaker(0.2).apply(Query("Which framework do I use?"), found({"a": 0.3, "b": 0.4}), snapshot)
    assert ranking.ids.tolist() == ["a", "b"]
    third = Speaker(0.2).apply(Query("Which framework is used?"), found({"a": 0.3, "b": 0.4}), snapshot)
    assert third.ids.tolist() == ["b", "a"]


def test_several_turns_and_headings_have_no_speaker():
    snapshot = make_snapshot(["Caroline: Hi!\nMel: Hello!", "Correction: Caroline went to Rome."])
    given = found({"a": 0.4, "b": 0.3})
    assert scores(Speaker(0.2).apply(Query("Caroline? Correction?"), given, snapshot)) == scores(given)


def test_what_is_of_the_named_period_is_raised_and_nothing_is_lost():
    snapshot = make_snapshot(["x"] * 3, ages=[3, 0, None])
    given = found({"a": 0.4, "b": 0.45, "c": 0.5})
    ranking = Period(0.1).apply(Query("What happened last week?", at=NOW), given, snapshot)
    assert scores(ranking) == pytest.approx({"a": 0.5, "b": 0.45, "c": 0.5})
    for query in (Query("last week"), Query("a week", at=NOW), Query("from May 2026 to March 2026", at=NOW)):
        assert scores(Period(0.1).apply(query, given, snapshot)) == scores(given)


LIVES = ["Ada lives in Lisbon.", "Ada has moved to Porto.", "Ada likes jazz.", "Ben lives in Rome."]
NEAR = [[1, 0.2, 0], [0.9, 0.4, 0], [0.2, 0, 1], [1, 0.1, 0.3]]


def ask_currency(text, ages=(90, 30, 1, 1), texts=LIVES, given=None, **settings):
    query = Query(text, vector=np.array([1, 0.25, 0.05], np.float32) / 1.032, at=NOW)
    given = found(given or {"a": 0.8, "b": 0.6, "c": 0.5, "d": 0.55})
    return given, Currency(**settings).apply(query, given, make_snapshot(texts, list(ages), NEAR))


def test_the_newest_version_takes_the_score_of_the_first():
    _, ranking = ask_currency("Where does Ada live?")
    assert scores(ranking) == {"b": 0.8, "a": 0.6, "d": 0.55, "c": 0.5}
    assert ranking.ids.tolist() == ["b", "a", "d", "c"]


@pytest.mark.parametrize(
    "text", ["Where did Ada live?", "Where does Ada live? And before?", "As of 1 July 2026: Where does Ada live?"]
)
def test_questions_about_the_past_keep_the_old_version(text):
    given, ranking = ask_currency(text)
    assert ranking.ids.tolist()[0] == "a"
    assert set(scores(ranking)) == set(scores(given))


def test_as_of_a_day_after_the_change_the_new_version_is_first():
    _, ranking = ask_currency("As of 1 September 2026: Where does Ada live?")
    assert ranking.ids.tolist()[0] == "b"


@pytest.mark.parametrize(
    "changes",
    [
        {"ages": (90, 90, 1, 1)},  # equally old
        {"ages": (90, None, 1, 1)},  # undated
        {"ages": (30, 90, 1, 1)},  # the first is the newest
        {"texts": ["Ada: I live in Lisbon.", "Ada: I have moved to Porto.", *LIVES[2:]]},  # turns
        {"texts": [LIVES[0], "Ben has moved to Porto.", *LIVES[2:]]},  # somebody else
        {"max_characters": 20},
        {"threshold": 1.0},
    ],
)
def test_nothing_moves_without_a_newer_version(changes):
    given, ranking = ask_currency("Where does Ada live?", **changes)
    assert scores(ranking) == scores(given)


def test_without_a_vector_or_a_second_candidate_nothing_moves():
    snapshot = make_snapshot(LIVES, [90, 30, 1, 1], NEAR)
    given = found({"a": 0.8, "b": 0.6})
    assert scores(Currency().apply(Query("Where does Ada live?", at=NOW), given, snapshot)) == scores(given)
    alone = found({"a": 0.8})
    assert scores(Currency().apply(Query("Ada?", vector=np.ones(3), at=NOW), alone, snapshot)) == scores(alone)


HOMES = ["Ada lives in Lisbon.", "Ada has moved to Porto.", "Ada moved again, to Ghent.", "Ben lives in Rome."]
CLOSE = [[1, 0.2, 0], [0.9, 0.4, 0], [0.9, 0.45, 0], [1, 0.1, 0.3]]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Where does Ada live?", "c"),
        ("Where did Ada live before?", "b"),
        ("Where did Ada live at first?", "a"),
        ("Where did Ada live in August 2026?", "b"),  # since 22 August; in Ghent since 19 September
        ("When did Ada move?", "a"),  # another time in the past: as the pipeline ranked it
    ],
)
def test_of_three_versions_the_one_that_held_at_the_time_asked_about(text, first):
    query = Query(text, vector=np.array([1, 0.25, 0.05], np.float32) / 1.032, at=NOW)
    given = found({"a": 0.8, "b": 0.6, "c": 0.55, "d": 0.5})
    ranking = Currency().apply(query, given, make_snapshot(HOMES, [90, 30, 2, 1], CLOSE))
    assert ranking.ids.tolist()[0] == first
    assert sorted(scores(ranking).values()) == [0.5, 0.55, 0.6, 0.8]
    assert scores(ranking)["d"] == 0.5


def test_a_candidate_about_another_subject_comes_after_the_versions():
    _, ranking = ask_currency("Where does Ada live?", given={"d": 0.9, "a": 0.8, "b": 0.6, "c": 0.5})
    assert ranking.ids.tolist() == ["b", "a", "d", "c"]
    assert scores(ranking) == {"b": 0.9, "a": 0.8, "d": 0.6, "c": 0.5}


def test_things_without_a_name_are_kept_apart():
    texts = ["The ticket system runs on Oracle.", "The billing module was migrated to MariaDB."]
    snapshot = make_snapshot(texts, [90, 30], NEAR[:2])
    query = Query("What does the ticket system run on?", vector=np.array([1, 0.25, 0.05], np.float32) / 1.032, at=NOW)
    given = found({"a": 0.8, "b": 0.7})
    assert scores(Currency().apply(query, given, snapshot)) == scores(given)


def unit(*values):
    return np.array(values, np.float32) / np.linalg.norm(values)


def rank(question, texts, ages, vectors, query, given):
    return Currency().apply(Query(question, vector=query, at=NOW), found(given), make_snapshot(texts, ages, vectors))


def test_what_is_nearer_than_the_other_statements_about_the_subject_is_the_version():
    """The same statement, once beside a remark that is less like the lead, once beside one that is more like it."""
    texts = ["Ada works at the mill.", "Ada is at the old forge from Monday.", "Ada met the vicar at the mill."]
    lead, change, query = unit(1, 0.3, 0), unit(0.75, 0.6, 0.4), unit(1, 0.25, 0.05)
    chances = []
    for remark in (unit(0.3, 0, 1), unit(1, 0.32, 0.02)):
        snapshot = make_snapshot(texts, [90, 30, 20], [lead, change, remark])
        given = found({"a": 0.8, "b": 0.55, "c": 0.5})
        versions = find_versions(Query("Where does Ada work?", vector=query, at=NOW), given, snapshot, 300)
        chances.append(versions.chance[1])
    assert chances[0] > 0.5 > chances[1]


def test_the_lead_is_what_answers_not_what_was_talked_about():
    """The first candidate only mentions the subject: it must not be what the others are compared with."""
    texts = ["We laughed about the tea urn at the quiz.", "The Hendersons keep the tea urn.", "The tea urn went to Bo."]
    vectors = [unit(0.6, 0, 0.8), unit(1, 0.2, 0), unit(0.9, 0.4, 0)]
    ranking = rank(
        "Who has the tea urn?", texts, [1, 90, 30], vectors, unit(1, 0.25, 0.3), {"a": 0.62, "b": 0.5, "c": 0.4}
    )
    assert ranking.ids.tolist()[0] == "c"


def test_the_only_statement_about_the_name_comes_before_those_about_others():
    texts = ["Eamon works no shifts any more.", "Fedde does the weekend rota.", "Ben lives in Rome."]
    vectors = [unit(1, 0.2, 0), unit(0.5, 0.8, 0), unit(0, 0, 1)]
    ranking = rank(
        "What shift is Fedde working?", texts, [5, 90, 9], vectors, unit(1, 0.25, 0), {"a": 0.8, "b": 0.5, "c": 0.3}
    )
    assert ranking.ids.tolist() == ["b", "a", "c"]


def test_a_statement_without_the_abbreviation_of_the_question_is_about_its_subject():
    texts = [
        "Vance confirms the VPN login with a token.",
        "Vance has switched the login to an app.",
        "Ben likes tea.",
    ]
    vectors = [unit(1, 0.2, 0), unit(0.98, 0.25, 0), unit(0, 0, 1)]
    given = found({"a": 0.8, "b": 0.75, "c": 0.2})
    query = Query("How does Vance log in to the VPN?", vector=unit(1, 0.25, 0), at=NOW)
    versions = find_versions(query, given, make_snapshot(texts, [90, 5, 9], vectors), 300)
    assert versions.chance[1] > 0.0
    assert versions.chance[2] == 0.0


def test_a_name_in_the_time_clause_is_not_the_subject():
    texts = ["The van is serviced at Halloran's.", "Nakagawa services the van now."]
    ranking = rank(
        "Where was the van serviced before Nakagawa?",
        texts,
        [90, 30],
        NEAR[:2],
        unit(1, 0.25, 0.05),
        {"b": 0.8, "a": 0.6},
    )
    assert ranking.ids.tolist()[0] == "a"


def test_a_heading_does_not_make_a_note_a_turn():
    texts = ["Pancakes: 3 eggs, 250 flour.", "The pancakes take just one egg now.", "Ada likes jazz."]
    vectors = [unit(1, 0.2, 0), unit(0.9, 0.4, 0), unit(0, 0, 1)]
    ranking = rank(
        "How many eggs for the pancakes?", texts, [90, 30, 1], vectors, unit(1, 0.25, 0), {"a": 0.8, "b": 0.5, "c": 0.3}
    )
    assert ranking.ids.tolist()[0] == "b"


def test_things_of_other_numbers_are_no_versions():
    """ "pole 27" is no newer version of "pole 3", however alike the statements are."""
    texts = [f"Agent 2 measured {volts} volts at pole {pole}." for volts, pole in ((41, 3), (39, 27), (44, 12))]
    vectors = [unit(1, 0.2, 0), unit(1, 0.22, 0), unit(1, 0.21, 0)]
    ranking = rank(
        "How many volts at pole 3?", texts, [90, 30, 5], vectors, unit(1, 0.25, 0), {"c": 0.8, "b": 0.7, "a": 0.6}
    )
    assert ranking.ids.tolist()[0] == "a"
    newer = [*texts, "Pole 3 has 45 volts now."]
    ranking = rank(
        "How many volts at pole 3?",
        newer,
        [90, 30, 20, 5],
        [*vectors, unit(1, 0.24, 0)],
        unit(1, 0.25, 0),
        {"c": 0.8, "b": 0.7, "a": 0.6, "d": 0.5},
    )
    assert ranking.ids.tolist()[:2] == ["d", "a"]


def test_a_number_that_is_doubted_is_no_key():
    texts = ["Sunniva has plot 7.", "Sunniva moved to plot 9."]
    ranking = rank(
        "Does Sunniva still have plot 7?", texts, [90, 30], NEAR[:2], unit(1, 0.25, 0.05), {"a": 0.8, "b": 0.7}
    )
    assert ranking.ids.tolist()[0] == "b"


@pytest.mark.parametrize(
    ("stage", "settings"),
    [(Currency, {"depth": 1}), (Currency, {"threshold": 2.0}), (Speaker, {"weight": -1.0}), (Period, {"weight": 9.0})],
)
def test_settings_out_of_range_are_refused(stage, settings):
    with pytest.raises(ConfigError):
        stage(**settings)
