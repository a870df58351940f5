"""Sends one JSON request to a provider under a deadline.

The deadline covers slow name look-ups, servers that send a byte a second, and retries. A response may have at most
MAX_BYTES bytes. Redirects are not followed, so a key is sent to no other host.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.embed.endpoint import CURES, LATER
from assay.errors import MissingExtra

if TYPE_CHECKING:
    import httpx

MAX_BYTES = 4_000_000
MAX_TRIES = 3
PAUSE_S = 0.1
"""The pause before a retry when the server sent no Retry-After."""
TRANSIENT = frozenset({500, 502, 503, 504})
"""Statuses that are retried at once."""
RETRY_AFTER = frozenset({429, 503})
"""Statuses that are retried after Retry-After, if that is before the deadline."""
REQUEST_FAULT = frozenset({400, 413, 422})
"""Statuses that blame the request, not the endpoint; the breaker ignores them."""
_MAX_EXCERPT = 200
"""Characters of a server's error message that are repeated."""


class ProviderError(Exception):
    """A provider gave no usable answer. `cure` as in AssayError; the breaker counts it if `endpoint_fault`."""

    def __init__(self, what: str, cure: str = LATER, *, endpoint_fault: bool = True) -> None:
        super().__init__(what)
        self.what = what
        self.cure = cure
        self.endpoint_fault = endpoint_fault


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request. `timeout_s` bounds one try, `deadline_s` all tries with their pauses.

    `key` is also in `headers`; it is repeated here so that error messages can redact it. `repr` shows neither.
    """

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    key: str
    key_env: str
    timeout_s: float
    deadline_s: float

    def __repr__(self) -> str:
        return f"ProviderRequest({self.url!r})"


def post(request: ProviderRequest, clock: Callable[[], float] = time.monotonic) -> Any:
    """Post a request and return the parsed JSON response; ProviderError otherwise, at the deadline at the latest."""
    client, end = _client(), clock() + request.deadline_s
    outcome: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()

    def post_in_thread() -> None:
        try:
            outcome.put(_post_with_retries(client, request, end, clock))
        except BaseException as error:  # raised below, in the caller's thread
            outcome.put(error)

    # Socket timeouts restart with every byte, and a name look-up has none, so only a second thread can enforce a
    # deadline. An abandoned thread ends by those timeouts or when the server closes; the breaker keeps them few.
    threading.Thread(target=post_in_thread, name="assay-rerank", daemon=True).start()
    try:
        result = outcome.get(timeout=request.deadline_s)
    except queue.Empty:
        raise _timeout_error(request.deadline_s) from None
    if isinstance(result, BaseException):
        raise result
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        raise ProviderError("the answer is not JSON", "check the address") from None


def _post_with_retries(client: httpx.Client, request: ProviderRequest, end: float, clock: Callable[[], float]) -> bytes:
    """Return the body of the first successful response."""
    import httpx

    content = json.dumps(request.body).encode()
    paused = False
    for tries in range(1, MAX_TRIES + 1):
        remaining = end - clock()
        if remaining <= 0.0:
            raise _timeout_error(request.deadline_s)
        retry_after, pause = None, None if paused else PAUSE_S
        try:
            status, header, body = _post_once(client, request, content, min(remaining, request.timeout_s), end, clock)
        except httpx.TimeoutException:
            raise _timeout_error(request.timeout_s if request.timeout_s < remaining else request.deadline_s) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failure = ProviderError(_excerpt(str(error) or type(error).__name__, request.key))
        else:
            if status == httpx.codes.OK:
                return body
            failure = _status_error(request, status, body)
            retry_after = _parse_retry_after(header) if status in RETRY_AFTER else None
            pause = retry_after if retry_after is not None else pause if status in TRANSIENT else None
        if pause is None or tries == MAX_TRIES or clock() + pause >= end:
            raise _with_tries(failure, tries, retry_after)
        paused = True
        time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _post_once(
    client: httpx.Client,
    request: ProviderRequest,
    content: bytes,
    timeout: float,
    end: float,
    clock: Callable[[], float],
) -> tuple[int, str, bytes]:
    """Return status, Retry-After and body of one response; of an error only the beginning is read."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", **request.headers}
    pieces, size = [], 0
    with client.stream("POST", request.url, content=content, headers=headers, timeout=timeout) as response:
        limit = MAX_BYTES if response.is_success else 4 * _MAX_EXCERPT
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if clock() > end:
                raise _timeout_error(request.deadline_s)
            if size > limit:
                break
        if size > limit and response.is_success:
            raise ProviderError(f"the answer is longer than {MAX_BYTES:,} bytes", "check the address")
        return response.status_code, response.headers.get("Retry-After", ""), b"".join(pieces)


def _status_error(request: ProviderRequest, status: int, body: bytes) -> ProviderError:
    what = f"{status} {_excerpt(body.decode('utf-8', 'replace'), request.key)}".strip()
    return ProviderError(
        what, CURES.get(status, LATER).format(key=request.key_env), endpoint_fault=status not in REQUEST_FAULT
    )


def _with_tries(error: ProviderError, tries: int, retry_after: float | None) -> ProviderError:
    """The error of the last try with the number of tries and the server's Retry-After in seconds."""
    what = error.what if tries == 1 else f"{error.what} (try {tries})"
    if retry_after is not None and tries < MAX_TRIES:
        what += f"; it asks for {retry_after:g} s, which is past the deadline"
    return ProviderError(what, error.cure, endpoint_fault=error.endpoint_fault)


def _timeout_error(seconds: float) -> ProviderError:
    return ProviderError(f"no answer within {seconds:g} s")


def _excerpt(text: str, key: str) -> str:
    """The beginning of a server's or the network's message, with the key redacted."""
    words = " ".join(text.split())
    return (words.replace(key, "(key)") if key else words)[:_MAX_EXCERPT]


def _parse_retry_after(header: str) -> float | None:
    """Retry-After in seconds; None for its date form, which would need a wall clock."""
    seconds = header.strip()
    return float(seconds) if seconds.isascii() and seconds.isdecimal() else None


_clients: dict[int, httpx.Client] = {}
_lock = threading.Lock()


def _client() -> httpx.Client:
    """The process's HTTP client: connections are reused between requests, never shared with a forked process."""
    with _lock:
        if os.getpid() not in _clients:
            _clients[os.getpid()] = _open_client()
        return _clients[os.getpid()]


def _open_client() -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtra("a rerank provider", "http") from error
    try:
        return httpx.Client()
    except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
        # Its message is not repeated: it may hold the address of a proxy with a password.
        what = f"the HTTP client cannot start ({type(error).__name__})"
        raise ProviderError(
            what, "check the proxy and certificate variables of the environment", endpoint_fault=False
        ) from None


@atexit.register
def close_connections() -> None:
    """Close this process's connections; the next request opens new ones."""
    with _lock:
        client = _clients.pop(os.getpid(), None)
    if client is not None:
        client.close()
