"""Runs every block of the tutorials in a fresh copy of the examples and compares the outputs with those shown.

    python -m tools.docs.run_tutorials                     prints the differences; exit code 1 if there are any
    python -m tools.docs.run_tutorials docs/lab.md         only this page
    python -m tools.docs.run_tutorials --write             writes the real outputs into the tutorials

```console blocks hold commands after `$ ` and their outputs; ```python blocks are scripts, each followed by what it
prints in an ```output block. The blocks of one tutorial share one shell session. Outputs are compared without the
numbers, bars and digests that differ between machines. A command that fails is a difference, unless the tutorial shows
an `error:` or `NO-GO` there; such an output is never written.
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

from assay.embed.installed_models import models_folder

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = tuple(ROOT / "docs" / name for name in ("tutorial.md", "lab.md", "no_labels.md", "memory_service.md"))
HOME = "/home/you/assay"
"""Replaces the folder in which the blocks ran in outputs."""
MARK = "--- end of output, exit code "

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```\n(?:\n```output\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
_NORMALISATIONS = (
    (re.compile(r"[━╸]+"), ""),
    (re.compile(r"\b[0-9a-f]{8,64}\b"), "H"),
    (re.compile(r"[\d.,]*\d ?(?:ms|s|min)\b"), "T"),
    (re.compile(r"[\d.,]*\d [kMGT]?B\b"), "S"),
    (re.compile(r"[\d.,]*\d"), "0"),
    (re.compile(r"\s+"), " "),
)


@dataclass
class Step:
    """One command or script with the output that the tutorial shows."""

    code: str
    shown: str
    printed: str = ""
    exit_code: int = -1  # not run yet

    @property
    def succeeded(self) -> bool:
        refused = self.shown.startswith("error:") or "NO-GO" in self.shown
        return self.exit_code == 0 or (self.exit_code > 0 and refused)

    @property
    def matches(self) -> bool:
        return self.succeeded and normalise(self.shown) == normalise(self.printed)


def normalise(text: str) -> str:
    """The text without numbers, bars and digests, which differ between machines."""
    for pattern, stand_in in _NORMALISATIONS:
        text = pattern.sub(stand_in, text)
    return text.strip()


def steps_of(block: re.Match[str]) -> list[Step]:
    kind, body, output = block.groups()
    if kind == "python":
        return [Step(f"python - <<'END_OF_SCRIPT'\n{body}END_OF_SCRIPT", output or "")]
    commands = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    return [Step(*command.partition("\n")[::2]) for command in commands]


def write_block(block: re.Match[str], steps: list[Step]) -> str:
    """The block with its real outputs."""
    if block[1] == "python":
        printed = steps[0].printed
        return f"```python\n{block[2]}```\n" + (f"\n```output\n{printed}```\n" if printed else "")
    return "```console\n" + "".join(f"$ {step.code}\n{step.printed}" for step in steps) + "```\n"


def run(steps: list[Step]) -> None:
    """Runs the steps in one shell session and records their outputs."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        shutil.copytree(ROOT / "examples", home / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        # Its own caches, but the installed models: nothing is reused from an earlier run.
        (home / ".home").mkdir()
        (home / ".home" / "models").symlink_to(models_folder())
        script = "".join(f"{step.code}\nprintf '\\n{MARK}%s\\n' $?\n" for step in steps)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        inherited = {
            key: value for key, value in os.environ.items() if not key.startswith(("ASSAY_STORE", "ASSAY_DEBUG"))
        }
        overrides = {
            "ASSAY_HOME": str(home / ".home"),
            "PATH": path,
            "COLUMNS": "96",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "PYTHONUTF8": "1",
        }
        (home / ".script").write_text(script, "utf-8")
        process = subprocess.run(
            ["bash", ".script"],
            stdin=subprocess.DEVNULL,
            cwd=home,
            env={**inherited, **overrides},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        outputs = re.split(rf"\n?{re.escape(MARK)}(\d+)\n", process.stdout.replace(str(home), HOME))
    for step, printed, code in zip(steps, outputs[0::2], outputs[1::2], strict=False):
        lines = printed.rstrip().split("\n") if printed.strip() else []
        step.printed = "".join(f"{line.rstrip()}\n" for line in lines)
        step.exit_code = int(code)


def check_tutorial(tutorial: Path, write: bool) -> bool:
    """Whether the tutorial shows the real outputs; `write` updates it, unless a command failed."""
    text = tutorial.read_text("utf-8")
    blocks = {block: steps_of(block) for block in _BLOCK.finditer(text)}
    steps = [step for block_steps in blocks.values() for step in block_steps]
    run(steps)
    if write and all(step.succeeded for step in steps):
        pending = iter(blocks.items())
        tutorial.write_text(_BLOCK.sub(lambda _: write_block(*next(pending)), text), "utf-8")
        return True
    wrong = [step for step in steps if not step.matches]
    for step in wrong:
        print(f"$ {step.code}\n{step.printed}(exit code {step.exit_code}), but {tutorial.name} shows:\n{step.shown}")
    print(f"{tutorial.name}: {len(steps)} commands and scripts, {len(wrong)} differ from the page")
    return not wrong


def main() -> int:
    paths = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    outcomes = [check_tutorial(tutorial, "--write" in sys.argv[1:]) for tutorial in paths or TUTORIALS]
    if not all(outcomes):
        print("cure: python -m tools.docs.run_tutorials --write, then review the changes")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
