"""Near-duplicate families: masks by hand, the partition against brute force, whatever the order of the rows."""

import random
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.index.tree.families import Components, find_families, mask_text
from assay.index.tree.masking import split_masked
from assay.index.tree.minhash import MinHasher

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau"
WORDS = GREEK.split()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("41% of 1,000.50", "<number>% of <number>"),
        ("on 2024-03-15 and 2024-05-01T10:30:00Z", "on <date> and <date>"),
        ("15/03/2024, 3-5-24, 12/2024, 2024-W07", "<date>, <date>, <date>, <date>"),
        ("15 March 2024", "<date>"),
        ("the 3rd of May, 2024.", "the <date>."),
        ("Mar 15th, 2024; March 15; MAY 2024", "<date>; <date>; <date>"),
        ("am 3. Mai 2024, 1er juin, 5 de mayo de 2024", "am <date>, <date>, <date>"),
        ("Q3 2024", "<date>"),
        ("since September we may march", "since <date> we may march"),
        ("at 09:40, 23:59:59 and 9am", "at <time>, <time> and <time>"),
        ("v2, 3.0.4, 1.2.9-rc1, 1.2rc1, 10.0.0.1", "<version>, <version>, <version>, <version>, <version>"),
        ("version 2.0", "version <number>"),
        ("TKT-738401 in G8-409: sha256, gpt-4 (#34524)", "<id> in <id>: <id>, <id> (<id>)"),
        ("the state-of-the-art  and/or\n\t foo_bar", "the state-of-the-art and/or foo_bar"),
        ("see api/v2/users and k8s.io/utils/24", "see api/<version>/users and <id>/utils/<number>"),
        ("在2024年发布", "在<number>年发布"),
        ("٣٤ things", "<number> things"),
        ("", ""),
    ],
)
def test_masks_by_hand(text: str, masked: str) -> None:
    assert mask_text(text) == masked


@given(st.text(max_size=200))
def test_masked_text_has_no_decimal_digit(text: str) -> None:
    masked = mask_text(text)
    assert not any(character.isdecimal() for character in masked)
    assert split_masked(masked) == split_masked(mask_text(masked))


def test_tokens_of_masked_text() -> None:
    assert split_masked("On <date> the Team-Lead 在<number>年") == [
        "on",
        "<date>",
        "the",
        "team",
        "lead",
        "在",
        "<number>",
        "年",
    ]


def test_no_text_and_empty_texts() -> None:
    assert find_families([]).tolist() == []
    assert find_families([]).dtype == np.int64
    assert find_families([""]).tolist() == [0]
    assert find_families(["", "one two three", " \n"]).tolist() == [0, 1, 0]


def test_equal_after_masking_is_one_family_of_the_smallest_row() -> None:
    texts = [
        "nothing else",
        "Limit is 40 days from 3 May 2024.",
        "other words here",
        "limit is 7 days from 1 June 2023",
    ]
    assert find_families(texts, threshold=2.0).tolist() == [0, 1, 2, 1]


def test_one_changed_word_in_a_long_text_is_one_family_and_another_text_is_not() -> None:
    rng = random.Random(3)
    vocabulary = [f"{a}{b}" for a in WORDS for b in WORDS]
    text = rng.sample(vocabulary, 60)
    twin = [*text[:30], "changed", *text[31:]]
    other = rng.sample(vocabulary, 60)
    assert find_families([" ".join(words) for words in (other, text, twin)]).tolist() == [0, 1, 1]


def test_a_bucket_of_many_equal_texts_and_of_many_similar_ones() -> None:
    equal = [f"the same words again and again, number {i}" for i in range(5_000)]
    base = WORDS * 3
    similar = [" ".join([*base, WORDS[i % 19] + "x" * (i % 50)]) for i in range(2_000)]
    families = find_families(equal + similar)
    assert families[:5_000].tolist() == [0] * 5_000
    assert families[5_000:].tolist() == [5_000] * 2_000


texts_strategy = st.lists(
    st.lists(st.sampled_from([*WORDS[:6], "1", "2.0", "A-7"]), max_size=12).map(" ".join), max_size=40
)


@settings(max_examples=60, deadline=None)
@given(texts_strategy, st.randoms(use_true_random=False))
def test_the_partition_does_not_depend_on_the_order(texts: list[str], rng: random.Random) -> None:
    order = list(range(len(texts)))
    rng.shuffle(order)
    families = find_families(texts)
    shuffled = find_families([texts[row] for row in order])
    back = np.empty(len(texts), np.int64)
    back[order] = [order[family] for family in shuffled]
    for one in range(len(texts)):
        assert ((families == families[one]) == (back == back[one])).all()


@settings(max_examples=60, deadline=None)
@given(texts_strategy)
def test_a_family_is_named_by_its_smallest_row(texts: list[str]) -> None:
    families = find_families(texts)
    for row, family in enumerate(families):
        assert family == np.flatnonzero(families == family)[0] <= row


def jaccard(one: str, other: str) -> float:
    a, b = (list(split_masked(mask_text(text))) for text in (one, other))
    one_set, other_set = set(pairwise(a)), set(pairwise(b))
    return len(one_set & other_set) / len(one_set | other_set)


def test_families_agree_with_brute_force() -> None:
    """Every pair that is clearly similar is together; no family holds two texts that no chain of similar ones joins."""
    rng = random.Random(5)
    bases = [[rng.choice(WORDS) for _ in range(40)] for _ in range(12)]
    texts = []
    for _ in range(120):
        words = list(rng.choice(bases))
        for _ in range(rng.randrange(5)):
            words[rng.randrange(40)] = rng.choice(WORDS)
        texts.append(" ".join(words))
    families = find_families(texts, threshold=0.75)
    chains = Components(len(texts))
    for one in range(len(texts)):
        for other in range(one):
            similarity = jaccard(texts[one], texts[other])
            if similarity >= 0.9:
                assert families[one] == families[other]
            if similarity >= 0.55:
                chains.join(one, other)
    labels = chains.labels()
    assert (labels[families] == labels).all()


def test_signatures_estimate_the_jaccard_similarity() -> None:
    hasher = MinHasher(4_000, 1, 7)
    one, other = hasher.sign([WORDS[:15], WORDS[5:19]])
    assert np.mean(one == other) == pytest.approx(10 / 19, abs=0.03)  # 10 shared words of 19; the deviation is .008
    assert (hasher.sign([["a"], []])[1] == hasher.sign([[]])[0]).all()
    short, padded = MinHasher(16, 3, 1).sign([["a"], ["a", "b"]])
    assert (short != padded).any()


def test_the_hash_seed_of_python_changes_nothing() -> None:
    script = (
        "from assay.index.tree.families import find_families\n"
        "from assay.index.tree.minhash import MinHasher\n"
        "print(MinHasher(4, 2, 1).sign([['a', 'b'], ['c']]).tolist(), find_families(['a b 1', 'c', 'a b 2']).tolist())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert "[0, 1, 0]" in runs.pop()


def test_components_by_hand() -> None:
    components = Components(5)
    components.join(3, 4)
    components.join(1, 4)
    assert components.labels().tolist() == [0, 1, 2, 1, 1]


def test_progress_ends_complete() -> None:
    seen: list[tuple[str, int, int]] = []
    find_families(["a", "b"], progress=lambda *step: seen.append(step))
    assert seen[0] == ("masking and hashing texts", 2, 0)
    assert seen[-1][1] == seen[-1][2]
