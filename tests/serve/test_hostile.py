"""Whatever a client sends, it gets a typed result or a sentence with a cure, and the server goes on."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.serve.client import call, inside, made, refused, run, text

TEXTS = [
    "\x00",
    "a\x00b, which Ada wrote into her diary in June",
    "\u202e\u200b\ufeff",
    "👩‍👩‍👧‍👦" * 50,
    "क्षि漢字かなカナ한글 مرحبا שלום Ωμέγα",
    "'; DROP TABLE chunk; --",
    '{"jsonrpc": "2.0", "method": "tools/call"}',
    "C++: foo? AND (bar OR *baz) ~2 [a TO b] \\",
    "ada " * 24_999,
    "\n\r\t\x0b\x0c\x1c\x85\u2028\u2029",
    "/etc/passwd and C:\\Windows\\System32 are paths that Ada knows",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return made(tmp_path_factory.mktemp("hostile") / "store")


def test_texts_of_every_kind_come_back_whole_or_are_refused(store):
    async def talk():
        async with inside(store) as client:
            for sent in TEXTS:
                result = await client.call_tool("memory_store", {"text": sent, "on_duplicate": "force"})
                assert "Traceback" not in text(result)
                if not result.is_error and result.structured_content["action"] == "stored":
                    kept = result.structured_content["memory"]["text"]
                    listed = await call(client, "memory_list", limit=1)
                    assert listed["memories"][0]["text"] == kept
                    assert json.loads(json.dumps(kept)) == kept
                question = await client.call_tool("memory_recall", {"query": sent})
                assert question.is_error == (len(sent) > 10_000), text(question)

    run(talk)


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
CALLS = {
    "memory_store": {"text": st.text(max_size=40), "tags": st.lists(st.text(max_size=5), max_size=3), "created": ANY},
    "memory_recall": {"query": st.text(max_size=40), "limit": ANY, "at": st.text(max_size=12), "category": ANY},
    "memory_forget": {"id": ANY, "query": ANY, "confirm": ANY, "purge": st.booleans()},
    "memory_update": {"id": st.text(max_size=5), "text": ANY, "expires": ANY, "never_expires": ANY},
    "memory_list": {"limit": ANY, "offset": ANY, "tags": ANY, "category": st.text(max_size=5)},
    "memory_stats": {"at": ANY},
    "memory_explain": {"query": st.text(max_size=20), "id": st.text(max_size=5)},
}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(sorted(CALLS)), min_size=4, max_size=4), st.data())
def test_any_arguments_are_answered_and_never_as_a_bug(store, tools, data):
    questions = [
        (tool, data.draw(st.fixed_dictionaries({}, optional=CALLS[tool] | {"scope": ANY, "nonsense": ANY})))
        for tool in tools
    ]

    async def talk():
        async with inside(store) as client:
            for tool, arguments in questions:
                result = await client.call_tool(tool, arguments)
                payload = text(result)
                assert "has a bug" not in payload, (tool, arguments)
                assert not result.is_error or "cure: " in payload, payload
            await call(client, "memory_stats")

    run(talk)


def test_a_store_that_cannot_be_opened_is_said_and_its_cure_needs_no_restart(tmp_path):
    folder = tmp_path / "store"
    folder.write_text("a file where the store should be")

    async def talk():
        async with inside(folder) as client:
            payload = await refused(client, "memory_stats")
            assert "cure: " in payload
            assert "has a bug" not in payload
            folder.unlink()
            made(folder)
            assert (await call(client, "memory_stats"))["memories"] == 0

    run(talk)
