"""The worst queries of a system: hand-made receipts over the shipped set, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.datasets import load
from assay.bench.losses import find_losses
from assay.bench.receipt import Receipt, ReceiptError, read
from assay.cli.main import cli
from tests.bench.run_receipts import a_run

TINY = load("tiny", "test")
QUERIES = TINY.scored
JUDGED = {query: [name for name, grade in TINY.judgements[query].items() if grade > 0] for query in QUERIES}
OTHERS = [str(one["id"]) for one in TINY.documents]


def run_of(name: str, scores: dict[str, float], rankings: dict[str, list[str]] | None = None) -> Receipt:
    described = {"name": "tiny", "source": "tiny", "split": "test", "digest": TINY.digest}
    columns = [scores.get(query, 0.5) for query in QUERIES]
    made = a_run(columns, name, dataset=described, queries=list(QUERIES))
    return made if rankings is None else Receipt("run", made.canonical, {**made.measured, "rankings": rankings})


WORST, SECOND, *_ = QUERIES
WRONG = next(name for name in OTHERS if name not in JUDGED[WORST])
MINE = run_of("mine", {WORST: 0.1, SECOND: 0.4}, {query: [WRONG, *JUDGED[query]] for query in QUERIES})
LEG = run_of("leg", {WORST: 0.2, SECOND: 0.6}, {query: JUDGED[query] for query in QUERIES})
OTHER_LEG = run_of("other", {WORST: 0.9, SECOND: 0.0}, {query: [] for query in QUERIES})


def test_losses_are_against_the_better_of_the_others() -> None:
    first, second = find_losses(TINY, [MINE, LEG, OTHER_LEG], "nDCG@10")
    assert (first.query, second.query) == (WORST, SECOND)
    assert (first.loss, second.loss) == pytest.approx((0.1 - 0.9, 0.4 - 0.6))
    assert first.values == {"mine": 0.1, "leg": 0.2, "other": 0.9}
    assert first.text == TINY.topics[WORST].text
    assert [one.document for one in first.relevant] == sorted(
        JUDGED[WORST], key=lambda name: (-TINY.judgements[WORST][name], name)
    )
    for one in first.relevant:
        rank = JUDGED[WORST].index(one.document) + 1
        assert one.ranks == {"mine": rank + 1, "leg": rank, "other": None}
        assert one.title
    assert len(find_losses(TINY, [MINE, LEG, OTHER_LEG], "nDCG@10", top=1)) == 1


def test_a_query_that_is_not_lost_is_not_listed() -> None:
    assert find_losses(TINY, [LEG, MINE], "nDCG@10") == []


@pytest.mark.parametrize(
    ("receipts", "message"),
    [
        ([MINE], "against other systems"),
        ([MINE, run_of("bare", {})], "the receipt of bare keeps no rankings"),
        ([MINE, a_run([0.5] * 4, "elsewhere")], "differ in the dataset"),
    ],
)
def test_what_cannot_be_told_says_why(receipts: list[Receipt], message: str) -> None:
    with pytest.raises(ReceiptError, match=message) as refused:
        find_losses(TINY, receipts, "nDCG@10")
    assert refused.value.cure


def test_command(tmp_path: Path) -> None:
    invoke = CliRunner().invoke
    common = ["bench", "run", "tiny", "--embedder", "none", "--no-timing", "--no-baselines", "--out", str(tmp_path)]
    assert invoke(cli, [*common, "--systems", "bm25,oracle"]).exit_code == 0
    bare = invoke(cli, ["bench", "losses", str(tmp_path / "tiny.test.bm25.json"), "--against", "oracle"])
    assert "keeps no rankings" in bare.output
    before = read(tmp_path / "tiny.test.bm25.json").digest
    assert invoke(cli, [*common, "--systems", "bm25,oracle", "--with-rankings"]).exit_code == 0
    assert read(tmp_path / "tiny.test.bm25.json").digest == before  # outside the digest
    shown = invoke(cli, ["bench", "losses", str(tmp_path / "tiny.test.bm25.json"), "--against", "oracle"])
    assert shown.exit_code == 0, shown.output
    assert "oracle #1" in shown.output
    data = invoke(cli, ["bench", "losses", str(tmp_path / "tiny.test.bm25.json"), "--against", "oracle", "--json"])
    worst = json.loads(data.output)
    assert worst[0]["loss"] <= worst[-1]["loss"] < 0
    absent = invoke(cli, ["bench", "losses", str(tmp_path / "tiny.test.bm25.json")])
    assert absent.exit_code != 0
    assert "dense" in absent.output
