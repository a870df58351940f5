"""A bounded load: nothing fails below the limit, 503 above it, and memory stays flat. Loopback only."""

import asyncio
import gc
import os
import threading

import httpx
import psutil
import pytest

from assay.errors import ConfigError
from assay.serve.http.request_pool import Overloaded, RequestPool
from assay.serve.http.settings import ServerSettings
from tests.serve.server_fixtures import make_store, serving


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("load") / "kb") as base:
        yield base


async def send_all(url, count, at_once):
    """The responses of `count` searches, `at_once` at a time."""
    limits = httpx.Limits(max_connections=at_once)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        slots = asyncio.Semaphore(at_once)

        async def one(number):
            async with slots:
                return await client.post("/search", json={"text": f"signing key {number % 7}"})

        return await asyncio.gather(*map(one, range(count)))


def test_below_the_limit_nothing_fails(kb):
    with serving(kb, ServerSettings(workers=2, waiting=14)) as (client, context):
        responses = asyncio.run(send_all(str(client.base_url), 300, 16))
        assert {response.status_code for response in responses} == {200}
        assert context.pool.refused == 0
        assert context.pool.inside == 0


def test_above_the_limit_requests_are_refused_at_once_and_the_others_answered(kb):
    """Both workers are held, so exactly the waiting places are free: the rest must be refused before anything runs."""
    held = threading.Event()
    with serving(kb, ServerSettings(workers=2, waiting=3)) as (client, context):
        url = str(client.base_url)
        for _ in range(2):
            context.pool._enter()
            context.pool._executor.submit(held.wait).add_done_callback(lambda _: context.pool._leave())
        release = threading.Timer(1.0, held.set)
        release.start()
        responses = asyncio.run(send_all(url, 20, 20))
        release.join()
        answered = [response for response in responses if response.status_code == 200]
        refused = [response for response in responses if response.status_code == 503]
        assert len(answered) + len(refused) == 20
        assert len(refused) >= 15 - 3
        for response in refused:
            assert int(response.headers["retry-after"]) >= 1
            assert response.json()["type"] == "urn:assay:problem:overloaded"
        assert client.post("/search", json={"text": "key"}).status_code == 200
        assert context.pool.inside == 0


def test_memory_stays_flat(kb):
    process = psutil.Process(os.getpid())
    with serving(kb, ServerSettings(workers=2, waiting=30)) as (client, _):
        url = str(client.base_url)
        asyncio.run(send_all(url, 200, 16))
        gc.collect()
        before = process.memory_info().rss
        asyncio.run(send_all(url, 600, 16))
        gc.collect()
        grown = (process.memory_info().rss - before) / 1e6
    assert grown < 20, f"{grown:.1f} MB more after 600 requests"


def test_what_is_accepted_is_finished_when_the_server_stops(kb):
    """A drain: the request runs when the server is told to stop, and is answered all the same."""
    held, started = threading.Event(), threading.Event()
    answers = []
    with serving(kb, ServerSettings(workers=1, waiting=2)) as (client, context):
        search = context.kb.search

        def slow(*args, **options):
            started.set()
            held.wait()
            return search(*args, **options)

        context.documents._kb = type(
            "Slow", (), {"search": staticmethod(slow), "store": kb.store, "snapshot": kb.snapshot}
        )
        url = str(client.base_url)
        thread = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{url}/search", json={"text": "key"}, timeout=60))
        )
        thread.start()
        started.wait()
        threading.Timer(0.3, held.set).start()
    thread.join()
    assert answers[0].status_code == 200


def test_a_pool_keeps_its_counts_when_work_fails_or_is_cancelled():
    async def story():
        pool = RequestPool(1, 1)
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 // 0)
        assert pool.inside == 0
        held = threading.Event()
        running = asyncio.create_task(pool.run(held.wait))
        waiting = asyncio.create_task(pool.run(lambda: "never"))
        await asyncio.sleep(0.05)
        with pytest.raises(Overloaded) as error:
            await pool.run(lambda: None)
        assert 1 <= error.value.retry_after <= 60
        waiting.cancel()
        await asyncio.sleep(0.05)
        assert pool.inside == 1
        held.set()
        assert await running is True
        assert await pool.map(lambda x: x * x, range(5)) == [0, 1, 4, 9, 16]
        await pool.close()
        with pytest.raises(Overloaded):
            await pool.run(lambda: None)

    asyncio.run(story())
    with pytest.raises(ConfigError):
        RequestPool(0, 1)
