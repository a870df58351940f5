"""Storing many memories at once gives what storing them one by one gives."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay import memory
from assay.embed.installed_models import find_model
from assay.errors import ConfigError, QueryError
from assay.memory import remember
from assay.memory.safety import StoreLimits
from assay.memory.service import MemoryService
from tests.memory.conftest import Clock

SECRET = "The deploy token of Atlas is ghp_" + "a1B2" * 9
STATEMENTS = [
    "The vault is in room 12.",
    "The vault is in room 12",
    "The vault is in room 14.",
    "The vault is in the big room 12.",
    "thanks!",
    SECRET,
    "Ada lives in Lisbon.",
    "Ada lives in Porto now.",
    "Lunch is served at noon.",
    "Lunch is served at noon every day of the week.",
]


def outcome_of(stored: Any) -> tuple[Any, ...]:
    return (
        stored.action,
        stored.id,
        stored.reason,
        [(near.memory.id, near.duplicate, near.overlap) for near in stored.near],
        [(conflict.memory.id, conflict.why) for conflict in stored.conflicts],
    )


@pytest.fixture
def other(tmp_path: Path, clock: Clock, home: Path) -> Any:
    with memory.open(tmp_path / "other", embedder="none", clock=clock) as built:
        yield built


@pytest.mark.parametrize("policy", ["skip", "merge", "supersede", "force"])
def test_a_batch_has_the_outcomes_of_one_after_the_other(mem: MemoryService, other: MemoryService, policy: Any) -> None:
    alone = [mem.store(text, on_duplicate=policy) for text in STATEMENTS]
    together = other.store_many(STATEMENTS, on_duplicate=policy)
    assert [outcome_of(stored) for stored in together] == [outcome_of(stored) for stored in alone]
    assert list(other.export("global")) == list(mem.export("global"))
    assert {stored.action for stored in together} >= {"refused", "stored"}
    assert any(stored.conflicts for stored in together)


def test_the_size_of_a_batch_changes_nothing(
    mem: MemoryService, other: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = STATEMENTS * 3
    random.Random(0).shuffle(texts)
    whole = mem.store_many(texts)
    monkeypatch.setattr(remember, "BATCH", 3)
    assert [outcome_of(stored)[:2] for stored in other.store_many(texts)] == [outcome_of(s)[:2] for s in whole]
    assert list(other.export("global")) == list(mem.export("global"))


def test_each_may_have_arguments_of_its_own(mem: MemoryService) -> None:
    old = mem.store("The vault is in room 12.")
    stored = mem.store_many(
        [
            "Ada lives in Lisbon.",
            {"text": "The vault moved to the cellar.", "supersedes": old.id, "importance": 0.9},
            {"text": "Ada lives in Lisbon.", "scope": "user:ada", "tags": ["home"]},
        ],
        tags="common",
    )
    assert [one.action for one in stored] == ["stored", "superseded", "stored"]
    assert mem.get(old.id, scope="global").superseded_by == stored[1].id
    assert mem.get(stored[2].id, scope="user:ada").tags == ("home",)
    assert mem.get(stored[0].id, scope="global").tags == ("common",)
    assert mem.get(stored[1].id, scope="global").importance == 0.9


def test_one_that_supersedes_an_earlier_one_of_the_batch(mem: MemoryService, other: MemoryService) -> None:
    name = other.store("The vault is in room 12.").id  # ids depend on scope, date and text alone
    mem.store_many(["The vault is in room 12.", {"text": "It moved to the cellar.", "supersedes": name}])
    assert mem.get(name, scope="global").superseded_by


@pytest.mark.parametrize(
    ("memories", "options", "message"),
    [
        (["Ada lives in Lisbon.", 7], {}, "memory 2: a memory is a text"),
        (["Ada lives in Lisbon.", {"text": "x y z", "importance": 2}], {}, "memory 2: importance is 2"),
        (["Ada lives in Lisbon.", {"words": "x"}], {}, "memory 2: a memory has no 'words'"),
        (["Ada lives in Lisbon.", {}], {}, "memory 2: a memory is a text"),
        (["Ada lives in Lisbon."], {"scope": ""}, "memory 1: '' cannot be a scope"),
        (["Ada lives in Lisbon."], {"on_duplicate": "drop"}, "memory 1: there is no on_duplicate 'drop'"),
        ("Ada lives in Lisbon.", {}, "takes many memories, and got one"),
    ],
)
def test_nothing_is_stored_when_one_is_wrong(
    mem: MemoryService, memories: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((QueryError, ConfigError)) as caught:
        mem.store_many(memories, **options)
    assert message in str(caught.value)
    assert mem.stats("global").memories == 0


def test_an_error_of_one_memory_refuses_it_alone(mem: MemoryService) -> None:
    stored = mem.store_many(["Ada lives in Lisbon.", {"text": "Lunch is at noon.", "supersedes": "nobody"}])
    assert [one.action for one in stored] == ["stored", "refused"]
    assert "no memory here has the id 'nobody'" in stored[1].reason


def test_limits_hold_for_a_batch(tmp_path: Path, clock: Clock, home: Path) -> None:
    limits = StoreLimits(memories=3, per_minute=5, characters=40)
    texts = [f"Locker {number} belongs to team {number}." for number in range(5)]
    with memory.open(tmp_path / "m", embedder="none", clock=clock, limits=limits) as small:
        with pytest.raises(QueryError, match="5 is the limit; these 6 were not stored"):
            small.store_many([*texts, "Lunch is served at noon."])
        assert small.stats("global").memories == 0
        stored = small.store_many(texts)
        assert [one.action for one in stored] == ["stored"] * 3 + ["refused"] * 2
        assert "which is its limit" in stored[-1].reason
        clock.now += 61
        (long,) = small.store_many(["a long story " * 10])
        assert long.action == "refused"
        assert "characters" in long.reason


def test_none_is_an_empty_answer(mem: MemoryService) -> None:
    assert mem.store_many([]) == ()


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, home: Path) -> None:
    """The process is killed inside of the second batch; the first one is in the store, whole, and again completes."""
    script = """
