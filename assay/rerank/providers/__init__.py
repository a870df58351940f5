"""Rerank providers: services that score (query, text) pairs over HTTP.

| module | contents |
|---|---|
| `table.py` | one row per provider: address, model, variable of its key, how to write a request and read an answer |
| `response.py` | checks a response and turns it into scores |
| `transport.py` | one request over HTTP: deadline, tries, size of the answer |
| `breaker.py` | when an endpoint that failed is not asked for a while |
| `client.py` | all of these together: query and texts in, scores out |
"""
