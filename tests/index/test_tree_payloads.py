"""What nodes say, by hand: c-TF-IDF, BM25 maxima, k-centre, sentences."""

import math
from array import array
from pathlib import Path

import numpy as np
import pytest

from assay.index.postings import PostingsWriter
from assay.index.similarity import Bm25Similarity
from assay.index.tree.grid import to_grid
from assay.index.tree.headings import build_heading_layout, cut_runs
from assay.index.tree.keywords import choose_keywords
from assay.index.tree.layout import TreeLayout, TreeSettings
from assay.index.tree.leaf_words import LeafWords, count_leaf_words, write_leaf_words
from assay.index.tree.prototypes import find_centres
from assay.index.tree.sentences import LONGEST, NodeSentence, choose_sentences
from assay.index.words import WordIndex
from assay.index.words_builder import WordIndexBuilder

TEXTS = ("ale ale bee", "ale cow", "bee dog", "dog dog dog eel")


def make_words(folder: Path, texts: tuple[str, ...] = TEXTS) -> WordIndex:
    folder.mkdir()
    postings, builder = PostingsWriter(folder, 0), WordIndexBuilder(folder, False)
    for text in texts:
        postings.add(text.split())
    postings.finish()
    builder.add(array("I", [len(text.split()) for text in texts]), [])
    builder.finish()
    return WordIndex(folder)


def make_layout() -> TreeLayout:
    """A root with two leaves, of the rows 0, 1 and 2, 3."""
    ints = np.int32
    return TreeLayout(
        np.array([-1, 0, 0], ints),
        np.array([0, 1, 1], ints),
        np.array([1, -1, -1], ints),
        np.array([2, 0, 0], ints),
        np.array([1, 1, 2, 2], ints),
        np.array([-1, -1, -1, -1], ints),
        np.zeros((3, 0), np.float32),
        np.empty(0, np.int64),
    )


def test_maxima_of_leaves_by_hand(tmp_path: Path) -> None:
    words = make_words(tmp_path / "words")
    places = np.array([0, 0, 1, 1], np.int32), np.array([-1, -1, -1, 0], np.int32)  # row 3 is in both leaves
    (block,) = count_leaf_words(words, places, Bm25Similarity())
    entries = {
        (words.text(block.first + term), int(block.leaves[place])): (
            int(block.uses[place]),
            int(block.holding[place]),
            float(block.impacts[place]),
        )
        for term in range(len(block.start) - 1)
        for place in range(block.start[term], block.start[term + 1])
    }
    # Mean length 11/4. ale in row 0: tf 2, length 3; in row 1: tf 1, length 2.
    damping = [1.2 * (0.25 + 0.75 * length / 2.75) for length in (3, 2, 2, 4)]
    ale = max(2 * 2.2 / (2 + damping[0]), 2.2 / (1 + damping[1]))
    dog = 3 * 2.2 / (3 + damping[3])
    assert entries[("ale", 0)] == (3, 2, pytest.approx(ale, rel=1e-6))
    assert entries[("ale", 0)][2] >= ale  # rounded up
    assert entries[("dog", 1)] == (4, 2, pytest.approx(dog, rel=1e-6))
    assert entries[("dog", 0)] == (3, 1, pytest.approx(dog, rel=1e-6))
    assert ("cow", 1) not in entries
    assert ("eel", 0) in entries


@pytest.mark.parametrize("block", [1, 3, 1_000])
def test_blocks_change_nothing(tmp_path: Path, block: int) -> None:
    words = make_words(tmp_path / "words")
    places = np.array([0, 0, 1, 1], np.int32), np.full(4, -1, np.int32)
    found = [
        (words.text(part.first + term), part.leaves[place], part.uses[place])
        for part in count_leaf_words(words, places, Bm25Similarity(), block)
        for term in range(len(part.start) - 1)
        for place in range(part.start[term], part.start[term + 1])
    ]
    assert found == [
        ("ale", 0, 3),
        ("bee", 0, 1),
        ("bee", 1, 1),
        ("cow", 0, 1),
        ("dog", 1, 4),
        ("eel", 1, 1),
    ]


def write(folder: Path, words: WordIndex) -> None:
    folder.mkdir()
    places = np.array([0, 0, 1, 1], np.int32), np.full(4, -1, np.int32)
    write_leaf_words(folder, words, places, Bm25Similarity(), lambda *_: None)


def test_stored_entries_are_found_by_term(tmp_path: Path) -> None:
    words = make_words(tmp_path / "words")
    write(tmp_path / "tree", words)
    stored = LeafWords(tmp_path / "tree")
    assert stored.entries(words.term("bee"))[0].tolist() == [0, 1]
    assert stored.entries(words.term("eel"))[0].tolist() == [1]
    assert stored.entries(-1)[0].tolist() == []


