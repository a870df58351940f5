"""Store, recall, update, forget, expiry, links and history, on a real store."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay import memory
from assay.errors import AssayError, ConfigError, QueryError, StoreError
from assay.memory.entries import chunks_from_entry, derive_id, entry_from_chunks, new_entry
from assay.memory.service import MemoryService
from assay.memory.types import RecallAnswer

ASK = {"scope": "global", "adaptive": False}


def texts(found: RecallAnswer) -> list[str]:
    return [hit.text for hit in found.hits]


def test_a_memory_comes_back_with_all_it_was_given(mem: MemoryService, clock: Any) -> None:
    done = mem.store(
        "Ada lives in Lisbon.", category="preference", importance=0.75, tags=["home", "ada"], created="2026-02-28"
    )
    assert (done.action, done.near) == ("stored", ())
    entry = mem.get(done.id, scope="global")
    assert entry == done.memory
    assert (entry.text, entry.scope, entry.category) == ("Ada lives in Lisbon.", "global", "preference")
    assert (entry.importance, entry.tags, entry.expires) == (0.75, ("ada", "home"), None)
    assert (entry.created, entry.updated) == (1_772_236_800.0, clock.now)
    (hit,) = mem.recall("where does Ada live?", **ASK).hits
    assert hit.memory == entry
    assert hit.why().startswith(f"{hit.score:.4f} = bm25 #1")


def test_the_next_opening_finds_what_was_stored(tmp_path: Path) -> None:
    with memory.open(tmp_path / "m", embedder="none") as first:
        name = first.store("The vault is in room 12.").id
    with memory.open(tmp_path / "m", create=False) as second:
        assert second.get(name, scope="global").text == "The vault is in room 12."


def test_noise_is_refused_with_its_category(mem: MemoryService) -> None:
    for text, category in (("ok", "short"), ("I don't have any information about that.", "denial"), ("", "short")):
        done = mem.store(text)
        assert (done.id, done.action) == ("", "refused")
        assert f"noise ({category})" in done.reason
    assert mem.list(scope="global") == ()


def test_what_cannot_be_a_memory_is_refused_with_the_field(mem: MemoryService) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"importance": 1.5}, "importance"),
        ({"importance": True}, "importance"),
        ({"category": " "}, "category"),
        ({"tags": ["x\x1b[31m"]}, "tag"),
        ({"scope": ""}, "scope"),
        ({"scope": "agent:*"}, "wildcards"),
        ({"created": "soon"}, "date"),
        ({"supersedes": "nobody"}, "nobody"),
    ]
    for given_, message in wrong:
        with pytest.raises(AssayError, match=message):
            mem.store("The vault is in room 12.", **given_)
    with pytest.raises(QueryError, match="text"):
        mem.store(b"bytes")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="supersede"):
        mem.store("The vault is in room 12.", on_duplicate="supersed")  # type: ignore[arg-type]
    assert mem.list(scope="global") == ()


def test_a_known_text_is_skipped_once_it_adds_nothing(mem: MemoryService) -> None:
    first = mem.store("The vault is in room 12.")
    again = mem.store("the vault is in room 12")
    assert (again.action, again.id) == ("skipped", first.id)
    assert again.near[0].duplicate
    assert again.near[0].adds == ()
    assert [entry.id for entry in mem.list(scope="global")] == [first.id]


def test_the_same_text_in_another_scope_is_not_known(mem: MemoryService) -> None:
    first = mem.store("The vault is in room 12.", scope="agent:a")
    other = mem.store("The vault is in room 12.", scope="agent:b")
    assert (other.action, other.near) == ("stored", ())
    assert other.id != first.id


def test_force_stores_the_same_text_twice(mem: MemoryService) -> None:
    ids = {mem.store("The vault is in room 12.", on_duplicate="force").id for _ in range(3)}
    assert len(ids) == 3
    assert len(mem.list(scope="global")) == 3


def test_merge_keeps_the_higher_importance_all_tags_and_the_later_end(mem: MemoryService, clock: Any) -> None:
    first = mem.store("The vault is in room 12.", tags=["a"], importance=0.9, expires="2026-06-01")
    clock.pass_days(1)
    done = mem.store("The vault is in room 12", tags=["b"], importance=0.2, expires="2026-07-01", on_duplicate="merge")
    assert (done.action, done.id) == ("merged", first.id)
    entry = mem.get(first.id, scope="global")
    assert (entry.tags, entry.importance, entry.updated) == (("a", "b"), 0.9, clock.now)
    assert entry.expires == 1_782_864_000.0
    assert len(mem.history(first.id, scope="global")) == 2
    assert entry == done.memory


def test_supersede_serves_the_successor(mem: MemoryService, clock: Any) -> None:
    old = mem.store("The vault is in room 12.")
    clock.pass_days(1)
    new = mem.store("The vault is in room 12.", on_duplicate="supersede")
    assert new.action == "superseded"
    assert mem.get(old.id, scope="global").superseded_by == new.id
    assert mem.get(new.id, scope="global").supersedes == (old.id,)
    found = mem.recall("vault room", **ASK)
    assert [hit.id for hit in found.hits] == [new.id]
    assert [entry.id for entry in mem.list(scope="global")] == [new.id]
    assert {entry.id for entry in mem.list(scope="global", everything=True)} == {old.id, new.id}


def test_a_superseded_memory_that_is_found_is_served_as_its_successor_on_the_record(mem: MemoryService) -> None:
    old = mem.store("Ada moved her sardine boat to Lisbon.")
    middle = mem.store("It is kept in Porto these days.", supersedes=old.id)
    new = mem.store("Now she keeps it in Faro.", supersedes=old.id[:6])  # the end of the chain is superseded
    found = mem.recall("sardine boat", **ASK)
    (hit,) = found.hits
    assert (hit.id, hit.served_for) == (new.id, old.id)
    assert f"{old.id} is superseded and served as {new.id}" in found.notes
    assert f"found as {old.id}" in hit.why()
    assert mem.get(middle.id, scope="global").superseded_by == new.id
    message = mem.explain("sardine boat", old.id, scope="global")
    assert message.rank is None
    assert message.reasons == (f"it is superseded by {new.id}, which is served in its place",)


def test_before_the_successor_came_the_old_one_stands(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12.", created="2026-01-01")
    new = mem.store("The vault moved to the cellar.", created="2026-02-01", supersedes=old.id)
    assert [hit.id for hit in mem.recall("vault", at="2026-01-02", **ASK).hits] == [old.id]
    assert [hit.id for hit in mem.recall("vault", at="2026-02-02", **ASK).hits] == [new.id]


def test_lists_and_counts_are_those_of_their_moment(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12.", created="2026-01-01")
    new = mem.store("The vault moved to the cellar.", created="2026-02-01", supersedes=old.id, expires="2026-02-20")
    for at, ids, counts in (
        ("2025-12-31", [], (0, 0, 0)),
        ("2026-01-01", [old.id], (1, 0, 0)),
        ("2026-01-31", [old.id], (1, 0, 0)),
        ("2026-02-01", [new.id], (1, 1, 0)),
        ("2026-02-20", [], (0, 1, 1)),
        (None, [], (0, 1, 1)),  # it is March
    ):
        assert [entry.id for entry in mem.list(scope="global", at=at)] == ids, at
        found = mem.stats("global", at=at)
        assert (found.memories, found.superseded, found.expired) == counts, at
    mem.forget(new.id, scope="global")
    assert mem.list(scope="global", at="2026-01-15") == ()  # what is forgotten was never there


def test_a_successor_in_another_scope_is_refused(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12.", scope="agent:a")
    with pytest.raises(StoreError, match="no memory here"):
        mem.store("The vault moved.", scope="agent:b", supersedes=old.id)


def test_superseded_ones_take_no_place_of_those_that_were_asked_for(mem: MemoryService) -> None:
    old = [mem.store(f"vault vault vault {number}", on_duplicate="force").id for number in range(4)]
    mem.store("It is in the cellar.", supersedes=old)
    mem.store("The vault has a door.")
    most = mem.recall("vault", k=9, pipeline="bm25", **ASK)
    assert texts(most) == ["It is in the cellar.", "The vault has a door."]
    for k in (1, 2):
        assert mem.recall("vault", k=k, pipeline="bm25", **ASK).hits == most.hits[:k]


def test_an_expired_memory_is_never_recalled(mem: MemoryService, clock: Any) -> None:
    done = mem.store("The door code is blue heron.", expires="2026-03-10")
    assert texts(mem.recall("door code", **ASK)) == ["The door code is blue heron."]
    clock.pass_days(9)  # to the very moment
    assert texts(mem.recall("door code", **ASK)) == []
    assert mem.list(scope="global") == ()
    assert mem.stats("global").expired == 1
    assert texts(mem.recall("door code", at="2026-03-09T23:59:59Z", **ASK)) == ["The door code is blue heron."]
    assert "expired" in mem.explain("door code", done.id, scope="global").reasons[0]
    assert mem.store("The door code is blue heron.").action == "stored"  # to say an old thing again is news


def test_what_has_expired_already_is_stored_and_said_to_be_so(mem: MemoryService) -> None:
    message = "; it has expired already, and is not recalled"
    for number, (expires, messages) in enumerate((("2026-03-01", True), ("2026-02-01", True), ("2026-03-02", False))):
        done = mem.store(f"The door code of house {number} is blue heron.", expires=expires)
        assert (done.action, done.reason.endswith(message)) == ("stored", messages)
    never = mem.store("The bridge is closed.", created="2026-05-01", expires="2026-04-01")
    assert never.reason.endswith(message)


def test_an_expired_successor_is_not_served(mem: MemoryService, clock: Any) -> None:
    old = mem.store("The vault is in room 12.")
    mem.store("The cellar holds it.", supersedes=old.id, expires="2026-03-05")
    clock.pass_days(10)
    found = mem.recall("vault room", **ASK)
    assert found.hits == ()
    assert "has expired" in found.notes[0]


def test_a_successor_that_was_not_asked_for_is_not_served(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12.", category="entity", tags=["a", "b"])
    new = mem.store("The cellar holds it.", supersedes=old.id, category="fact", tags=["a"])
    for arguments, message in (
        ({"category": "entity"}, "is a fact"),
        ({"tags": ["b"]}, "lacks a tag that was asked for"),
    ):
        found = mem.recall("vault room", **arguments, **ASK)
        assert (found.hits, found.status.found) == ((), 0)
        assert found.notes == (f"{old.id} is superseded by {new.id}, which {message}: not served",)
    assert [hit.id for hit in mem.recall("vault room", tags=["a"], **ASK).hits] == [new.id]


def test_update_keeps_id_scope_and_date_and_writes_history(mem: MemoryService, clock: Any) -> None:
    name = mem.store("The vault is in room 12.", tags=["a"]).id
    clock.pass_days(2)
    entry = mem.update(name[:5], scope="global", text="The vault is in room 14.", importance=1.0, tags=())
    assert (entry.id, entry.text, entry.importance, entry.tags) == (name, "The vault is in room 14.", 1.0, ())
    assert entry.updated - entry.created == 2 * 86_400
    assert texts(mem.recall("vault", **ASK)) == ["The vault is in room 14."]
    first, second = mem.history(name, scope="global")
    assert (first.memory.text, first.until_version, second.until_version) == (
        "The vault is in room 12.",
        second.from_version,
        None,
    )
    assert first.ended == second.began == "memory updated 2026-03-03T00:00:00+00:00"
    assert mem.update(name, scope="global") == entry  # nothing to change, nothing written
    assert len(mem.history(name, scope="global")) == 2
    with pytest.raises(QueryError, match="noise"):
        mem.update(name, scope="global", text="ok")


def test_expiry_can_be_set_and_lifted(mem: MemoryService) -> None:
    name = mem.store("The door code is blue heron.").id
    assert mem.update(name, scope="global", expires="2026-03-10").expires == 1_773_100_800.0
    assert mem.update(name, scope="global", never_expires=True).expires is None


def test_what_contradicts_itself_changes_nothing(mem: MemoryService, tmp_path: Path) -> None:
    entry = mem.store("The door code is blue heron.", expires="2026-04-01").memory
    assert entry is not None
    with pytest.raises(QueryError, match="expire and never expire"):
        mem.update(entry.id, scope="global", expires="2026-05-01", never_expires=True)
    with pytest.raises(QueryError, match="by a purge only"):
        mem.forget(entry.id, scope="global", backups=[tmp_path / "one.bak"])
    assert mem.list(scope="global") == (entry,)


def test_forget_hides_at_once_and_history_remembers(mem: MemoryService, clock: Any) -> None:
    name = mem.store("The vault is in room 12.").id
    clock.pass_days(1)
    done = mem.forget(name[:6], scope="global")
    assert (done.done, done.ids, done.purged) == (True, (name,), False)
    assert texts(mem.recall("vault", **ASK)) == []
    assert mem.list(scope="global", everything=True) == ()
    assert mem.stats("global").hidden == 1
    (state,) = mem.history(name, scope="global")
    assert state.ended == "memory forgotten 2026-03-02T00:00:00+00:00"
    with pytest.raises(StoreError, match="no memory here"):
        mem.forget(name, scope="global")


def test_what_a_forgotten_memory_had_superseded_goes_with_it(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12.").id
    new = mem.store("It moved to the cellar.", supersedes=old).id
    assert set(mem.forget(new, scope="global").ids) == {old, new}
    assert mem.list(scope="global", everything=True) == ()


def test_forgetting_a_superseded_one_leaves_its_successor(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12.").id
    new = mem.store("It moved to the cellar.", supersedes=old).id
    assert mem.forget(old, scope="global").ids == (old,)
    assert [entry.id for entry in mem.list(scope="global")] == [new]


def test_a_query_forgets_nothing_before_it_is_confirmed(mem: MemoryService) -> None:
    name = mem.store("The vault is in room 12.").id
    mem.store("Lunch is at noon.")
    unconfirmed = mem.forget(query="vault", scope="global")
    assert (unconfirmed.done, unconfirmed.ids) == (False, (name,))
    assert mem.forget(query="vault", scope="global", confirm=lambda _: False).done is False
    with pytest.raises(QueryError, match="nothing was forgotten"):
        mem.forget(query="vault", scope="global", confirm="0" * 12)
    with pytest.raises(QueryError, match="nothing was forgotten"):  # it was given for hiding, not for purging
        mem.forget(query="vault", scope="global", confirm=unconfirmed.token, purge=True)
    mem.update(name, scope="global", text="The vault is in room 15.")
    with pytest.raises(QueryError, match="changed since"):
        mem.forget(query="vault", scope="global", confirm=unconfirmed.token)
    again = mem.forget(query="vault", scope="global")
    assert mem.forget(query="vault", scope="global", confirm=again.token).ids == (name,)
    assert [entry.text for entry in mem.list(scope="global")] == ["Lunch is at noon."]
    nothing = mem.forget(query="vault", scope="global", confirm=lambda _: True)
    assert (nothing.done, nothing.memories) == (False, ())


def test_a_confirming_function_sees_what_goes(mem: MemoryService) -> None:
    mem.store("The vault is in room 12.")
    seen: list[str] = []
    done = mem.forget(query="vault", scope="global", confirm=lambda them: bool(seen.extend(e.text for e in them) or 1))
    assert done.done
    assert seen == ["The vault is in room 12."]


def test_forget_takes_an_id_or_a_query(mem: MemoryService) -> None:
    for both in ({}, {"id": "a", "query": "b"}):
        with pytest.raises(QueryError, match="one of them"):
            mem.forget(scope="global", **both)


def test_an_ambiguous_or_empty_beginning_is_refused(mem: MemoryService) -> None:
    for number in range(40):  # 32 letters: two ids begin alike
        mem.store(f"Fact {number} about apples.", on_duplicate="force")
    first = sorted(entry.id[0] for entry in mem.list(scope="global"))
    twice = next(a for a, b in pairwise(first) if a == b)
    with pytest.raises(StoreError, match="begin with"):
        mem.forget(twice, scope="global")
    for read in (mem.get, mem.forget, mem.history):
        with pytest.raises(StoreError, match="no memory here"):
            read("", scope="global")


def test_category_tags_and_k(mem: MemoryService) -> None:
    ask = {**ASK, "pipeline": "bm25"}
    mem.store("The red vault is in room 12.", category="fact", tags=["x"])
    mem.store("The blue vault is in the attic.", category="entity", tags=["x", "y"])
    assert texts(mem.recall("vault", category="entity", **ask)) == ["The blue vault is in the attic."]
    assert texts(mem.recall("vault", tags=["x", "y"], **ask)) == ["The blue vault is in the attic."]
    assert len(mem.recall("vault", tags="x", **ask).hits) == 2
    assert mem.recall("vault", category="nothing", **ask).hits == ()
    assert mem.recall("vault", k=1, **ask).hits == mem.recall("vault", k=2, **ask).hits[:1]
    assert mem.recall("vault", k=1, **ask).status.found == 1
    with pytest.raises(ConfigError, match="below 1"):
        mem.recall("vault", k=0, **ask)


def test_a_message_that_needs_no_memory_is_not_looked_up(mem: MemoryService) -> None:
    mem.store("Thanks are given on Fridays.")
    skipped = mem.recall("thanks!", scope="global")
    assert (skipped.hits, skipped.word, skipped.answer) == ((), "skipped", None)
    assert skipped.skipped
    assert len(mem.recall("thanks!", **ASK).hits) == 1


def test_what_cannot_run_is_on_the_record(mem: MemoryService) -> None:
    mem.store("The vault is in room 12.")
    found = mem.recall("vault", **ASK)
    assert found.word == "degraded"
    assert any("dense skipped" in line for line in found.status.degraded)
    assert json.loads(json.dumps(found.to_json()))["hits"][0]["memory"]["text"] == "The vault is in room 12."


def test_what_the_steps_say_is_told_beside_the_answer(mem: MemoryService) -> None:
    mem.store("The vault is in room 12.")
    mem.store("The vault was painted in the long summer before the war.", importance=0.0, created="2025-01-01")
    found = mem.recall("vault room", pipeline="memory", **ASK)
    assert texts(found) == ["The vault is in room 12."]
    assert (found.found, dict(found.dropped), found.word) == (2, {"hard_minimum": 1}, "degraded")
    assert "hard_minimum: dropped 1 candidate: score below 0.35" in found.remarks
    assert "rerank: jina (jina-reranker-v3) was not asked: no key in JINA_API_KEY" in found.remarks
    assert found.to_json()["remarks"] == list(found.remarks)


def test_a_store_without_memories_recalls_nothing(mem: MemoryService) -> None:
    mem.kb.add([{"text": "A document about the vault.", "scope": "global", "tags": ["x"], "category": "fact"}])
    assert mem.recall("vault", **ASK).hits == ()
    assert mem.list(scope="global", tags=["x"]) == ()
    assert mem.stats("global").memories == 0
    name = mem.store("The vault is in room 12.").id
    assert [hit.id for hit in mem.recall("vault", **ASK).hits] == [name]
    assert mem.stats("global").memories == 1


def test_a_folder_called_memories_keeps_its_name(mem: MemoryService, tmp_path: Path) -> None:
    (tmp_path / "memories").mkdir()
    (tmp_path / "memories" / "a.md").write_text("The vault is in the folder.")
    mem.kb.add(tmp_path / "memories")
    with pytest.raises(StoreError, match="stands for the folder"):
        mem.store("The vault is in room 12.")
    assert mem.recall("vault", **ASK).hits == ()


def test_a_read_only_store_says_so(tmp_path: Path) -> None:
    with memory.open(tmp_path / "m", embedder="none") as made_:
        made_.store("The vault is in room 12.")
        made_.kb.store.readonly = True
        with pytest.raises(StoreError, match="read-only"):
            made_.store("Lunch is at noon.")
        assert len(made_.recall("vault", **ASK).hits) == 1


def test_stats_count_what_is_there(mem: MemoryService, clock: Any) -> None:
    mem.store("The vault is in room 12.", tags=["x"], scope="agent:a")
    clock.pass_days(1)
    mem.store("Lunch is at noon.", category="preference", tags=["x", "y"])
    found = mem.stats(["global", "agent:a", "agent:nobody"])
    assert (found.memories, found.superseded, found.expired, found.hidden) == (2, 0, 0, 0)
    assert found.by_scope == {"agent:a": 1, "global": 1}
    assert found.by_tag == {"x": 2, "y": 1}
    assert found.by_category == {"fact": 1, "preference": 1}
    assert (found.oldest, found.newest) == (clock.now - 86_400, clock.now)
    assert found.tokens == sum(entry.tokens for entry in mem.list(scope=["global", "agent:a"]))


def test_list_is_newest_first_in_pages(mem: MemoryService, clock: Any) -> None:
    for number in range(7):
        mem.store(f"Fact {number} about apples.", created=clock.now - number % 3, on_duplicate="force")
    every = mem.list(scope="global")
    assert [(-e.created, e.id) for e in every] == sorted((-e.created, e.id) for e in every)
    assert mem.list(scope="global", limit=3) + mem.list(scope="global", limit=None, offset=3) == every


LONG = "\n\n".join(
    f"Section {n}. " + " ".join(f"word{n}x{i} is remembered  here." for i in range(60)) for n in range(6)
)


def test_a_long_memory_has_several_chunks_and_is_one_memory(mem: MemoryService) -> None:
    name = mem.store(LONG, tags=["long"]).id
    assert len(list(mem.kb.chunks())) > 3
    assert mem.get(name, scope="global").text == LONG
    (hit,) = mem.recall("word4x7 word1x3 word2x2", pipeline="bm25", **ASK).hits
    assert hit.text == LONG
    assert len(mem.list(scope="global")) == 1
    assert mem.store(LONG).action == "skipped"
    mem.update(name, scope="global", text=LONG.replace("word3x5", "changed"))
    assert [state.memory.text == LONG for state in mem.history(name, scope="global")] == [True, False]
    assert mem.explain("word5x7", name, scope="global", pipeline="bm25").rank == 1
    assert mem.forget(name, scope="global").ids == (name,)
    assert list(mem.kb.chunks()) == []


@given(st.text(min_size=1, max_size=4_000))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_letter_for_letter(text: str) -> None:
    from assay.ingest.chunker import PROFILES

    entry = new_entry(text, "global", "fact", 0.5, ("a",), 12.5, None, 13.0)
    if not entry.text:
        return
    for profile in PROFILES.values():
        from dataclasses import replace

        named = replace(entry, id=derive_id(entry))
        back = entry_from_chunks(list(reversed(chunks_from_entry(named, profile))))
        assert replace(back, tokens=0) == named


def test_compaction_changes_nothing_that_can_be_seen(mem: MemoryService) -> None:
    names = [mem.store(f"Fact {n} about apples and pears.", on_duplicate="force", tags=[f"t{n}"]).id for n in range(9)]
    mem.forget(names[0], scope="global")
    mem.store("A newer fact.", supersedes=names[1])
    before = (mem.list(scope="global", everything=True), mem.stats("global"), list(mem.export("global")))
    hits = [(hit.id, hit.score) for hit in mem.recall("apples", **ASK).hits]
    assert mem.kb.optimize(force=True)
    assert before == (mem.list(scope="global", everything=True), mem.stats("global"), list(mem.export("global")))
    assert hits == [(hit.id, hit.score) for hit in mem.recall("apples", **ASK).hits]


def test_importing_the_package_loads_no_knowledge_base() -> None:
    code = "import sys, assay.memory, assay.memory.adaptive; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_results_are_json(mem: MemoryService) -> None:
    first = mem.store("The vault is in room 12.", expires="2027-01-01")
    mem.store("The vault is in room 12.", on_duplicate="supersede")
    message: Iterable[Any] = (
        first,
        mem.store("The vault is in room 12."),
        mem.recall("vault", **ASK),
        mem.explain("vault", first.id, scope="global"),
        mem.stats("global"),
        *mem.history(first.id, scope="global"),
        mem.forget(query="vault", scope="global"),
    )
    for one in message:
        assert json.loads(json.dumps(one.to_json(), allow_nan=False))


def test_a_budget_packs_the_memories_that_are_served(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12. Ada has the key of the vault.").id
    mem.store("The vault moved to room 34. Bob has the key of the vault now.", supersedes=[old], on_duplicate="force")
    mem.store("The vault is painted green.", on_duplicate="force")
    plain, found = mem.recall("where is the vault?", **ASK), mem.recall("where is the vault?", budget=40, **ASK)
    assert texts(plain) == texts(found)
    assert plain.context is None
    assert plain.to_json()["context"] is None
    assert found.context is not None
    assert 0 < found.context.tokens <= 40
    assert "room 34" in found.context.text
    assert "room 12" not in found.context.text, "a superseded memory is not packed"
    for sentence in found.context.sentences:
        assert sentence.text in found.hits[sentence.citation - 1].text, "a citation is a rank"
    assert found.to_json()["context"]["text"] == found.context.text
    with pytest.raises(ConfigError, match="budget = 0"):
        mem.recall("where is the vault?", budget=0, **ASK)
    assert mem.recall("thanks!", scope="global", budget=40).context is None


def test_a_memory_that_does_not_exist_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        memory.open(tmp_path / "none", create=False)
    assert "there is no store" in caught.value.message
    assert caught.value.cure.startswith("make one: assay memory store ")
    assert not (tmp_path / "none").exists()
