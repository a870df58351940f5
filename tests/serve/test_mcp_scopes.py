"""A server reaches the scopes it was started with; whatever a client says, no other is handed on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError, ConfigError, QueryError
from assay.serve.mcp.scopes import ScopeLimits

BOUNDS = ScopeLimits(("user:ada", "global"))


def test_without_a_word_all_are_read_and_the_first_is_written():
    assert BOUNDS.to_read(None) == ("user:ada", "global")
    assert BOUNDS.to_write(None) == "user:ada"


def test_one_of_them_may_be_named():
    assert BOUNDS.to_read("global") == ("global",)
    assert BOUNDS.to_write("global") == "global"


@given(st.text() | st.sampled_from(["*", "user:*", "user:", "GLOBAL", " global", "global\x00", "user:bob", "%", ""]))
def test_no_other_name_is_ever_handed_on(asked):
    for choose in (BOUNDS.to_read, BOUNDS.to_write):
        if asked in BOUNDS.scopes:
            continue
        with pytest.raises(QueryError) as caught:
            choose(asked)
        assert caught.value.cure == "leave scope out, or: user:ada, global"


def test_a_server_without_a_scope_does_not_start():
    with pytest.raises(ConfigError, match="without a scope"):
        ScopeLimits(())


@pytest.mark.parametrize("scope", ["", " ", "*", "user:*", "a\nb", "a\x00"])
def test_a_server_with_a_name_that_is_no_scope_does_not_start(scope):
    with pytest.raises(AssayError):
        ScopeLimits(("global", scope))