def test_keywords_by_hand(tmp_path: Path) -> None:
    words = make_words(tmp_path / "words")
    write(tmp_path / "tree", words)
    none = np.empty(0, np.int64)
    contrastive = choose_keywords(tmp_path / "tree", make_layout(), none, True, lambda *_: None)
    terms = [words.text(int(term)) for term in contrastive.terms]
    leaf = slice(int(contrastive.start[1]), int(contrastive.start[2]))
    # Leaf 1 has 5 words, leaf 2 has 6: A = 5.5. ale: 3/5 · ln(1 + 5.5/3); cow: 1/5 · ln(1 + 5.5/1); bee: f = 2.
    wanted = {
        "ale": 3 / 5 * math.log1p(5.5 / 3),
        "cow": 1 / 5 * math.log1p(5.5),
        "bee": 1 / 5 * math.log1p(5.5 / 2),
    }
    assert dict(zip(terms[leaf], contrastive.weights[leaf].tolist(), strict=True)) == pytest.approx(wanted, rel=1e-6)
    assert terms[leaf] == ["ale", "cow", "bee"]
    assert contrastive.holding[leaf].tolist() == [2, 1, 1]
    # The root has no siblings: uses / 11 · idf over the 4 rows. dog: 4 uses, 2 rows.
    root = slice(0, int(contrastive.start[1]))
    dog = 4 / 11 * math.log(1 + 2.5 / 2.5)
    assert dict(zip(terms[root], contrastive.weights[root].tolist(), strict=True))["dog"] == pytest.approx(dog)
    generic = choose_keywords(tmp_path / "tree", make_layout(), none, False, lambda *_: None)
    leaf = slice(int(generic.start[1]), int(generic.start[2]))
    ale = 3 / 5 * math.log(1 + 2.5 / 2.5)
    assert generic.weights[leaf].tolist()[0] == pytest.approx(ale)
    stop = np.array([words.term("ale")])
    without = choose_keywords(tmp_path / "tree", make_layout(), stop, True, lambda *_: None)
    assert words.term("ale") not in without.terms.tolist()


def test_centres_are_the_middle_and_then_the_farthest() -> None:
    angles = np.radians([0, 5, 10, 12, 90, 45])
    points = to_grid(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    # The mean lies at 26 degrees, nearest is 12; the farthest from it is 90, then 45, then 0.
    assert find_centres(points, 4).tolist() == [3, 4, 5, 0]
    assert find_centres(points[[0, 0, 0]], 4).tolist() == [0]  # equal points once
    assert find_centres(points[:0], 4).tolist() == []


def sentence(row: int, terms: set[int], length: int = 8) -> NodeSentence:
    return NodeSentence(row, 0, 10, length, frozenset(terms))


def test_sentences_gain_by_what_is_not_said_yet() -> None:
    weights = {1: 3.0, 2: 2.0, 3: 1.0}
    both, same, other, none = sentence(1, {1, 2}), sentence(2, {1, 2}), sentence(3, {3}), sentence(4, {9})
    assert choose_sentences([both, same, other, none], weights) == [both, other]
    # 5/√8 for both, 3/√2·… a shorter one with less: 3/√6 = 1.22 < 5/√8 = 1.77; but not against length 20: 5/√20 = 1.12
    short = sentence(5, {1}, 2)
    assert choose_sentences([sentence(1, {1, 2}, 20), short], weights)[0] == short
    assert choose_sentences([sentence(1, {1}, LONGEST + 1), sentence(2, {2})], weights) == [sentence(2, {2})]
    assert choose_sentences([sentence(1, {1}, LONGEST + 1)], weights) == [sentence(1, {1}, LONGEST + 1)]
    assert choose_sentences([], weights) == []


def test_settings_remember_what_differs() -> None:
    assert TreeSettings().to_json() == {}
    changed = TreeSettings(seed=3, summaries="generic")
    assert changed.to_json() == {"seed": 3, "summaries": "generic"}
    assert TreeSettings.from_json(changed.to_json()) == changed
    assert TreeSettings.from_json(None) == TreeSettings()


def test_headings_are_cut_where_paths_differ_most() -> None:
    paths = [("a", "x", "1")] * 3 + [("a", "x", "2")] * 2 + [("a", "y", "1")] * 3 + [("b", "z", "")] * 2
    # 2 to 4 rows a leaf: after 3 rows the section changes; after 2 more the document does; the rest fits.
    assert cut_runs(paths, 2, 4).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert cut_runs(paths, 2, 10).tolist() == [0] * 10
    assert cut_runs([("a",)] * 5, 1, 2).tolist() == [0, 0, 1, 1, 2]  # nothing to choose by: full leaves
    assert cut_runs([], 1, 2).tolist() == []


def test_the_tree_of_headings_keeps_documents_together() -> None:
    paths = [(f"d{row % 5}", f"s{row % 10}") for row in range(60)]  # five documents of twelve rows, two sections each
    settings = TreeSettings(kind="headings", branching=2, leaf_min=4, leaf_cap=8)
    layout = build_heading_layout(np.zeros((60, 4), np.float32), paths, settings)
    for leaf in layout.leaves():
        assert len({paths[row] for row in np.flatnonzero(layout.leaf_of_row == leaf)}) == 1
    assert layout.child_count.max() == 2
    assert len(set(layout.level[layout.leaves()].tolist())) == 1
    none = build_heading_layout(np.zeros((0, 4), np.float32), [], settings)
    assert len(none.parent) == 0
