"""Searching a bank: FAISS proposes from its lists, the vectors themselves are scored in float64, row by row.

    kind        who is looked at
    ivf_flat    the vectors in the `nprobe` lists nearest to the query
    hnsw        those a walk through the graph meets
    exact       all of them

Scores have the same bits whatever the number of threads, the kind of index or the rows beside them (see
`assay.index.vectors`), and ties go to the smaller id, so what an index cannot change is the order of what it found.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from assay.cascade.bank.bank import Bank, marks, seal, sealed
from assay.cascade.bank.errors import WrongIndex
from assay.engine.checks import check_choice
from assay.errors import ConfigError
from assay.index.vectors import exact_scores
from assay.types import Floats, Rows, Vector

Kind = Literal["ivf_flat", "exact", "hnsw"]
_SPARE = 32
"""Candidates beyond the wanted ones that FAISS names: what float32 puts a place too low is still among them."""
_NOISE = 1e-5
"""More than float32 can be wrong about a cosine."""
_BLOCK = 65_536


class BankIndex:
    """Read-only; any number of threads may search."""

    def __init__(self, folder: Path, bank: Bank, manifest: dict[str, Any]) -> None:
        self._folder = folder
        self._bank = bank
        self.manifest = manifest
        self.kind = str(manifest["kind"])
        self.nlist = int(manifest.get("nlist", 0))
        self.nprobe = int(manifest["nprobe"])
        self._settings: dict[int, Any] = {}

    @property
    def digest(self) -> str:
        """Identifies the index file; an exact search is identified by the bank alone."""
        return str(self.manifest.get("file", self.kind))

    @property
    def version(self) -> str:
        """As telemetry calls it: the bank's beginning, the kind and its lists."""
        return f"{self._bank.digest[:8]}_{self.kind}{self.nlist or ''}"

    @cached_property
    def _faiss(self) -> Any:
        import faiss

        path = self._folder / "index.faiss"
        try:
            return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            raise WrongIndex(f"{path} cannot be read: {error}", "build it anew: assay bank index") from error

    def nearest(self, query: Vector, k: int, nprobe: int = 0) -> tuple[Rows, Floats]:
        """The k best rows with their cosines, by (score desc, id asc); `nprobe` 0 takes the index's own."""
        wanted = min(k, len(self._bank))
        rows = self._everyone(query, wanted) if self.kind == "exact" else self._proposed(query, wanted, nprobe)
        scores = exact_scores(self._bank.vectors, query, rows)
        best = np.lexsort((self._bank.ids[rows], -scores))[:wanted]
        return rows[best], scores[best]

    def open(self) -> None:
        """Map the index now rather than at the first search."""
        if self.kind != "exact":
            self._faiss  # noqa: B018

    def _proposed(self, query: Vector, k: int, nprobe: int) -> Rows:
        """FAISS's candidates; it looks into more lists while they are too few. Where a walk through the graph meets too
        few (among many twins it does), all are looked at."""
        asked, fetch = np.ascontiguousarray(query[None, :]), min(k + _SPARE, len(self._bank))
        probes = min(nprobe or self.nprobe, max(self.nlist, 1))
        while True:
            found: Rows = self._faiss.search(asked, fetch, params=self._parameters(probes, fetch))[1][0]
            full: Rows = found[found >= 0]
            if len(full) >= k:
                return full
            if probes >= self.nlist:
                return self._everyone(query, k)
            probes = min(probes * 4, self.nlist)

    def _parameters(self, probes: int, fetch: int) -> Any:
        """FAISS's settings of one search; those of an inverted file are made once for each nprobe: making is slow."""
        import faiss

        kinds: Any = faiss  # its stubs do not know these classes
        if self.kind != "ivf_flat":
            return kinds.SearchParametersHNSW(efSearch=max(2 * fetch, 64))
        if probes not in self._settings:
            self._settings[probes] = kinds.SearchParametersIVF(nprobe=probes)
        return self._settings[probes]

    def _everyone(self, query: Vector, k: int) -> Rows:
        """Those of all rows that can be among the k best, whatever float32 got wrong."""
        vectors = self._bank.vectors
        rough = np.concatenate([vectors[at : at + _BLOCK] @ query for at in range(0, len(vectors), _BLOCK)])
        if len(rough) <= k:
            return np.arange(len(rough))
        cut = np.partition(rough, len(rough) - k)[len(rough) - k]
        return np.flatnonzero(rough >= cut - _NOISE)


def open_index(folder: str | Path, bank: Bank) -> BankIndex:
    """The index of this very bank. A sealed file is mapped, not read; any other is held against its hash and sealed."""
    place = Path(folder)
    try:
        manifest = json.loads((place / "index.json").read_text("utf-8"))
        built_over, size = str(manifest["bank"]), manifest["vectors"]
        index = BankIndex(place, bank, manifest)
        check_choice("kind", index.kind, get_args(Kind))
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        raise WrongIndex(f"{place} holds no index: {error}", "build one: assay bank index") from error
    if built_over != bank.digest or size != len(bank):
        raise WrongIndex(
            f"the index in {place} was built over another bank ({built_over[:12]}, not {bank.digest[:12]})",
            "build one over this bank: assay bank index",
        )
    if index.kind != "exact":
        _check_file(place / "index.faiss", index.digest)
    return index


def _check_file(path: Path, wanted: str) -> None:
    if not path.is_file():
        raise WrongIndex(f"{path} is lost", "build it anew: assay bank index")
    if sealed(path) == wanted:
        return
    before = marks(path)
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
            raise WrongIndex(f"{path} is not the file that its manifest names", "copy it again, or: assay bank index")
    seal(path, wanted, before)
