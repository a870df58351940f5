"""A JSON endpoint on somebody else's machine, asked patiently: timeouts, bounded tries, errors with their cure.

The key is read from an environment variable when a request is made; it is in no field, error or log.
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

PASSING = frozenset({408, 429, 500, 502, 503, 504})  # statuses that another try may cure
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
    """One URL that takes and gives JSON. `timeout`, `backoff` and `longest_wait` are seconds.

    After failed try n (from 0) it waits backoff · 2ⁿ, or what the server's Retry-After says, `longest_wait` at most.
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
        """The server's JSON answer. ModelError when it refuses, or fails more often than `retries` allows."""
        client, key = self._client, self._key()
        import httpx

        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        content = json.dumps(payload).encode()
        for tried in range(self.retries + 1):
            wait = self.backoff * 2.0**tried
            try:
                response = client.post(self.url, content=content, headers=headers)
            except httpx.TransportError as error:
                trouble = str(error) or type(error).__name__
            else:
                if response.status_code == httpx.codes.OK:
                    return self._parsed(response.text)
                trouble = f"{response.status_code} {self._said(response.text, key)}".strip()
                if response.status_code not in PASSING:
                    cure = CURES.get(response.status_code, LATER).format(key=self.key_variable)
                    raise ModelError(f"{self.url} refused: {trouble}", cure)
                wait = _seconds(response.headers.get("Retry-After"), wait)
            if tried < self.retries:
                time.sleep(min(wait, self.longest_wait))
        raise ModelError(f"{self.url} failed {self.retries + 1} times; at last: {trouble}", LATER)

    @cached_property
    def _client(self) -> Any:
        """Connections are kept between requests and closed with this endpoint; redirects are not followed."""
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

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise ModelError(f"{self.url} answered with something that is not JSON", "check the address") from error

    def _said(self, text: str, key: str) -> str:
        """The first words of the server's complaint; should it repeat the key, that is blotted out."""
        words = " ".join(text.split())
        return (words.replace(key, "(key)") if key else words)[:200]


def _seconds(header: str | None, otherwise: float) -> float:
    """Retry-After in seconds; its other form, a date, would need a clock, so then our own backoff holds."""
    return float(header) if header and header.strip().isdecimal() else otherwise
