"""Generates the dataset `changing_facts`: facts that are stated, restated, corrected, revoked, by several people.

    python -m benchmarks.changing_facts.generate            writes assay/bench/changing_facts

Every file of templates is one memory: its questions search its own memories (`where`). Every attribute gives one chain
of memories per pattern, each about a subject of its own. The split dev was used while recall was built. Its files are
by five authors (`AUTHORS`): `tuning_third`, `tuning_fourth` and `tuning_seventh` were held-out halves until recall had
been measured on them. Weights are judged by leaving one author out. The split test (`held_out_4.toml`) was written
before its author had seen the code or another case; the author then worked on the code without looking at it again.

    changed     stated, then changed                          present, past
    restated    stated, said again, then changed by report    present
    corrected   stated, then corrected                        present
    twice       stated, changed by report, changed            present, previous, as_of (in words), as_of (by the clock)
    revoked     stated, then revoked                          present
    apart       two subjects, one statement each              apart, for both

Every chain is followed by two later memories that say something else about its subject (`fillers.toml`, or fillers of
the same file).

Kinds of questions: present (the newest memory answers), past (the oldest of two), previous (of three, the second for
"before" and the oldest for "at first"), as_of (the one valid then), apart (the subject's own, although another
subject's is newer).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TARGET = ROOT / "assay" / "bench" / "changing_facts"
AUTHORS = {
    "first": ("tuning", "tuning_more", "tuning_third"),
    "second": ("tuning_fourth",),
    "third": ("tuning_fifth",),
    "fourth": ("tuning_sixth",),
    "fifth": ("tuning_seventh",),
}
"""Who wrote the files of the split dev; the first also wrote the code."""
SPLITS = {"dev": tuple(name for names in AUTHORS.values() for name in names), "test": ("held_out_4",)}
BEGIN, ASKED = datetime(2025, 1, 4, 9, tzinfo=UTC), datetime(2026, 6, 1, 12, tzinfo=UTC)
GAPS = (34, 61, 97, 45, 120)
"""Days between two memories of a chain, in turn."""
FIRST = ("first", "original", "initial", "at the beginning", "at the start", "to begin with")
"""Words of a question about the oldest version."""


@dataclass
class Suite:
    """The dataset while it is written: documents, questions and judgements by split."""

    documents: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    judged: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    fillers: set[str] = field(default_factory=set)
    """Memories that state no version of a fact."""
    memory: str = ""
    """The file whose memories are being added."""

    def add_memory(self, case: str, number: int, text: str, created: datetime) -> str:
        name = f"{case}:{number}"
        text = text[0].upper() + text[1:]
        metadata = {"created": _iso(created), "memory": self.memory}
        self.documents.append({"_id": name, "title": "", "text": text, "metadata": metadata})
        return name

    def ask(self, split: str, case: str, kind: str, text: str, answers: list[str], at: datetime = ASKED) -> None:
        name = f"{case}:{kind}{sum(question['_id'].startswith(f'{case}:{kind}') for question in self.questions)}"
        where = f'memory = "{self.memory}"'
        self.questions.append({"_id": name, "text": text, "at": _iso(at), "metadata": {"type": kind}, "where": where})
        self.judged.setdefault(split, []).extend((name, answer) for answer in answers)


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def build() -> Suite:
    """Build the whole suite, the same every time."""
    suite = Suite()
    common = _read("fillers")
    for split, names in SPLITS.items():
        cases = count()
        written_cases = count()
        for name in names:
            suite.memory, source = name, _read(name)
            people, reporters = iter(source["names"]["people"]), source["names"]["reporters"]
            fillers = source.get("fillers", common[split])
            for number, (place, attribute) in zip(cases, enumerate(source["attribute"]), strict=False):
                subjects = people if attribute.get("people") else iter(attribute["subjects"])
                kind = "people" if attribute.get("people") else "things"
                case = f"{split}-{number}"
                _add_attribute(suite, split, case, place, attribute, subjects, reporters, fillers[kind])
            for number, written in zip(written_cases, source["written"], strict=False):
                _add_written(suite, split, f"{split}-written-{number}", written)
    return suite


def _read(name: str) -> dict[str, Any]:
    with (HERE / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


def _add_attribute(
    suite: Suite,
    split: str,
    attribute_case: str,
    number: int,
    attribute: Mapping[str, Any],
    subjects: Iterator[str],
    reporters: list[str],
    fillers: list[str],
) -> None:
    chains: dict[str, tuple[tuple[str, int], ...]] = {
        "changed": (("state", 0), ("change", 0)),
        "restated": (("state", 0), ("restate", 0), ("change", 1)),
        "corrected": (("state", 0), ("correct", 0)),
        "twice": (("state", 0), ("change", 1), ("change", 0)),
        "revoked": (("state", 0), ("revoke", 0)),
    }
    values, asks = attribute["values"], attribute["ask"]
    for place, (pattern, chain) in enumerate(chains.items()):
        if "revoke" not in attribute and pattern == "revoked":
            continue
        case, subject = f"{attribute_case}-{pattern}", next(subjects)
        value, old, moment = place, 0, BEGIN + timedelta(days=7 * number + place)
        names, moments = [], []
        for step, (template, which) in enumerate(chain):
            if template in ("change", "correct"):
                old, value = value, value + 1
            by = reporters[(number + step) % len(reporters)]
            text = attribute[template][which].format(
                s=subject, v=values[value % len(values)], old=values[old % len(values)], by=by
            )
            names.append(suite.add_memory(case, step, text, moment))
            moments.append(moment)
            moment += timedelta(days=GAPS[(number + place + step) % len(GAPS)])
        for extra in range(2):
            text = fillers[(number + place + 3 * extra) % len(fillers)].format(s=subject)
            suite.fillers.add(suite.add_memory(case, len(chain) + extra, text, moment + timedelta(days=9 * extra)))
        question = asks[place % len(asks)].format(s=subject)
        suite.ask(split, case, "present", question, names[-1:])
        if pattern == "changed":
            suite.ask(split, case, "past", attribute["past"][0].format(s=subject), names[:1])
        if pattern == "twice":
            between = moments[1] + (moments[2] - moments[1]) / 2
            suite.ask(split, case, "as_of", f"As of {between.day} {between:%B %Y}: {question}", [names[1]])
            suite.ask(split, case, "as_of", question, [names[1]], between)
            past = attribute["past"][0].format(s=subject)
            suite.ask(split, case, "previous", past, [names[0 if any(w in past for w in FIRST) else 1]])
    moment = BEGIN + timedelta(days=11 * number)
    for place in range(2):
        case, subject = f"{attribute_case}-apart-{place}", next(subjects)
        text = attribute["state"][0].format(s=subject, v=values[place + 3])
        name = suite.add_memory(case, 0, text, moment + timedelta(days=80 * place))
        suite.ask(split, case, "apart", asks[place % len(asks)].format(s=subject), [name])


def _add_written(suite: Suite, split: str, case: str, written: Mapping[str, Any]) -> None:
    names = [
        suite.add_memory(case, place, text, datetime.fromisoformat(day).replace(tzinfo=UTC))
        for place, (day, text) in enumerate(written["memories"])
    ]
    for text, answer, kind in written["questions"]:
        suite.ask(split, case, kind, text, [names[answer - 1]])


def render(suite: Suite) -> dict[str, str]:
    """The files of the dataset: name → content."""
    files = {
        "corpus.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in suite.documents),
        "queries.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in suite.questions),
    }
    for split, rows in suite.judged.items():
        lines = "".join(f"{question}\t{document}\t1\n" for question, document in rows)
        files[f"qrels/{split}.tsv"] = f"query-id\tcorpus-id\tscore\n{lines}"
    counts = {"docs": len(suite.documents), "queries": len(suite.questions)}
    meta = {
        "name": "changing_facts",
        "source": "benchmarks/changing_facts: templates and hand-written cases, by the authors of Assay",
        "licence": "Apache-2.0",
        "note": "dev (five authors) was used while recall was built; test was written by another, blind to the code",
        "counts": counts,
        "label": "synthetic",
    }
    files["meta.json"] = json.dumps(meta, indent=1) + "\n"
    return files


def main() -> None:
    for name, content in render(build()).items():
        path = TARGET / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
        print(path.relative_to(ROOT), len(content.splitlines()))


if __name__ == "__main__":
    main()
