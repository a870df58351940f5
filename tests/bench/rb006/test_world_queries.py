"""The suite: its allocation, the rules of every query, and the template set."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from assay.bench.rb006.world import TEMPLATE_SETS, World, build_world, find_shared_templates, verify
from assay.bench.rb006.world.library import DepartmentLibrary
from assay.bench.rb006.world.queries import ALLOCATION, WorldQuery
from assay.bench.rb006.world.query_rules import CUES, content_words, find_query_faults
from assay.bench.rb006.world.templates import LEAST_TEMPLATES, find_missing_parts, find_template_faults
from assay.errors import ConfigError
from tests.bench.rb006.small_world import SEED, STAGES

DEV = TEMPLATE_SETS["dev"]
STRATA = {
    "thematic": 90,
    "entity": 75,
    "dpi": 120,
    "hop2": 60,
    "hop3": 30,
    "comparative": 45,
    "listing": 60,
    "temporal": 45,
    "ambiguous": 30,
    "ood": 30,
}


def test_a_world_has_no_violations(world: World) -> None:
    calls: list[tuple[str, int, int]] = []
    assert verify(world, progress=lambda *call: calls.append(call)) == []
    assert calls[-1] == ("writing chunks", 2_000, 2_000)


def test_the_strata_have_the_counts_of_the_specification(world: World) -> None:
    assert Counter(tag for query in world.queries for tag in query.tags) == STRATA
    assert Counter(query.is_answerable for query in world.queries) == {True: 180, False: 120}
    kinds = Counter(query.kind for query in world.queries if query.kind)
    assert kinds == {"listing": 56, "version_diff": 22, "out_of_scope": 30, "long_evidence": 12}
    assert Counter(query.stage for query in world.queries) == {"6k": 240, "8k": 36, "10k": 24}
    assert sum(slot.number for slot in ALLOCATION) == len({query.id for query in world.queries}) == 300


def test_evidence_lies_in_the_stage_of_the_query(world: World) -> None:
    ends = {stage.name: stage.departments for stage in world.stages}
    starts = dict(zip(ends, (0, *ends.values()), strict=False))
    for query in world.queries:
        if query.groups:
            assert starts[query.stage] <= query.last_department < ends[query.stage]


def test_sizes_of_evidence(world: World) -> None:
    for query in world.queries:
        if query.kind == "out_of_scope":
            assert query.groups == ()
        elif query.is_answerable:
            assert 0 < query.evidence_tokens <= 300
        else:
            assert query.evidence_tokens > 400
            assert query.evidence_tokens >= 600 or len(query.groups) >= 12


def test_later_hops_share_no_content_word_with_the_query(world: World) -> None:
    hopped = [query for query in world.queries if {"hop2", "hop3"} & set(query.tags) and query.groups]
    assert len(hopped) == 86
    for query in hopped:
        later = [sentence for group in query.groups if group.hop > 1 for sentence in group.sentences]
        assert later
        for sentence in later:
            assert not content_words(query.text) & content_words(sentence.text)


def test_entity_spanning_evidence_lies_in_several_documents(world: World) -> None:
    for query in world.queries:
        if "entity" in query.tags:
            assert len({s.chunk_id.partition("-")[0] for g in query.groups for s in g.sentences}) > 1


def test_cue_words_occur_on_both_sides(world: World) -> None:
    for cue in CUES:
        sides = {q.is_answerable for q in world.queries if re.search(rf"\b{cue}\b", q.text, re.IGNORECASE)}
        assert sides == {True, False}, cue


def test_both_template_splits_are_used_on_both_sides(world: World) -> None:
    found = Counter((query.template_split, query.is_answerable) for query in world.queries)
    assert min(found.values()) >= 40
    assert len(found) == 4


def test_every_injector_has_queries(world: World) -> None:
    found = Counter(query.injector for query in world.queries if query.injector)
    assert set(found) == {
        "near_duplicate",
        "contradictory",
        "buried_identifier",
        "name_collision",
        "synonym_tail",
    }
    assert min(found.values()) >= 5
    assert all((query.source == "adversarial") == bool(query.injector) for query in world.queries)


def test_queries_do_not_depend_on_the_scale(world: World) -> None:
    assert build_world(SEED, "dev", 500, stages=STAGES).queries == world.queries


def test_the_scope_grows_with_the_scale(world: World) -> None:
    counts = [sum(map(replace(world, scale=scale).is_in_scope, world.queries)) for scale in (500, *STAGES)]
    assert counts == sorted(counts)
    assert counts[1:] == [240, 276, 300]
    assert counts[0] >= 30  # out-of-scope queries are asked at every scale


def _broken(world: World, archetype: str) -> WorldQuery:
    return next(query for query in world.queries if query.archetype == archetype)


@pytest.mark.parametrize(
    ("archetype", "change", "fault"),
    [
        ("list_errors", {"kind": ""}, "more than 300"),
        ("dpi_ticket", {"kind": "listing"}, "only"),
        ("dpi_ticket", {"kind": "out_of_scope"}, "it has evidence"),
        ("dpi_ticket", {"groups": ()}, "no evidence"),
        ("dpi_ticket", {"tags": ("hop2",)}, "fewer than 2 hops"),
        ("asof_pager", {"text": "Which pager key is it?"}, "not valid on 2025-12-31"),
    ],
)
def test_a_broken_query_is_found(world: World, archetype: str, change: dict[str, object], fault: str) -> None:
    query = replace(_broken(world, archetype), **change)  # type: ignore[arg-type]
    assert any(fault in text for text in find_query_faults(query, world.library))


def test_shared_words_and_wrong_values_are_found(world: World) -> None:
    query = _broken(world, "hop2_dpi")
    last = query.groups[-1]
    copied = replace(query, text=last.sentences[0].text)
    assert any("shares" in text for text in find_query_faults(copied, world.library))
    wrong = replace(query, groups=(*query.groups[:-1], replace(last, value="nothing of the sort")))
    assert any("does not state" in text for text in find_query_faults(wrong, world.library))


def test_missing_gold_and_lost_queries_are_found(world: World) -> None:
    query = next(query for query in world.queries if query.groups and world.is_in_scope(query))
    group = query.groups[0]
    moved = replace(group.sentences[0], id="elsewhere")
    bad = replace(query, groups=(replace(group, sentences=(moved,)), *query.groups[1:]))
    faults = verify(replace(world, queries=(bad,)))
    assert "gold sentence elsewhere is not in the corpus" in faults
    assert any("tagged 'dpi'" in fault for fault in faults)


def test_template_faults(world: World) -> None:
    assert find_template_faults(DEV) == []
    assert all(len(set(texts)) >= LEAST_TEMPLATES for texts in DEV.frames.values())
    few = replace(DEV, frames={**DEV.frames, "decision": DEV.frames["decision"][:5]})
    assert "fewer than 6" in find_template_faults(few)[0]
    copied = replace(DEV, fillers={**DEV.fillers, "mail": ("What does {x} say?", *DEV.fillers["mail"])})
    assert any("serves documents and queries" in fault for fault in find_template_faults(copied))
    first = DEV.queries[0]
    both = replace(DEV, queries=(*DEV.queries, replace(first, id="again", split="heldout")))
    assert any("in both splits" in fault for fault in find_template_faults(both))


def test_an_incomplete_template_set_is_refused() -> None:
    words = {kind: pool for kind, pool in DEV.words.items() if kind != "city"}
    with pytest.raises(ConfigError, match="words 'city' is missing") as error:
        build_world(1, replace(DEV, name="other", words=words), 500)
    assert "templates_dev" in error.value.cure
    assert find_missing_parts(replace(DEV, words={**DEV.words, "role": ("clerk",)}), DEV) == [
        "words 'role' has 1 words, fewer than 14"
    ]
    assert find_missing_parts(replace(DEV, frames={**DEV.frames, "decision": ("We met.",)}), DEV) == [
        "frame 'We met.' of 'decision' has no slot for the value"
    ]
    assert len(find_missing_parts(replace(DEV, queries=()), DEV)) == len({q.archetype for q in DEV.queries})


def test_another_template_set_gives_another_text(world: World) -> None:
    """The generator reads all language from the set: other frames, the same facts."""
    frames = {name: tuple(f"So {text}" for text in texts) for name, texts in DEV.frames.items()}
    other = replace(DEV, name="other", frames=frames)
    rendered = DepartmentLibrary(SEED, other)[0]
    assert list(rendered.state.facts) == list(world.library[0].state.facts)
    assert all(s.text.startswith("So ") for group in rendered.sentences.values() for s in group)


def test_conflicts_are_the_twins_of_a_policy_rule(world: World) -> None:
    query = _broken(world, "policy_rule")
    twins = world.library.conflicts(query.groups[0].fact)
    assert len(twins) == 9
    assert not {twin.id for twin in twins} & {sentence.id for sentence in query.groups[0].sentences}
    assert all(query.groups[0].value not in twin.text for twin in twins)


def test_disjoint_sets_share_nothing() -> None:
    assert find_shared_templates(DEV, replace(DEV, frames={}, fillers={}, titles={}, queries=())) == []
    one = replace(DEV, frames={"x": ("{A} is owned by {b}.",)}, fillers={}, titles={}, queries=())
    other = replace(one, frames={"y": ("{service} is OWNED by {value}",)})
    assert find_shared_templates(one, other) == ["{} is owned by {}"]


def test_progress_is_reported() -> None:
    calls: list[tuple[str, int, int]] = []
    build_world(SEED, "dev", 500, stages=STAGES, progress=lambda *call: calls.append(call))
    assert calls[0] == ("simulating departments", 1, 12)
    assert calls[-1] == ("building queries", 300, 300)
