"""How a Qdrant index grows: processor time and latency of a query, memory, disk and build time by size and nodes.

    python -m benchmarks.cluster_growth build hnsw-100k-1 …   # fill collections; what is done is not done again
    python -m benchmarks.cluster_growth query hnsw-100k-1 …   # start their nodes and search them, alone on the machine
    python -m benchmarks.cluster_growth fit                   # fit the model, write the receipt

A part is `KIND-SIZE-NODES`. Vectors are those of `benchmarks.data`: 8,000 real ones and seeded mixtures of neighbours,
384 dimensions; queries are real questions. All nodes share the two cores of one machine, so latency cannot fall with
nodes here; processor time, memory and build time are what a machine of one's own would have.
"""
