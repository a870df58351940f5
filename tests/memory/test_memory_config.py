"""The memory pipeline's configuration: defaults, types, ranges, warnings, and the pipeline it becomes."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config.load import from_dict, load
from assay.config.preflight import preflight
from assay.errors import AssayError, ConfigError
from assay.memory.config import KEYS, convert, read_settings
from assay.rerank.providers.table import PROVIDERS

DEFAULTS = {
    "mode": "hybrid",
    "vectorWeight": 0.7,
    "bm25Weight": 0.3,
    "minScore": 0.3,
    "rerank": "cross-encoder",
    "candidatePoolSize": 20,
    "recencyHalfLifeDays": 14,
    "recencyWeight": 0.10,
    "filterNoise": True,
    "rerankProvider": "jina",
    "rerankModel": "jina-reranker-v3",
    "rerankEndpoint": "https://api.jina.ai/v1/rerank",
    "lengthNormAnchor": 500,
    "hardMinScore": 0.35,
    "timeDecayHalfLifeDays": 60,
}
"""The configuration reference of the memory pipeline, typed off by hand."""


def steps(given):
    return [step["use"] for step in convert(given).pipeline["step"]]


def step(given, name):
    (found,) = [s for s in convert(given).pipeline["step"] if s.get("name", s["use"]) == name]
    return found


def test_every_default_is_that_of_002():
    assert read_settings({}) == DEFAULTS
    assert {key.name: key.default for key in KEYS} == DEFAULTS
    assert PROVIDERS["jina"].model == DEFAULTS["rerankModel"]
    assert PROVIDERS["jina"].url == DEFAULTS["rerankEndpoint"]


def test_the_defaults_are_the_preset():
    assert convert({}).warnings == ()
    assert from_dict(convert({}).pipeline, "memory").digest == load("memory").digest


def test_the_defaults_given_are_the_defaults():
    """The whole reference spelled out is the same pipeline; the provider's own model and address are then named."""
    given = {name: value for name, value in DEFAULTS.items() if name not in ("rerankModel", "rerankEndpoint")}
    assert convert(given).pipeline == convert({}).pipeline
    spelled = step(DEFAULTS, "rerank")
    assert (spelled["model"], spelled["endpoint"]) == (DEFAULTS["rerankModel"], DEFAULTS["rerankEndpoint"])


def test_the_order_of_002():
    assert steps({}) == [
        "min_score",
        "provider_rerank",
        "recency",
        "importance",
        "length",
        "decay",
        "min_score",
        "noise",
        "defer",
    ]


@pytest.mark.parametrize(
    ("key", "value", "name", "setting", "becomes"),
    [
        ("minScore", 0.2, "minimum", "threshold", 0.2),
        ("recencyHalfLifeDays", 7, "recency", "tau_days", 7.0),
        ("recencyWeight", 0.2, "recency", "weight", 0.2),
        ("lengthNormAnchor", 800, "length", "anchor", 800.0),
        ("timeDecayHalfLifeDays", 30, "decay", "tau_days", 30.0),
        ("hardMinScore", 0.4, "hard_minimum", "threshold", 0.4),
        ("rerankProvider", "cohere", "rerank", "provider", "cohere"),
        ("rerankModel", "m", "rerank", "model", "m"),
        ("rerankEndpoint", "https://example.com/r", "rerank", "endpoint", "https://example.com/r"),
    ],
)
def test_every_key_reaches_its_setting(key, value, name, setting, becomes):
    assert step({key: value}, name)[setting] == becomes
    from_dict(convert({key: value}).pipeline)


def test_the_pool_is_the_depth_of_the_legs_and_of_the_rerank():
    pipeline = convert({"candidatePoolSize": 30}).pipeline
    assert {leg: plan["k"] for leg, plan in pipeline["legs"].items()} == {"dense": 30, "bm25": 30}
    assert step({"candidatePoolSize": 30}, "rerank")["pool"] == 60
    assert step({"candidatePoolSize": 30, "mode": "vector"}, "rerank")["pool"] == 30
    from_dict(convert({"candidatePoolSize": 1, "mode": "vector"}).pipeline)


def test_vector_mode_is_the_same_without_words():
    hybrid, vector = convert({}).pipeline, convert({"mode": "vector"}).pipeline
    assert list(vector["legs"]) == ["dense"]
    assert "fuse" not in vector
    different = [(a, b) for a, b in zip(hybrid["step"], vector["step"], strict=True) if a != b]
    assert [a["use"] for a, _ in different] == ["provider_rerank"]


def test_rerank_in_three_ways():
    assert step({"rerank": "lightweight"}, "rerank") == {"use": "cosine", "name": "rerank"}
    assert "provider_rerank" not in steps({"rerank": "none"})
    assert len(steps({"rerank": "none"})) == 8


