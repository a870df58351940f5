"""Sources: legs that ask an external retriever (another store, a recording, a LanceDB table, Qdrant, QMD).

| file | what it does |
|---|---|
| `listing.py` | turns a list of hits into a ranking, in the retriever's own order |
| `recorded.py` | reads answers from a retrieval report |
| `qmd.py`, `qmd_http.py` | ask a QMD collection, by its command line or its HTTP server |
| `lance_table.py` | searches a LanceDB table that another program writes |
| `qdrant_collection.py` | searches a Qdrant collection that another program writes |
| `store.py` | asks another Assay store with a pipeline of its own |
| `open_cache.py` | caches open stores and parsed reports between queries |

A source is a leg: a frozen dataclass whose fields are its config, found in a pipeline under `source`. It returns its
chunks with their ranking (`foreign_chunks.SourceResult`). Every failure is a StoreError with its cure: the pipeline
records the skip, or fails when the leg is `required`. Names of sources are in `legs.SOURCES`.
"""
