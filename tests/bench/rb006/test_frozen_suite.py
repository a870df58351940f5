"""The frozen suite: its digest, its hand-written queries, and what happens when something was changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date

import pytest

from assay.bench.rb006 import frozen_suite
from assay.bench.rb006.frozen_suite import (
    FrozenSuite,
    attach_handwritten,
    build_suite_world,
    digest_facts,
    digest_queries,
    read_suite,
)
from assay.bench.rb006.world import TEMPLATE_SETS, World, build_world, find_shared_templates, verify
from assay.bench.rb006.world.query_rules import find_day, find_query_faults
from assay.errors import ConfigError


@pytest.fixture(scope="module")
def suite() -> FrozenSuite:
    stored = read_suite("frozen")
    assert stored is not None
    return stored


@pytest.fixture(scope="module")
def generated(suite: FrozenSuite) -> World:
    """The world of the suite's seed before the hand-written texts are attached."""
    return build_world(suite.seed, "frozen", 10_000)


@pytest.fixture(scope="module")
def frozen(suite: FrozenSuite) -> World:
    return build_suite_world(suite, 10_000)


def test_the_suite_is_as_it_was_frozen(suite: FrozenSuite, frozen: World) -> None:
    assert suite.sha256 == "7bd9a1064f0bd5d0c7128a71d8093c4419a89ec1d26b8b9a0c2d36084fca33a0"
    assert digest_queries(frozen.queries) == suite.sha256
    assert verify(frozen, corpus=False) == []


def test_the_sources_have_the_shares_of_the_design(frozen: World) -> None:
    assert Counter(query.source for query in frozen.queries) == {"anchored": 180, "adversarial": 60, "handwritten": 60}
    assert all(query.injector for query in frozen.queries if query.source == "adversarial")
    assert Counter(query.is_answerable for query in frozen.queries if query.source == "handwritten") == {
        True: 36,
        False: 24,
    }


def test_no_template_is_shared_with_the_dev_world(frozen: World) -> None:
    assert find_shared_templates(TEMPLATE_SETS["dev"], TEMPLATE_SETS["frozen"]) == []
    assert {query.template_split for query in frozen.queries} == {"heldout"}


def test_a_handwritten_query_keeps_its_evidence(suite: FrozenSuite, generated: World, frozen: World) -> None:
    before = {query.id: query for query in generated.queries}
    for query in frozen.queries:
        assert query.groups == before[query.id].groups
        if query.id in suite.handwritten:
            assert query.text == suite.handwritten[query.id].text != before[query.id].text
            assert find_query_faults(query, frozen.library) == []


def test_another_seed_does_not_get_the_handwritten_texts(suite: FrozenSuite) -> None:
    with pytest.raises(ConfigError, match="belongs to other facts"):
        attach_handwritten(build_world(suite.seed + 1, "frozen", 10_000), suite)


def test_a_changed_text_is_noticed(suite: FrozenSuite, generated: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen_suite, "build_world", lambda *_, **__: generated)
    name, written = next(iter(suite.handwritten.items()))
    edited = replace(suite, handwritten={**suite.handwritten, name: replace(written, text=f"{written.text} Please.")})
    with pytest.raises(ConfigError, match="not " + suite.sha256[:12]):
        build_suite_world(edited, 10_000)


def test_a_query_that_does_not_exist_is_noticed(suite: FrozenSuite, frozen: World) -> None:
    extra = replace(suite, handwritten={"q999": next(iter(suite.handwritten.values()))})
    with pytest.raises(ConfigError, match="no query q999"):
        attach_handwritten(frozen, extra)


def test_the_digest_of_facts_tells_queries_apart(frozen: World) -> None:
    assert len({digest_facts(query) for query in frozen.queries}) == len(frozen.queries)


def test_the_digest_of_queries_covers_text_tags_and_gold(frozen: World) -> None:
    first, *rest = frozen.queries
    whole = digest_queries(frozen.queries)
    group = first.groups[0]
    for changed in (
        replace(first, text="Another text?"),
        replace(first, tags=("dpi",)),
        replace(first, kind="listing"),
        replace(first, source="anchored" if first.source != "anchored" else "adversarial"),
        replace(first, groups=(replace(group, value="EUR 1"),)),
        replace(first, groups=(replace(group, hop=2),)),
        replace(first, groups=()),
    ):
        assert digest_queries([changed, *rest]) != whole
    assert digest_queries([*rest, first]) != whole


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Who had it on 2025-09-08?", date(2025, 9, 8)),
        ("Who had it on 8 September 2025, please?", date(2025, 9, 8)),
        ("Who had it on 31 January 2025", date(2025, 1, 31)),
        ("Who had it in September 2025?", None),
        ("Who has it?", None),
    ],
)
def test_the_day_of_a_query(text: str, day: date | None) -> None:
    assert find_day(text) == day


def test_a_set_without_a_suite_has_none() -> None:
    assert read_suite("dev") is None
