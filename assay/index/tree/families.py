"""Groups near-duplicate texts into families: texts that say the same with another number, date, version or word.

1. Every text is masked (`masking`). Texts with equal tokens after masking are one family.
2. The others are compared by MinHash: two texts are candidates when a band of their signatures is equal (locality
   sensitive hashing), and joined when the estimated Jaccard similarity of their shingles reaches the threshold.
3. A family is a connected component of these pairs.

The partition depends on the set of texts only. Decisions follow the order of the texts' digests, never of the rows.
The work is linear in the number of texts: a bucket of any size takes at most `_ROUNDS` passes, in each of which every
member is compared with one leader.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.index.tree.masking import mask_text, split_masked
from assay.index.tree.minhash import MinHasher, Signatures, hash_bands
from assay.types import Progress, Rows

__all__ = ["THRESHOLD", "find_families", "mask_text"]

THRESHOLD = 0.75
"""The least estimated Jaccard similarity of two texts of one family.

On the dev world (10,000 chunks with headings, pairs of tokens) .7 to .75 finds all template twins (editions of a policy
that differ in numbers, versions and roles) and .8 loses 1 % of them. At .75 two families of 258 join texts of
different documents, release notes that consist of the same stock sentences; at .7 eight do, with single tokens and .8
fifty."""
SHINGLE = 2
"""Tokens in a shingle."""
_BANDS, _BAND_HASHES = 20, 6
"""At a similarity of .75 a pair is a candidate with probability .98, at .85 with 1, at .5 with .27."""
_ROUNDS = 8
_BLOCK = 1024
_COMPARED = 16_384


def find_families(
    texts: Iterable[str],
    threshold: float = THRESHOLD,
    shingle: int = SHINGLE,
    seed: int = 1,
    progress: Progress = lambda *_: None,
    total: int = 0,
) -> Rows:
    """Return the family of each text: the smallest row in it. A threshold above 1 joins equal masked texts only.

    `total` is the number of texts that `progress` reports; 0 where it is unknown.

    Memory: 480 bytes for each distinct masked text and its copy while they are put together, 16 for each text.
    """
    return group_families(texts, threshold, shingle, seed, progress, total).families


class FamilyGroups(NamedTuple):
    """The family of each text (the smallest row in it), and for each distinct masked text its mark and its family."""

    families: Rows
    marks: NDArray[np.uint64]
    mark_families: Rows


def group_families(
    texts: Iterable[str],
    threshold: float = THRESHOLD,
    shingle: int = SHINGLE,
    seed: int = 1,
    progress: Progress = lambda *_: None,
    total: int = 0,
) -> FamilyGroups:
    """Return the families of texts (see `find_families`) with the marks by which `mark_text` finds them again."""
    distinct, digests, signatures = _sign_texts(texts, MinHasher(_BANDS * _BAND_HASHES, shingle, seed), progress, total)
    joined = _join_near(signatures, digests, threshold, progress)
    labels = joined[distinct]
    first = np.full(len(digests), len(labels), np.int64)
    np.minimum.at(first, labels, np.arange(len(labels)))
    marks = np.array([int.from_bytes(digest[:8], "little") for digest in digests], np.uint64)
    return FamilyGroups(first[labels], marks, first[joined])


def mark_text(text: str) -> int:
    """Return the mark of a text: texts with equal masked tokens have equal marks."""
    return int.from_bytes(_digest_tokens(split_masked(mask_text(text)))[:8], "little")


def _digest_tokens(tokens: list[str]) -> bytes:
    return hashlib.blake2b("\0".join(tokens).encode(errors="surrogatepass"), digest_size=16).digest()


def _sign_texts(
    texts: Iterable[str], hasher: MinHasher, progress: Progress, total: int
) -> tuple[Rows, list[bytes], Signatures]:
    """Return for each text the number of its distinct masked text, and the digests and signatures of these."""
    numbers: dict[bytes, int] = {}
    distinct: list[NDArray[np.int64]] = []
    parts: list[Signatures] = []
    done = 0
    for block in _blocks(texts):
        fresh: list[list[str]] = []
        places = np.empty(len(block), np.int64)
        for place, text in enumerate(block):
            tokens = split_masked(mask_text(text))
            digest = _digest_tokens(tokens)
            if digest not in numbers:
                numbers[digest] = len(numbers)
                fresh.append(tokens)
            places[place] = numbers[digest]
        distinct.append(places)
        parts.append(hasher.sign(fresh))
        done += len(block)
        progress("masking and hashing texts", done, total)
    empty = hasher.sign([])
    return np.concatenate([np.empty(0, np.int64), *distinct]), list(numbers), np.concatenate([empty, *parts])


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(texts)
    while block := list(islice(iterator, _BLOCK)):
        yield block


def _join_near(signatures: Signatures, digests: list[bytes], threshold: float, progress: Progress) -> Rows:
    """Return a label for each distinct text: that of its component under the relation `similar enough`."""
    components = Components(len(signatures))
    if threshold > 1.0:
        return components.labels()
    ranks = np.empty(len(digests), np.int64)
    ranks[sorted(range(len(digests)), key=digests.__getitem__)] = np.arange(len(digests))
    for band in range(_BANDS):
        progress("comparing near-duplicates", band, _BANDS)
        keys = hash_bands(signatures[:, band * _BAND_HASHES : (band + 1) * _BAND_HASHES])
        order = np.lexsort((ranks, keys))
        _join_buckets(components, signatures, order, keys[order], threshold)
    progress("comparing near-duplicates", _BANDS, _BANDS)
    return components.labels()


def _join_buckets(
    components: Components, signatures: Signatures, members: Rows, keys: NDArray[np.uint64], threshold: float
) -> None:
    """Join the members of each bucket with its first member where similar; repeat with those that are not.

    `members` are sorted by bucket, then by digest. A leader and its family leave the bucket after each round.
    """
    for _ in range(_ROUNDS):
        if len(members) == 0:
            return
        is_first = np.concatenate([[True], keys[1:] != keys[:-1]])
        leaders = members[is_first][np.cumsum(is_first) - 1]
        labels = components.labels()
        apart = labels[members] != labels[leaders]
        members, keys, leaders = members[apart], keys[apart], leaders[apart]
        similar = estimate_jaccard(signatures, members, leaders) >= threshold
        for member, leader in zip(members[similar].tolist(), leaders[similar].tolist(), strict=True):
            components.join(member, leader)
        members, keys = members[~similar], keys[~similar]


def estimate_jaccard(signatures: Signatures, ones: Rows, others: Rows) -> NDArray[np.float64]:
    """Return the estimated Jaccard similarity of pairs of texts."""
    shares = np.empty(len(ones))
    for start in range(0, len(ones), _COMPARED):
        part = slice(start, start + _COMPARED)
        shares[part] = (signatures[ones[part]] == signatures[others[part]]).mean(axis=1)
    return shares


class Components:
    """A union-find: connected components of numbers 0 … size − 1."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def join(self, one: int, other: int) -> None:
        """Put two numbers into one component."""
        one, other = self._find(one), self._find(other)
        self._parents[max(one, other)] = min(one, other)

    def labels(self) -> Rows:
        """Return the smallest member of each number's component."""
        parents = np.array(self._parents, np.int64)
        while not np.array_equal(above := parents[parents], parents):
            parents = above
        self._parents = parents.tolist()
        return parents

    def _find(self, number: int) -> int:
        parents = self._parents
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number
