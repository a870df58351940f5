"""The migration of receipts: a label that a set never stated."""

from __future__ import annotations

import json
from pathlib import Path

from assay.bench.receipt import compute_digest
from tools.migrate_receipts import invariants, migrate

GOLDEN = Path(__file__).parents[1] / "golden" / "tiny.test.bm25.json"


def write_run(folder: Path, name: str, label: str) -> Path:
    content = json.loads(GOLDEN.read_text("utf-8"))
    content["canonical"]["dataset"] |= {"name": name, "label": label}
    content["digest"] = compute_digest(content["canonical"])
    path = folder / f"{name}.{label}.json"
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_human_becomes_unstated_where_a_set_does_not_say_who_judged(tmp_path: Path) -> None:
    unlabelled = write_run(tmp_path, "scifact", "human")
    others = [write_run(tmp_path, "tiny", "human"), write_run(tmp_path, "scifact", "auto")]
    old = json.loads(unlabelled.read_text("utf-8"))
    note = tmp_path / "note.md"
    note.write_text(f"run {old['digest']}", "utf-8")
    written = migrate([unlabelled, *others, note])
    assert set(written) == {unlabelled, note}
    new = json.loads(written[unlabelled])
    assert new["canonical"]["dataset"] == old["canonical"]["dataset"] | {"label": "unstated"}
    assert new["digest"] == compute_digest(new["canonical"]) != old["digest"]
    assert invariants(new) == invariants(old), "queries, rankings and scores stay"
    assert written[note] == f"run {new['digest']}"
