"""Posts JSON to a remote endpoint with timeouts, bounded retries and errors with their cure.

The key is read from an environment variable at each request; no field, error or log holds it.
"""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from assay.errors import ConfigError, MissingExtra, ModelError

RETRYABLE = frozenset({408, 429, 500, 502, 503, 504})  # statuses that a retry may cure
CURES: Mapping[int, str] = MappingProxyType(
    {
        400: "check the model's name, and that no text is longer than the model takes",
        401: "set the environment variable {key} to a valid key",
        403: "set the environment variable {key} to a key that may use this model",
        404: "check the address (it usually ends in /v1) and the model's name",
        413: "send smaller batches",
    }
)
LATER = "try again later, or check the address"


@dataclass(frozen=True)
class Endpoint:
    """One URL that takes and returns JSON. `timeout`, `backoff` and `longest_wait` are seconds.

    After failed attempt n (from 0) it waits backoff · 2ⁿ, or the server's Retry-After, `longest_wait` at most.
    """

    url: str
    key_variable: str
    timeout: float = 30.0
    retries: int = 4
    backoff: float = 0.5
    longest_wait: float = 30.0

    def __post_init__(self) -> None:
        address = urlsplit(self.url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ConfigError("an HTTP endpoint needs an address such as https://host/v1", "begin it with https://")
        if address.username or address.password or address.query:
            raise ConfigError(
                f"the address of the endpoint on {address.hostname} carries a user, a password or a query",
                f"leave it out and put the key into the environment variable {self.key_variable}",
            )

    def post(self, payload: Mapping[str, Any]) -> Any:
        """Return the server's JSON answer. ModelError when it refuses, or fails more often than `retries` allows."""
        client, key = self._client, self._key()
        import httpx

        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        content = json.dumps(payload).encode()
        for attempt in range(self.retries + 1):
            wait = self.backoff * 2.0**attempt
            try:
                response = client.post(self.url, content=content, headers=headers)
            except httpx.TransportError as error:
                trouble = str(error) or type(error).__name__
            else:
                if response.status_code == httpx.codes.OK:
                    return self._parse(response.text)
                trouble = f"{response.status_code} {self._quote_error(response.text, key)}".strip()
                if response.status_code not in RETRYABLE:
                    cure = CURES.get(response.status_code, LATER).format(key=self.key_variable)
                    raise ModelError(f"{self.url} refused: {trouble}", cure)
                wait = _parse_retry_after(response.headers.get("Retry-After"), wait)
            if attempt < self.retries:
                time.sleep(min(wait, self.longest_wait))
        raise ModelError(f"{self.url} failed {self.retries + 1} times; at last: {trouble}", LATER)

    @cached_property
    def _client(self) -> Any:
        """Connections stay open between requests and close with this endpoint; redirects are not followed."""
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra("an HTTP endpoint", "http") from error
        client = httpx.Client(timeout=self.timeout)
        weakref.finalize(self, client.close)
        return client

    def _key(self) -> str:
        key = os.environ.get(self.key_variable, "").strip()
        if not all("!" <= letter <= "~" for letter in key):  # the HTTP library would repeat it in its error
            raise ConfigError(
                f"the environment variable {self.key_variable} holds something that is not a key", "set it again"
            )
        return key

    def _parse(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise ModelError(f"{self.url} answered with something that is not JSON", "check the address") from error

    def _quote_error(self, text: str, key: str) -> str:
        """Return the beginning of the server's error text, with the key masked."""
        words = " ".join(text.split())
        return (words.replace(key, "(key)") if key else words)[:200]


def _parse_retry_after(header: str | None, default: float) -> float:
    """Return Retry-After in seconds, or `default`; its other form, a date, would need a clock."""
    return float(header) if header and header.strip().isdecimal() else default
