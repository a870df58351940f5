"""What filters let through is found once, however many ask at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

from assay.backend.shared.filter_cache import FilterCache
from assay.where import parse


def test_two_that_ask_at_once_share_one_answer() -> None:
    known: FilterCache[int] = FilterCache()
    both, found = threading.Barrier(2), []

    def find() -> int:
        found.append("found")
        return len(found)

    def ask() -> int:
        both.wait(30.0)
        return known.get(parse("n > 1"), 5.0, None, find)

    with ThreadPoolExecutor(2) as threads:
        answers = [threads.submit(ask) for _ in range(2)]
        assert [answer.result() for answer in answers] == [1, 1]


def test_everything_that_is_asked_tells_answers_apart() -> None:
    known: FilterCache[str] = FilterCache()
    asked = [
        (where, at, scope)
        for where in (None, parse("n = 1"), parse("n = true"))
        for at in (None, 1.0)
        for scope in (None, "a")
    ]
    for where, at, scope in asked:
        said = f"{where} {at} {scope}"
        assert known.get(where, at, scope, lambda s=said: s) == said  # type: ignore[misc]
    for where, at, scope in asked:
        assert known.get(where, at, scope, lambda: "asked again") == f"{where} {at} {scope}"


def test_it_forgets_before_it_grows_without_end() -> None:
    known: FilterCache[int] = FilterCache()
    for number in range(1_000):
        known.get(None, float(number), None, lambda n=number: n)  # type: ignore[misc]
    assert len(known._results) <= 16
    assert known.get(None, 0.0, None, lambda: -1) == -1
