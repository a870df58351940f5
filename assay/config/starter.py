"""Writes the first config of a user: a pipeline with the commands that go with it, to be read and edited."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from assay.config.load import loads, read_toml
from assay.errors import ConfigError
from assay.util.atomic_files import write_text

STARTER = "assay.toml"
_KINDS = ("auto", "none")


@dataclass(frozen=True, slots=True)
class StarterAnswers:
    """Where the documents are, where the store is to be, and whether a model is used ("auto") or not ("none")."""

    documents: str
    store: str
    embedder: str

    def __post_init__(self) -> None:
        if self.embedder not in _KINDS:
            raise ConfigError(f"embedder {self.embedder!r}", f"give one of: {', '.join(_KINDS)}")
        for name in ("documents", "store"):
            value = getattr(self, name)
            if not value.strip() or any(not letter.isprintable() for letter in value):
                raise ConfigError(f"{name}: {value!r} cannot be a path", "give a path on one line")

    @property
    def preset(self) -> str:
        return "default" if self.embedder == "auto" else "bm25"

    def commands(self) -> list[str]:
        """What to type next, in order."""
        store = shlex.quote(self.store)
        model = ["assay model install"] if self.embedder == "auto" else []
        return [
            *model,
            f"assay add {shlex.quote(self.documents)} --store {store} --embedder {self.embedder}",
            f'assay search "your question" --store {store} --pipeline {STARTER}',
            f"assay serve --store {store}",
        ]


def check_starter(folder: Path, force: bool = False) -> Path:
    """Where the file will be; ConfigError where there is one already."""
    path = folder / STARTER
    if path.exists() and not force:
        raise ConfigError(f"{STARTER} is here already", "edit it, or replace it: assay init --force")
    return path


def write_starter(folder: Path, answers: StarterAnswers, force: bool = False) -> Path:
    """Write the file; ConfigError where there is one already. It is checked before it is written."""
    path = check_starter(folder, force)
    text = render_starter(answers)
    loads(text, "assay")
    write_text(path, text)
    return path


def render_starter(answers: StarterAnswers) -> str:
    """The preset's own TOML under a head that says what to do with it."""
    commands = "\n".join(f"#   {line}" for line in answers.commands())
    return f"""# Written by `assay init`: the pipeline of the preset `{answers.preset}`, to edit and to search with.
#
{commands}
#
# What each key means: `assay components`. Check an edit: assay pipeline check {STARTER}
# Is the edit better? assay bench diff, assay bench run (docs/lab.md).

{read_toml(answers.preset).strip()}
"""
