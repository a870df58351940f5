"""The short form of every campaign: a fixed sample of its trials."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.torture import __main__ as runner
from benchmarks.torture import task as task_module
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


def test_a_campaign_whose_time_is_over_keeps_its_results_and_goes_on(tmp_path: Path):
    ran = []

    def trial(number):
        ran.append(number)
        return {"outcome": "kept"}

    def run(commit, deadline):
        task = Task("sample", short=False, scratch=tmp_path, quiet=True, deadline=deadline, commit=commit)
        return task, task.each(4, trial)

    _, results = run("first", deadline=None)
    assert len(results) == 4
    lines = (tmp_path / "trials.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "trials.jsonl").write_text("".join(lines[:3]))  # as if time had been over after two trials
    late, results = run("second", deadline=0.0)
    assert len(results) == 2
    assert not late.is_complete
    assert {**late.describe_records(), "trial_seconds": 0.0} == {
        "planned": 4, "complete": False, "commits": {"first": 2}, "trial_seconds": 0.0,
    }  # fmt: skip
    last, results = run("second", deadline=None)
    assert last.is_complete
    assert ran == [0, 1, 2, 3, 2, 3]
    assert last.describe_records()["commits"] == {"first": 2, "second": 2}


class Clock:
    """A clock that only trials move."""

    def __init__(self):
        self.minutes = 0.0

    def monotonic(self):
        return 60.0 * self.minutes


def test_an_unfinished_run_leaves_its_records_and_says_so(tmp_path: Path, monkeypatch, capsys):
    clock, numbers = Clock(), []

    def campaign(task):
        def trial(number):
            clock.minutes += 2.0
            numbers.append(number)
            return {"outcome": "kept", "place": str(task.stores)}

        results = task.each(3, trial)
        assert all(not Path(result["place"]).is_relative_to(tmp_path / "artifacts") for result in results)
        return summarise(results, ["lost"])

    written = []
    monkeypatch.setattr(
        runner, "list_campaigns", lambda: {"sample": SimpleNamespace(ABOUT="a sample", campaign=campaign)}
    )
    monkeypatch.setattr(runner, "SCRATCH", tmp_path / "artifacts")
    monkeypatch.setattr(runner, "time", clock)
    monkeypatch.setattr(task_module, "time", clock)
    monkeypatch.setattr(runner, "write_receipt", lambda _, report, __: written.append(report) or tmp_path)
    assert not runner._run("sample", short=False, anew=False, minutes=-1.0)
    assert written == []  # no trial, no receipt: that of an earlier run stays
    assert not runner._run("sample", short=False, anew=False, minutes=1.0)
    assert (written[0]["trials"], written[0]["planned"], written[0]["complete"]) == (1, 3, False)
    assert (tmp_path / "artifacts" / "sample" / "trials.jsonl").exists()
    assert "1 of 3 trials are done" in capsys.readouterr().out
    assert not runner._run("sample", short=False, anew=False, minutes=9.0)
    assert (written[1]["trials"], written[1]["complete"], numbers) == (3, True, [0, 1, 2])
    assert not (tmp_path / "artifacts" / "sample").exists()


def test_a_run_ends_in_time_and_the_next_ones_do_what_is_left(tmp_path: Path, monkeypatch):
    clock, ran, receipts = Clock(), [], {}

    def make(name, trials, minutes):
        def trial(number):
            ran.append((name, number))
            clock.minutes += minutes
            return {"outcome": "kept"}

        def campaign(task):
            return summarise(task.each(task.count(trials, 1), trial), ["lost"])

        return SimpleNamespace(ABOUT="a sample", campaign=campaign)

    sizes = {"dear": (40, 2.0), "cheap": (5, 0.5), "middle": (30, 1.0)}
    costs = {name: trials * minutes for name, (trials, minutes) in sizes.items()}
    campaigns = {name: make(name, *size) for name, size in sizes.items()}
    monkeypatch.setattr(runner, "list_campaigns", lambda: campaigns)
    monkeypatch.setattr(runner, "SCRATCH", tmp_path / "artifacts")
    monkeypatch.setattr(runner, "write_receipt", lambda name, report, _: receipts.update({name: report}) or tmp_path)
    monkeypatch.setattr(runner, "_read_cost", costs.get)
    monkeypatch.setattr(runner, "time", clock)
    monkeypatch.setattr(task_module, "time", clock)
    finished, began = [], 0.0
    for _ in range(3):
        began, before = clock.minutes, len(ran)
        assert runner.run([]) == 0
        assert clock.minutes - began <= 50.0 + 3 * 2.0, "more than the time and the trials that had begun"
        finished.append((len({name for name, _ in ran[before:]}), sorted(runner._list_unfinished(list(sizes)))))
    assert finished == [(3, ["dear", "middle"]), (2, ["dear"]), (1, [])]
    assert sorted(ran) == [(name, number) for name in sorted(sizes) for number in range(sizes[name][0])]
    assert all(report["complete"] for report in receipts.values())
    runner.run([])  # and all of them again
    assert len(ran) > sum(trials for trials, _ in sizes.values())


def test_a_broken_promise_is_listed_with_what_was_done():
    results = [{"outcome": "kept", "what": "first"}, {"outcome": "lost", "what": "second"}]
    report = summarise(results, ["lost"])
    assert report == {"trials": 2, "outcomes": {"kept": 1, "lost": 1}, "failures": ["second: lost"]}
