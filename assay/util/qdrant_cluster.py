"""The nodes of a Qdrant cluster. A request goes to one node; a node that does not answer is passed over for a while."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from assay.errors import ConfigError, MissingExtra, StoreError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_T = TypeVar("_T")
_REST_S = 5.0
"""Seconds for which a node that did not answer is asked last."""
LEAST_VERSION = (1, 16)
"""1.16 has metadata of collections, by which we know our own."""
PORT = 6333
_HOST = r"(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?"
_ADDRESS = re.compile(rf"(?P<scheme>qdrants?)://(?P<hosts>{_HOST}(?:,{_HOST})*)(?:/(?P<name>[A-Za-z0-9_-]{{1,80}}))?/?")
HOW_TO_WRITE = "write qdrant://host:6333; several nodes: qdrant://host1:6333,host2:6333; with TLS: qdrants://host:6333"


@dataclass(frozen=True, slots=True)
class QdrantAddress:
    """qdrant://host[:port][,host[:port]…][/NAME]; `qdrants` uses TLS. NAME is the prefix of its collections."""

    urls: tuple[str, ...]
    name: str
    shown: str
    key: str = ""
    """The API key; never shown."""

    @staticmethod
    def parse(text: str, key: str = "") -> QdrantAddress:
        match = _ADDRESS.fullmatch(text)
        if match is None:  # not repeated here: it may hold a key
            raise ConfigError("this is no address of Qdrant", HOW_TO_WRITE)
        scheme = "https" if match["scheme"] == "qdrants" else "http"
        hosts = [host if re.search(r":\d+$", host) else f"{host}:{PORT}" for host in match["hosts"].split(",")]
        name = match["name"] or ""
        return QdrantAddress(
            urls=tuple(f"{scheme}://{host}" for host in hosts),
            name=name,
            shown=f"{match['scheme']}://{','.join(hosts)}{name and f'/{name}'}",
            key=key,
        )

    def __str__(self) -> str:
        return self.shown


class IndexUnavailable(StoreError):
    """The index cannot answer now; PostgreSQL can."""


class IndexLate(IndexUnavailable):
    """A node was asked and did not answer in time; what it was asked for may be well."""


class QdrantCluster:
    """Safe for threads."""

    def __init__(self, address: QdrantAddress, timeout: float) -> None:
        self.address = address
        self._timeout = timeout
        self._lock = threading.Lock()
        self._clients: dict[str, QdrantClient] = {}
        self._resting: dict[str, float] = {}
        """Node → when it may be asked first again."""

    def ask(self, work: Callable[[QdrantClient], _T]) -> _T:
        """Run a request on the first node that answers. IndexUnavailable when none does, or the server refuses it."""
        failures: list[str] = []
        late = False
        for url in self._order():
            try:
                return work(self._client(url))
            except Exception as error:  # the client raises its own, httpx's and pydantic's
                failure = self._describe(url, error)
                failures.append(failure)
                late = late or _is_late(error)
                with self._lock:
                    self._resting[url] = time.monotonic() + _REST_S
        raise (IndexLate if late else IndexUnavailable)(
            f"the index at {self.address} does not answer: {'; '.join(dict.fromkeys(failures))}",
            "start its nodes, or mend the address; until then PostgreSQL answers, more slowly",
        )

    def _order(self) -> list[str]:
        now = time.monotonic()
        with self._lock:
            return sorted(self.address.urls, key=lambda url: self._resting.get(url, 0.0) > now)

    def _client(self, url: str) -> QdrantClient:
        try:
            from qdrant_client import QdrantClient
        except ImportError as error:
            raise MissingExtra("a Qdrant index", "qdrant") from error
        with self._lock:
            if url not in self._clients:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # it warns of a key without TLS, which is right on loopback
                    self._clients[url] = QdrantClient(
                        url=url,
                        api_key=self.address.key or None,
                        timeout=max(1, round(self._timeout)),
                        check_compatibility=False,  # `check_version` refuses instead of warning
                    )
            return self._clients[url]

    def _describe(self, url: str, error: Exception) -> str:
        """A failure in a few words. Raises what no other node would answer differently."""
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        if isinstance(error, MissingExtra | StoreError):
            raise error
        if isinstance(error, UnexpectedResponse):
            if error.status_code in (401, 403):
                raise IndexUnavailable(
                    f"{self.address} refuses the API key" if self.address.key else f"{self.address} wants an API key",
                    "name it in the address: index_key=KEY",
                ) from error
            text = (error.content or b"").decode(errors="replace")
            if error.status_code in (400, 413, 422):  # our request: every node would say the same
                raise StoreError(
                    f"{self.address} refuses a request: {text[:300]}", "check its version and its limits; assay doctor"
                ) from error
            return f"{url} answers {error.status_code}: {text[:200]}"
        cause = error.source if isinstance(error, ResponseHandlingException) else error
        return f"{url}: {cause or type(cause).__name__}"

    def check_version(self) -> str:
        """The server's version; StoreError when it is too old."""
        found = str(self.ask(lambda client: client.info()).version)
        numbers = tuple(int(part) for part in found.split("-")[0].split(".")[:2])
        if numbers < LEAST_VERSION:
            least = ".".join(map(str, LEAST_VERSION))
            raise StoreError(f"{self.address} runs Qdrant {found}; an index needs {least} or newer", "upgrade Qdrant")
        return found

    def silent_nodes(self) -> dict[str, str]:
        """The nodes of the address that do not answer, and why; the others may serve meanwhile."""
        silent = {}
        for url in self.address.urls:
            try:
                self._client(url).info()
            except Exception as error:  # as in `ask`
                try:
                    silent[url] = self._describe(url, error)
                except StoreError as refused:
                    silent[url] = f"{url}: {refused.message}"
        return silent

    def list_peers(self) -> list[int]:
        """The numbers of the cluster's nodes, ascending; StoreError where the server is not part of a cluster."""
        status = self.ask(lambda client: client.http.distributed_api.cluster_status()).result
        peers = getattr(status, "peers", None)
        if not peers:
            raise StoreError(
                f"{self.address} is a single server: it cannot have shards",
                "start Qdrant in cluster mode, or leave index_shards out",
            )
        return sorted(int(peer) for peer in peers)

    def close(self) -> None:
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()


def _is_late(error: Exception) -> bool:
    """Whether time ran out: the client's own, or that of the node for another one that holds the shard."""
    import httpx
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return error.status_code == 408 or b"timeout" in (error.content or b"").lower()
    cause = error.source if isinstance(error, ResponseHandlingException) else error
    return isinstance(cause, httpx.TimeoutException)
