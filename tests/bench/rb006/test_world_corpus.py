"""The corpus: reproducible, a strict superset of every smaller scale, bounded chunks, unique facts."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from assay.bench.rb006.world import STAGES as FULL_STAGES
from assay.bench.rb006.world import TEMPLATE_SETS, World, build_world, write_world
from assay.bench.rb006.world.documents import WorldChunk
from assay.bench.rb006.world.facts import Fact, FactTable, find_fact_conflicts
from assay.bench.rb006.world.library import CHUNKS_PER_DEPARTMENT, render_department
from assay.bench.rb006.world.names import NameBook
from assay.bench.rb006.world.plans import plan_documents
from assay.bench.rb006.world.renderer import Renderer
from assay.bench.rb006.world.simulation import simulate_department
from assay.errors import AssayError, ConfigError
from assay.text.sentences import split_sentences
from assay.text.token_count import count_tokens
from tests.bench.rb006.small_world import SEED, STAGES

DEV = TEMPLATE_SETS["dev"]
HEADER = {"date", "version"}


def lines(world: World, scale: int) -> list[str]:
    return [json.dumps(chunk.as_record()) for chunk in replace(world, scale=scale).chunks()]


@pytest.fixture(scope="module")
def chunks(world: World) -> list[WorldChunk]:
    return list(world.chunks())


def digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def test_another_process_writes_the_same_bytes(world: World, tmp_path: Path) -> None:
    """Corpus, queries, judgements and evidence, under another hash seed."""
    script = f"""
