"""parse_query: names, cues, facets; any string is legal; linear time."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labels import HOSTILE

from assay.errors import QueryError
from assay.text.identifiers import extract_identifiers
from assay.text.query.facets import MOST_FACETS
from assay.text.query.parse import ParsedQuery, parse_query

NOON = 1750248000.0


def test_a_query_in_one_value():
    text = "Compare the retention policy of Berlin and Madrid since March 2024 for v1.29"
    parsed = parse_query(text, NOON)
    assert parsed.intents == ("compare",)
    assert [text[cue.start : cue.end] for cue in parsed.cues] == ["Compare"]
    assert parsed.entities == ("berlin", "madrid", "v1.29")
    assert parsed.identifiers == tuple(extract_identifiers(text)) == ("v1.29",)
    assert [str(version.low) for version in parsed.versions] == ["1.29"]
    assert [date.relation for date in parsed.dates] == ["since"]
    assert parsed.facets == (
        "the retention policy of Berlin since March 2024 for v1.29",
        "the retention policy of Madrid since March 2024 for v1.29",
    )
    assert parsed.describe() == "compare ('Compare') · version 'v1.29' · date 'since March 2024'"


def test_a_verb_at_the_beginning_and_a_month_are_no_names():
    assert parse_query("List Kafka topics in March 2024", NOON).entities == ("kafka",)


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("please list all vendors", "list all"),
        ("which teams use Kafka", "which teams"),
        ("what has changed in v1.29", "what has changed"),
        ("headcount as of March 2024", "as of March 2024"),
        ("who was CTO in 2021", "who was"),
        ("Redis vs Memcached", "vs"),
        ("is Stripe cheaper than Adyen", "cheaper than"),
    ],
)
def test_a_cue_has_the_words_that_decided(text, cue):
    assert [text[found.start : found.end] for found in parse_query(text, NOON).cues] == [cue]


def test_quoted_words_are_no_cues():
    assert parse_query('the document "list all vendors"', NOON).intents == ("lookup",)
    assert parse_query("“Redis vs Memcached” slides", NOON).intents == ("lookup",)


def test_a_list_beyond_the_limit_stays_together():
    facets = parse_query("offices in Rome, Oslo, Bonn, Kyiv, Lima, Doha, Bern and Cork", NOON).facets
    assert len(facets) == MOST_FACETS
    assert facets[0] == "offices in Rome"
    assert facets[-1] == "offices in Doha Bern Cork"


def test_a_query_without_a_list_is_its_facet():
    for text in ("", " ", "vacation policy", "RESET AND UNLOCK", "who leads Research and Development", "？"):
        assert parse_query(text, NOON).facets == (text,)


_PIECES = """
list all which teams use what changed between and since until before after as of v1.2 2.3 version 3 March May
2024 2024-02-30 31 5 last week past days ago Berlin Madrid vs than larger is who was compare , . ? " “ ” Q3
from to in the on Monday 999 years CVE-2024-1 more different or
"""
_WORDS = st.sampled_from(_PIECES.split())


def _parse(text: str, at: float | None = NOON) -> ParsedQuery | None:
    """None for the errors that the module documents."""
    try:
        return parse_query(text, at)
    except QueryError as error:
        if not error.cure or not ("contradict" in error.message or "clock" in error.message):
            raise AssertionError(error.message) from error
    return None


@given(
    st.one_of(st.text(max_size=200), st.lists(_WORDS, max_size=20).map(" ".join)), st.sampled_from([None, 0.0, NOON])
)
def test_any_string_is_legal(text, at):
    parsed = _parse(text, at)
    if parsed is None:
        return
    for found in (*parsed.cues, *parsed.versions, *parsed.dates):
        assert 0 <= found.start < found.end <= len(text)
        assert text[found.start : found.end].strip()
    for date in parsed.dates:
        if date.problem:
            assert date.since is None
            assert date.until is None
        else:
            assert (date.since, date.until) != (None, None)
            assert date.since is None or date.until is None or date.since < date.until
    assert 1 <= len(parsed.facets) <= MOST_FACETS
    assert len(set(parsed.intents)) == len(parsed.intents) >= 1
    assert parse_query(text, at) == parsed


@given(st.floats(), st.lists(_WORDS, max_size=8).map(" ".join))
def test_any_clock(at, text):
    _parse(text, at)


_REPEATED = (
    "list all ", "who was the a ", "which of ", "compare a and b ", "between ", "from 3 to ", "v1.2 and ", "A and B, ",
    "is a more ", "who? ", "in the end of the ", "how did a ", "was a. ", "2024-", "last 3 ", "\" ",
)  # fmt: skip


def _growth(make) -> float:
    """How much longer 48,000 characters take than 6,000: about 8 when time is linear."""

    def measure(text: str) -> float:
        start = thread_time()
        _parse(text)
        return thread_time() - start

    _parse("warm up")
    short, long = (min(measure(make(size)) for _ in range(3)) for size in (6_000, 48_000))
    return long / max(short, 1e-3)


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_text_takes_linear_time(name):
    assert _growth(HOSTILE[name]) < 32


@pytest.mark.parametrize("phrase", _REPEATED)
def test_repeated_cues_take_linear_time(phrase):
    assert _growth(lambda n: phrase * (n // len(phrase))) < 32
