"""Checks the documents: links have targets, no merge left its markers, number blocks and pictures match receipts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tools.docs.numbers_from_receipts import stale_blocks
from tools.docs.pictures_from_receipts import stale_pictures

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_MARKER = re.compile(r"(<{7}|>{7}) ")
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


def merge_markers(path: Path) -> list[str]:
    """A message for every line that an unfinished merge left."""
    lines = path.read_text("utf-8").splitlines()
    return [
        f"{path.relative_to(ROOT)}:{number}: a marker of an unfinished merge"
        for number, line in enumerate(lines, 1)
        if _MARKER.match(line)
    ]


def main() -> int:
    pages = markdown_files()
    problems = [problem for path in pages for problem in (*broken_links(path), *merge_markers(path))]
    problems += stale_blocks(ROOT)
    problems += stale_pictures()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
