"""A recall that finds nothing says where it looked, and how to look elsewhere."""

from assay.memory.silence import explain_silence
from assay.serve.access import LOCAL, Caller


def test_the_sentence_names_the_scopes_and_how_to_name_another() -> None:
    assert explain_silence(0, {}, "", ("global",)) == (
        'Nothing is known here in the scope global (for another: scope="NAME").'
    )
    said = explain_silence(0, {}, "before 2026-01-01", ("a", "b", "c", "d", "e"), elsewhere="")
    assert said == "Nothing is known here before 2026-01-01 in the scopes a, b, c and 2 more."


def test_what_was_found_and_dropped_is_not_said_to_be_unknown() -> None:
    assert explain_silence(3, {"noise": 2, "decay": 1}, "", ("global",)) == (
        "3 found, and none is served; dropped by: noise 2, decay 1."
    )


def test_a_caller_is_told_only_of_scopes_that_it_reaches() -> None:
    assert LOCAL.explain_others(None) == 'for another: scope="NAME"'
    key = Caller("agent", "read", ("user:ada", "user:bo"))
    assert key.explain_others(None) == ""
    assert key.explain_others("user:ada") == "for all: leave scope out"
    assert Caller("agent", "read", ("user:ada",)).explain_others("user:ada") == ""
