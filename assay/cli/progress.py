"""Progress on stderr: a bar for people, nothing for pipes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.cli.terminal import console, safe

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from assay.sync import Event


class Bars:
    """What is under way, one line each: the files of an `add`, then the index."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def file(self, event: Event) -> None:
        """Heard after every file."""
        self._show("reading", event.done, event.total, f"{event.chunks:,} chunks · {safe(event.name)}")

    def step(self, what: str, done: int, total: int) -> None:
        """Heard while vectors are made and the index is built."""
        self._show(what, done, total, "")

    def wait(self, what: str) -> None:
        """Something whose end is not known."""
        self._show(what, 0, None, "")

    def _show(self, what: str, done: int, total: int | None, said: str) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total, said=said)
        self._progress.update(self._tasks[what], completed=done, total=total, said=said)


@contextlib.contextmanager
def bars() -> Iterator[Bars]:
    """Bars that vanish when the work is done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", style="bold"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        # Names may hold anything, so they are never read as markup.
        TextColumn("{task.fields[said]}", style="dim", markup=False),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        yield Bars(progress)
