"""A client of `assay serve`, for programs and for asyncio; it needs the extra `http` and nothing of the engine.

from assay.client import Client
with Client("http://localhost:8080") as client:
    for hit in client.search("how do I rotate the signing key?", k=3).hits:
        print(hit.rank, hit.doc_id, hit.text)

`AsyncClient` has the same methods as coroutines. Both come from one definition (`endpoints.py`).
"""

from __future__ import annotations

from assay.client.connections import AsyncClient, Client
from assay.client.results import ServedAnswer, ServedHit, ServerError

__all__ = ["AsyncClient", "Client", "ServedAnswer", "ServedHit", "ServerError"]
