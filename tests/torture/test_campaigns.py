"""The short form of every campaign: a fixed sample of its trials."""

from pathlib import Path

import pytest

from benchmarks.torture.task import Task, list_campaigns, summarise


@pytest.mark.parametrize("name", list_campaigns())
def test_the_short_form_of_a_campaign_keeps_the_promise(name, tmp_path: Path):
    module = list_campaigns()[name]
    report = module.campaign(Task(name, short=True, scratch=tmp_path / name, quiet=True))
    assert report["trials"] > 0
    assert sum(report["outcomes"].values()) == report["trials"]
    assert report["failures"] == []


def test_an_interrupted_campaign_goes_on_where_it_was_stopped(tmp_path: Path):
    ran, interruptions = [], [KeyboardInterrupt]

    def trial(number):
        if number == 3 and interruptions:
            raise interruptions.pop()
        ran.append(number)
        return {"outcome": "odd" if number % 2 else "even"}

    task = Task("sample", short=False, scratch=tmp_path, quiet=True)
    with pytest.raises(KeyboardInterrupt):
        task.each(5, trial)
    with (tmp_path / "trials.jsonl").open("a") as log:
        log.write('{"trial": 3, "outc')  # a killed process cut this line short
    task.each(4, trial)
    results = task.each(5, trial)
    assert ran == [0, 1, 2, 3, 4]
    assert [result["outcome"] for result in results] == ["even", "odd", "even", "odd", "even"]


def test_a_broken_promise_is_listed_with_what_was_done():
    results = [{"outcome": "kept", "what": "first"}, {"outcome": "lost", "what": "second"}]
    report = summarise(results, ["lost"])
    assert report == {"trials": 2, "outcomes": {"kept": 1, "lost": 1}, "failures": ["second: lost"]}
