"""`assay memory store` and `assay memory update`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli.memory.options import open_memory, scopes_option, secrets_option
from assay.cli.options import json_option, query_text, resolve_moment, store_option

if TYPE_CHECKING:
    from assay.memory.safety import SecretPolicy

WAYS = ("skip", "merge", "supersede", "force")


@click.command()
@click.argument("text")
@click.option("--scope", default="global", metavar="NAME", help="Where it belongs: global, agent:…, project:…, user:…")
@click.option("--category", default="fact", metavar="NAME", help="What kind of memory it is.")
@click.option("--importance", type=float, default=0.7, metavar="0..1", help="How much it matters.  [default: 0.7]")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be given several times.")
@click.option("--created", metavar="DATE", help="When it came to be.  [default: now]")
@click.option("--expires", metavar="DATE", help="From when on it is no longer recalled.  [default: never]")
@click.option(
    "--supersedes", multiple=True, metavar="ID", help="A memory whose place it takes; may be given several times."
)
@click.option(
    "--on-duplicate", type=click.Choice(WAYS), default="skip", metavar="|".join(WAYS), help="If it is known already."
)
@secrets_option
@store_option
@json_option
def store(
    text: str,
    scope: str,
    category: str,
    importance: float,
    tags: tuple[str, ...],
    created: str | None,
    expires: str | None,
    supersedes: tuple[str, ...],
    on_duplicate: str,
    secrets: SecretPolicy,
    store: str,
    as_data: bool,
) -> None:
    """Remember a text. It is on the disk when the command returns.

    TEXT is any text, or - for standard input. Noise ("ok, thanks!") and secrets are refused, and what is known already
    is not stored twice; the answer says so, with what is near. The exit code is 1 when nothing was stored.
    """
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_stored

    with open_memory(store, create=True, secrets=secrets) as memory:
        done = memory.store(
            query_text([text]),
            scope=scope,
            category=category,
            importance=importance,
            tags=tags,
            created=resolve_moment(created),
            expires=resolve_moment(expires),
            supersedes=supersedes or None,
            on_duplicate=on_duplicate,  # type: ignore[arg-type]
        )
        if as_data:
            click.echo(format_json(done.to_json(), indent=2))
        else:
            show_stored(done)
    if done.action in ("refused", "skipped"):
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("id", metavar="ID")
@click.option("--text", metavar="TEXT", help="The new text, or - for standard input.")
@click.option("--category", metavar="NAME", help="The new category.")
@click.option("--importance", type=float, metavar="0..1", help="The new importance.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="The new tags, all of them; may be given several times."
)
@click.option("--no-tags", is_flag=True, help="Remove all tags.")
@click.option("--expires", metavar="DATE|never", help="From when on it is no longer recalled.")
@scopes_option
@store_option
@json_option
def update(
    id: str,
    text: str | None,
    category: str | None,
    importance: float | None,
    tags: tuple[str, ...],
    no_tags: bool,
    expires: str | None,
    scopes: tuple[str, ...],
    store: str,
    as_data: bool,
) -> None:
    """Change a memory; what it was stays in its history.

    ID is a memory's id or the beginning of one. It keeps its id, its scope and its date.
    """
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_entries

    if tags and no_tags:
        raise click.UsageError("--tag and --no-tags contradict each other.")
    never = expires is not None and expires.strip().lower() == "never"
    with open_memory(store) as memory:
        entry = memory.update(
            id,
            scope=scopes,
            text=None if text is None else query_text([text]),
            category=category,
            importance=importance,
            tags=() if no_tags else tags or None,
            expires=None if never else resolve_moment(expires),
            never_expires=never,
        )
        if as_data:
            click.echo(format_json(entry.to_json(), indent=2))
        else:
            show_entries([entry])
