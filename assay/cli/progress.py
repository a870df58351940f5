"""Progress bars on stderr; nothing is shown unless stderr is a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.cli.terminal import make_console, sanitize

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from assay.sync import Event


class ProgressBars:
    """One line for each task that is under way: the files of an `add`, then the index.

    The display starts with the first task, so that work which reports nothing costs nothing.
    """

    def __init__(self, display: contextlib.ExitStack) -> None:
        self._display = display
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def file(self, event: Event) -> None:
        """Called after every file."""
        self._show("reading", event.done, event.total, f"{event.chunks:,} chunks · {sanitize(event.name)}")

    def step(self, task: str, done: int, total: int) -> None:
        """Called while vectors are made and the index is built."""
        self._show(task, done, total, "")

    def wait(self, task: str) -> None:
        """Called for a task whose length is not known."""
        self._show(task, 0, None, "")

    def _show(self, task: str, done: int, total: int | None, detail: str) -> None:
        if self._progress is None:
            self._progress = self._display.enter_context(_make_progress())
        if task not in self._tasks:
            self._tasks[task] = self._progress.add_task(task, total=total, detail=detail)
        self._progress.update(self._tasks[task], completed=done, total=total, detail=detail)


@contextlib.contextmanager
def progress_bars() -> Iterator[ProgressBars]:
    """Bars that vanish when the block ends."""
    with contextlib.ExitStack() as display:
        yield ProgressBars(display)


def _make_progress() -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    screen = make_console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", style="bold"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        # Names may hold anything, so they are never read as markup.
        TextColumn("{task.fields[detail]}", style="dim", markup=False),
    )
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
