"""`assay receipt`: keys, signatures and their verification."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.group()
def receipt() -> None:
    """Sign receipts, and verify who signed them.

    A digest shows that a receipt was not damaged, not who made it. Signatures are optional, and those of minisign.

    \b
    assay receipt key ~/assay                      # once: ~/assay.key and ~/assay.pub
    assay receipt sign run.json --key ~/assay.key  # writes run.json.minisig
    assay receipt verify run.json --key assay.pub
    """


@receipt.command()
@click.argument("name", type=_FILE)
def key(name: Path) -> None:
    """Make a pair of keys: NAME.key, which stays with you, and NAME.pub, which you publish."""
    from assay.bench.signature import create_key

    public, secret_file, public_file = create_key(name)
    click.echo(f"{secret_file}: your secret key, without a password; keep it, and keep it to yourself")
    click.echo(f"{public_file}: your public key {public.name}; publish it")
    click.echo(public.text)


@receipt.command()
@click.argument("receipts", nargs=-1, required=True, type=_FILE)
@click.option("--key", "key_file", required=True, type=_FILE, metavar="FILE", help="Your secret key (NAME.key).")
def sign(receipts: tuple[Path, ...], key_file: Path) -> None:
    """Sign receipts; each signature is a file beside its receipt, RECEIPT.minisig.

    A receipt must be whole: one whose digest does not fit is not signed.
    """
    from assay.bench import signature
    from assay.bench.receipt import read
    from assay.cli.terminal import sanitize

    secret = signature.read_secret_key(key_file)
    for path in receipts:
        read(path)
    for path in receipts:
        click.echo(f"signed {sanitize(str(signature.sign(path, secret)))}")


@receipt.command()
@click.argument("receipts", nargs=-1, required=True, type=_FILE)
@click.option("--key", "key_file", required=True, metavar="FILE|KEY", help="The public key of whoever signed.")
def verify(receipts: tuple[Path, ...], key_file: str) -> None:
    """Verify that receipts are what the owner of a key signed.

    Exits with 1 when one is not; each is named with the reason.
    """
    from assay.bench import signature
    from assay.cli.terminal import sanitize

    public = signature.read_public_key(key_file)
    failed = False
    for path in receipts:
        try:
            signature.verify(path, public)
        except signature.SignatureError as error:
            failed = True
            click.echo(f"{click.style('not verified', fg='red', bold=True)} {sanitize(error.message)}")
        else:
            click.echo(f"{click.style('verified', fg='green', bold=True)} {sanitize(str(path))}: {public.name}")
    if failed:
        raise click.exceptions.Exit(1)
