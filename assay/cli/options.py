"""Options that commands share: the store, the pipeline, the search options."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from assay.kb import KnowledgeBase

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_STORE = ".assay"
STORE_HELP = f"A folder, one file (notes.sqlite) or another address.  [env ASSAY_STORE; default ./{DEFAULT_STORE}]"


def _resolve(ctx: click.Context, _: click.Parameter, value: str | None) -> str:
    """The command's own --store, else the group's, else ASSAY_STORE (read by the group), else ./.assay."""
    store: str | None = value or ctx.find_root().params.get("store")
    return store or DEFAULT_STORE


def store_option(command: F) -> F:
    return click.option("--store", metavar="STORE", help=STORE_HELP, callback=_resolve)(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_data", is_flag=True, help="Print JSON.")(command)


def search_options(command: F) -> F:
    """The options of `search` and `explain`."""
    options = [
        click.option("-k", type=click.IntRange(1), metavar="N", help="How many results.  [default: the pipeline's k]"),
        click.option("--pipeline", default="default", metavar="NAME|FILE", help="A preset or a TOML file."),
        click.option("--where", metavar="EXPR", help="""Only chunks for which this holds: 'lang = "en"'."""),
        click.option("--at", metavar="DATE|now", help="The scoring clock; hides chunks created later."),
        click.option("--since", metavar="DATE", help="Only created since then: 2026-03-01, 'last week', 'in May'."),
        click.option("--until", metavar="DATE", help="Only created until then, its day included."),
        click.option("--scope", metavar="NAME", help="Only chunks of this scope."),
        click.option("--snapshot", metavar="vN|TAG", help="Read the store as it was at a version or tag."),
        click.option(
            "--sort",
            type=click.Choice(["relevance", "recency", "importance"]),
            default="relevance",
            help="The order of the best results.",
        ),
        click.option(
            "--budget", type=click.IntRange(1), metavar="TOKENS", help="Also pack a context of so many tokens."
        ),
        store_option,
        json_option,
        click.option("--plain", is_flag=True, help="No colours and no bars."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def search_arguments(k: int | None, at: str | None, **options: Any) -> dict[str, Any]:
    """The options as `KnowledgeBase.search` takes them."""
    return {"k": k, "at": resolve_moment(at), **options}


def resolve_moment(at: str | None) -> str | float | None:
    """`now` is read from the clock; anything else stays as it was written."""
    return time.time() if at is not None and at.strip().lower() == "now" else at


def split_names(names: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def query_argument(command: F) -> F:
    """A question in one argument or in several: people forget the quotes."""
    return click.argument("query", nargs=-1, required=True)(command)


def query_text(words: Sequence[str]) -> str:
    """The words of the query, or standard input when it is `-`."""
    if list(words) != ["-"]:
        return " ".join(words)
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def open_store(store: str, pipeline: str | None = None) -> KnowledgeBase:
    """Open an existing store and build, with a progress bar, the large index or graph that it or the pipeline lacks."""
    from assay import kb
    from assay.cli.progress import progress_bars

    base = kb.open(store, create=False)
    with progress_bars() as bar:
        base.prepare(pipeline, bar.step)
    return base
