"""Documents over MCP: search and get beside the memory, each within its own store."""

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client

import assay
from assay import kb
from assay.cli.commands.mcp import describe_connection, host_arguments, mcp
from assay.memory import service
from assay.serve.mcp.scopes import ScopeLimits
from assay.serve.mcp.server import make_server
from assay.serve.shared_service import ServiceGroup, SharedService
from tests.serve.client import refused, run, started, text

LONG = "The rotation of keys is described here. " * 1_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder with documents and memories."""
    path = tmp_path_factory.mktemp("documents") / "kb"
    with kb.open(path, embedder="none") as base:
        base.add(
            [
                {"id": "keys", "title": "Keys", "text": "The signing key is rotated every ninety days."},
                {"id": "long", "title": "Long", "text": LONG},
            ]
        )
    with service.open(path) as memory:
        memory.store("The signing key of Ada is hidden under the mat.")
    return path


@asynccontextmanager
async def serving(folder, memory=True):
    shared = SharedService(lambda: service.open(folder)) if memory else None
    documents = SharedService(lambda: kb.open(folder, create=False))
    try:
        async with Client(make_server(shared, ScopeLimits(("global",)), documents=documents)) as client:
            yield client
    finally:
        await ServiceGroup(shared, documents).close()


def test_search_and_get_read_documents_and_no_memory(folder):
    async def talk():
        async with serving(folder) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"search", "get", "memory_recall", "memory_store"} <= names
            found = text(await client.call_tool("search", {"query": "signing key"}))
            assert "rotated every ninety days" in found
            assert "under the mat" not in found
            name = found[1 : found.index("]")]
            assert "every ninety days" in text(await client.call_tool("get", {"id": name}))
            assert "every ninety days" in text(await client.call_tool("get", {"id": "keys"}))
            recalled = text(await client.call_tool("memory_recall", {"query": "signing key"}))
            assert "under the mat" in recalled
            assert "ninety days" not in recalled
            memory = recalled[1 : recalled.index(" ")]
            listed = await client.call_tool("memory_list", {})
            whole = listed.structured_content["memories"][0]["id"]
            for wrong in (memory, whole, f"memories/{whole}", "nothing", "a" * 900):
                assert "under the mat" not in await refused(client, "get", id=wrong)

    run(talk)


def test_get_reads_a_long_document_in_pages(folder):
    async def talk():
        async with serving(folder, memory=False) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {"search", "get"}
            first = text(await client.call_tool("get", {"id": "long"}))
            assert "[more: offset 20000]" in first
            assert "[more" not in text(await client.call_tool("get", {"id": "long", "offset": 39_000}))
            assert "beyond the end" in await refused(client, "get", id="long", offset=900_000)

    run(talk)


def test_a_range_of_time_in_search(folder):
    async def talk():
        async with serving(folder) as client:
            assert "not a date" in await refused(client, "search", query="key", since="when pigs fly")
            late = text(await client.call_tool("search", {"query": "key", "since": "2999-01-01"}))
            assert "Nothing found" in late

    run(talk)


@pytest.mark.slow
def test_the_command_serves_both_over_stdio(folder, tmp_path):
    async def talk():
        async with Client(started(tmp_path / "memory", "--documents", str(folder))) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert len(run(talk)) == 9


def test_the_terminal_is_told_how_to_connect():
    said = describe_connection("/opt/assay", ["mcp", "--store", "/my memory"])
    assert "claude mcp add assay -- /opt/assay mcp --store '/my memory'" in said
    assert '"command": "/opt/assay", "args": ["mcp", "--store", "/my memory"]' in said
    assert "uvx --from 'assay-retrieval[mcp]' assay mcp --store '/my memory'" in said
    assert "/opt/assay mcp --store '/my memory' --http 127.0.0.1:8765" in said
    assert all(host in said for host in ("Claude Desktop", "Cursor"))


def test_a_host_is_told_absolute_paths_and_every_given_option(tmp_path, monkeypatch):
    """A host starts the server in a folder of its own, and knows nothing of ASSAY_STORE."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memory.json").write_text("{}", "utf-8")
    options = [
        "--scope",
        "user:me",
        "--scope",
        "global",
        "--read-only",
        "--pipeline",
        "memory.json",
        "--documents",
        "kb",
    ]
    cases = {
        ("--store", "mem"): str(tmp_path / "mem"),
        (): str(tmp_path / ".assay"),
        ("--store", "postgres://ada@host/db"): "postgres://ada@host/db",
        ("--store", "~/mem"): "~/mem",
    }
    for given, store in cases.items():
        with mcp.make_context("mcp", [*given, *options]) as ctx:
            told = host_arguments(ctx)
        pipeline, documents = str(tmp_path / "memory.json"), str(tmp_path / "kb")
        rest = [
            "--scope",
            "user:me",
            "--scope",
            "global",
            "--pipeline",
            pipeline,
            "--read-only",
            "--documents",
            documents,
        ]
        assert told == ["mcp", "--store", store, *rest]


def test_the_registry_entry_names_this_version_and_options_that_exist():
    entry = json.loads((Path(__file__).parents[2] / "server.json").read_text("utf-8"))
    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == assay.__version__
    options = {option for parameter in mcp.params for option in parameter.opts}
    assert {part["name"] for part in package["packageArguments"] if part["type"] == "named"} <= options


def test_the_sections_of_a_document_come_in_their_order(tmp_path):
    names = ["Zeta", "Mu", "Alpha", "Beta", "Omega", "Delta"]
    page = tmp_path / "page.md"
    page.write_text("# Guide\n\n" + "\n\n".join(f"## {name}\n\nAbout {name.lower()}." for name in names), "utf-8")
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(page)
        document = next(iter(base.chunks())).doc_id

    async def talk():
        async with serving(tmp_path / "kb", memory=False) as client:
            found = text(await client.call_tool("get", {"id": document}))
            places = [found.index(f"About {name.lower()}.") for name in names]
            assert places == sorted(places)

    run(talk)
