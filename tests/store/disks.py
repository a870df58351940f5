"""Small disks and read-only folders for tests: real mounts where we may mount, else the test skips with a reason."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOBODY = 65_534


@contextmanager
def small_disk(where: Path, size: str) -> Iterator[Path]:
    """A file system of its own that holds no more than `size`."""
    where.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(where)], capture_output=True)
    if made.returncode:
        pytest.skip(f"cannot mount here: {made.stderr.decode().strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)


@contextmanager
def read_only(folder: Path, at: Path) -> Iterator[Path]:
    """The same folder at another place, where nobody may write."""
    at.mkdir()
    bound = subprocess.run(["mount", "--bind", str(folder), str(at)], capture_output=True)
    if bound.returncode:
        pytest.skip(f"cannot mount here: {bound.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(at)], check=True)
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def in_child(job: Callable[[], None]) -> None:
    """Run in a forked process and demand that it ends well; what it prints is shown when it does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forking beside threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            job()
            code = 0
        except BaseException as error:
            import traceback

            traceback.print_exception(error, file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def open_to_all() -> Iterator[Path]:
    """A folder that every user may enter and write; pytest's own are closed to others."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def as_nobody(job: Callable[[], None]) -> None:
    """Run in a process that may not write what others own; root may write everything, so it steps down first.

    What the job imports must be imported already: perhaps nobody else may read our Python.
    """
    if os.getuid() != 0:
        pytest.skip("only root can become another user")

    def stepped_down() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        job()

    in_child(stepped_down)
