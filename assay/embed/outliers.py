"""The outlier channels of the shipped encoders, and the divisor of each before quantisation.

Dynamic quantisation gives one range to all channels of an activation, so a single channel ten times larger than the
rest takes most of the 256 steps. x·W = (x/s)·(s·W): dividing such a channel by a power of two and multiplying its
row of weights by the same changes nothing in floating point, and gives the other channels their steps back.

Derivation: the largest |x| of each channel over 180 texts of five public collections; s is the power of two
nearest to largest / (3 · median over channels), where that is at least √2. Mean cosine to the float32 model over
about 165 texts of six other collections:

    all-MiniLM-L6-v2    .9932 without, .9965 with; 3 is the best of seven values from 1.5 to 5, all .9956 or more
    gte-small           .9986 without, .9993 with; from 1.5 to 5 all values give .9991 or more

A table belongs to its weights, whose sha256 is checked, so it is a constant and every install gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Outliers = Mapping[str, Mapping[int, int]]  # matrix that reads the activation → channel → divisor

MINILM: Outliers = MappingProxyType(
    {
        "encoder.layer.0.intermediate.dense": {63: 2, 99: 4},
        "encoder.layer.0.output.dense": {856: 4},
        "encoder.layer.1.intermediate.dense": {99: 4},
        "encoder.layer.1.output.dense": {607: 4},
        "encoder.layer.2.intermediate.dense": {99: 4, 223: 2},
        "encoder.layer.2.output.dense": {218: 2, 1004: 2},
        "encoder.layer.3.attention.self.qkv": {99: 2},
        "encoder.layer.3.intermediate.dense": {63: 2, 99: 4, 223: 2},
        "encoder.layer.3.output.dense": {358: 2},
        "encoder.layer.4.attention.self.qkv": {99: 2},
        "encoder.layer.4.intermediate.dense": {63: 2, 99: 4, 127: 2, 223: 2},
        "encoder.layer.5.attention.self.qkv": {99: 2},
        "encoder.layer.5.intermediate.dense": {99: 2, 223: 2, 319: 2},
        "encoder.layer.5.output.dense": {1302: 2},
    }
)

GTE_SMALL: Outliers = MappingProxyType(
    {
        "encoder.layer.0.intermediate.dense": {63: 2, 99: 4},
        "encoder.layer.0.output.dense": {856: 4},
        "encoder.layer.1.intermediate.dense": {63: 2, 99: 4},
        "encoder.layer.1.output.dense": {543: 2},
        "encoder.layer.2.intermediate.dense": {63: 2, 99: 4},
        "encoder.layer.2.output.dense": {607: 2},
        "encoder.layer.3.intermediate.dense": {63: 2, 99: 4, 223: 2},
        "encoder.layer.3.output.dense": {256: 4},
        "encoder.layer.4.intermediate.dense": {99: 4, 223: 2},
        "encoder.layer.4.output.dense": {218: 2, 1004: 4},
        "encoder.layer.5.intermediate.dense": {63: 2, 99: 4, 223: 2},
        "encoder.layer.5.output.dense": {297: 4},
        "encoder.layer.6.intermediate.dense": {63: 2, 99: 4, 223: 2},
        "encoder.layer.6.output.dense": {201: 2, 358: 2},
        "encoder.layer.7.attention.self.qkv": {99: 2},
        "encoder.layer.7.intermediate.dense": {63: 2, 99: 4, 223: 2},
        "encoder.layer.8.intermediate.dense": {63: 2, 99: 4, 127: 2, 223: 4},
        "encoder.layer.8.output.dense": {192: 2, 576: 2, 658: 2, 799: 2},
        "encoder.layer.9.attention.self.qkv": {99: 2},
        "encoder.layer.9.attention.output.dense": {207: 2},
        "encoder.layer.9.intermediate.dense": {63: 2, 99: 4, 127: 2, 223: 4},
        "encoder.layer.9.output.dense": {350: 2},
        "encoder.layer.10.attention.self.qkv": {99: 2},
        "encoder.layer.10.intermediate.dense": {99: 4, 223: 2, 319: 2},
        "encoder.layer.11.attention.self.qkv": {99: 2},
        "encoder.layer.11.intermediate.dense": {99: 2},
        "encoder.layer.11.output.dense": {
            17: 2,
            19: 8,
            38: 4,
            40: 8,
            49: 8,
            78: 8,
            92: 8,
            118: 8,
            156: 2,
            193: 2,
            211: 4,
            226: 2,
            241: 4,
            243: 4,
            246: 8,
            263: 4,
            266: 2,
            374: 8,
            418: 4,
            446: 8,
            449: 4,
            477: 4,
            478: 8,
            499: 2,
            508: 2,
            511: 8,
            553: 2,
            568: 2,
            617: 2,
            633: 2,
            636: 8,
            642: 8,
            748: 2,
            749: 4,
            756: 2,
            764: 2,
            798: 4,
            802: 8,
            811: 8,
            848: 2,
            860: 4,
            879: 4,
            880: 2,
            891: 4,
            909: 2,
            936: 4,
            952: 16,
            984: 2,
            990: 4,
            996: 8,
            997: 4,
            998: 2,
            1011: 4,
            1026: 2,
            1040: 4,
            1056: 4,
            1072: 2,
            1080: 2,
            1109: 8,
            1121: 2,
            1122: 4,
            1150: 4,
            1155: 4,
            1156: 2,
            1190: 2,
            1213: 2,
            1218: 4,
            1224: 2,
            1314: 16,
            1328: 2,
            1329: 4,
            1350: 16,
            1354: 8,
            1364: 8,
            1368: 2,
            1385: 8,
            1441: 8,
            1468: 8,
            1473: 2,
            1482: 2,
        },
    }
)
