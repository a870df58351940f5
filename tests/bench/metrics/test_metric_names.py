"""Metric names: parsing, canonical spelling, errors with suggestions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.metrics import BUDGETS, DEFAULTS, MEASURES, Metric, MetricError, parse
from assay.bench.metrics.names import MAX_CUTOFF


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    name = draw(st.sampled_from(sorted(MEASURES)))
    cutoffs = st.integers(1, MAX_CUTOFF)
    return Metric(name, draw(cutoffs if MEASURES[name].needs_cutoff else st.none() | cutoffs))


@given(metrics())
def test_a_name_round_trips(metric: Metric) -> None:
    assert parse(str(metric)) == metric
    assert str(parse(str(metric))) == str(metric)


@pytest.mark.parametrize("name", DEFAULTS + BUDGETS)
def test_the_defaults_are_spelt_canonically(name: str) -> None:
    assert str(parse(name)) == name


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("ndcg@10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("recall@100", "R@100"),
        ("recall_any@5", "Success@5"),
        ("recall_all@5", "AllR@5"),
        ("hit@1", "Success@1"),
        ("success@1", "Success@1"),
        ("MRR@10", "RR@10"),
        ("mrr", "RR"),
        ("MAP", "AP"),
        ("map@100", "AP@100"),
        ("precision@5", "P@5"),
        ("p@5", "P@5"),
        ("judged@10", "Judged@10"),
        ("ER@400", "ER@400tok"),
        ("a_strict@400tok", "A_strict@400tok"),
        (" a@400 ", "A@400tok"),
    ],
)
def test_other_spellings_are_normalised(written: str, canonical: str) -> None:
    assert str(parse(written)) == canonical


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "there is no metric"),
        ("@10", "there is no metric"),
        ("nDGC@10", "did you mean 'nDCG'"),
        ("ndgc@10", "did you mean 'nDCG'"),
        ("recal@10", "did you mean 'R'"),
        ("bleu@4", "cure: known: A, AIC, AP, A_strict"),
        ("nDCG@", "whole number"),
        ("nDCG@0", "whole number"),
        ("nDCG@-1", "whole number"),
        ("nDCG@010", "whole number"),
        ("nDCG@1e3", "whole number"),
        ("nDCG@10@5", "whole number"),
        ("nDCG@٣", "whole number"),
        ("nDCG@1000000", "whole number"),
        ("nDCG@10tok", "counts documents"),
        ("ER@400tokens", "whole number"),
        ("P", "write P@10"),
        ("ER", "write ER@400tok"),
    ],
)
def test_a_name_that_cannot_be_read_says_what_to_write(name: str, says: str) -> None:
    with pytest.raises(MetricError, match="(?s)" + says) as error:
        parse(name)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(("measure", "cutoff"), [("bleu", 4), ("P", None), ("P", 0), ("P", MAX_CUTOFF + 1)])
def test_no_metric_is_made_that_has_no_name(measure: str, cutoff: int | None) -> None:
    with pytest.raises(MetricError):
        Metric(measure, cutoff)


def test_no_spelling_means_two_measures() -> None:
    spellings = [s.lower() for name, measure in MEASURES.items() for s in (name, *measure.aliases)]
    assert len(spellings) == len(set(spellings))
