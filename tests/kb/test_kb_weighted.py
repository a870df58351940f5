"""The weighted preset as a user meets it: three legs, the prior, other orders, and what it says of itself."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import assay
from assay.cli.main import cli
from assay.config.load import load
from assay.config.preflight import preflight
from assay.errors import ConfigError
from assay.testing.build import found as leg
from assay.testing.sample import sample_snapshot
from assay.types import Query, fold


@pytest.fixture(params=["kb", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a store, not there yet, that can have all three legs."""
    return str(request.getfixturevalue("database") if request.param == "postgres" else tmp_path / "kb")


@pytest.fixture
def kb(address: str):
    with assay.open(address, embedder="none") as made:
        made.add(
            [
                {
                    "id": "map",
                    "text": "A treasure map, drawn by Anna Bell.",
                    "created": "2024-01-01",
                    "importance": 0.0,
                },
                {"id": "old", "text": "The treasure map of the island.", "created": "2020-01-01", "importance": 1.0},
                {"id": "her", "text": "We visited Anna Bell in Lisbon.", "created": "2023-01-01"},
                {"id": "far", "text": "Nothing of interest.", "created": "2022-01-01"},
            ]
        )
        yield made


def names(answer) -> list[str]:
    return [hit.chunk.doc_id for hit in answer]


def test_the_graph_brings_what_shares_no_word(kb) -> None:
    answer = kb.search("treasure map", pipeline="weighted")
    assert names(answer) == ["old", "map", "her"]
    done = {one.leg: (one.chosen, one.alone) for one in answer.contributions()}
    assert done == {"bm25": (2, 0), "dense": (0, 0), "graph": (3, 1)}
    assert answer.to_json()["legs"][2] == {"leg": "graph", "found": 3, "chosen": 3, "alone": 1}


def test_a_hit_says_over_what_it_came(kb) -> None:
    answer = kb.search("treasure map", pipeline="weighted")
    assert "graph #3" in answer[2].why()
    assert "over Anna Bell" in answer[2].why()
    assert answer.path_keys(answer[2].id, "graph") == ("anna bell",)
    assert answer.path_keys(answer[2].id, "bm25") == ()
    explained = kb.explain("treasure map", answer[2].id, pipeline="weighted")
    graph = next(passage for passage in explained.steps if passage.step == "graph")
    assert [line.name for line in graph.lines] == ["via anna bell", "settled"]


def test_the_terminal_says_over_what_it_came_and_what_each_leg_brought(kb, address: str, tmp_path: Path) -> None:
    def shown(*words: str) -> str:
        asked = [*words, "treasure map", "--pipeline", "weighted", "--plain", "--store", address]
        done = CliRunner(env={"COLUMNS": "100"}).invoke(cli, asked)
        assert done.exit_code == 0, done.output
        return done.output

    found = shown("search")
    assert found.count("graph over Anna Bell") == 2  # the map names her, and so does the visit; the island does not
    assert "graph skipped" not in found
    explained = shown("explain", "--id", kb.search("treasure map", pipeline="weighted")[2].id)
    assert "via anna bell" in explained
    assert "graph over Anna Bell" in explained
    with assay.open(tmp_path / "three", embedder="none") as three:  # a third leg that finds something
        three.add([{"id": "a", "text": "JINA_API_KEY by Anna Bell"}, {"id": "b", "text": "we saw Anna Bell"}])
    pipeline = tmp_path / "three.toml"
    pipeline.write_text('[legs.bm25]\n[legs.exact]\n[legs.graph]\nafter = ["bm25"]\n[fuse]\nuse = "rrf"\n')
    asked = ["search", "JINA_API_KEY", "--pipeline", str(pipeline), "--plain", "--store", str(tmp_path / "three")]
    last = CliRunner(env={"COLUMNS": "100"}).invoke(cli, asked).output.strip().splitlines()[-1]
    assert last == "of these 2 bm25 found 1 · exact found 1 · graph found 2, 1 alone"
    single = CliRunner(env={"COLUMNS": "100"}).invoke(cli, [*asked, "-k", "1"]).output.strip().splitlines()[-1]
    assert single == "of this result bm25 found 1 · exact found 1 · graph found 1"


def test_other_orders_leave_the_prior_out(kb) -> None:
    assert names(kb.search("treasure map", pipeline="weighted", sort="recency")) == ["map", "her", "old"]
    assert names(kb.search("treasure map", pipeline="weighted", sort="importance")) == ["old", "her", "map"]
    assert [p.name for p in kb.pipeline("weighted", sort="recency").steps] == ["sort"]
    budgeted = kb.pipeline("weighted", 100, "recency")
    assert [p.name for p in budgeted.steps] == ["sort"]
    assert budgeted.packer.tokens == 100
    assert kb.pipeline("weighted") is kb.pipeline("weighted", sort="relevance")
    with pytest.raises(ConfigError, match="size"):
        kb.search("treasure map", sort="size")


def test_preflight_says_that_the_graph_alone_cannot_enter() -> None:
    # 0.35/61 = 0.005738 lies below 1/(60 + 100) = 0.00625: it stands behind both full legs of a hundred
    (finding,) = [f for f in preflight(load("weighted")) if f.where == "legs.graph"]
    assert "place 201" in finding.text
    assert "cannot enter the top 10" in finding.text


def test_the_prior_by_hand(kb) -> None:
    # map: bm25 #1, graph #1, importance 0; its factor is 0.7
    answer = kb.search("treasure map drawn", pipeline="weighted")
    hit = next(h for h in answer if h.chunk.doc_id == "map")
    lines = {line.name: line for line in hit.waterfall}
    assert lines["importance"].value == pytest.approx(0.7)
    raw = 1 / (60 + lines["bm25"].rank) + 0.35 / (60 + lines["graph"].rank)
    assert hit.score == pytest.approx(raw / (2.35 / 61) * 0.7, rel=1e-9)


def test_the_preset_is_004_to_the_letter() -> None:
    pipeline = load("weighted")
    ranked = {
        "bm25": leg({"x": 3.0, "y": 2.0}, "raw", priority=0),
        "dense": leg({"y": 0.9, "z": 0.8, "x": 0.7}, priority=1),
        "graph": leg({"z": 0.2, "y": 0.1}, "raw", priority=2),
    }
    fused = pipeline.fuser.fuse(Query("q"), ranked, sample_snapshot())
    sums = dict(zip(fused.ids.tolist(), fold(fused.parts[:-1], len(fused)).tolist(), strict=True))
    by_hand = {"x": 1 / 61 + 1 / 63, "y": 1 / 62 + 1 / 61 + 0.35 / 62, "z": 1 / 62 + 0.35 / 61}
    assert sums == pytest.approx(by_hand, abs=1e-12)
    assert [(plan.name, plan.step.base) for plan in pipeline.steps] == [("importance", 0.7)]


def test_without_names_the_graph_finds_nothing_and_nobody_complains(kb) -> None:
    answer = kb.search("nothing", pipeline="weighted")
    assert names(answer) == ["far"]
    assert not any("graph" in line for line in answer.status.degraded)


def test_the_graph_can_be_built_ahead(kb) -> None:
    assert kb.build_graph() == 0  # nothing is indexed yet
    kb.optimize(force=True)
    assert kb.build_graph() == 4