from pathlib import Path
from assay.bench.rb006.world import build_world, write_world
write_world(build_world({SEED}, "dev", 500, stages={STAGES}), Path({str(tmp_path / "other")!r}))
"""
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    mine = write_world(replace(world, scale=500), tmp_path / "mine")
    other = json.loads((tmp_path / "other" / "meta.json").read_text("utf-8"))
    assert other["sha256"] == mine["sha256"]
    assert len(mine["sha256"]) == 5


def test_a_busy_department_leaves_out_whole_documents() -> None:
    """Department 137 of the frozen seed plans 509 chunks with facts."""
    templates, seed = TEMPLATE_SETS["frozen"], 2026
    state = simulate_department(seed, templates, 137)
    people = tuple(state.labels[person] for person in state.people)
    planned = [list(Renderer(seed, templates).render(plan, people)) for plan in plan_documents(state)]
    assert sum(map(len, planned)) > CHUNKS_PER_DEPARTMENT
    written = list(render_department(seed, templates, state))
    assert len(written) == CHUNKS_PER_DEPARTMENT
    names = {chunk.id for chunk in written}
    kept = [sum(chunk.id in names for chunk in document) for document in planned]
    assert all(count in (0, len(document)) for count, document in zip(kept, planned, strict=True))
    assert 0 < kept.count(0) < 5


def test_another_seed_gives_another_corpus(world: World) -> None:
    assert digest(lines(world, 500)) != digest(lines(replace(world, seed=SEED + 1), 500))


@pytest.mark.parametrize(("small", "large"), [(500, 2_000), (700, 1_300)])
def test_a_larger_scale_begins_with_the_smaller_one(world: World, small: int, large: int) -> None:
    less, more = lines(world, small), lines(world, large)
    assert (len(less), len(more)) == (small, large)
    assert more[:small] == less


def test_chunks_are_bounded_and_their_ids_unique(chunks: list[WorldChunk]) -> None:
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert 40 <= count_tokens(chunk.text) == chunk.tokens <= 90


def test_sentences_stand_in_their_chunk_and_are_what_the_splitter_finds(chunks: list[WorldChunk]) -> None:
    ids = [sentence.id for chunk in chunks for sentence in chunk.sentences]
    assert len(set(ids)) == len(ids)
    for chunk in chunks:
        spans = [(sentence.start, sentence.end) for sentence in chunk.sentences]
        assert [chunk.text[start:end] for start, end in spans] == [sentence.text for sentence in chunk.sentences]
        assert split_sentences(chunk.text) == spans


def test_every_fact_is_stated_by_a_sentence_that_holds_its_value(world: World) -> None:
    for department in world.library.departments()[:3]:
        for fact in department.state.facts:
            for sentence in department.sentences[fact.key]:
                assert fact.value.casefold() in sentence.text.casefold()


def test_records_show_headers_only(chunks: list[WorldChunk]) -> None:
    for chunk in chunks:
        record = chunk.as_record()
        assert set(record) == {"_id", "title", "section", "text", "metadata"}
        assert set(record["metadata"]) <= HEADER
        assert not any(word in record["_id"] for word in ("policy", "ticket", "mail"))


def test_fact_keys_are_unique_in_all_departments(world: World) -> None:
    facts = [fact for department in world.library.departments() for fact in department.state.facts]
    assert len({fact.key for fact in facts}) == len(facts) > 10_000
    assert find_fact_conflicts(facts) == []


def test_conflicting_facts_are_found_and_refused() -> None:
    day = date(2024, 5, 1)
    table = FactTable()
    table.set_value("service:0:0", "owner", "Ada", day)
    table.set_value("service:0:0", "owner", "Bob", day + timedelta(days=9))
    assert [fact.end for fact in table.history("service:0:0", "owner")] == [day + timedelta(days=9), None]
    with pytest.raises(AssayError, match="set again"):
        table.set_value("service:0:0", "owner", "Cid", day)
    with pytest.raises(AssayError, match="set twice"):
        table.add(Fact("service:0:0", "owner", "Cid", day))
    one, other = Fact("s", "a", "1", day), Fact("s", "a", "2", day + timedelta(days=1))
    assert "overlap" in find_fact_conflicts([one, other])[0]
    assert "twice" in find_fact_conflicts([one, one])[0]


def test_names_are_unique_except_for_the_injected_collisions() -> None:
    names = NameBook(SEED, DEV.words)
    departments = range(names.capacity)
    assert names.capacity * CHUNKS_PER_DEPARTMENT >= FULL_STAGES[-1]
    for name, number in ((names.service, 5), (names.vendor, 3), (names.project, 4)):
        made = [name(department, place) for department in departments for place in range(number)]
        assert len(set(made)) == len(made)
    assert len({names.department(department) for department in departments}) == names.capacity
    people = [names.person(department, place) for department in departments for place in range(14)]
    assert len(people) - len(set(people)) == names.capacity // 2


def test_editions_of_a_policy_are_near_duplicates(world: World) -> None:
    """The first rule of all editions of a topic: the same sentence, ten different values."""
    department = world.library[0]
    topic = department.state.editions[0].topic
    item = department.state.editions[0].items[0][0].names[0]
    facts = [f for f in department.state.facts if f.attribute == item and f":{topic}:" in f.subject]
    assert len(facts) == 10 == len({fact.value for fact in facts})
    frames = {department.sentences[fact.key][0].text.replace(fact.value, "_") for fact in facts}
    assert len(frames) == 1


def test_a_department_does_not_depend_on_the_others() -> None:
    one, other = (simulate_department(SEED, DEV, 9) for _ in range(2))
    assert list(one.facts) == list(other.facts)
    assert one.labels == other.labels


@pytest.mark.parametrize("scale", [0, -5, 499, 10**9])
def test_an_impossible_scale_is_refused(scale: int) -> None:
    with pytest.raises(ConfigError, match="cannot be built") as error:
        build_world(1, "dev", scale)
    assert "choose a scale from 500" in error.value.cure


def test_an_unknown_template_set_is_refused() -> None:
    with pytest.raises(ConfigError, match="no template set 'devv'") as error:
        build_world(1, "devv", 500)
    assert "did you mean 'dev'" in error.value.cure


@pytest.mark.parametrize("stages", [(), (700,), (2_000, 1_000), (500, 500), (500, 1_000, 1_500, 2_000), (0,)])
def test_bad_stages_are_refused(stages: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="stages") as error:
        build_world(1, "dev", 500, stages=stages)
    assert "give up to three" in error.value.cure


def test_stages_too_small_for_the_suite_are_refused() -> None:
    with pytest.raises(ConfigError, match="no evidence for another") as error:
        build_world(1, "dev", 500, stages=(500,))
    assert "use larger stages" in error.value.cure
