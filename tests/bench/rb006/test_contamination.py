"""Contamination checks: each finds what it is for."""

from __future__ import annotations

from dataclasses import replace

from assay.bench.rb006.contamination import check_contamination, find_redundant_groups, measure_overlap
from assay.bench.rb006.world import World


def test_a_world_is_clean(world: World) -> None:
    report = check_contamination(world)
    assert report.faults == ()
    assert (report.isolation_faults, report.minimality_faults, report.shared_templates) == (0, 0, 0)
    assert report.queries == 300
    assert all(min(sides) > 0 for sides in report.cues.values())
    assert report.to_json()["cues"]["all"] == list(report.cues["all"])


def test_a_query_that_quotes_its_gold_overlaps(world: World) -> None:
    query = next(query for query in world.queries if query.groups)
    gold = query.groups[0].sentences[0].text
    assert measure_overlap(replace(query, text=gold)) == 1.0
    assert measure_overlap(replace(query, text="Nothing of the kind is said anywhere here")) == 0.0
    assert measure_overlap(replace(query, text="Too short")) == 0.0
    words = gold.split()
    half = " ".join(words[:4]) + " zzz"
    assert measure_overlap(replace(query, text=half)) == 0.5
    report = check_contamination(replace(world, queries=(replace(query, text=gold), *world.queries[1:])))
    assert report.max_overlap == 1.0


def test_a_group_that_another_sentence_states_is_redundant(world: World) -> None:
    query = next(query for query in world.queries if query.archetype == "policy_rule")
    group = query.groups[0]
    fact = group.fact._replace(attribute="other")
    twin = replace(group, fact=fact)
    assert find_redundant_groups(query) == []
    assert len(find_redundant_groups(replace(query, groups=(group, twin)))) == 2
    assert find_redundant_groups(replace(query, groups=(group, replace(twin, value="nothing else")))) != []
    assert find_redundant_groups(replace(query, groups=(group, twin), kind="listing")) == []


def test_a_cue_word_on_one_side_is_a_fault(world: World) -> None:
    queries = tuple(query for query in world.queries if query.is_answerable)
    report = check_contamination(replace(world, queries=queries))
    assert any("cue word" in fault for fault in report.faults)
