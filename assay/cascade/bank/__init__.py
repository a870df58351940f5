"""Banks of vectors: unit vectors with ids and Task/Modifier/Domain codes, without text (vector cascade).

`npz` maps the columns of a file, `bank` and `sequences` are the two file contracts, `index` and `index_build` search a
bank with FAISS, `snapshot` lets pipelines search it, `build` makes a bank from ordered documents, `planted` makes one
with known answers.
"""
