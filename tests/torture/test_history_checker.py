"""The checker of histories finds every kind of contradiction."""

import pytest

from benchmarks.torture._history import History, Read, Write, check_history

PAIR = ("w-a", "w-b")
WROTE = Write(1.0, 2.0, PAIR, ())
REMOVED = Write(3.0, 4.0, (), PAIR)


def read(start, end, ids, version=1, reader=0):
    return Read(reader, start, end, version, frozenset(ids))


def test_a_consistent_history_has_no_contradiction() -> None:
    reads = [
        read(0, 0.5, (), 0),
        read(1.5, 1.7, PAIR, 1),
        read(1.5, 1.6, (), 0, 1),
        read(3.5, 3.6, PAIR, 1),
        read(5, 6, (), 2),
    ]
    assert check_history(History([WROTE, REMOVED], reads)) == []


@pytest.mark.parametrize(
    ("writes", "reads", "said"),
    [
        ([WROTE], [read(2.5, 2.6, ())], "is missing"),
        ([WROTE], [read(0.1, 0.2, PAIR)], "before it was written"),
        ([WROTE, REMOVED], [read(5.0, 6.0, PAIR)], "was removed"),
        ([WROTE], [read(1.5, 1.6, PAIR[:1])], "half of"),
        ([], [read(1.5, 1.6, ("x",))], "never written"),
        ([WROTE], [read(1.1, 1.2, ()), read(1.3, 1.4, PAIR, reader=1)], "two contents"),
        ([], [read(1.1, 1.2, (), 5), read(1.3, 1.4, (), 4)], "went back"),
    ],
)
def test_a_contradiction_is_found(writes, reads, said) -> None:
    assert any(said in sentence for sentence in check_history(History(writes, reads)))


def test_an_error_of_a_process_is_a_contradiction() -> None:
    assert check_history(History(errors=["a reader: busy"])) == ["a reader: busy"]
