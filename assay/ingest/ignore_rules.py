"""Decides which paths of a folder are passed over: the patterns of `.assayignore` files, and those of a call.

Patterns have gitignore's syntax: `drafts/`, `*.log`, `/top-level.md`, `!keep.log`; `#` begins a comment. A file
`.assayignore` counts for its folder and all below it; the patterns of an inner one come later, and the last pattern
that matches decides. As in git, a file below an ignored folder cannot be brought back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from assay.errors import ConfigError
from assay.ingest.files import FALLBACK

IGNORE_FILE = ".assayignore"
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Patterns with the folder they count for and the reason to give, in the order they are tried."""

    of_files: tuple[tuple[Path, GitIgnoreSpec, str], ...] = ()
    of_call: tuple[tuple[Path, GitIgnoreSpec, str], ...] = ()

    @classmethod
    def excluding(cls, root: Path, patterns: Sequence[str]) -> IgnoreRules:
        """The rules of a call with these patterns, relative to the folder that is added."""
        try:
            return cls(of_call=((root, GitIgnoreSpec.from_lines(patterns), "excluded"),) if patterns else ())
        except ValueError as error:
            raise ConfigError(f"a pattern to exclude cannot be read: {error}", "use gitignore's syntax") from error

    def enter(self, folder: Path) -> IgnoreRules:
        """The rules inside a folder: these, and those of its own `.assayignore`."""
        lines = _read_lines(folder / IGNORE_FILE)
        if not lines:
            return self
        return IgnoreRules((*self.of_files, (folder, _parse_lines(lines), f"named in {IGNORE_FILE}")), self.of_call)

    def reason(self, path: Path, is_folder: bool) -> str:
        """Why a path is passed over; "" when it is not."""
        why = ""
        for folder, patterns, reason in (*self.of_files, *self.of_call):
            match = patterns.check_file(_relative(path, folder, is_folder)).include
            if match is not None:
                why = reason if match else ""
        return why


def reason_along(root: Path, path: Path) -> str:
    """Why one path inside a folder, or a folder on the way to it, is named in an `.assayignore`; "" when none is."""
    rules = IgnoreRules()
    steps = [step for step in reversed(path.parents) if step == root or root in step.parents]
    for folder, step in zip(steps, [*steps[1:], path], strict=True):
        rules = rules.enter(folder)
        if why := rules.reason(step, is_folder=step != path):
            return why
    return ""


def _relative(path: Path, folder: Path, is_folder: bool) -> str:
    """A path as patterns see it: relative to their folder, a folder with a slash at its end."""
    return path.relative_to(folder).as_posix() + ("/" if is_folder else "")


def _read_lines(path: Path) -> list[str]:
    """The lines of an ignore file; none where there is none. One that cannot be read is an error: to guess that it is
    empty would add what somebody wanted left out."""
    try:
        data = path.read_bytes()[: MOST_BYTES + 1]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        if not os.access(path.parent, os.R_OK | os.X_OK):
            return []  # the folder itself cannot be read, and is reported so
        raise ConfigError(f"{path} cannot be read: {error.strerror}", "make it readable, or remove it") from error
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{path} has more than {MOST_BYTES >> 20} MB", "keep patterns in it, nothing else")
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return data.decode(FALLBACK, "replace").splitlines()


def _parse_lines(lines: list[str]) -> GitIgnoreSpec:
    """The patterns of an ignore file; as in git, a line that is no pattern counts for nothing."""
    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
