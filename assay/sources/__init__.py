"""Legs that look elsewhere: another store, a recording, somebody's LanceDB table, a QMD collection.

| file | what it does |
|---|---|
| `listing.py` | a list of finds as a ranking, in the order its maker gave it |
| `recorded.py` | answers read from a retrieval report |
| `qmd.py`, `qmd_http.py` | a QMD collection, by its command line or its HTTP server |
| `lance_table.py` | a LanceDB table that somebody else writes, opened to read |
| `store.py` | another Assay store, asked with a pipeline of its own |
| `opened.py` | what is kept open between questions |

A source is a leg: a frozen dataclass whose fields are its config, found in a pipeline under `source`. It hands over its
chunks with their ranking (`beside.Brought`). Whatever goes wrong is a StoreError with its cure: the pipeline records
the skip, or fails when the leg is `required`. Names of sources are in `legs.SOURCES`.
"""
