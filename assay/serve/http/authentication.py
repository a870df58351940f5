"""The caller of a request: by its key, or as a local one where keys are not required; and its rate."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.datastructures import Headers

from assay.serve.access import ANONYMOUS, LOCAL, Caller, Unauthorized
from assay.serve.http.settings import ServerSettings
from assay.serve.keys import KeyStore
from assay.serve.rate_limit import RateLimit


class Authenticator:
    """A valid key decides who calls. Without one a caller is local, or anonymous where keys are required."""

    def __init__(
        self, settings: ServerSettings, keys: KeyStore | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._required = settings.keys_required
        self._keys = keys
        self._limit = None if settings.per_minute is None else RateLimit(settings.per_minute, clock)

    def __call__(self, headers: Headers, address: str) -> Caller:
        key = _read_key(headers)
        if key is None:
            self._count(f"address {address}")
            return ANONYMOUS if self._required else LOCAL
        try:
            if self._keys is None:
                raise Unauthorized("this server knows no keys", "send none, or start it with --keys FILE")
            caller = self._keys.find_caller(key)
        except Unauthorized:
            self._count(f"address {address}")  # guessing keys counts too
            raise
        self._count(f"key {caller.name}")
        return caller

    def _count(self, client: str) -> None:
        if self._limit is not None:
            self._limit.count(client)


def _read_key(headers: Headers) -> str | None:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return headers.get("x-api-key") or None
