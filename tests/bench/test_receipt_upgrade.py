"""Receipts of schema 1 become schema 2 without a change in any query, ranking, score or input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from assay.bench.messages import failures, notes, render_message, why
from assay.bench.receipt import SCHEMA, Receipt, ReceiptError, compute_digest, read, write
from assay.bench.receipt_upgrade import parse_sentence, upgrade
from assay.config.findings import SENTENCES, render
from tests.bench.test_schema import SCHEMA as JSON_SCHEMA
from tools.migrate_receipts import FOLDERS, find, manifest, migrate

HERE = Path(__file__).parent
OLD = HERE / "schema_1.json"
UNCHANGED = (
    "queries",
    "strata",
    "scores",
    "rankings",
    "aggregates",
    "system",
    "index",
    "seed",
    "depth",
    "status",
)


@pytest.fixture
def old() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(OLD.read_text("utf-8"))
    return content


def test_an_old_receipt_is_upgraded_when_read(old: dict[str, Any], tmp_path: Path) -> None:
    receipt = read(OLD)
    assert receipt.schema == SCHEMA
    for part in UNCHANGED:
        assert receipt.canonical[part] == old["canonical"][part]
    first, second = old["canonical"]["failed"]
    assert receipt.canonical["failed"] == {first: "StoreError", second: "ValueError"}
    assert failures(receipt) == old["canonical"]["failed"]
    assert receipt.canonical["degraded"] == {"dense": {"skipped": 8}, "rerank": {"degraded": 3}}
    assert receipt.measured["versions"] == old["canonical"]["versions"]
    assert notes(receipt) == old["canonical"]["dataset"]["notes"]
    assert "versions" not in receipt.canonical
    assert "notes" not in receipt.canonical["dataset"]
    write(receipt, tmp_path / "new.json")
    assert read(tmp_path / "new.json").digest == receipt.digest
    jsonschema.validate(json.loads((tmp_path / "new.json").read_text("utf-8")), JSON_SCHEMA)


def test_every_sentence_of_an_old_receipt_is_rendered_as_it_was(old: dict[str, Any]) -> None:
    findings = read(OLD).canonical["preflight"]
    assert [render_message(finding) for finding in findings] == [f["text"] for f in old["canonical"]["preflight"]]
    assert [f["code"] for f in findings if f["code"] == "text"] == ["text"]  # the one that no template knows
    codes = {finding["code"] for finding in findings}
    assert codes >= {"leg_cannot_enter", "leg_short", "leg_short_alone", "equal_vectors", "query_in_document"}


@pytest.mark.parametrize(
    ("sentence", "code", "values"),
    [
        ("", None, None),
        ("dense cannot run: this store has no vectors", "cannot_run", {"step": "dense"}),
        ("every query failed, the first with: StoreError: no folder: x", "all_failed", {"error": "StoreError"}),
        (
            "degraded for every query: dense skipped: no: vector",
            "all_degraded",
            {"step": "dense", "outcome": "skipped"},
        ),
        ("degraded for every query: rerank: slow", "all_degraded", {"step": "rerank", "outcome": "degraded"}),
        ("something else", "text", {"text": "something else"}),
    ],
)
def test_why_a_run_was_not_measured_becomes_a_code(
    old: dict[str, Any], sentence: str, code: str | None, values: dict[str, Any] | None
) -> None:
    canonical, measured = upgrade("run", {**old["canonical"], "why": sentence}, old["measured"])
    receipt = Receipt("run", canonical, measured)
    assert canonical["why"] == (None if code is None else {"code": code, "values": values})
    assert why(receipt) == sentence


def test_upgrading_leaves_its_input_alone(old: dict[str, Any]) -> None:
    before = json.dumps(old)
    upgrade("run", old["canonical"], old["measured"])
    assert json.dumps(old) == before


def test_an_old_receipt_that_was_changed_is_refused(old: dict[str, Any], tmp_path: Path) -> None:
    old["canonical"]["depth"] = 7
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(old))
    with pytest.raises(ReceiptError, match="was changed after it was written"):
        read(path)


def test_an_old_receipt_that_cannot_be_upgraded_says_so(tmp_path: Path) -> None:
    canonical = {"preflight": [7]}
    path = tmp_path / "odd.json"
    digest = compute_digest(canonical)
    path.write_text(json.dumps({"schema": 1, "kind": "run", "digest": digest, "canonical": canonical}))
    with pytest.raises(ReceiptError, match="has schema 1 and cannot be upgraded"):
        read(path)


VALUES: dict[str, Any] = {
    "depth": 5,
    "k": 10,
    "place": 1234,
    "queries": 3,
    "scored": 300,
    "equal": 1423,
    "chunks": 33219,
    "cost_ms": 250.0,
    "cap_ms": 0.5,
    "budget_ms": 1500.0,
    "threshold": 0.25,
    "highest": 1.0,
    "lowest": -0.5,
    "best": 1.639e-05,
    "mean": 0.25,
    "random": 0.5,
    "first": "225",
    "skipped": "dense, graph",
    "part": "title",
    "step": "dense",
    "outcome": "skipped",
    "error": "StoreError",
    "other": "bm25",
    "metric": "nDCG@10",
    "text": "any",
}


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_a_sentence_says_its_code_and_values(code: str) -> None:
    values = {name: value for name, value in VALUES.items() if f"{{{name}" in SENTENCES[code]}
    assert parse_sentence(render(code, values)) == {"code": code, "values": values}


def test_a_code_of_another_version_is_shown_with_its_values() -> None:
    assert render("new_code", {"b": 2, "a": 1}) == "new_code a=1 b=2"
    assert render("leg_short", {"depth": 5}) == "leg_short depth=5"
    assert render("equal_vectors", {"equal": "x", "chunks": None}) == "equal_vectors chunks=None equal=x"


def test_a_migration_renames_runs_wherever_they_are_named(tmp_path: Path) -> None:
    run = json.loads(OLD.read_text("utf-8"))
    shutil.copy(OLD, tmp_path / "run.json")
    gate = {"system": {"receipt": run["digest"]}, "gates": [{"observed": 0.5}], "verdict": "pass"}
    content = {"schema": 1, "kind": "gate", "digest": compute_digest(gate), "canonical": gate, "measured": {}}
    (tmp_path / "gate.json").write_text(json.dumps(content))
    (tmp_path / "report.md").write_text(f"Receipt `{run['digest']}`.\n")
    (tmp_path / "search.json").write_text(json.dumps({"machine": "m", "measured": {"p50": 1.0}}))
    before = manifest(find([tmp_path]), tmp_path)
    written = migrate(find([tmp_path]))
    assert {path.name for path in written} == {"run.json", "gate.json", "report.md"}
    for path, text in written.items():
        path.write_text(text)
    new = read(tmp_path / "run.json").digest
    assert new == read(OLD).digest != run["digest"]
    assert read(tmp_path / "gate.json").canonical["system"]["receipt"] == new
    assert (tmp_path / "report.md").read_text() == f"Receipt `{new}`.\n"
    assert manifest(find([tmp_path]), tmp_path) == before
    assert migrate(find([tmp_path])) == {}


def test_committed_receipts_are_of_the_present_schema() -> None:
    assert migrate(find(FOLDERS)) == {}
