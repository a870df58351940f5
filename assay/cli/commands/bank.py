"""`assay bank`: build, check and index banks of vectors."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.failures import CommandGroup
from assay.cli.terminal import sanitize

_FILE = click.Path(path_type=Path)


@click.group(cls=CommandGroup)
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
    from assay.cascade.bank.build import build_bank as build_bank
    from assay.cascade.bank.documents import read_ordered_documents
    from assay.cascade.tmd.prototypes import embed_prototypes
    from assay.cli.progress import progress_bars
    from assay.embed.vector_cache import CachedEmbedder
    from assay.errors import ModelError
    from assay.ingest.discovery import SkippedFile
    from assay.score.tmd_layout import find_layout

    model = embed.load(embedder or embed.default_spec())
    if model is None:
        raise ModelError("a bank needs an embedding model", "assay model install")
    cached, bit_layout = CachedEmbedder(model), find_layout(layout)
    skipped: list[SkippedFile] = []
    with progress_bars() as bar:
        codes = embed_prototypes(cached, bit_layout).codes
        documents = read_ordered_documents(sources, by, most, on_skip=skipped.append)
        built = build_bank(out, documents, cached, codes, bit_layout, Split(context, val, seed), bar.step)
    for file in skipped:
        click.echo(click.style(f"passed over {sanitize(file.name)}: {sanitize(file.reason)}", dim=True), err=True)
    manifest = built.manifest
    click.echo(
        f"{manifest['vectors']:,} vectors × {manifest['dim']} of {manifest['documents']:,} documents, "
        f"{manifest['dropped_twins']:,} twins dropped; pairs: {manifest['pairs']['train']:,} to learn from, "
        f"{manifest['pairs']['val']:,} held out"
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
    from assay.score.tmd_layout import matching_layouts

    bank = open_bank(path, verify=True)
    click.echo(f"{path}: {len(bank):,} vectors × {bank.dim}, all of length 1; ids unique; digest {bank.digest[:12]}")
    names = matching_layouts(bank.tmd_bits, bank.lanes)
    lanes = (
        f"are those of layout {' and '.join(names)}" if names else "follow no layout we know, and are taken as they are"
    )
    click.echo(click.style(f"  lanes {lanes}", dim=True))
    if bank.others:
        click.echo(click.style(f"  columns nobody reads: {', '.join(bank.others)}", dim=True))
    if sequences is not None:
        pairs = open_sequences(sequences, bank, train=not val_only)
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
    from assay.cli.progress import progress_bars

    with progress_bars() as bar:
        built = build_index(open_bank(path), out, Recipe(kind, nlist, nprobe, seed), bar.step)  # type: ignore[arg-type]
    click.echo(f"{built.version}: {len(open_bank(path)):,} vectors" + (f", {built.nlist} lists" if built.nlist else ""))
    for name, shares in sorted(built.manifest["recall"].items(), key=lambda one: (len(one[0]), one[0])):
        if isinstance(shares, dict):
            recall = ", ".join(f"{depth} {share:.3f}" for depth, share in shares.items())
            click.echo(click.style(f"  recall with {name}: {recall}", dim=True))
