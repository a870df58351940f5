"""Runs campaigns; see the package's text."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import RECEIPTS, write_receipt
from benchmarks.torture.task import Task, list_campaigns

SCRATCH = Path("artifacts/torture")
"""Where records of unfinished campaigns wait to be continued."""
MEMORY = Path("/dev/shm")
_ROOM = 1 << 30
TMPFS = (
    "memory (tmpfs). Killed processes, damaged files and failing calls need no disk; not tested are what a disk does "
    "with unsynced writes when the power fails, and the time that syncs take"
)


def run(arguments: list[str] | None = None) -> int:
    campaigns = list_campaigns()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="campaigns to run; without names all of them")
    parser.add_argument("--short", action="store_true", help="a fixed sample of each, in seconds; writes no receipt")
    parser.add_argument("--minutes", type=float, default=50.0, help="most minutes for all of them together (50)")
    parser.add_argument("--anew", action="store_true", help="forget the results of interrupted runs")
    parser.add_argument("--list", action="store_true", help="list the campaigns")
    options = parser.parse_args(arguments)
    if options.list:
        for name, module in campaigns.items():
            print(f"{name:14} {module.ABOUT}")
        return 0
    unknown = [name for name in options.names if name not in campaigns]
    if unknown:
        parser.error(f"no campaign is called {', '.join(unknown)}; there are {', '.join(campaigns)}")
    names = options.names or _choose(list(campaigns), options.short, options.anew)
    if len(names) < len(campaigns) and not options.names:
        print(f"going on with what is not finished: {', '.join(names)}")
    failed, until = False, time.monotonic() + 60.0 * options.minutes
    for place, name in enumerate(names):
        minutes = (until - time.monotonic()) / 60.0 / (len(names) - place)  # what one leaves, the next ones share
        failed |= _run(name, options.short, options.anew, minutes)
    waiting = [] if options.short else _list_unfinished(names)
    if waiting:
        print(f"not finished: {', '.join(waiting)}; the next run goes on with the trials that are left")
    return int(failed)


def _choose(campaigns: list[str], short: bool, anew: bool) -> list[str]:
    """What a run without names runs: campaigns that wait for their time, or all of them if none does; those that cost
    least come first, so that the time they leave goes to the others."""
    if short or anew:
        return campaigns
    unfinished = _list_unfinished(campaigns)
    if not unfinished:
        for name in campaigns:
            (SCRATCH / name).mkdir(parents=True, exist_ok=True)
    return sorted(unfinished or campaigns, key=_read_cost)


def _list_unfinished(names: list[str]) -> list[str]:
    return [name for name in names if (SCRATCH / name).is_dir()]


def _read_cost(name: str) -> float:
    """The seconds that the trials of a campaign took, by its last receipt."""
    try:
        measured = json.loads((RECEIPTS / f"torture/{name}.json").read_text("utf-8"))["measured"]
        return float(measured.get("trial_seconds", measured["seconds"]))
    except (OSError, ValueError, KeyError):
        return 0.0


def _run(name: str, short: bool, anew: bool, minutes: float) -> bool:
    """Run one campaign, print its report, write its receipt; whether it failed."""
    module = list_campaigns()[name]
    scratch = Path(tempfile.mkdtemp(prefix=f"torture-{name}-")) if short else SCRATCH / name
    if anew:
        shutil.rmtree(scratch, ignore_errors=True)
    began = time.monotonic()
    commit = _find_commit()
    again = f"python -m benchmarks.torture {name}"
    with _stores_folder(name) as (place, where):
        task = Task(name, short, scratch, deadline=began + 60.0 * minutes, place=place, commit=commit)
        try:
            report = module.campaign(task)
        except KeyboardInterrupt:
            print(f"\n{name} was stopped; what is done is stored, and this goes on with it: {again}", file=sys.stderr)
            sys.exit(130)
    about = {"about": module.ABOUT, "stores_in": where, "seconds": round(time.monotonic() - began, 1)}
    report = {**about, **task.describe_records(), **report}
    print(f"{name}: {report['trials']:,} trials, {report['outcomes']}, {len(report['failures'])} failures")
    for sentence in report["failures"][:20]:
        print(f"  {sentence}")
    if not short and report["trials"]:
        print(f"  wrote {write_receipt(f'torture/{name}', report, commit)}")
    if short or task.is_complete:
        shutil.rmtree(scratch, ignore_errors=True)
    else:
        print(f"  {report['trials']:,} of {report['planned']:,} trials are done; the rest: {again}")
    return bool(report["failures"])


@contextlib.contextmanager
def _stores_folder(name: str) -> Iterator[tuple[Path, str]]:
    """A folder for the stores under attack, and what it is on: memory, where there is room, because trials wait for
    syncs of the disk most of the time. Temporary files of the campaign, of servers too, are in it."""
    in_memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > _ROOM
    multiprocessing.util.get_temp_dir()  # made before, because it outlives the campaign
    before = os.environ.get("TMPDIR")
    folder = Path(tempfile.mkdtemp(prefix=f"torture-{name}-", dir=MEMORY if in_memory else None))
    folder.chmod(0o755)  # a server may run as another user
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    try:
        yield folder, TMPFS if in_memory else "the disk of temporary files"
    finally:
        os.environ.pop("TMPDIR")
        os.environ.update({"TMPDIR": before} if before else {})
        tempfile.tempdir = None
        shutil.rmtree(folder, ignore_errors=True)


def _find_commit() -> str:
    """The commit of the code; marked where files differ from it."""

    def ask(*command: str) -> str:
        return subprocess.run(["git", *command], capture_output=True, text=True, check=False).stdout.strip()

    changed = ask("status", "--porcelain", "--untracked-files=no", "--", "assay", "benchmarks")
    return ask("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


if __name__ == "__main__":
    sys.exit(run())
