"""`assay bench router`: measure a two-stage pipeline against its stages alone."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option


@click.command()
@click.argument("dataset")
@click.option(
    "--pipeline", "name", default="router", show_default=True, metavar="NAME|FILE", help="A two-stage pipeline."
)
@click.option("--split", default="test", show_default=True, help="train, dev, test, all, or a sample: all~50.")
@click.option("--rules", default="router", show_default=True, metavar="NAME|FILE", help="Shipped rules or a TOML file.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Receipts and reports.")
@click.option("--embedder", default="auto", metavar="NAME", help="The embedding model.  [default: the installed one]")
@click.option("--language", default="english", metavar="NAME", help="Stemming of the words.  [default: english]")
@click.option("--make-table", is_flag=True, help="First make the LanceDB table of the second stage from DATASET.")
@json_option
def router(
    dataset: str,
    name: str,
    split: str,
    rules: str,
    out: Path | None,
    embedder: str,
    language: str,
    make_table: bool,
    as_data: bool,
) -> None:
    """Measure a two-stage pipeline on DATASET against its first source alone, its second alone, and both always.

    \b
    assay bench router locomo_sessions --pipeline mine.toml --out receipts/
    assay bench router longmemeval:longmemeval_s.json --split all~50 --make-table

    Prints how often the second source was asked, skipped and not wanted, the metrics, the latency of each stage, and
    the verdict of the rules. With --out also writes a receipt per arm, the report as JSON and as Markdown; the report
    can be a `recorded` source of another router.

    Exits with 0 when every rule holds, 6 when all that fails is recall against the second source and the report has the
    size of the loss, 1 when another rule fails, 2 when something was not measured. The report says the same.
    """
    import json

    from assay.bench import router_report
    from assay.bench.datasets import load
    from assay.bench.gates.rules import load_rules as load_rules
    from assay.bench.lab import file_name
    from assay.bench.receipt import write
    from assay.bench.workspace import IndexSettings, prepare
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json, sanitize
    from assay.config.load import load as load_pipeline
    from assay.util.atomic_files import write_text

    pipeline, gate_rules = load_pipeline(name), load_rules(rules)
    chosen, data = router_report.build_arms(pipeline), load(dataset, split)
    with progress_bars() as bar, prepare(data, IndexSettings(embedder, language), bar.step) as workspace:
        if make_table:
            router_report.write_lance_table(workspace, pipeline, bar.step)
        measured = router_report.measure_router(data, chosen, workspace, gate_rules, out=out, progress=bar.step)
    page = router_report.render_router_report(measured.report)
    if out is not None:
        stem = file_name(data, chosen.router.name).removesuffix(".json")
        write(measured.gate, out / f"{stem}.gate.json")
        reports = out / "reports"  # beside the receipts, which `assay bench report` reads
        reports.mkdir(exist_ok=True)
        write_text(reports / f"{stem}.json", json.dumps(measured.report, indent=1) + "\n")
        write_text(reports / f"{stem}.md", page)
    click.echo(format_json(measured.report) if as_data else sanitize(page.rstrip(), keep_lines=True))
    raise click.exceptions.Exit(measured.report["verdict"]["exit_code"])