@pytest.mark.parametrize(
    ("given", "gone"),
    [
        ({"recencyHalfLifeDays": 0}, "recency"),
        ({"recencyWeight": 0}, "recency"),
        ({"lengthNormAnchor": 0}, "length"),
        ({"timeDecayHalfLifeDays": 0}, "decay"),
        ({"filterNoise": False}, "noise"),
    ],
)
def test_what_is_switched_off_is_not_there(given, gone):
    assert gone not in steps(given)
    assert len(steps(given)) == 8
    assert len(steps({"minScore": 0, "hardMinScore": 0})) == 7


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({"vectorWeight": 0.7}, ["vectorWeight has no effect under confirm_boost"]),
        ({"bm25Weight": 0.1}, ["bm25Weight has no effect under confirm_boost"]),
        ({"bm25Weight": 0.1, "mode": "vector"}, ["bm25Weight has no effect in vector mode"]),
        ({"rerankModel": "m", "rerank": "none"}, ['rerankModel has no effect with rerank = "none"']),
        ({"rerankProvider": "local", "rerankModel": "m"}, ['rerankModel has no effect with rerankProvider = "local"']),
        (
            {"recencyWeight": 0.3, "recencyHalfLifeDays": 0},
            ["recencyWeight has no effect with recencyHalfLifeDays = 0"],
        ),
    ],
)
def test_what_has_no_effect_is_accepted_and_said(given, warned):
    found = convert(given)
    assert len(found.warnings) == len(warned)
    assert all(said.startswith(expected) for said, expected in zip(found.warnings, warned, strict=True))
    from_dict(found.pipeline)


def test_weights_change_nothing():
    assert convert({"vectorWeight": 0.1, "bm25Weight": 0.9}).pipeline == convert({}).pipeline


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(ConfigError, match=r"no key 'recencyHalfLife'") as failed:
        convert({"recencyHalfLife": 14})
    assert "did you mean 'recencyHalfLifeDays'?" in failed.value.cure
    with pytest.raises(ConfigError, match=r"no key 'min_score'"):
        convert({"min_score": 0.3})


def test_a_key_for_the_provider_is_refused_and_not_repeated():
    with pytest.raises(ConfigError, match="rerankApiKey") as failed:
        convert({"rerankApiKey": "jina_secret"})
    assert "environment" in failed.value.cure
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_types_are_checked(key):
    number = isinstance(key.default, int | float) and not isinstance(key.default, bool)
    wrong = ["20", None, True, [1], {}] if number else [1, 1.0, None, [], "nothing like it" if key.choices else ""]
    for value in wrong:
        with pytest.raises(ConfigError, match=f"^{key.name} = "):
            convert({key.name: value})


@pytest.mark.parametrize("key", [key for key in KEYS if type(key.default) in (int, float)], ids=lambda key: key.name)
def test_ranges_are_checked(key):
    above = [1.0001] if key.hi == 1.0 else [10**400]
    whole = [1.5, 0] if isinstance(key.default, int) else []
    for value in (-0.1, math.nan, math.inf, -math.inf, *above, *whole):
        with pytest.raises(ConfigError, match=f"{key.name} = .* is out of range"):
            convert({key.name: value})


def test_a_misspelt_choice_names_the_nearest():
    with pytest.raises(ConfigError) as failed:
        convert({"rerank": "cross_encoder"})
    assert "did you mean 'cross-encoder'?" in failed.value.cure


VALUES = {
    key.name: st.sampled_from(key.choices)
    if key.choices
    else st.booleans()
    if isinstance(key.default, bool)
    else st.integers(1, 50)
    if isinstance(key.default, int)
    else st.floats(key.lo, min(key.hi, 400.0))
    if isinstance(key.default, float)
    else st.just(key.default)
    for key in KEYS
}


@given(st.fixed_dictionaries({}, optional=VALUES))
def test_whatever_is_legal_makes_a_pipeline_that_can_work(given):
    pipeline = from_dict(convert(given).pipeline)
    assert [finding for finding in preflight(pipeline) if finding.level == "error"] == []


@given(st.dictionaries(st.one_of(st.sampled_from([key.name for key in KEYS]), st.text(max_size=8)), st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=2)
), max_size=4))  # fmt: skip
def test_anything_else_is_refused_with_a_cure(given):
    failed = None
    try:
        from_dict(convert(given).pipeline)
    except AssayError as error:
        failed = error
    assert failed is None or failed.cure


def test_the_table_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "memory.md").read_text("utf-8")
    written = re.findall(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \| (.+?) \|$", page, re.MULTILINE)
    spoken = {True: "true", False: "false"}
    expected = [
        (key.name, key.legal, str(spoken[key.default] if isinstance(key.default, bool) else key.default), key.becomes)
        for key in KEYS
    ]
    assert written == expected
