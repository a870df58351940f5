"""Recognises slash commands, shell commands and system messages.

What follows the first word separates a shell command from a sentence: "find . -name x" against
"find the policy for travel", "test it" against "test results from last week".

    alone                       the name of a command, nothing else                       build
    an order                    run, build, test … and only what one runs, builds, tests  run the tests again
    a known sub-command         of a tool that has them, then at most two plain words     git push origin main
    marks of a command line     an option, a path, a file, a pipe, a variable             cat notes.txt

The last two apply only without the small words of a sentence (the, of, our, …) outside quotes and without a question
mark; a pipe or && is enough. Every expression here runs in linear time.
"""

from __future__ import annotations

import re
from itertools import dropwhile

from assay.text.phrase_units import MAX_READ, split_units
from assay.text.phrases import load_tables

_TABLES = load_tables("commands.toml")
TOOLS = {tool: frozenset(names.split()) for tool, names in _TABLES["tools"].items()}
PLAIN, MARKED, ORDERS, WORKED, PROSE = (
    frozenset(_TABLES[table].split()) for table in ("plain", "marked", "orders", "worked", "prose")
)
MOST_PLAIN = 2
"""Arguments without any mark that a command line may have: a branch, a package, two of them."""

_SLASH = re.compile(r"/[^\W\d_][\w:.-]*(?=\s|\Z)")
_SYSTEM = re.compile(r"\[system\b", re.IGNORECASE)
_HEARTBEAT = re.compile(r"\bHEARTBEAT(?:_OK)?\b")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_MARK = re.compile(r"--?\w|\.{1,2}\Z|.*[/\\~$*=|<>{}]|.*&&|.*\w\.\w|.*\w@\w|.*:\d|\d+\Z")
_CHAIN = re.compile(r"[|>]|&&")


def is_slash_command(text: str) -> bool:
    """/new and /model fast, but not /etc/hosts: a path is no command."""
    return _SLASH.match(text) is not None


def is_system_message(text: str) -> bool:
    """[System …] at the beginning, or HEARTBEAT in capitals; "heartbeat" in a sentence is a word like any other."""
    if _SYSTEM.match(text) or ("heartbeat" in text.lower() and split_units(text) == ("heartbeat",)):
        return True
    return _HEARTBEAT.search(text[:MAX_READ]) is not None and not text.rstrip().endswith("?")


def is_shell_command(text: str) -> bool:
    """Is it a command line, or an order to run, build or test?"""
    words = text[:MAX_READ].split()
    command = list(dropwhile(lambda word: word == "sudo", words))
    if not command:
        return bool(words)
    first, rest = command[0], " ".join(command[1:])
    name = first.lower().rstrip(".!;:,")
    known = name in TOOLS or name in PLAIN or name in MARKED or name in ORDERS
    if words[-1].endswith("?") or not (known or first.startswith("./")):
        return len(command) < len(words) <= MOST_PLAIN + 1  # sudo with any one or two words
    if not rest or (name in ORDERS and WORKED.issuperset(split_units(rest))):
        return True
    arguments = _QUOTED.sub("''", rest).split()
    plain = [argument for argument in arguments if argument != "''" and not _MARK.match(argument)]
    if not PROSE.isdisjoint(split_units(" ".join(plain))):
        return False
    if name in TOOLS and plain and plain[0] == arguments[0]:
        return plain[0].lower() in TOOLS[name] and len(plain) <= MOST_PLAIN + 1
    if any(map(_CHAIN.search, arguments)):
        return True
    return len(plain) <= MOST_PLAIN and (name in PLAIN or len(plain) < len(arguments))
