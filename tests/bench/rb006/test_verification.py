"""The ledger of verifications: entries count for the gold that was shown, and survive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.rb006.verification import (
    Verification,
    VerificationError,
    append_entry,
    digest_shown,
    list_open,
    read_ledger,
    summarise_ledger,
)
from assay.bench.rb006.world import World
from assay.cli.bench.rb006 import sample


def test_entries_count_for_what_was_shown(world: World, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    first, second, third = world.queries[:3]
    for query, judgement in ((first, "right"), (second, "wrong")):
        append_entry(path, Verification(query.id, digest_shown(query), "ann", judgement, "2026-01-02"))  # type: ignore[arg-type]
    entries = read_ledger(path)
    assert [query.id for query in list_open(world.queries[:3], entries, "ann")] == [third.id]
    assert len(list_open(world.queries[:3], entries, "bob")) == 3
    changed = (replace(first, text="Something else?"), second, third)
    assert [query.id for query in list_open(changed, entries, "ann")] == [first.id, third.id]
    assert summarise_ledger(changed, entries) == {
        "queries": 3,
        "verified": 1,
        "wrong": [second.id],
        "by": {"ann": 1},
        "outdated": 1,
    }


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"query": 1}', "null"])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(VerificationError, match="line 1"):
        read_ledger(path)


def test_a_person_judges_queries_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    settings = ["--queries", "3", "--by", "ann", "--ledger", str(path)]
    done = CliRunner().invoke(sample, settings, input="right\nwrong\nnot in the text\nskip\n")
    assert done.exit_code == 0, done.output
    entries = read_ledger(path)
    assert [(entry.judgement, entry.note) for entry in entries] == [("right", ""), ("wrong", "not in the text")]
    assert "2 of 240 queries verified (ann 2), 1 called wrong" in done.output
