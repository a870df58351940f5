"""Sixteen bits, by hand and by law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cascade.tmd.prototypes import FIELDS, embed_prototypes, read_codes, read_descriptions
from assay.errors import BadRecord, ConfigError
from assay.score.tmd_ladder import Ladder
from assay.score.tmd_layout import LAYOUTS, find_layout

SPEC, WIDE = LAYOUTS["spec"], LAYOUTS["wide"]
codes = st.integers(0, 65_535)


def test_the_spec_layout_by_hand():
    # domain 9 = 1001, task 3 = 00011, modifier 5 = 000101, spare 0
    assert int(SPEC.pack(9, 3, 5)) == 0b1001_00011_000101_0 == 37_258
    assert [int(x) for x in SPEC.unpack(37_258)] == [9, 3, 5]
    assert int(SPEC.lanes(37_258)) == 37_258 >> 1 == 18_629
    assert SPEC.lanes(np.array([65_535], np.uint16)).tolist() == [32_767]


def test_the_wide_layout_by_hand():
    assert int(WIDE.pack(9, 3, 5)) == 9 << 11 | 3 << 6 | 5
    assert [int(x) for x in WIDE.unpack(9 << 11 | 3 << 6 | 5)] == [9, 3, 5]
    assert int(WIDE.lanes(9 << 11 | 3 << 6 | 5)) == 9


@pytest.mark.parametrize("name", LAYOUTS)
@given(st.data())
def test_unpacking_gives_back_what_was_packed(name, data):
    place = find_layout(name)
    given_ = tuple(data.draw(st.integers(0, getattr(place, field).count - 1)) for field in FIELDS)
    assert tuple(int(x) for x in place.unpack(place.pack(*given_))) == given_


@given(codes)
def test_no_bit_is_in_two_fields(bits):
    domain, task, modifier = SPEC.unpack(bits)
    assert int(SPEC.pack(domain, task, modifier)) == bits & ~1
    assert int(WIDE.pack(*WIDE.unpack(bits))) == bits


def test_a_number_that_does_not_fit_is_refused_not_cut():
    for wrong in ((16, 0, 0), (0, 32, 0), (0, 0, 64), (-1, 0, 0)):
        with pytest.raises(ConfigError, match="does not fit"):
            SPEC.pack(*wrong)
    with pytest.raises(ConfigError, match="no layout"):
        find_layout("narrow")


# -- ladders


A = SPEC.pack(9, 3, 5)
CASES = {
    "same lane": (SPEC.pack(9, 3, 5), 1.0, 1.0),
    "same domain and task": (SPEC.pack(9, 3, 6), 0.8, 0.8),
    "same domain": (SPEC.pack(9, 4, 5), 0.8, 0.8),
    "same task": (SPEC.pack(8, 3, 5), 0.2, 0.4),
    "nothing": (SPEC.pack(8, 4, 5), 0.4, 0.2),
}


@pytest.mark.parametrize("case", CASES)
def test_rungs_by_hand(case):
    code, spec, monotone = CASES[case]
    for name, wanted in (("spec", spec), ("monotone", monotone)):
        found = Ladder(name, SPEC).align(int(A), int(SPEC.lanes(A)), np.array([code]), SPEC.lanes(np.array([code])))
        assert found.tolist() == [wanted]


@given(codes, st.lists(codes, min_size=1, max_size=20))
def test_more_agreement_never_scores_lower_under_monotone(bits, others):
    lane = int(SPEC.lanes(bits))
    given_ = np.array(others, np.uint16)
    align = Ladder("monotone", SPEC).align(bits, lane, given_, SPEC.lanes(given_))
    domain, task, _ = SPEC.unpack(bits)
    domains, tasks, _ = SPEC.unpack(given_)
    agrees = np.stack([SPEC.lanes(given_) == lane, domains == domain, tasks == task], axis=1)
    for one in range(len(others)):
        for other in range(len(others)):
            if (agrees[one] >= agrees[other]).all():
                assert align[one] >= align[other]


def test_the_spec_ladder_breaks_that_law():
    both, task = (
        Ladder("spec", SPEC).align(int(A), -1, np.array([c]), np.array([0]))[0]
        for c in (CASES["nothing"][0], CASES["same task"][0])
    )
    assert both > task


def test_the_lane_is_not_held_against_the_bits():
    """The specification's own example has code 1234 with lane 9, which fits no layout."""
    assert int(SPEC.lanes(1234)) != 9
    found = Ladder("spec", SPEC).align(1234, 9, np.array([1234, 37_258]), np.array([617, 9]))
    assert found.tolist() == [0.8, 1.0]


def test_a_hierarchy_of_domains_by_hand():
    ladder = Ladder("monotone", SPEC, {"life": (5, 6), "nature": (4, 8)}, (("life", "nature"),))
    given_ = SPEC.pack([5, 6, 4, 9, 5], [3, 3, 3, 3, 3], [1, 0, 0, 0, 0])
    bits = int(SPEC.pack(5, 3, 0))
    found = ladder.align(bits, int(SPEC.lanes(bits)), given_, SPEC.lanes(given_))
    assert found.tolist() == [0.9, 0.9, 0.7, 0.3, 1.0]
    alone = int(SPEC.pack(1, 0, 0))
    assert ladder.align(alone, 0, SPEC.pack([1, 2], [1, 1], [1, 1]), np.array([7, 7])).tolist() == [0.9, 0.3]


