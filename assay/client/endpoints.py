"""The one definition of both clients: each function makes a `Call`, and `ClientMethod` turns it into a method.

`ClientMethod` is a descriptor: on a `Client` it is a method that returns the result, on an `AsyncClient` one that
returns a coroutine. The signature is the function's own in both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload
from urllib.parse import quote

from assay.client.results import ServedAnswer

if TYPE_CHECKING:
    from assay.client.connections import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")
OnEvent = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request and how to read its answer. `on_event` takes the events of a streamed answer."""

    method: str
    path: str
    parse: Callable[[Any], T]
    json: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    on_event: OnEvent | None = None


class ClientMethod(Generic[P, T]):
    """A method of both clients."""

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__
        self.__wrapped__ = build

    @overload
    def __get__(self, client: Client, owner: type[Client]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[AsyncClient]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> ClientMethod[P, T]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        if client is None:
            return self
        return lambda *args, **options: client.send(self._build(*args, **options))


def _same(data: Any) -> Any:
    return data


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _search(text: str, k: int | None = None, **options: Any) -> Call[ServedAnswer]:
    """Answer a question. Options: pipeline, pipeline_toml, where, at, since, until, scope, snapshot, budget,
    budget_ms, sort, abstain."""
    return Call("POST", "/search", ServedAnswer.parse, _given(text=text, k=k, **options))


def _search_many(texts: Iterable[str], k: int | None = None, **options: Any) -> Call[tuple[ServedAnswer, ...]]:
    """Answer several questions with the same options, in their order."""
    body = _given(texts=list(texts), k=k, **options)
    return Call("POST", "/search/batch", lambda data: tuple(map(ServedAnswer.parse, data["answers"])), body)


def _explain(text: str, id: str | None = None, document: str | None = None, **options: Any) -> Call[Mapping[str, Any]]:
    """Why a chunk, or a document, has its rank, or why it is not in the answer."""
    return Call("POST", "/explain", _same, _given(text=text, id=id, document=document, **options))


def _compare(text: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Call[Mapping[str, Any]]:
    """Two pipelines on one question; `a` and `b` are options of `search`."""
    return Call("POST", "/compare", _same, {"text": text, "a": dict(a), "b": dict(b)})


def _pipelines() -> Call[list[Mapping[str, Any]]]:
    """The pipelines that a search may name."""
    return Call("GET", "/pipelines", lambda data: list(data["pipelines"]))


def _preflight(toml: str) -> Call[Mapping[str, Any]]:
    """What preflight says of a pipeline."""
    return Call("POST", "/pipelines/preflight", _same, {"toml": toml})


def _documents(prefix: str = "", limit: int = 50, offset: int = 0) -> Call[Mapping[str, Any]]:
    """A page of documents: `documents`, `total`, `next_offset`."""
    return Call("GET", "/documents", _same, params={"prefix": prefix, "limit": limit, "offset": offset})


def _document(name: str, limit: int = 50, offset: int = 0) -> Call[Mapping[str, Any]]:
    """A page of the chunks of a document."""
    return Call("GET", f"/documents/{quote(name)}", _same, params={"limit": limit, "offset": offset})


def _add(records: Iterable[Mapping[str, Any] | str], folder: str | None = None) -> Call[Mapping[str, Any]]:
    """Add or replace records."""
    return Call("POST", "/documents", _same, _given(records=list(records), folder=folder))


def _upload(
    file: str | Path | bytes, name: str | None = None, folder: str | None = None, on_event: OnEvent | None = None
) -> Call[Mapping[str, Any]]:
    """Upload a file, or bytes under a name; `on_event` is called with each event (name, data) as it comes."""
    content = file if isinstance(file, bytes) else Path(file).read_bytes()
    name = name or (None if isinstance(file, bytes) else Path(file).name)
    if name is None:
        raise ValueError("bytes need a name: name='notes.md'")
    params = _given(name=name, folder=folder)
    return Call("POST", "/documents/upload", _same, params=params, content=content, on_event=on_event or _ignore)


def _ignore(_: str, __: Mapping[str, Any]) -> None:
    return None


def _remove(name: str) -> Call[int]:
    """Remove a file, record or document; how many chunks."""
    return Call("DELETE", f"/documents/{quote(name)}", lambda data: int(data["chunks"]))


def _remember(text: str, scope: str | None = None, **options: Any) -> Call[Mapping[str, Any]]:
    """Store a memory. Options: category, importance, tags, created, expires, supersedes, on_duplicate."""
    return Call("POST", "/memories", _same, _given(text=text, scope=scope, **options))


def _recall(query: str, scope: str | None = None, **options: Any) -> Call[Mapping[str, Any]]:
    """Recall memories. Options: limit, category, tags, since, until, at, adaptive, budget."""
    return Call("POST", "/memories/recall", _same, _given(query=query, scope=scope, **options))


def _memories(scope: str | None = None, limit: int = 50, offset: int = 0, **options: Any) -> Call[Mapping[str, Any]]:
    """A page of memories, newest first. Options: category, tag, since, until, at, everything."""
    return Call("GET", "/memories", _same, params=_given(scope=scope, limit=limit, offset=offset, **options))


def _update_memory(id: str, scope: str | None = None, **changes: Any) -> Call[Mapping[str, Any]]:
    """Change a memory: text, category, importance, tags, expires, never_expires."""
    return Call("PATCH", f"/memories/{quote(id, safe='')}", _same, _given(scope=scope, **changes))


def _forget(
    id: str | None = None, scope: str | None = None, query: str | None = None, confirm: str | None = None,
    purge: bool = False,
) -> Call[Mapping[str, Any]]:  # fmt: skip
    """Forget a memory by id; or by query: the first call shows a token, the second confirms with it."""
    body = _given(id=id, scope=scope, query=query, confirm=confirm)
    return Call("POST", "/memories/forget", _same, {**body, "purge": purge})


def _rerank(
    query: str, documents: Sequence[str], model: str | None = None, top_n: int | None = None
) -> Call[list[Mapping[str, Any]]]:
    """The places of texts by relevance, best first: `index` and `relevance_score`."""
    body = _given(query=query, documents=list(documents), model=model, top_n=top_n)
    return Call("POST", "/v1/rerank", lambda data: list(data["results"]), body)


def _embed(texts: Sequence[str], input_type: str = "document") -> Call[list[list[float]]]:
    """Unit vectors of texts by the store's model."""
    body = {"input": list(texts), "input_type": input_type}
    return Call("POST", "/v1/embeddings", lambda data: [row["embedding"] for row in data["data"]], body)


def _ready() -> Call[Mapping[str, Any]]:
    """Whether a real query is answered."""
    return Call("GET", "/ready", _same)


class Endpoints:
    """Every method of the clients."""

    search = ClientMethod(_search)
    search_many = ClientMethod(_search_many)
    explain = ClientMethod(_explain)
    compare = ClientMethod(_compare)
    pipelines = ClientMethod(_pipelines)
    preflight = ClientMethod(_preflight)
    documents = ClientMethod(_documents)
    document = ClientMethod(_document)
    add = ClientMethod(_add)
    upload = ClientMethod(_upload)
    remove = ClientMethod(_remove)
    remember = ClientMethod(_remember)
    recall = ClientMethod(_recall)
    memories = ClientMethod(_memories)
    update_memory = ClientMethod(_update_memory)
    forget = ClientMethod(_forget)
    rerank = ClientMethod(_rerank)
    embed = ClientMethod(_embed)
    ready = ClientMethod(_ready)
