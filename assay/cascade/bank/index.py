"""Searches a bank: FAISS proposes candidates, their vectors are scored in float64, row by row.

    kind        candidates
    ivf_flat    the vectors in the `nprobe` lists nearest to the query
    hnsw        those that a search of the HNSW graph visits
    exact       all

Scores have the same bits whatever the number of threads, the kind of index or the other rows (see
`assay.index.vectors`), and ties go to the smaller id, so an index decides which rows are found, never their order.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from assay.cascade.bank.bank import Bank, file_stamp, read_seal, seal
from assay.cascade.bank.errors import WrongIndex
from assay.engine.checks import check_choice
from assay.errors import ConfigError
from assay.index.vectors import exact_scores
from assay.types import Floats, Rows, Vector

Kind = Literal["ivf_flat", "exact", "hnsw"]
_SPARE = 32
"""Extra candidates from FAISS, because float32 may rank a row slightly too low."""
_NOISE = 1e-5
"""An upper bound of the float32 error of a cosine."""
_BLOCK = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class NearestVectors:
    """The best rows with their cosines; `probed` lists were read, 0 for an index without lists."""

    rows: Rows
    scores: Floats
    probed: int


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
        """The name in telemetry: the beginning of the bank's digest, the kind and the number of lists."""
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
        found = self.search(query, k, nprobe)
        return found.rows, found.scores

    def search(self, query: Vector, k: int, nprobe: int = 0) -> NearestVectors:
        """As `nearest`, with the number of lists that were probed in the end."""
        wanted, probed = min(k, len(self._bank)), 0
        if self.kind == "exact":
            rows = self._exact_candidates(query, wanted)
        else:
            rows, probed = self._faiss_candidates(query, wanted, nprobe)
        scores = exact_scores(self._bank.vectors, query, rows)
        best = np.lexsort((self._bank.ids[rows], -scores))[:wanted]
        return NearestVectors(rows[best], scores[best], probed if self.nlist else 0)

    def open(self) -> None:
        """Map the index now rather than at the first search."""
        if self.kind != "exact":
            self._faiss  # noqa: B018

    def _faiss_candidates(self, query: Vector, k: int, nprobe: int) -> tuple[Rows, int]:
        """Candidates from FAISS, and the lists probed: more of them while candidates are too few. If HNSW finds too
        few, as it does among many twins, all rows are scored."""
        queries, fetch = np.ascontiguousarray(query[None, :]), min(k + _SPARE, len(self._bank))
        probes = min(nprobe or self.nprobe, max(self.nlist, 1))
        while True:
            rows: Rows = self._faiss.search(queries, fetch, params=self._parameters(probes, fetch))[1][0]
            candidates: Rows = rows[rows >= 0]
            if len(candidates) >= k:
                return candidates, probes
            if probes >= self.nlist:
                return self._exact_candidates(query, k), self.nlist
            probes = min(probes * 4, self.nlist)

    def _parameters(self, probes: int, fetch: int) -> Any:
        """FAISS's search parameters; for IVF they are cached by nprobe, because creating them is slow."""
        import faiss

        kinds: Any = faiss  # its stubs do not know these classes
        if self.kind != "ivf_flat":
            return kinds.SearchParametersHNSW(efSearch=max(2 * fetch, 64))
        if probes not in self._settings:
            self._settings[probes] = kinds.SearchParametersIVF(nprobe=probes)
        return self._settings[probes]

    def _exact_candidates(self, query: Vector, k: int) -> Rows:
        """All rows that can be among the k best despite float32 errors."""
        vectors = self._bank.vectors
        scores = np.concatenate([vectors[at : at + _BLOCK] @ query for at in range(0, len(vectors), _BLOCK)])
        if len(scores) <= k:
            return np.arange(len(scores))
        cut = np.partition(scores, len(scores) - k)[len(scores) - k]
        return np.flatnonzero(scores >= cut - _NOISE)


def open_index(folder: str | Path, bank: Bank) -> BankIndex:
    """Open the index of this bank. A sealed file is mapped unread; any other is checked against its hash and sealed."""
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
    if read_seal(path) == wanted:
        return
    before = file_stamp(path)
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
            raise WrongIndex(f"{path} is not the file that its manifest names", "copy it again, or: assay bank index")
    seal(path, wanted, before)
