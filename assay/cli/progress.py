"""Progress on stderr: bars on a terminal, else (a log, a pipe) a line now and then for what takes long."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from assay.cli.terminal import make_console, sanitize

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from assay.ingest.add_report import Event

LOG_AFTER_S, LOG_EVERY_S, POLL_S = 5.0, 15.0, 1.0


class ProgressBars:
    """One line for each task that is under way: the files of an `add`, then the index.

    The display starts with the first task, so that work which reports nothing costs nothing.
    """

    def __init__(self, display: contextlib.ExitStack, log: ProgressLog | None = None) -> None:
        self._display = display
        self._log = log
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def file(self, event: Event) -> None:
        """Called after every file, and now and then in a long one."""
        self._show("reading", event.done, event.total, f"{event.chunks:,} chunks · {sanitize(event.name)}")

    def step(self, task: str, done: int, total: int) -> None:
        """Called while vectors are made and the index is built."""
        self._show(task, done, total, "")

    def wait(self, task: str) -> None:
        """Called for a task whose length is not known."""
        self._show(task, 0, None, "")

    def _show(self, task: str, done: int, total: int | None, detail: str) -> None:
        if self._log is not None:
            self._log.show(task, done, total, detail)
            return
        if self._progress is None:
            self._progress = self._display.enter_context(_make_progress())
        if task not in self._tasks:
            self._tasks[task] = self._progress.add_task(task, total=total, detail=detail)
        self._progress.update(self._tasks[task], completed=done, total=total, detail=detail)


class ProgressLog:
    """Lines for a log: the first LOG_AFTER_S seconds after a task began, the next LOG_EVERY_S apart.

    What is done sooner leaves no line. `watch` writes what is due also while a task reports nothing.
    """

    def __init__(
        self,
        write: Callable[[str], None] = lambda line: click.echo(line, err=True),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._clock = write, clock
        self._lock = threading.Lock()
        self._current: tuple[str, int, int | None, str] | None = None
        self._began: dict[str, float] = {}
        self._due: dict[str, float] = {}

    def show(self, task: str, done: int, total: int | None, detail: str = "") -> None:
        with self._lock:
            now = self._clock()
            self._began.setdefault(task, now)
            self._due.setdefault(task, now + LOG_AFTER_S)
            self._current = task, done, total, detail
            self._write_if_due(now)

    def write_due(self) -> None:
        """Write a line about the current task if it is due and the task is not complete."""
        with self._lock:
            if self._current is not None and self._current[1] != self._current[2]:
                self._write_if_due(self._clock())

    @contextlib.contextmanager
    def watch(self) -> Iterator[ProgressLog]:
        """Let a thread write what is due until the block ends."""
        ended = threading.Event()

        def poll() -> None:
            while not ended.wait(POLL_S):
                self.write_due()

        thread = threading.Thread(target=poll, name="assay-progress", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()

    def _write_if_due(self, now: float) -> None:
        assert self._current is not None
        task, done, total, detail = self._current
        if now < self._due[task]:
            return
        self._due[task] = now + LOG_EVERY_S
        state = f"under way for {now - self._began[task]:.0f} s" if total is None else f"{done:,} of {total:,}"
        self._write(f"{sanitize(task)}: {state}" + (f" · {detail}" if detail else ""))


@contextlib.contextmanager
def progress_bars() -> Iterator[ProgressBars]:
    """Bars that vanish when the block ends; lines where stderr is no terminal."""
    with contextlib.ExitStack() as display:
        log = None if sys.stderr.isatty() else display.enter_context(ProgressLog().watch())
        yield ProgressBars(display, log)


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
