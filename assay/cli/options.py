"""What commands share: which store, which pipeline, as of when."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from assay.kb import KnowledgeBase

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_STORE = ".assay"
STORE_HELP = f"A folder, one file (notes.sqlite) or another address.  [env ASSAY_STORE; default ./{DEFAULT_STORE}]"


def _resolve(ctx: click.Context, _: click.Parameter, value: str | None) -> str:
    """The command's own --store, else the group's, else ASSAY_STORE (read by the group), else ./.assay."""
    found: str | None = value or ctx.find_root().params.get("store")
    return found or DEFAULT_STORE


def store_option(command: F) -> F:
    return click.option("--store", metavar="STORE", help=STORE_HELP, callback=_resolve)(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_data", is_flag=True, help="Print JSON.")(command)


def search_options(command: F) -> F:
    """The options of `search` and `explain`, which ask the same question."""
    options = [
        click.option("-k", type=click.IntRange(1), metavar="N", help="How many results.  [default: the pipeline's k]"),
        click.option("--pipeline", default="default", metavar="NAME|FILE", help="A preset or a TOML file."),
        click.option("--where", metavar="EXPR", help="""Only chunks for which this holds: 'lang = "en"'."""),
        click.option("--at", metavar="DATE|now", help="The scoring clock; hides chunks created later."),
        click.option("--scope", metavar="NAME", help="Only chunks of this scope."),
        click.option("--snapshot", metavar="vN|TAG", help="Read the store as it was at a version or tag."),
        click.option(
            "--sort",
            type=click.Choice(["relevance", "recency", "importance"]),
            default="relevance",
            help="The order of the best results.",
        ),
        click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="Keep what fits into so many tokens."),
        store_option,
        json_option,
        click.option("--plain", is_flag=True, help="No colours and no bars."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def question(k: int | None, at: str | None, **given: Any) -> dict[str, Any]:
    """The options as `KnowledgeBase.search` takes them. `now` is read from the clock here, at the edge."""
    import time

    moment: str | float | None = time.time() if at is not None and at.strip().lower() == "now" else at
    return {"k": k, "at": moment, **given}


def listed(words: str) -> list[str]:
    """Names between commas."""
    return [word.strip() for word in words.split(",") if word.strip()]


def query_text(query: str) -> str:
    """The query itself, or what stands on standard input when it is `-`."""
    if query != "-":
        return query
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def opened(store: str) -> KnowledgeBase:
    """An existing store. A large one whose index is missing gets it now, where a person can watch."""
    from assay import kb

    base = kb.open(store, create=False)
    if base.backend.wants_index:
        from assay.cli.progress import bars

        with bars() as bar:
            base.optimize(bar.step)
    return base


def with_graph(base: KnowledgeBase, pipeline: str) -> None:
    """A pipeline that walks the graph of a large store gets it built now, where a person can watch."""
    from assay.backend.contract import GraphBackend

    if not any("graph" in plan.leg.needs for plan in base.pipeline(pipeline).legs):
        return
    if isinstance(base.backend, GraphBackend) and base.backend.graph_due:
        from assay.cli.progress import bars

        with bars() as bar:
            base.build_graph(bar.step)
