"""No path leaks across scopes: whatever is asked, with whichever scopes, nothing of another scope is in the answer.

The strongest form: a store that also holds other scopes answers as one that holds only the granted ones.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import memory
from assay.config.load import from_dict
from assay.errors import AssayError, QueryError, StoreError
from assay.memory.scoped_view import ScopedView
from assay.memory.scopes import Scopes
from assay.memory.service import MemoryService

SCOPES = ("global", "agent:a", "agent:ab", "project:x", 'user:o"brien', "user:ünï")
CLOCK = 1_772_323_200.0


@dataclass(frozen=True)
class Deed:
    """One thing done to the store: a text stored in a scope, then perhaps updated, superseded or forgotten."""

    scope: int
    number: int
    then: str


deeds = st.lists(
    st.builds(
        Deed,
        st.integers(0, len(SCOPES) - 1),
        st.integers(0, 3),
        st.sampled_from(["", "", "update", "supersede", "forget", "expire"]),
    ),
    min_size=1,
    max_size=6,
)


@contextmanager
def opened() -> Iterator[MemoryService]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield stack.enter_context(memory.open(folder / "m", embedder="none", clock=lambda: CLOCK))


def perform(m: MemoryService, done: Sequence[Deed], granted: Sequence[str] = SCOPES) -> dict[str, list[str]]:
    """Do what concerns the granted scopes; the ids that came to be in each scope."""
    ids: dict[str, list[str]] = {scope: [] for scope in SCOPES}
    for deed in done:
        scope = SCOPES[deed.scope]
        if scope not in granted:
            continue
        # The same sentence in every scope, so that near-duplicates and recalls would meet across scopes.
        text = f"The vault code number {deed.number} is kept by secret{deed.scope}holder."
        stored = m.store(text, scope=scope, tags=[f"tag{deed.scope}"], category=f"kind{deed.scope}")
        if stored.action != "stored":
            continue
        name = stored.id
        ids[scope].append(name)
        if deed.then == "update":
            m.update(name, scope=scope, text=f"{text} It was secret{deed.scope}changed.")
        elif deed.then == "supersede":
            after = m.store(f"Now secret{deed.scope}heir has it.", scope=scope, supersedes=name, on_duplicate="force")
            ids[scope].append(after.id)
        elif deed.then == "forget":
            m.forget(name, scope=scope)
        elif deed.then == "expire":
            m.update(name, scope=scope, expires=CLOCK - 1.0)
    return ids


def attempt(act: Callable[[], Any]) -> str:
    """What a caller sees of one call: its result or its error, as text."""
    try:
        found = act()
    except AssayError as error:
        return f"{error.message} {error.cure}"
    found = list(found) if not hasattr(found, "to_json") else found
    message = (
        found.to_json() if hasattr(found, "to_json") else [f if isinstance(f, str) else f.to_json() for f in found]
    )
    return json.dumps(message) + repr(found)


def everything_seen(m: MemoryService, granted: tuple[str, ...], ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every reading path, and every writing path that reads first, with ids of all scopes thrown in."""
    ask = {"scope": granted, "adaptive": False}
    yield "recall", attempt(lambda: m.recall("vault code secret number", k=50, **ask))
    yield "recall bm25", attempt(lambda: m.recall("vault code secret number", k=50, pipeline="bm25", **ask))
    for number in range(len(SCOPES)):
        yield "recall tag", attempt(lambda n=number: m.recall("vault", tags=[f"tag{n}"], pipeline="bm25", **ask))
        yield "list kind", attempt(lambda n=number: m.list(scope=granted, category=f"kind{n}"))
    yield "list", attempt(lambda: m.list(scope=granted, everything=True))
    yield "export", attempt(lambda: m.export(granted))
    yield "stats", attempt(lambda: m.stats(granted))
    for name in ids:
        for prefix in (name, name[:1], name[:8]):
            yield "get", attempt(lambda i=prefix: [m.get(i, scope=granted)])
            yield "explain", attempt(lambda i=prefix: m.explain("vault code", i, scope=granted))
            yield "history", attempt(lambda i=prefix: m.history(i, scope=granted))
    yield "forget query", attempt(lambda: m.forget(query="vault code secret number", scope=granted, k=50))
    for scope in granted:
        yield (
            "dedupe",
            attempt(lambda s=scope: m.store("The vault code number 1 is kept", scope=s)),
        )


