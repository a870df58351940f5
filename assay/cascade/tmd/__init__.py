"""Task/Modifier/Domain codes: sixteen bits that describe a vector (vector cascade).

`prototypes` assigns codes without hand labels; `assay.score.tmd_layout` packs the bits, `assay.score.tmd` scores them.
"""
