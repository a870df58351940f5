"""A dataset in which the right document always stands third: a leg that looks two deep finds nothing."""

from __future__ import annotations

import json
from pathlib import Path


def write_thirds(folder: Path, topics: int = 12) -> Path:
    """Topic i asks for a word of its own, which stands three, two and one time in three documents of one length."""
    (folder / "qrels").mkdir(parents=True)
    corpus, queries = [], []
    judged: dict[str, list[str]] = {"dev": [], "test": []}
    for number in range(2 * topics):
        word, split = f"zork{number:03d}", "dev" if number < topics else "test"
        queries.append({"_id": f"{split}{number:03d}", "text": word})
        for times in (3, 2, 1):
            words = [word] * times + ["plain"] * (3 - times)
            corpus.append({"_id": f"{word}x{times}", "title": "", "text": " ".join(words)})
        judged[split].append(f"{split}{number:03d}\t{word}x1\t1")
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for split, lines in judged.items():
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(lines) + "\n")
    return folder
