"""`assay init`: three questions, and a config that a person can read."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import DEFAULT_STORE


@click.command()
@click.option("--documents", metavar="DIR", help="Answer to the first question.")
@click.option("--store", metavar="STORE", help="Answer to the second.")
@click.option("--embedder", metavar="SPEC", help="Answer to the third: auto or none.")
@click.option("--force", is_flag=True, help="Replace an assay.toml that is there.")
def init(documents: str | None, store: str | None, embedder: str | None, force: bool) -> None:
    """Ask three questions and write assay.toml, a first pipeline.

    The file has the commands for these answers and a pipeline to edit; it is a pipeline itself, for
    `assay search --pipeline assay.toml`.
    """
    from assay.cli.terminal import sanitize
    from assay.config.starter import StarterAnswers, check_starter, write_starter

    check_starter(Path.cwd(), force)  # before the questions
    documents = documents or click.prompt("Which folder has your documents?", default="./docs")
    store = store or click.prompt("Where should the store be?", default=f"./{DEFAULT_STORE}")
    if embedder is None:
        local = click.confirm("Search by meaning too, with a local model (about 120 MB, once)?", default=True)
        embedder = "auto" if local else "none"
    answers = StarterAnswers(documents, store, embedder)
    path = write_starter(Path.cwd(), answers, force)
    if not Path(documents).expanduser().exists():
        click.echo(f"there is no folder {sanitize(documents)} yet", err=True)
    click.echo(f"wrote {sanitize(str(path.name))}; go on with:")
    for line in answers.commands():
        click.echo(f"  {sanitize(line)}")
