"""Task, Modifier, Domain: sixteen bits that say what a vector is about, and how well two of them agree (001).

`layout` packs and unpacks the bits, `ladder` scores agreement, `prototypes` assigns codes without hand labels.
"""
