"""Runs campaigns; see the package's text."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import write_receipt
from benchmarks.torture.task import Task, list_campaigns

SCRATCH = Path("artifacts/torture")
"""Where results of interrupted campaigns wait to be continued."""


def main() -> int:
    campaigns = list_campaigns()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="campaigns to run; without names all of them")
    parser.add_argument("--short", action="store_true", help="a fixed sample of each, in seconds; writes no receipt")
    parser.add_argument("--minutes", type=float, default=12.0, help="most minutes for each campaign (12)")
    parser.add_argument("--anew", action="store_true", help="forget the results of interrupted runs")
    parser.add_argument("--list", action="store_true", help="list the campaigns")
    options = parser.parse_args()
    if options.list:
        for name, module in campaigns.items():
            print(f"{name:14} {module.ABOUT}")
        return 0
    unknown = [name for name in options.names if name not in campaigns]
    if unknown:
        parser.error(f"no campaign is called {', '.join(unknown)}; there are {', '.join(campaigns)}")
    failed = False
    for name in options.names or campaigns:
        failed |= _run(name, options.short, options.anew, options.minutes)
    return int(failed)


def _run(name: str, short: bool, anew: bool, minutes: float) -> bool:
    """Run one campaign, print its report, write its receipt; whether it failed."""
    module = list_campaigns()[name]
    scratch = Path(tempfile.mkdtemp(prefix=f"torture-{name}-")) if short else SCRATCH / name
    if anew:
        shutil.rmtree(scratch, ignore_errors=True)
    began = time.monotonic()
    try:
        report = module.campaign(Task(name, short, scratch, deadline=began + 60.0 * minutes))
    except KeyboardInterrupt:
        again = f"python -m benchmarks.torture {name}"
        print(f"\n{name} was stopped; what is done is stored, and this goes on with it: {again}", file=sys.stderr)
        sys.exit(130)
    report = {"about": module.ABOUT, "seconds": round(time.monotonic() - began, 1), **report}
    print(f"{name}: {report['trials']:,} trials, {report['outcomes']}, {len(report['failures'])} failures")
    for sentence in report["failures"][:20]:
        print(f"  {sentence}")
    if not short:
        print(f"  wrote {write_receipt(f'torture/{name}', report)}")
    shutil.rmtree(scratch, ignore_errors=True)
    return bool(report["failures"])


if __name__ == "__main__":
    sys.exit(main())
