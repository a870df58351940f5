"""Checks the documents: every relative link has a target, every number block and picture matches its receipt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tools.docs.numbers_from_receipts import stale_blocks
from tools.docs.pictures_from_receipts import stale_pictures

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def markdown_files() -> list[Path]:
    """The Markdown files of the repository, without the sample handbook."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.splitlines() if not name.startswith("examples/")]


def broken_links(path: Path) -> list[str]:
    """A message for every relative link without a target."""
    text = _FENCE.sub("", path.read_text("utf-8"))
    problems_of_page = []
    for target in _LINK.findall(text):
        target_path = target.split("#")[0]
        if target_path and "://" not in target_path and not (path.parent / target_path).exists():
            problems_of_page.append(f"{path.relative_to(ROOT)}: the link {target} has no target")
    return problems_of_page


def main() -> int:
    problems = [problem for path in markdown_files() for problem in broken_links(path)]
    problems += stale_blocks(ROOT)
    problems += stale_pictures()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
