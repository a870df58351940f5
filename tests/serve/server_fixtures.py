"""A store with documents and a memory, and servers over it."""

from contextlib import contextmanager

import httpx

import assay
from assay.serve.http.app import make_server_app
from assay.serve.http.context import ServerContext
from assay.serve.http.settings import ServerSettings
from tests.serve.http_server import running

RECORDS = [
    {"id": "keys", "text": "Rotate the signing key every ninety days.", "title": "Keys", "lang": "en"},
    {"id": "gauges", "text": "A gauge that lost its key goes back to the workshop.", "title": "Gauges", "lang": "en"},
    {"id": "tee", "text": "Der Schlüssel zur Teeküche hängt am Brett.", "title": "Tee", "lang": "de"},
]


def make_store(path):
    """A store without vectors that holds the records."""
    base = assay.open(path, embedder="none")
    base.add(RECORDS)
    return base


@contextmanager
def serving(kb, settings=None, keys=None, tracer=None, cascade=None, **headers):
    """A client of a real server over an open store, and the server's context."""
    context = ServerContext.make(kb, settings or ServerSettings(workers=2, waiting=8), keys, tracer)
    with (
        running(make_server_app(context, cascade)) as address,
        httpx.Client(base_url=address, headers=headers, timeout=60) as client,
    ):
        yield client, context


def problem(response, status):
    """The problem of a response, checked as far as every problem is alike."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found = response.json()
    assert found["status"] == status
    assert found["request_id"] == response.headers["x-request-id"]
    return found
