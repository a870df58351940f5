"""The fusers race and best_score: hand-computed winners, ties, and the contract."""

import numpy as np
import pytest

from assay.config.load import loads
from assay.engine.order import arrange, stamp_ranks
from assay.errors import ConfigError
from assay.fuse.best_score import BestScore
from assay.fuse.race import Race
from assay.testing.contracts import check_fuser
from assay.testing.sample import sample_snapshot
from assay.types import Part, Query, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
QUERY, VIEW = Query("key"), sample_snapshot()


def ranking(scores: dict[str, float], priority: int) -> Ranking:
    column = np.array(list(scores.values()))
    return stamp_ranks(arrange(Ranking.of(list(scores), [Part("s", "add", column)], "unit")), priority)


BEAM = ranking({"keys-1": 0.9, "keys-2": 0.3}, 0)
COLLAPSED = ranking({"food-1": 0.7, "keys-1": 0.6, "food-2": 0.2}, 1)


def test_the_higher_mean_of_the_first_scores_wins() -> None:
    one = Race(depth=1).fuse(QUERY, {"beam": BEAM, "collapsed": COLLAPSED}, VIEW)
    assert one.ids.tolist() == ["keys-1", "keys-2"]
    two = Race(depth=2).fuse(QUERY, {"beam": BEAM, "collapsed": COLLAPSED}, VIEW)
    assert two.ids.tolist() == ["food-1", "keys-1", "food-2"]
    assert two.score.tolist() == [0.7, 0.6, 0.2]
    (note,) = two.notes
    assert note.data == {
        "winner": "collapsed",
        "confidence": {"beam": pytest.approx(0.6), "collapsed": pytest.approx(0.65)},
    }
    assert note.text == "collapsed answers: confidence 0.650 against beam 0.600"


def test_missing_scores_count_as_nothing() -> None:
    # 1.2 / 3 against 1.5 / 3
    done = Race(depth=3).fuse(QUERY, {"beam": BEAM, "collapsed": COLLAPSED}, VIEW)
    assert done.notes[0].data["confidence"] == pytest.approx({"beam": 0.4, "collapsed": 0.5})


def test_a_tie_goes_to_the_first_leg() -> None:
    same = {"beam": ranking({"keys-1": 0.5}, 1), "collapsed": ranking({"food-1": 0.5}, 0)}
    assert Race(1).fuse(QUERY, same, VIEW).ids.tolist() == ["food-1"]


def test_one_leg_alone_is_one_line() -> None:
    text = '[legs.bm25]\nnorm = "ideal"\n[legs.dense]\nnorm = "clamp"\n[fuse]\nuse = "race"\n'
    assert (
        Race(depth=2, only="beam").fuse(QUERY, {"beam": BEAM, "collapsed": COLLAPSED}, VIEW).ids.tolist()[1] == "keys-2"
    )
    loads(f'{text}only = "dense"\n')
    with pytest.raises(ConfigError, match="no leg"):
        loads(f'{text}only = "beam"\n')


def test_best_score_keeps_the_highest() -> None:
    fused = BestScore().fuse(QUERY, {"beam": BEAM, "collapsed": COLLAPSED}, VIEW)
    assert dict(zip(fused.ids.tolist(), fused.score.tolist(), strict=True)) == {
        "keys-1": 0.9,
        "food-1": 0.7,
        "keys-2": 0.3,
        "food-2": 0.2,
    }


@pytest.mark.parametrize("fuser", [Race(), Race(depth=1), BestScore()], ids=str)
def test_contract(fuser: Race | BestScore) -> None:
    check_fuser(fuser, {"bm25": UNIT, "dense": UNIT})


@pytest.mark.parametrize("fuser", ["race", "best_score"])
def test_raw_scores_are_refused(fuser: str) -> None:
    with pytest.raises(ConfigError, match="unit scores"):
        loads(f'[legs.bm25]\n[legs.dense]\n[fuse]\nuse = "{fuser}"\n')