@settings(max_examples=12)
@given(deeds, st.sets(st.sampled_from(SCOPES), min_size=1, max_size=3))
def test_nothing_of_another_scope_is_in_any_answer(done: list[Deed], chosen: set[str]) -> None:
    granted = tuple(sorted(chosen))
    with opened() as m:
        ids = perform(m, done)
        foreign = [name for scope in SCOPES if scope not in chosen for name in ids[scope]]
        marks = [f"secret{n}" for n, scope in enumerate(SCOPES) if scope not in chosen] + foreign
        marks += [f'"{scope}"' for scope in SCOPES if scope not in chosen]
        all_ids = {name: name for scope in SCOPES for name in ids[scope]}
        for path, message in everything_seen(m, granted, list(all_ids)):
            for mark in marks:
                # An error may repeat the id it was given; it must not say more than that.
                messages = message.replace(f"has the id '{mark}'", "").replace(f"or had, the id '{mark}'", "")
                assert mark not in messages, (path, mark)


@settings(max_examples=6)
@given(deeds, st.sets(st.sampled_from(SCOPES), min_size=1, max_size=3))
def test_other_scopes_change_no_count_no_list_and_no_decision(done: list[Deed], chosen: set[str]) -> None:
    granted = tuple(sorted(chosen))
    with opened() as full, opened() as alone:
        ids, mine = perform(full, done), perform(alone, done, granted)
        assert {scope: ids[scope] for scope in granted} == {scope: mine[scope] for scope in granted}
        for read in (
            lambda m: [entry.to_json() for entry in m.list(scope=granted, everything=True)],
            lambda m: list(m.export(granted)),
            lambda m: m.stats(granted),
            lambda m: [
                (s.action, s.id) for s in (m.store("The vault code number 2 is kept", scope=g) for g in granted)
            ],
        ):
            assert read(full) == read(alone)


@settings(max_examples=6)
@given(deeds, st.sets(st.sampled_from(SCOPES), min_size=1, max_size=3))
def test_nothing_of_another_scope_can_be_changed(done: list[Deed], chosen: set[str]) -> None:
    granted = tuple(sorted(chosen))
    others = tuple(scope for scope in SCOPES if scope not in chosen)
    with opened() as m:
        ids = perform(m, done)
        before = list(m.export(others))
        for scope in others:
            for name in ids[scope]:
                for act in (
                    lambda i=name: m.update(i, scope=granted, text="The vault was emptied by a stranger."),
                    lambda i=name: m.forget(i, scope=granted),
                    lambda i=name: m.forget(i, scope=granted, purge=True),
                    lambda i=name: m.store("The vault is gone now.", scope=granted[0], supersedes=i),
                ):
                    with pytest.raises(StoreError, match="no memory here"):
                        act()
        m.forget(query="vault code secret number", scope=granted, k=50, confirm=lambda _: True)
        line = json.dumps({"text": "The vault was robbed.", "scope": others[0]})
        taken = m.import_([line], scope=granted)
        assert (taken.stored, len(taken.problems)) == (0, 1)
        assert list(m.export(others)) == before


@settings(max_examples=6)
@given(deeds, st.sets(st.sampled_from(SCOPES), min_size=1))
def test_both_spellings_of_the_boundary_agree(done: list[Deed], chosen: set[str]) -> None:
    """The filter on a snapshot and the test of one chunk keep the same live memories."""
    with opened() as m:
        perform(m, done)
        granted = Scopes.of(chosen)
        by_test = {chunk.doc_id for chunk in m.kb.chunks() if granted.holds(chunk)}
        assert by_test == {f"memories/{entry.id}" for entry in ScopedView(m.kb, granted).entries()}


