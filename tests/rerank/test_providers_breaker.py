"""The breaker on a clock that the test turns."""

import threading

from assay.rerank.providers.breaker import Breaker, Breakers


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_its_life():
    clock = Clock()
    breaker = Breaker(clock, opens_after=3, cool_down_s=30.0)
    assert breaker.state == "closed"
    for failures in (1, 2):
        assert breaker.admits()
        breaker.record_failure()
        assert breaker.state == f"closed, {failures} failure{'s' * (failures > 1)} in a row"
    assert breaker.admits()
    breaker.record_failure()
    assert breaker.state == "open, 3 failures in a row, next try in 30 s"
    clock.now += 29.5
    assert not breaker.admits()
    assert breaker.state.endswith("next try in 1 s")
    clock.now += 0.5
    assert breaker.state == "half-open, 3 failures in a row"
    assert breaker.admits()  # one tries
    assert not breaker.admits()  # the others wait
    breaker.record_failure()
    assert not breaker.admits()
    clock.now += 30.0
    assert breaker.admits()
    breaker.record_success()
    assert breaker.state == "closed"
    assert breaker.admits()


def test_failures_must_be_in_a_row():
    breaker = Breaker(Clock(), opens_after=2)
    for _ in range(5):
        breaker.record_failure()
        breaker.record_success()
    assert breaker.admits()


def test_a_caller_that_never_reports_back_blocks_nobody_for_long():
    clock = Clock()
    breaker = Breaker(clock, opens_after=1, cool_down_s=10.0)
    breaker.record_failure()
    clock.now += 10.0
    assert breaker.admits()  # and is never heard of again
    clock.now += 9.0
    assert not breaker.admits()
    clock.now += 1.0
    assert breaker.admits()


def test_half_open_admits_exactly_one_of_many_threads():
    clock = Clock()
    breaker = Breaker(clock, opens_after=1, cool_down_s=10.0)
    breaker.record_failure()
    clock.now += 10.0
    gate, admitted = threading.Barrier(8), []

    def caller():
        gate.wait()
        admitted.append(breaker.admits())

    threads = [threading.Thread(target=caller) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(admitted) == [False] * 7 + [True]


def test_one_per_provider_and_address():
    breakers = Breakers(Clock())
    one = breakers.get("jina", "http://a")
    assert breakers.get("jina", "http://a") is one
    assert breakers.get("jina", "http://b") is not one
    assert breakers.get("cohere", "http://a") is not one
