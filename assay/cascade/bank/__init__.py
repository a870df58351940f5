"""What is in a bank of vectors? Half a million unit vectors with ids and Task/Modifier/Domain codes, no text (001).

`npz` maps the columns of a file, `bank` and `sequences` are the two contracts, `index` and `index_build` are FAISS
before them, `snapshot` lets pipelines search one, `build` makes one from ordered documents, `planted` makes one whose
answers are known.
"""
