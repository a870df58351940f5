"""`assay search`: search a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.options import open_store, query_argument, query_text, search_arguments, search_options

if TYPE_CHECKING:
    from assay.engine.answer import Answer
    from assay.kb import KnowledgeBase


@click.command()
@query_argument
@search_options
@click.option(
    "--abstain/--no-abstain", default=None, help="Withhold the results of a question that is judged impossible."
)
@click.option("-q", "--quiet", is_flag=True, help="A line per result: rank, score, id, title, file, with tabs between.")
@click.option("--paths", "only_paths", is_flag=True, help="Print the paths of the files alone, best first, each once.")
@click.option("--context", "only_context", is_flag=True, help="With --budget: print the context alone, to paste it.")
@click.option("--fail-empty", is_flag=True, help="Exit with 1 when nothing is found.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Keep it to replay it.")
@click.option("--with-text", is_flag=True, help="Keep the texts of other sources in the record, too.")
def search(
    query: tuple[str, ...],
    k: int | None,
    pipeline: str,
    where: str | None,
    at: str | None,
    since: str | None,
    until: str | None,
    scope: str | None,
    snapshot: str | None,
    sort: str,
    budget: int | None,
    store: str,
    as_data: bool,
    plain: bool,
    abstain: bool | None,
    quiet: bool,
    only_paths: bool,
    only_context: bool,
    fail_empty: bool,
    record: Path | None,
    with_text: bool,
) -> None:
    """Ask a store; every result names its file and its reasons.

    QUERY is any text, several words without quotes too, or - for standard input. The answer says which steps ran and
    which could not; nothing found is an answer too, and the exit code is 0 unless --fail-empty is given. When the store
    cannot answer the question, or not within the token budget (400 without --budget), a line says so and why; --abstain
    then withholds the results.
    With --record the query, the decisions of its triggers and deadlines, and the results of other sources are written
    to a file, for `assay replay`.

    With --budget the answer also has a context: the sentences that fit into so many tokens, with citations, ready for a
    prompt. The results stay as they are.
    """
    from assay.cli.terminal import format_json

    if only_context and (as_data or quiet):
        raise click.UsageError("--context prints text: leave out --json and --quiet")
    if only_paths and (as_data or quiet or only_context):
        raise click.UsageError("--paths prints paths alone: leave out --json, --quiet and --context")
    if with_text and record is None:
        raise click.UsageError("--with-text keeps texts in a record, and there is none: add --record FILE")
    with open_store(store, pipeline) as base:
        arguments = search_arguments(
            k,
            at,
            pipeline=pipeline,
            where=where,
            since=since,
            until=until,
            scope=scope,
            snapshot=snapshot,
            sort=sort,
            budget=budget,
        )
        answer = base.search(query_text(query), abstain=abstain, **arguments)
        if record is not None:
            from assay import replay
            from assay.util.atomic_files import write_text

            recorded = replay.record(answer, base.pipeline(pipeline, budget, sort, abstain), with_text=with_text)
            write_text(record, format_json(recorded, indent=1) + "\n")
        if only_context:
            _show_context(answer)
        elif as_data:
            click.echo(format_json(answer.to_json(), indent=2))
        elif quiet:
            _show_quietly(answer, base)
        elif only_paths:
            _show_paths(answer, base)
        else:
            from assay.cli.views.answer import show_answer

            show_answer(answer, base.pipeline(pipeline).name, base.origin, plain=plain)
    if fail_empty and not len(answer):
        raise click.exceptions.Exit(1)


def _show_context(answer: Answer) -> None:
    """Print the context on stdout, and what went otherwise than planned on stderr."""
    from assay.cli.terminal import sanitize

    if answer.context is None:
        raise click.UsageError("--context prints a context, and the pipeline packs none: add --budget TOKENS")
    for line in answer.context.text.splitlines():
        click.echo(sanitize(line))
    for problem in (*answer.status.degraded, *(note.reason for note in answer.context.notes if note.kind == "info")):
        click.echo(sanitize(str(problem)), err=True)


def _show_paths(answer: Answer, base: KnowledgeBase) -> None:
    """Print the file of every result once, for a shell; a record that has none is named by its id."""
    from assay.cli.terminal import sanitize

    for path in dict.fromkeys(base.origin(hit.chunk).relative_path(Path.cwd()) for hit in answer):
        click.echo(sanitize(path))
    for line in answer.status.degraded:
        click.echo(f"degraded: {sanitize(line)}", err=True)


def _show_quietly(answer: Answer, base: KnowledgeBase) -> None:
    """Print an answer for scripts: one line per result on stdout, what could not run on stderr."""
    from assay.cli.terminal import sanitize

    for hit in answer:
        place = sanitize(" › ".join(part for part in (hit.title, hit.chunk.section) if part))
        file = sanitize(base.origin(hit.chunk).name)
        click.echo(f"{hit.rank}\t{hit.score:.6g}\t{sanitize(hit.id)}\t{place}\t{file}")
    judged = answer.answerability  # before the status, which says why when the judge fails
    for line in answer.status.degraded:
        click.echo(f"degraded: {sanitize(line)}", err=True)
    if judged is not None and not judged.answerable:
        click.echo(f"impossible: {judged.kind}: {sanitize(judged.why)}", err=True)