def test_no_scope_is_an_error_everywhere(mem: MemoryService) -> None:
    mem.store("The vault is in room 12.")
    for nothing in ((), [], "", None):
        for act in (
            lambda s=nothing: mem.recall("vault room", scope=s),
            lambda s=nothing: mem.list(scope=s),
            lambda s=nothing: mem.stats(s),
            lambda s=nothing: list(mem.export(s)),
            lambda s=nothing: mem.get("a", scope=s),
            lambda s=nothing: mem.explain("vault", "a", scope=s),
            lambda s=nothing: mem.history("a", scope=s),
            lambda s=nothing: mem.update("a", scope=s, text="x"),
            lambda s=nothing: mem.forget("a", scope=s),
            lambda s=nothing: mem.forget(query="vault", scope=s),
            lambda s=nothing: mem.import_([], scope=s),
        ):
            with pytest.raises(QueryError, match="scope"):
                act()
    for odd in ("*", "agent:*", " global", "a\nb", "x" * 300, 'a" or "b'):
        if odd.isprintable() and "*" not in odd and odd == odd.strip() and len(odd) < 200:
            assert mem.list(scope=odd) == ()  # a name like any other, and nothing is stored under it
        else:
            with pytest.raises(QueryError, match="scope"):
                mem.list(scope=odd)


def test_a_document_is_no_memory_whatever_it_says(mem: MemoryService) -> None:
    mem.kb.add([{"id": "d", "text": "The vault is a document.", "scope": "global", "category": "fact", "updated": 1.0}])
    mem.store("The vault is a memory.")
    assert [hit.text for hit in mem.recall("vault", scope="global", adaptive=False).hits] == ["The vault is a memory."]
    assert len(mem.list(scope="global")) == 1


def test_what_a_leg_brings_from_elsewhere_is_not_served(mem: MemoryService, tmp_path: Path) -> None:
    """A pipeline may look into other stores and reports; a scope's name means something in this one alone."""
    mem.store("The vault is in room 12.")
    with memory.open(tmp_path / "other", embedder="none", clock=mem.clock) as other:
        other.store("The other vault is in room 13.")
        other.store("The long vault. " + "It has many rooms and a vault in each. " * 400)
        secret = other.store("The vault of Eve.", scope="user:eve").id
    report = {"results": [{"question_id": "", "question": "vault", "retrieved_session_ids": ["x", secret]}]}
    (tmp_path / "report.json").write_text(json.dumps(report))
    for source in (
        {"use": "store", "path": str(tmp_path / "other"), "pipeline": "bm25"},
        {"use": "recorded", "path": str(tmp_path / "report.json")},
    ):
        legs = {"bm25": {"k": 20}, "second": {"source": source, "k": 20, "priority": 1}}
        pipeline = from_dict({"k": 10, "legs": legs, "fuse": {"use": "rrf"}})
        found = mem.recall("vault", scope="global", adaptive=False, pipeline=pipeline)
        assert [hit.text for hit in found.hits] == ["The vault is in room 12."]
        assert found.notes[0].endswith("from elsewhere: no memories of these scopes here, not served")


def test_what_others_forgot_is_not_counted(mem: MemoryService) -> None:
    for scope, number in (("agent:a", 1), ("agent:b", 2)):
        for place in range(number):
            mem.forget(mem.store(f"Vault {place} is here.", scope=scope).id, scope=scope)
    assert [mem.stats(scope).hidden for scope in ("agent:a", "agent:b", "global")] == [1, 2, 0]


def test_compacted_stores_keep_the_boundary(mem: MemoryService) -> None:
    for scope in SCOPES:
        mem.store(f"The vault of {scope} is here.", scope=scope)
    mem.kb.optimize(force=True)
    for scope in SCOPES:
        found = mem.recall("vault here", scope=scope, adaptive=False, pipeline="bm25")
        assert [hit.memory.scope for hit in found.hits] == [scope]
        assert [entry.scope for entry in mem.list(scope=scope)] == [scope]
