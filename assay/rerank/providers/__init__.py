"""Rerank providers: services that score (query, text) pairs over HTTP.

| module | contents |
|---|---|
| `table.py` | one row per provider: address, model, variable of its key, how to write a request and read an answer |
| `answer.py` | checks a response and turns it into scores |
| `post.py` | one request over HTTP: deadline, tries, size of the answer |
| `breaker.py` | when a dead endpoint is left in peace |
| `ask.py` | all of these together: query and texts in, scores out |
"""
