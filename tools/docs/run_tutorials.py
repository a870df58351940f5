"""Runs every block of the tutorials, in order, in a fresh copy of the examples: is each shown output what comes out?

    python -m tools.docs.run_tutorials                     says where tutorials and truth differ; exit code 1 if they do
    python -m tools.docs.run_tutorials docs/lab.md         only this one
    python -m tools.docs.run_tutorials --write             puts the real outputs into the tutorials

```console blocks hold commands after `$ ` and their outputs; ```python blocks are scripts, each followed by what it
prints in an ```output block. The blocks of one tutorial share one shell session. Outputs are compared without the
numbers, bars and digests that differ between machines. A command that fails is a difference, unless the tutorial shows
an `error:` or says `NO-GO` there; such an output is never written.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from assay.embed.installed import models_folder

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = tuple(ROOT / "docs" / name for name in ("tutorial.md", "lab.md", "no_labels.md", "memory_service.md"))
HOME = "/home/you/assay"
"""Stands in outputs for the folder in which the blocks ran."""
MARK = "--- end of output, exit code "

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```\n(?:\n```output\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
_LOOSE = (
    (re.compile(r"[━╸]+"), ""),
    (re.compile(r"\b[0-9a-f]{8,64}\b"), "H"),
    (re.compile(r"[\d.,]*\d ?(?:ms|s|min)\b"), "T"),
    (re.compile(r"[\d.,]*\d [kMGT]?B\b"), "S"),
    (re.compile(r"[\d.,]*\d"), "0"),
    (re.compile(r"\s+"), " "),
)


@dataclass
class Step:
    """One command or script, and what the tutorial says it prints."""

    code: str
    shown: str
    printed: str = ""
    exit_code: int = -1  # it has not run

    @property
    def ended_well(self) -> bool:
        refused = self.shown.startswith("error:") or "NO-GO" in self.shown
        return self.exit_code == 0 or (self.exit_code > 0 and refused)

    @property
    def holds(self) -> bool:
        return self.ended_well and loosely(self.shown) == loosely(self.printed)


def loosely(text: str) -> str:
    """What must be the same everywhere: the words and their order."""
    for pattern, stand_in in _LOOSE:
        text = pattern.sub(stand_in, text)
    return text.strip()


def steps_of(block: re.Match[str]) -> list[Step]:
    kind, body, output = block.groups()
    if kind == "python":
        return [Step(f"python - <<'END_OF_SCRIPT'\n{body}END_OF_SCRIPT", output or "")]
    commands = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    return [Step(*command.partition("\n")[::2]) for command in commands]


def written(block: re.Match[str], steps: list[Step]) -> str:
    """The block with the real outputs."""
    if block[1] == "python":
        said = steps[0].printed
        return f"```python\n{block[2]}```\n" + (f"\n```output\n{said}```\n" if said else "")
    return "```console\n" + "".join(f"$ {step.code}\n{step.printed}" for step in steps) + "```\n"


def run(steps: list[Step]) -> None:
    """Run the steps in one shell session and fill in what they print."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        shutil.copytree(ROOT / "examples", home / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        # Caches of its own, but the models that are installed: nothing is taken from an earlier run.
        (home / ".home").mkdir()
        (home / ".home" / "models").symlink_to(models_folder())
        script = "".join(f"{step.code}\nprintf '\\n{MARK}%s\\n' $?\n" for step in steps)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("ASSAY_STORE", "ASSAY_DEBUG"))}
        plain = {
            "ASSAY_HOME": str(home / ".home"),
            "PATH": path,
            "COLUMNS": "96",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "PYTHONUTF8": "1",
        }
        (home / ".script").write_text(script, "utf-8")
        ran = subprocess.run(
            ["bash", ".script"],
            stdin=subprocess.DEVNULL,
            cwd=home,
            env={**kept, **plain},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        outputs = re.split(rf"\n?{re.escape(MARK)}(\d+)\n", ran.stdout.replace(str(home), HOME))
    for step, printed, code in zip(steps, outputs[0::2], outputs[1::2], strict=False):
        lines = printed.rstrip().split("\n") if printed.strip() else []
        step.printed = "".join(f"{line.rstrip()}\n" for line in lines)
        step.exit_code = int(code)


def checked(tutorial: Path, write: bool) -> bool:
    """Does this tutorial show what happens? With `write` it does afterwards, unless a command failed."""
    text = tutorial.read_text("utf-8")
    blocks = {block: steps_of(block) for block in _BLOCK.finditer(text)}
    steps = [step for found in blocks.values() for step in found]
    run(steps)
    if write and all(step.ended_well for step in steps):
        made = iter(blocks.items())
        tutorial.write_text(_BLOCK.sub(lambda _: written(*next(made)), text), "utf-8")
        return True
    wrong = [step for step in steps if not step.holds]
    for step in wrong:
        print(f"$ {step.code}\n{step.printed}(exit code {step.exit_code}), but {tutorial.name} shows:\n{step.shown}")
    print(f"{tutorial.name}: {len(steps)} commands and scripts, {len(wrong)} print something else than it shows")
    return not wrong


def main() -> int:
    named = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    right = [checked(tutorial, "--write" in sys.argv[1:]) for tutorial in named or TUTORIALS]
    if not all(right):
        print("cure: python -m tools.docs.run_tutorials --write, then read what changed")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
