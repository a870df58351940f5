"""Reads what the nodes of a snapshot's tree say: keywords, sentences, entities and numbers, of live rows only.

Sentences are references to rows, so those of dead rows are left out. A keyword is left out when no live row of the
generation below the node holds it; it is spelled as a live row spells it. Entities and numbers are counted from the
live rows when they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.index.graph import gather
from assay.text.entities import find_spelling
from assay.text.sentences import split_sentences
from assay.types import NodePayload, Rows, SummarySentence

if TYPE_CHECKING:
    from assay.backend.shared.tree_view import SnapshotTree

KEYWORDS, SENTENCES, ENTITIES = 12, 5, 12
"""How many of each a payload shows."""
_SPELLED = 8
"""Rows that are read to spell keywords, before others are looked up one by one."""


class PayloadReader:
    """The payloads of one snapshot's tree."""

    def __init__(self, tree: SnapshotTree) -> None:
        self._tree = tree

    def read(self, node: int) -> NodePayload:
        source = self._tree.source
        rows = self._tree.rows(node)
        created = source.numbers("created", rows)
        dated = created[~np.isnan(created)]
        sentences = self.sentences(node)
        return NodePayload(
            node=node,
            keywords=self._keywords(node, rows),
            summary=sentences[:SENTENCES],
            text=source.summary_text([one.text for one in sentences]),
            entities=self.entities(rows),
            chunks=len(rows),
            tokens=int(np.nansum(source.numbers("tokens", rows))),
            dates=(float(dated.min()), float(dated.max())) if len(dated) else None,
            versions=tuple(sorted(set(source.field_values("version", rows)))),
        )

    # -- sentences

    def summary_rows(self, nodes: Rows) -> tuple[Rows, Rows]:
        """(place in `nodes`, row) of the sentences that summarise these nodes."""
        owners, places = self._live_sentences(nodes)
        shown = np.arange(len(owners)) - np.searchsorted(owners, owners) < SENTENCES
        owners, places = owners[shown], places[shown]
        missing = np.setdiff1d(np.arange(len(nodes)), owners)
        rows = self._tree.index.sentences[places, 0]
        if not len(missing):
            return owners, rows
        others = [self._substitutes(int(nodes[place])) for place in missing.tolist()]
        extra = np.repeat(missing, [len(found) for found in others])
        return np.concatenate([owners, extra]), np.concatenate([rows, *others])

    def _live_sentences(self, nodes: Rows) -> tuple[Rows, Rows]:
        """(place in `nodes`, sentence) of the sentences of live rows."""
        index = self._tree.index
        owners, places = gather(index.sentence_start, nodes)
        keep = self._tree.live[index.sentences[places, 0]]
        return owners[keep], places[keep]

    def _substitutes(self, node: int) -> Rows:
        """Rows whose first sentences stand for a node that has no sentence left: prototypes, else any."""
        _, rows, _ = self._tree.prototypes(np.array([node]))
        return (rows if len(rows) else self._tree.rows(node))[:SENTENCES]

    def sentences(self, node: int) -> tuple[SummarySentence, ...]:
        """All sentences that a node keeps, best first; a payload shows the first of them."""
        _, places = self._live_sentences(np.array([node]))
        spans = self._tree.index.sentences[places]
        if len(spans):
            texts = [chunk.text for chunk in self._tree.source.chunks(spans[:, 0])]
            return tuple(
                SummarySentence(row, " ".join(text[start:end].split()))
                for text, (row, start, end) in zip(texts, spans.tolist(), strict=True)
            )
        others = self._substitutes(node)
        texts = [chunk.text for chunk in self._tree.source.chunks(others)]
        firsts = [" ".join(text[slice(*next(iter(split_sentences(text)), (0, 0)))].split()) for text in texts]
        return tuple(SummarySentence(row, text) for row, text in zip(others.tolist(), firsts, strict=True) if text)

    # -- keywords

    def keyword_terms(self, node: int) -> list[int]:
        """The terms that describe a node, heaviest first, which a live row below it holds."""
        index, view = self._tree.index, self._tree.lexical
        span = slice(int(index.keyword_start[node]), int(index.keyword_start[node + 1]))
        terms, holding = index.keyword_terms[span].tolist(), index.keyword_holding[span].astype(np.int64)
        if view.words is not None and len(view.dead):
            first, end = (int(bounds[node]) for bounds in self._tree.leaf_ranges)
            for leaves in (index.leaf_of_row, index.second_leaf_of_row):
                dead = view.dead[(leaves[view.dead] >= first) & (leaves[view.dead] < end)]
                holding -= np.count_nonzero(view.words.counts(terms, dead.astype(np.int32)), axis=1)
        return [term for term, rows in zip(terms, holding.tolist(), strict=True) if rows > 0]

    def _keywords(self, node: int, rows: Rows) -> tuple[str, ...]:
        terms = [self._tree.index.vocabulary.text(term) for term in self.keyword_terms(node)[: 2 * KEYWORDS]]
        spelled = self._spell(terms, rows)
        words = dict.fromkeys(spelled[term] for term in terms if term in spelled)
        return tuple(words)[:KEYWORDS]

    def _spell(self, terms: list[str], rows: Rows) -> dict[str, str]:
        """Return the terms as live rows spell them; a term that no row of them holds is left out."""
        spelled: dict[str, str] = {}
        wanted = set(terms)
        for row in rows[np.linspace(0, len(rows) - 1, min(_SPELLED, len(rows))).astype(np.int64)].tolist():
            self._spell_from(row, wanted, spelled)
        for term in terms:
            if term not in spelled and (row := self._find_holder(term, rows)) >= 0:
                self._spell_from(row, wanted, spelled)
        return spelled

    def _spell_from(self, row: int, wanted: set[str], spelled: dict[str, str]) -> None:
        text = self._tree.source.chunks(np.array([row]))[0].indexed_text
        for term, start, end in self._tree.source.analyser.spans(text):
            if term in wanted:
                spelled.setdefault(term, text[start:end])

    def _find_holder(self, term: str, rows: Rows) -> int:
        """The first of these rows that holds a term; -1 where none does."""
        index = self._tree.index
        holding = index.row_numbers(index.vocabulary.postings(index.vocabulary.term(term))[0])
        found = holding[np.isin(holding, rows)]
        return int(found[0]) if len(found) else -1

    # -- entities

    def entities(self, rows: Rows) -> tuple[str, ...]:
        """The entities that distinguish a node, as a live row spells them: frequent in it, rare elsewhere."""
        source = self._tree.source
        postings = source.entities()
        owners, found = postings.entities_of(rows)
        names = postings.are_names(found)
        entities, first, counts = np.unique(found[names], return_index=True, return_counts=True)
        weights = counts * (counts / postings.frequency(entities))
        order = np.lexsort((entities, -weights))[:ENTITIES]
        chunks = source.chunks(rows[owners[names][first[order]]])
        keys = [postings.name(entity) for entity in entities[order].tolist()]
        spelled = [find_spelling(chunk.indexed_text, key) for chunk, key in zip(chunks, keys, strict=True)]
        return tuple(dict.fromkeys(spelled))
