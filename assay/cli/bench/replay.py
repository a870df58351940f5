"""`assay bench replay`: run receipts again; the same digest, or what differs first."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from assay.bench.receipt import Receipt
    from assay.bench.replay import ReceiptReplay

_COLOURS = {"same rankings": "green", "same": "green", "differs": "red", "not replayable": "yellow"}


@click.command()
@click.argument("receipts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--dataset", metavar="NAME|DIR", help="Where the dataset is, when the receipt's own word does not find it."
)
@click.option(
    "--require-signature",
    "key",
    metavar="FILE|KEY",
    help="Replay only what the owner of this public key signed (assay receipt verify).",
)
def replay(receipts: tuple[Path, ...], dataset: str | None, key: str | None) -> None:
    """Run receipts (files or folders) again from what they say, and compare digests.

    \b
    assay bench replay receipts/tiny.test.default.json
    assay bench replay receipts/

    Receipts of one dataset share one index, and every query is embedded once. Exits with 0 when every ranking and score
    is the same, with 1 when one differs: what changed is named, inputs and library versions first, then the first
    differing query. Of a folder, what cannot be replayed is listed with the reason; a file that cannot be is an error.
    """
    from assay.bench.receipt import ReceiptError
    from assay.bench.replay import replay_all
    from assay.cli.progress import progress_bars

    runs, others = _read_all(receipts, key)
    outcomes = Counter(["not replayable"] * len(others))
    named = {path for path in receipts if not path.is_dir()}
    for path, reason in others.items():
        _show(path, "not replayable", reason)
    with progress_bars() as bar:
        for path, result in replay_all(runs, dataset, bar.step):
            outcomes[result.outcome] += 1
            _show_replay(path, result)
            if result.again is None and path in named:
                raise ReceiptError(
                    f"{path} cannot be replayed: {result.details[0]}", "get what it needs; see `assay bench datasets`"
                )
    if any(path.is_dir() for path in receipts):
        counts = ", ".join(f"{outcomes[name]:,} {name}" for name in _COLOURS if outcomes[name])
        click.echo(f"{sum(outcomes.values()):,} receipts: {counts or 'none'}")
    if outcomes["differs"]:
        raise click.exceptions.Exit(1)


def _read_all(paths: tuple[Path, ...], key: str | None) -> tuple[dict[Path, Receipt], dict[Path, str]]:
    """The run receipts, and of the other files in folders why they cannot be replayed. With a key, a file is read
    only once its signature is verified."""
    from assay.bench.receipt import ReceiptError, read
    from assay.bench.signature import SignatureError, read_public_key, verify

    public = None if key is None else read_public_key(key)

    def read_signed(path: Path) -> Receipt:
        if public is not None:
            verify(path, public)
        return _check_kind(read(path))

    runs: dict[Path, Receipt] = {}
    others: dict[Path, str] = {}
    for path in paths:
        if not path.is_dir():
            runs[path] = read_signed(path)
            continue
        for file in sorted(path.rglob("*.json")):
            try:
                runs[file] = read_signed(file)
            except (ReceiptError, SignatureError) as error:
                others[file] = error.message
    return runs, others


def _check_kind(receipt: Receipt) -> Receipt:
    from assay.bench.receipt import ReceiptError

    if receipt.kind != "run":
        raise ReceiptError(f"a receipt of kind {receipt.kind!r} holds no run", "replay the runs it was made from")
    return receipt


def _show_replay(path: Path, result: ReceiptReplay) -> None:
    digest = result.receipt.digest[:16]
    if result.outcome == "not replayable":
        _show(path, result.outcome, *result.details)
    elif result.again is not None and not result.same:
        _show(path, f"{result.outcome} {digest} → {result.again.digest[:16]}", *result.details)
    else:
        _show(path, f"{result.outcome} {digest}")


def _show(path: Path, outcome: str, *details: str) -> None:
    from assay.cli.terminal import sanitize

    word = next(name for name in _COLOURS if outcome.startswith(name))
    click.echo(f"{click.style(word, fg=_COLOURS[word], bold=True)}{outcome.removeprefix(word)} {sanitize(str(path))}")
    for line in details:
        click.echo(f"  {sanitize(line)}")
