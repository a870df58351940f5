"""Labelled tables: text, expected, category, part; and how well a judge agrees with one.

Parts: `tune` was looked at while the phrase tables grew; `held` was written before there was any code, but its wrong
rows were printed twice while tuning, and one entry may owe something to them; `blind` was written after the tables
were finished, and no table was changed after it was read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PARTS = ("tune", "held", "blind")


@dataclass(frozen=True)
class Row:
    text: str
    expected: str
    category: str


@dataclass(frozen=True)
class Agreement:
    """Of one part: how many rows, and precision and recall of one expected value."""

    rows: int
    precision: float
    recall: float
    wrong: tuple[str, ...]


def rows(path: Path, part: str | None = None) -> Iterator[Row]:
    lines = path.read_text("utf-8").split("\n")
    assert lines[0] == "text\texpected\tcategory\tpart"
    for line in filter(None, lines[1:]):
        text, expected, category, belongs = line.split("\t")
        assert belongs in PARTS, line
        if part in (None, belongs):
            yield Row(text, expected, category)


def agreement(path: Path, part: str, positive: str, judge: Callable[[str], tuple[str, str]]) -> Agreement:
    """`judge` gives (expected, category) of a text; `wrong` lists every row where it says otherwise."""
    counted = {"hit": 0, "false": 0, "missed": 0}
    wrong, size = [], 0
    for row in rows(path, part):
        size += 1
        said, category = judge(row.text)
        if said == positive:
            counted["hit" if row.expected == positive else "false"] += 1
        elif row.expected == positive:
            counted["missed"] += 1
        if said != row.expected:
            wrong.append(f"{row.text!r}: {row.expected} ({row.category}) expected, {said} ({category}) found")
    hit = counted["hit"]
    return Agreement(size, hit / (hit + counted["false"]), hit / (hit + counted["missed"]), tuple(wrong))


def growth(run: Callable[[str], object], make: Callable[[int], str], size: int = 20_000, factor: int = 16) -> float:
    """How much longer a text `factor` times as long takes, best of five each: about `factor` when time is linear.

    The time is that of this thread, without garbage collection: other tests leave threads behind that use the
    processor, and objects that a collection walks through.
    """
    import gc
    from time import thread_time

    def best(text: str) -> float:
        took = []
        for _ in range(5):
            gc.collect()
            gc.disable()
            try:
                start = thread_time()
                run(text)
                took.append(thread_time() - start)
            finally:
                gc.enable()
        return min(took)

    return best(make(size * factor)) / max(best(make(size)), 1e-5)


def grows_linearly(run: Callable[[str], object], make: Callable[[int], str], size: int) -> bool:
    """Whether a text eight times as long takes far less than 64 times as long. Another process may slow down the longer
    one alone for a while, so there are three attempts; quadratic time fails each of them."""
    return any(growth(run, make, size=size, factor=8) < 24 for _ in range(3))


HOSTILE = {
    "marks": lambda n: "a" + "\u0301\u0327" * (n // 2),
    "open brackets": lambda n: "[cron:" * (n // 6),
    "headers": lambda n: "Conversation info (untrusted metadata):\n" * (n // 40),
    "wrappers": lambda n: "[cron:a] " * (n // 9),
    "quotes": lambda n: "git " + "\"'" * (n // 2),
    "spaces": lambda n: " " * n + "x" + " " * n,
    "sudo": lambda n: "sudo " * (n // 5),
    "dashes": lambda n: "run " + "-" * n,
    "slashes": lambda n: "/" * n,
    "words": lambda n: "do you remember " * (n // 16),
    "negations": lambda n: "i dont " * (n // 7),
    "clauses": lambda n: "but " * (n // 4),
    "drawn": lambda n: "y" * n,
    "emoji": lambda n: "👨‍👩‍👧" * (n // 5),
    "keycaps": lambda n: "1\ufe0f" * (n // 2),
    "han": lambda n: "我不" * (n // 2),
    "mentions": lambda n: "@a" * (n // 2),
    "rtl": lambda n: "\u202eשלום " * (n // 6),
    "surrogates": lambda n: "\ud800\udfff\0" * (n // 3),
}
"""Texts of about n characters that would hurt an expression that backtracks."""
