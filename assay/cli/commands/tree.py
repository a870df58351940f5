"""`assay tree`: build, show and measure the tree of a store's chunks."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import click

from assay.cli.failures import CommandGroup
from assay.cli.options import json_option, open_store, store_option


@click.group(cls=CommandGroup)
def tree() -> None:
    """Build, show and measure the tree of a store's chunks.

    Near-duplicates share a leaf, leaves hold 64 to 128 similar chunks, and every node says what is below it. The tree
    is kept in step with the store: new chunks join the nearest leaf, deleted ones vanish from every node.
    """


@tree.command()
@click.option(
    "--kind",
    type=click.Choice(["clusters", "headings"]),
    help="Similar chunks together, or chunks of one document and section.  [default: clusters]",
)
@click.option("--branching", type=int, metavar="N", help="The most children of a node.  [default: 16]")
@click.option("--levels", type=int, metavar="N", help="Levels below the root.  [default: 3]")
@click.option("--leaf-min", type=int, metavar="N", help="Chunks that a leaf should have at least.  [default: 64]")
@click.option("--leaf-cap", type=int, metavar="N", help="The most chunks of a leaf.  [default: 128]")
@click.option(
    "--second-margin", type=float, metavar="X", help="Give chunks a second leaf within this cosine.  [default: 0, off]"
)
@click.option("--replication", type=float, metavar="X", help="The most leaves of a chunk on average.  [default: 1.5]")
@click.option("--seed", type=int, metavar="N", help="The seed of the clustering.  [default: 1]")
@click.option(
    "--summaries",
    type=click.Choice(["contrastive", "generic"]),
    help="Keywords and sentences that tell siblings apart, or that are frequent.  [default: contrastive]",
)
@click.option("--defaults", is_flag=True, help="Forget the settings of earlier builds first.")
@click.option(
    "--chat",
    metavar="URL#MODEL",
    help="Also let this language model summarise nodes: their sentences are sent there. Its key: $ASSAY_CHAT_KEY.",
)
@store_option
@json_option
def build(defaults: bool, chat: str | None, store: str, as_data: bool, **options: Any) -> None:
    """Build the tree now, instead of at its first use.

    Settings that are given are saved: later trees of this store use them. A model behind --chat is asked only by this
    command; where it fails, nodes keep their extractive summaries.
    """
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_count, format_json, sanitize
    from assay.embed.chat import open_chat
    from assay.index.tree.layout import TreeSettings
    from assay.upkeep.tree_report import require_tree, require_tree_backend

    model = None if chat is None else open_chat(chat)
    with open_store(store) as base, progress_bars() as bar:
        backend = require_tree_backend(base.backend)
        chosen = {name: value for name, value in options.items() if value is not None}
        settings = replace(TreeSettings() if defaults else backend.tree_settings, **chosen)
        chunks = base.build_tree(settings, bar.step)
        report = None if model is None else backend.write_summaries(model, bar.step)
        built = require_tree(base.snapshot())
        size, depth, digest = built.size, built.depth, built.digest
    if as_data:
        more = {} if report is None else {"summaries": asdict(report)}
        numbers = {"chunks": chunks, "nodes": size, "depth": depth, "digest": digest, "settings": asdict(settings)}
        click.echo(format_json({**numbers, **more}, indent=2))
        return
    shape = f"{format_count(size, 'node')}, {format_count(depth, 'level')} below the root"
    click.echo(f"built the tree of {format_count(chunks, 'chunk')}: {shape}")
    if report is not None:
        click.echo(f"the model wrote {report.written:,} summaries; {report.cached:,} were there already")
        if report.failed:
            why = sanitize(report.trouble)
            click.echo(f"{format_count(report.failed, 'node')} kept extractive summaries: {why}", err=True)


@tree.command()
@click.option(
    "--node", default="root", metavar="PATH", help="Begin at this node: 2.5 is the fifth child of the second."
)
@click.option("--depth", type=click.IntRange(0), default=1, metavar="N", help="Levels below it.", show_default=True)
@click.option("--snapshot", metavar="vN|TAG", help="Read the store as it was at a version or tag.")
@store_option
@json_option
@click.option("--plain", is_flag=True, help="No colours.")
def show(node: str, depth: int, snapshot: str | None, store: str, as_data: bool, plain: bool) -> None:
    """Print nodes with their sizes, keywords and summaries.

    One node with --depth 0 is shown in full: all sentences of its summary with the chunks they come from, its entities,
    dates and versions.
    """
    import numpy as np

    from assay.cli.terminal import format_json, make_console
    from assay.cli.views.tree import show_node, show_nodes
    from assay.upkeep.tree_report import describe_nodes, find_node, require_tree

    with open_store(store) as base:
        view = base.snapshot(snapshot)
        tree = require_tree(view)
        reports = list(describe_nodes(tree, find_node(tree, node), depth)) if tree.size or node != "root" else []
        ids = [view.ids(np.array([one.row for one in report.payload.summary], np.int64)).tolist() for report in reports]
    if as_data:
        data = [report.to_json(names) for report, names in zip(reports, ids, strict=True)]
        click.echo(format_json(data, indent=2))
    elif not reports:
        click.echo("the tree is empty: the store has no chunks")
    elif depth == 0:
        show_node(reports[0], ids[0], make_console(plain=plain))
    else:
        show_nodes(reports, make_console(plain=plain))


@tree.command()
@store_option
@json_option
def stats(store: str, as_data: bool) -> None:
    """Measure the tree: sizes, how much siblings differ, what summaries cover."""
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json, make_console
    from assay.cli.views.tree import show_stats
    from assay.upkeep.tree_report import collect_tree_stats

    with open_store(store) as base, progress_bars() as bar:
        numbers = collect_tree_stats(base.backend, base.snapshot(), bar.step)
    if as_data:
        click.echo(format_json(asdict(numbers), indent=2))
    else:
        show_stats(numbers, make_console())