def test_hierarchies_that_cannot_be():
    for families, sisters in (
        ({"a": (5,), "b": (5,)}, ()),
        ({"a": (16,)}, ()),
        ({"a": (1,)}, (("a", "c"),)),
        ({"a": (1,)}, (("a",),)),
    ):
        with pytest.raises(ConfigError):
            Ladder("spec", SPEC, families, sisters)
    with pytest.raises(ConfigError, match="ladder"):
        Ladder("steep", SPEC)


# -- codes without hand labels


class Letters:
    """An embedder for tests: how often each letter stands in a text, of length one."""

    name, digest, dim, max_tokens = "letters", "letters", 26, 256

    def encode(self, texts):
        counts = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], np.float64)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)

    def encode_query(self, text):
        return self.encode([text])[0]


def test_descriptions_are_as_many_as_the_bits_hold_and_all_differ():
    found = read_descriptions()
    assert {field: len(found[field]) for field in FIELDS} == {"domain": 16, "task": 32, "modifier": 64}
    for field in FIELDS:
        assert len({text for _, text in found[field]}) == len(found[field])
        assert len({name for name, _ in found[field]}) == len(found[field])


def test_a_description_is_nearest_to_itself():
    made = embed_prototypes(Letters(), SPEC)
    for field in FIELDS:
        own = Letters().encode([text for _, text in read_descriptions()[field]])
        assert getattr(SPEC, field).of(made.codes(own)).tolist() == list(range(len(own)))


class Angles:
    """An embedder for tests: texts are degrees in the plane."""

    name, digest, dim, max_tokens = "angles", "angles", 2, 256

    def encode(self, texts):
        turns = np.radians([float(text) for text in texts])
        return np.stack([np.cos(turns), np.sin(turns)], axis=1)

    def encode_query(self, text):
        return self.encode([text])[0]


def test_what_descriptions_share_is_taken_out(monkeypatch):
    """Descriptions at 0°, 10° and 90°, m = (0.6616, 0.3912). 5.2° is nearer to 10° than to 0°; from m it is not:
    (0.3343, −0.3006) · (0.654, −0.756) = 0.4459 against · (0.830, −0.559) = 0.4452."""
    three = (("east", "0"), ("near", "10"), ("north", "90"))
    monkeypatch.setattr("assay.cascade.tmd.prototypes.read_descriptions", lambda: dict.fromkeys(FIELDS, three))
    made = embed_prototypes(Angles(), SPEC)
    found = made.codes(Angles().encode(["5.2", "6", "10", "60"]).astype(np.float32))
    assert SPEC.unpack(found)[0].tolist() == [0, 1, 1, 2]


def test_a_code_depends_on_its_vector_alone():
    made = embed_prototypes(Letters(), SPEC)
    texts = Letters().encode(["rotate the key", "the battle of 1066", "x + y = z", "def main():"])
    together = made.codes(texts)
    assert [int(made.codes(text[None])[0]) for text in texts] == together.tolist()


def test_codes_from_files(tmp_path):
    ids = np.array([4, 7])
    (tmp_path / "codes.tsv").write_text("7\t12\n4\t65535\n")
    assert read_codes(tmp_path / "codes.tsv", ids).tolist() == [65535, 12]
    (tmp_path / "codes.tsv").write_bytes(b"\xef\xbb\xbf4\t1\r\n7\t12\r\n")  # as Windows programs write it
    assert read_codes(tmp_path / "codes.tsv", ids).tolist() == [1, 12]
    np.save(tmp_path / "codes.npy", np.array([1, 2], np.uint16))
    assert read_codes(tmp_path / "codes.npy", ids).tolist() == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4\t1\n",
        "4\t1\n7\n",
        "4\t1\n4\t2\n7\t1\n",
        "4\t1\n7\t65536\n",
        "4\tx\n7\t1\n",
        "\xff",
        "4\t1\n\n7\t1\n",
        '"',
        pytest.param("4" * 200_000, id="a word without end"),
    ],
)
def test_files_that_are_no_codes(tmp_path, text):
    (tmp_path / "codes.tsv").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadRecord):
        read_codes(tmp_path / "codes.tsv", np.array([4, 7]))


@pytest.mark.parametrize(
    ("text", "where"), [("id\tcode\n4\t1\n7\t1\n", "line 1"), ("4\t1\n7,1\n", "line 2"), ("4\t1\n7\t1\n\n", "line 3")]
)
def test_a_line_that_is_no_code_is_named(tmp_path, text, where):
    (tmp_path / "codes.tsv").write_text(text)
    with pytest.raises(BadRecord, match=where):
        read_codes(tmp_path / "codes.tsv", np.array([4, 7]))


def test_arrays_that_are_no_codes(tmp_path):
    for wrong in (np.array([1], np.uint16), np.array([1, 2]), np.array([[1], [2]], np.uint16)):
        np.save(tmp_path / "codes.npy", wrong)
        with pytest.raises(BadRecord):
            read_codes(tmp_path / "codes.npy", np.array([4, 7]))
    np.savez(tmp_path / "codes.npz", codes=np.array([1, 2], np.uint16))
    for raw in (b"nothing", b"", (tmp_path / "codes.npz").read_bytes()):
        (tmp_path / "codes.npy").write_bytes(raw)
        with pytest.raises(BadRecord):
            read_codes(tmp_path / "codes.npy", np.array([4, 7]))
