"""Campaigns that try to break the package: killed processes, damaged files, full disks, hostile input.

A campaign is a module of this folder with a sentence `ABOUT` and a function

    def campaign(task: Task) -> dict[str, Any]

that returns a report JSON can hold. The report has at least `trials` (how many were run), `outcomes` (name → count) and
`failures` (a list of sentences; empty when the promise was kept). A campaign draws from seeds, so that trial n is the
same in every run, and runs its trials through `Task.each`, which shows progress, stores each result and, after an
interruption or the end of its minutes, goes on where it was stopped. `task.count(full, short)` says how many trials
there are; `task.stores` is where stores are made, in memory (tmpfs) where there is room.

    python -m benchmarks.torture --list
    python -m benchmarks.torture                      # all of them, in at most 50 minutes together
    python -m benchmarks.torture                      # and again: the trials that are left
    python -m benchmarks.torture corruption kill --minutes 90
    python -m benchmarks.torture --short              # a fixed sample of each, in seconds; writes no receipt

Each campaign gets an equal part of the time that is left, the cheapest first, so what one does not need goes to the
next ones. A trial that has begun is finished.

Each campaign writes `receipts/torture/NAME.json`: what was done so far, out of how many, at which commits.
"""
