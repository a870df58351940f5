"""One JSON request to a provider, with a deadline that holds: for a slow name look-up, a server that sends a byte a
second, and every further try. The answer may have MOST_BYTES bytes; redirects are not followed, so a key goes nowhere
else.
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

MOST_BYTES = 4_000_000
MOST_TRIES = 3
PAUSE_S = 0.1
"""Before a second try whose moment the server did not name."""
TRANSIENT = frozenset({500, 502, 503, 504})
"""Worth a second try at once."""
WAITING = frozenset({429, 503})
"""Worth another try when Retry-After says, if that is before the deadline."""
OUR_FAULT = frozenset({400, 413, 422})
"""About this request, not about the endpoint."""
_WORDS = 200
"""Letters of a server's complaint that are repeated."""


class Trouble(Exception):
    """A provider gave no usable answer. `cure` as in AssayError; `counts`: it is the endpoint's fault (see breaker)."""

    def __init__(self, what: str, cure: str = LATER, *, counts: bool = True) -> None:
        super().__init__(what)
        self.what = what
        self.cure = cure
        self.counts = counts


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """What is sent where. `timeout_s` is for one try, `deadline_s` for all of them with their waits.

    `key` is in `headers` too; it stands here to be blotted out of whatever the server says. Neither shows in `repr`.
    """

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    key: str
    key_env: str
    timeout_s: float
    deadline_s: float

    def __repr__(self) -> str:
        return f"Request({self.url!r})"


def post(request: ProviderRequest, clock: Callable[[], float] = time.monotonic) -> Any:
    """The server's answer, as parsed JSON; Trouble otherwise, at the deadline at the latest."""
    client, end = _client(), clock() + request.deadline_s
    outcome: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcome.put(_tries(client, request, end, clock))
        except BaseException as error:  # handed over and raised below
            outcome.put(error)

    # Timeouts of sockets begin anew with every byte, and looking up a name has none: only a second thread can keep a
    # deadline. Left behind, it ends by those timeouts or when the server hangs up; the breaker keeps such threads few.
    threading.Thread(target=work, name="assay-rerank", daemon=True).start()
    try:
        got = outcome.get(timeout=request.deadline_s)
    except queue.Empty:
        raise _late(request.deadline_s) from None
    if isinstance(got, BaseException):
        raise got
    try:
        return json.loads(got)
    except (ValueError, RecursionError):
        raise Trouble("the answer is not JSON", "check the address") from None


def _tries(client: httpx.Client, request: ProviderRequest, end: float, clock: Callable[[], float]) -> bytes:
    """The body of the first good answer."""
    import httpx

    content = json.dumps(request.body).encode()
    paused = False
    for tried in range(1, MOST_TRIES + 1):
        left = end - clock()
        if left <= 0.0:
            raise _late(request.deadline_s)
        asked, pause = None, None if paused else PAUSE_S
        try:
            status, header, body = _once(client, request, content, min(left, request.timeout_s), end, clock)
        except httpx.TimeoutException:
            raise _late(request.timeout_s if request.timeout_s < left else request.deadline_s) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            trouble = Trouble(_said(str(error) or type(error).__name__, request.key))
        else:
            if status == httpx.codes.OK:
                return body
            trouble = _refused(request, status, body)
            asked = _seconds(header) if status in WAITING else None
            pause = asked if asked is not None else pause if status in TRANSIENT else None
        if pause is None or tried == MOST_TRIES or clock() + pause >= end:
            raise _counted(trouble, tried, asked)
        paused = True
        time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _once(
    client: httpx.Client,
    request: ProviderRequest,
    content: bytes,
    timeout: float,
    end: float,
    clock: Callable[[], float],
) -> tuple[int, str, bytes]:
    """Status, Retry-After and body of one answer; of a refusal only the first words are read."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", **request.headers}
    pieces, size = [], 0
    with client.stream("POST", request.url, content=content, headers=headers, timeout=timeout) as response:
        most = MOST_BYTES if response.is_success else 4 * _WORDS
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if clock() > end:
                raise _late(request.deadline_s)
            if size > most:
                break
        if size > most and response.is_success:
            raise Trouble(f"the answer is longer than {MOST_BYTES:,} bytes", "check the address")
        return response.status_code, response.headers.get("Retry-After", ""), b"".join(pieces)


def _refused(request: ProviderRequest, status: int, body: bytes) -> Trouble:
    said = f"{status} {_said(body.decode('utf-8', 'replace'), request.key)}".strip()
    return Trouble(said, CURES.get(status, LATER).format(key=request.key_env), counts=status not in OUR_FAULT)


def _counted(trouble: Trouble, tried: int, asked: float | None) -> Trouble:
    """The trouble of the last try, with how many there were; `asked`: for how many seconds the server wants peace."""
    said = trouble.what if tried == 1 else f"{trouble.what} (try {tried})"
    if asked is not None and tried < MOST_TRIES:
        said += f"; it asks for {asked:g} s, which is past the deadline"
    return Trouble(said, trouble.cure, counts=trouble.counts)


def _late(seconds: float) -> Trouble:
    return Trouble(f"no answer within {seconds:g} s")


def _said(text: str, key: str) -> str:
    """The first words of what a server or the network says; should they repeat the key, it is blotted out."""
    words = " ".join(text.split())
    return (words.replace(key, "(key)") if key else words)[:_WORDS]


def _seconds(header: str) -> float | None:
    """Retry-After in seconds; its other form, a date, would need a wall clock, so that asks for nothing."""
    given = header.strip()
    return float(given) if given.isascii() and given.isdecimal() else None


_clients: dict[int, httpx.Client] = {}
_lock = threading.Lock()


def _client() -> httpx.Client:
    """Connections are kept between requests, but never shared with a forked process."""
    with _lock:
        if os.getpid() not in _clients:
            _clients[os.getpid()] = _open()
        return _clients[os.getpid()]


def _open() -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtra("a rerank provider", "http") from error
    try:
        return httpx.Client()
    except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
        # Not its words: they may repeat the address of a proxy, with a password.
        what = f"the HTTP client cannot start ({type(error).__name__})"
        raise Trouble(what, "check the proxy and certificate variables of the environment", counts=False) from None


@atexit.register
def hang_up() -> None:
    """Close the connections that this process keeps; the next request opens them anew."""
    with _lock:
        client = _clients.pop(os.getpid(), None)
    if client is not None:
        client.close()
