"""Are the documents true? Every relative link leads somewhere, every number block and picture matches its receipt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tools.docs.numbers_from_receipts import blocks_out_of_date
from tools.docs.pictures_from_receipts import out_of_date

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def markdown_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.splitlines() if not name.startswith("examples/")]


def broken_links(path: Path) -> list[str]:
    text = _FENCE.sub("", path.read_text("utf-8"))
    found = []
    for target in _LINK.findall(text):
        place = target.split("#")[0]
        if place and "://" not in place and not (path.parent / place).exists():
            found.append(f"{path.relative_to(ROOT)}: the link {target} leads nowhere")
    return found


def main() -> int:
    problems = [problem for path in markdown_files() for problem in broken_links(path)]
    problems += blocks_out_of_date(ROOT)
    problems += out_of_date()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