import os, sys
from assay import memory
from assay.memory import remember, store_batch
remember.BATCH = 20
texts = [f"Locker {number} belongs to team {number}." for number in range(100)]
with memory.open(sys.argv[1], embedder="none", clock=lambda: 1.8e9) as mem:
    def progress(task, done, total):
        def die(*_): os._exit(9)
        store_batch.write_drafts = die  # the next transaction is not written
    mem.store_many(texts, progress=progress)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "m")], check=False)
    assert done.returncode == 9
    with memory.open(tmp_path / "m", embedder="none", clock=lambda: 1.8e9) as mem:
        assert mem.stats("global").memories == 20
        again = mem.store_many([f"Locker {number} belongs to team {number}." for number in range(100)])
        assert [one.action for one in again] == ["skipped"] * 20 + ["stored"] * 80


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_a_batch_with_vectors_has_the_outcomes_of_one_after_the_other(tmp_path: Path, clock: Clock) -> None:
    texts = [*STATEMENTS, *(f"Locker {number} belongs to the team of floor {number % 5}." for number in range(30))]
    with memory.open(tmp_path / "a", clock=clock) as one, memory.open(tmp_path / "b", clock=clock) as other:
        for memories in (one, other):
            memories.store_many(texts[::3])  # known before: the table of a scope's vectors is used
        alone = [one.store(text) for text in texts]
        together = other.store_many(texts)
        assert [(s.action, s.id) for s in together] == [(s.action, s.id) for s in alone]
        for first, second in zip(alone, together, strict=True):
            assert [c.memory.id for c in first.conflicts[:4]] == [c.memory.id for c in second.conflicts[:4]]
        assert list(one.export("global")) == list(other.export("global"))
