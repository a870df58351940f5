"""What a call may say: strict, with an error that names the cure and never repeats what was given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import QueryError
from assay.serve.mcp.arguments import (
    MAX_QUERY,
    MAX_TEXT,
    RecallArguments,
    StoreArguments,
    ToolArguments,
    check_arguments,
)
from assay.serve.mcp.tools import TOOLS


def test_defaults_are_those_of_the_service():
    store = check_arguments("memory_store", StoreArguments, {"text": "Ada likes tea"})
    assert (store.category, store.importance, store.on_duplicate) == ("fact", 0.7, "skip")
    recall = check_arguments("memory_recall", RecallArguments, {"query": "tea"})
    assert (recall.limit, recall.adaptive, recall.scope) == (5, False, None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "query must be given"),
        ({"query": 5}, "query: input should be a valid string"),
        ({"query": ["tea"]}, "query: input should be a valid string"),
        ({"query": None}, "query: input should be a valid string"),
        ({"query": ""}, "query: string should have at least 1 character"),
        ({"query": "tea", "limit": "5"}, "limit: input should be a valid integer"),
        ({"query": "tea", "limit": True}, "limit: input should be a valid integer"),
        ({"query": "tea", "limit": 0}, "limit: input should be greater than or equal to 1"),
        ({"query": "tea", "limit": 10**30}, "limit: input should be less than or equal to 50"),
        ({"query": "tea", "tags": "work"}, "tags: input should be a valid list"),
        ({"query": "tea", "tags": [1]}, "tags.0: input should be a valid string"),
        ({"query": "tea", "adaptive": 1}, "adaptive: input should be a valid boolean"),
        ({"query": "tea", "scopes": ["all"]}, "there is no argument 'scopes' (did you mean 'scope'?"),
        ({"query": "tea", "pipeline": "x"}, "there is no argument 'pipeline'"),
        ({"query": "t" * (MAX_QUERY + 1)}, f"query: string should have at most {MAX_QUERY} characters"),
    ],
)
def test_a_wrong_argument_is_named_with_what_it_should_be(given, said):
    with pytest.raises(QueryError) as caught:
        check_arguments("memory_recall", RecallArguments, given)
    assert said in caught.value.message
    assert caught.value.message.startswith("memory_recall: ")
    names = "query, limit, category, tags, since, until, at, adaptive, budget, details, scope"
    assert caught.value.cure == f"memory_recall takes: {names}"


@pytest.mark.parametrize("importance", [-0.1, 1.1, float("nan"), float("inf"), "high", None])
def test_importance_is_a_share(importance):
    with pytest.raises(QueryError, match="importance: input should be"):
        check_arguments("memory_store", StoreArguments, {"text": "Ada likes tea", "importance": importance})


def test_an_error_repeats_nothing_private_and_nothing_long():
    with pytest.raises(QueryError) as caught:
        check_arguments("memory_store", StoreArguments, {"text": "secret" * MAX_TEXT, "k" * 10_000: 1})
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 1_000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(TOOLS)), st.data())
def test_any_json_is_accepted_as_its_type_or_refused_in_words(name, data):
    takes = TOOLS[name].arguments_type
    keys = st.sampled_from(sorted(takes.model_fields)) | st.text(max_size=8)
    given_arguments = data.draw(st.dictionaries(keys, _JSON, max_size=5))
    try:
        accepted = check_arguments(name, takes, given_arguments)
    except QueryError as error:
        refusal = error
    else:
        assert isinstance(accepted, ToolArguments)
        assert {key: getattr(accepted, key) for key in given_arguments} == given_arguments
        return
    assert refusal.message
    assert refusal.cure
