"""`assay bank`: vectors with ids and codes, made from ordered text or checked as somebody else's."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.failures import Group
from assay.cli.terminal import safe

_FILE = click.Path(path_type=Path)


@click.group(cls=Group)
def bank() -> None:
    """Build, check and index a bank of vectors (docs/cascade.md)."""


@bank.command()
@click.argument("sources", nargs=-1, required=True, type=_FILE, metavar="SOURCE…")
@click.option("--out", required=True, type=_FILE, metavar="DIR", help="Where bank.npz and sequences.npz go.")
@click.option("--by", default="", metavar="FIELD", help="Records in a row with one value of this field are a document.")
@click.option("--most", default=0, type=click.IntRange(0), metavar="N", help="At most N documents of each source.")
@click.option("--context", default=8, show_default=True, type=click.IntRange(0), help="Ids before the current one.")
@click.option("--val", default=0.15, show_default=True, type=click.FloatRange(0.0, 1.0), help="Share held out.")
@click.option("--seed", default=1, show_default=True, help="Which documents are held out.")
@click.option("--layout", default="spec", show_default=True, help="How the bits are laid out: spec or wide.")
@click.option("--embedder", default="", metavar="SPEC", help="The model that makes vectors.  [default: the installed]")
def build(
    sources: tuple[Path, ...],
    out: Path,
    by: str,
    most: int,
    context: int,
    val: float,
    seed: int,
    layout: str,
    embedder: str,
) -> None:
    """Make a bank and its sequences from ordered text, with the local model and codes by description.

    A SOURCE is a file or a folder that `assay add` reads; its documents keep their order, and documents, not windows,
    are held out.
    """
    from assay import embed
    from assay.cascade.bank.build import Split
    from assay.cascade.bank.build import build as made_of
    from assay.cascade.bank.documents import ordered_documents
    from assay.cascade.tmd.prototypes import prototypes
    from assay.cli.progress import bars
    from assay.embed.cache import CachedEmbedder
    from assay.errors import ModelError
    from assay.ingest.walk import Skipped
    from assay.score.tmd_layout import layout as known

    model = embed.load(embedder or embed.default_spec())
    if model is None:
        raise ModelError("a bank needs an embedding model", "assay model install")
    cached, bits = CachedEmbedder(model), known(layout)
    passed: list[Skipped] = []
    with bars() as bar:
        codes = prototypes(cached, bits).codes
        documents = ordered_documents(sources, by, most, passed=passed.append)
        built = made_of(out, documents, cached, codes, bits, Split(context, val, seed), bar.step)
    for one in passed:
        click.echo(click.style(f"passed over {safe(one.name)}: {safe(one.reason)}", dim=True), err=True)
    said = built.manifest
    click.echo(
        f"{said['vectors']:,} vectors × {said['dim']} of {said['documents']:,} documents, "
        f"{said['dropped_twins']:,} twins dropped; pairs: {said['pairs']['train']:,} to learn from, "
        f"{said['pairs']['val']:,} held out"
    )
    click.echo(click.style(f"  {out}  digest {built.bank.digest[:12]}", dim=True))


@bank.command()
@click.argument("path", type=_FILE, metavar="BANK.npz")
@click.option("--sequences", type=_FILE, metavar="SEQ.npz", help="Check these sequences against the bank.")
@click.option("--val-only", is_flag=True, help="The sequences may lack a training half.")
def check(path: Path, sequences: Path | None, val_only: bool) -> None:
    """Read a bank whole and say whether it keeps its contract: types, shapes, norms, ids, checksums, halves apart."""
    from assay.cascade.bank.bank import open_bank
    from assay.cascade.bank.sequences import open_sequences
    from assay.score.tmd_layout import following

    found = open_bank(path, anew=True)
    click.echo(f"{path}: {len(found):,} vectors × {found.dim}, all of length 1; ids unique; digest {found.digest[:12]}")
    fits = following(found.tmd_bits, found.lanes)
    lanes = (
        f"are those of layout {' and '.join(fits)}" if fits else "follow no layout we know, and are taken as they are"
    )
    click.echo(click.style(f"  lanes {lanes}", dim=True))
    if found.others:
        click.echo(click.style(f"  columns nobody reads: {', '.join(found.others)}", dim=True))
    if sequences is not None:
        pairs = open_sequences(sequences, found, train=not val_only)
        click.echo(
            f"{sequences}: {len(pairs.train):,} pairs to learn from, {len(pairs.val):,} held out, no id in both halves"
        )


@bank.command()
@click.argument("path", type=_FILE, metavar="BANK.npz")
@click.option("--out", required=True, type=_FILE, metavar="DIR", help="Where the index and its manifest go.")
@click.option("--kind", default="ivf_flat", show_default=True, metavar="NAME", help="ivf_flat, exact or hnsw.")
@click.option("--nlist", default=0, type=click.IntRange(0), help="Lists.  [default: √N; 512 to 1024 from 250,000 on]")
@click.option("--nprobe", default=16, show_default=True, type=click.IntRange(1), help="Lists a search looks into.")
@click.option("--seed", default=1, show_default=True, help="Seed of the training.")
def index(path: Path, out: Path, kind: str, nlist: int, nprobe: int, seed: int) -> None:
    """Build the FAISS index of a bank and measure its recall against exact search."""
    from assay.cascade.bank.bank import open_bank
    from assay.cascade.bank.index_build import Recipe, build_index
    from assay.cli.progress import bars

    with bars() as bar:
        made = build_index(open_bank(path), out, Recipe(kind, nlist, nprobe, seed), bar.step)  # type: ignore[arg-type]
    click.echo(f"{made.version}: {len(open_bank(path)):,} vectors" + (f", {made.nlist} lists" if made.nlist else ""))
    for name, shares in sorted(made.manifest["recall"].items(), key=lambda one: (len(one[0]), one[0])):
        if isinstance(shares, dict):
            said = ", ".join(f"{depth} {share:.3f}" for depth, share in shares.items())
            click.echo(click.style(f"  recall with {name}: {said}", dim=True))
