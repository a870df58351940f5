"""Who else can read a query and its candidates? One table of rerank providers, and how they are asked.

| file | what it says |
|---|---|
| `table.py` | one row per provider: address, model, variable of its key, how to write a request and read an answer |
| `answer.py` | what is believed of an answer, and what is not |
| `post.py` | one request over HTTP: deadline, tries, size of the answer |
| `breaker.py` | when a dead endpoint is left in peace |
| `ask.py` | all of these together: query and texts in, scores out |
"""
