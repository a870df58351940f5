"""`assay bench repair`: mend a dataset folder and hash it anew."""

from __future__ import annotations

import click


@click.command()
@click.argument("dataset")
@click.option("--dry-run", is_flag=True, help="Say what would be mended, and change nothing.")
def repair(dataset: str, dry_run: bool) -> None:
    """Mend the folder of DATASET, so that it loads with --strict, and write its counts and sha256 into meta.json.

    NaN becomes null; judgements and lines of evidence that fit nothing are left out; an evidence file of another
    program is set aside. A file that changes is kept beside the new one as NAME.before.

    \b
    assay bench repair ./mine --dry-run
    assay bench run ./mine --strict
    """
    from assay.bench.repair import repair_folder
    from assay.cli.terminal import sanitize

    done = repair_folder(dataset, write=not dry_run)
    for change in done.changes or ["nothing to mend"]:
        click.echo(sanitize(change))
