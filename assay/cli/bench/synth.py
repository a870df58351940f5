"""`assay bench synth`: make a first suite of queries without labels."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option


@click.command()
@click.argument("docs", type=click.Path(path_type=Path), required=False)
@click.option("--queries", "count", type=click.IntRange(1), default=200, show_default=True, help="How many to make.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="The dataset.  [default: DOCS-suite]")
@click.option("--seed", default=0, show_default=True, help="Another seed draws other queries.")
@click.option("--store", metavar="STORE", help="Take the documents of a store instead.")
@click.option("--language", default="english", metavar="NAME", help="How words are stemmed; a store knows its own.")
@click.option("--endpoint", metavar="URL", help="Also let a model write questions: https://host/v1 (needs --model).")
@click.option("--model", metavar="NAME", help="The model behind --endpoint; its key is in $ASSAY_CHAT_KEY.")
@json_option
def synth(
    docs: Path | None,
    count: int,
    out: Path | None,
    seed: int,
    store: str | None,
    language: str,
    endpoint: str | None,
    model: str | None,
    as_data: bool,
) -> None:
    """Make a first suite out of DOCS, a folder or a file, without any labels and without a language model.

    \b
    assay bench synth ./my-docs --queries 200
    assay bench run my-docs-suite --systems bm25,dense,default

    Draws passages over all documents and makes queries of several kinds from them: keywords, headings, identifiers,
    half-remembered sentences, what other pages call a page, and some that nothing answers. Each is checked: no other
    document fits it, or all that do are listed. Same documents and seed give the same bytes. The labels are
    synthetic, and the output says how far each kind repeats the words of its document.
    """
    from assay import kb
    from assay.bench.collection import from_folder, from_store
    from assay.bench.synth.model_queries import QuestionWriter
    from assay.bench.synth.suite import KINDS, QueryKind, build_suite
    from assay.bench.synth.suite_writer import describe_kind, write_suite
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json
    from assay.cli.views.synth import show
    from assay.errors import ConfigError
    from assay.text.analyser import Analyser

    if (docs is None) == (store is None):
        raise ConfigError("name one place to take documents from", "assay bench synth ./my-docs, or --store DIR")
    if (endpoint is None) != (model is None):
        raise ConfigError("--endpoint and --model go together", "give both: --endpoint https://host/v1 --model NAME")
    kinds = dict(KINDS)
    if endpoint is not None and model is not None:
        kinds = {"question": QueryKind(6, QuestionWriter(endpoint, model).make, describe_kind("question")), **kinds}
    origin = docs or store
    assert origin is not None
    analyser = Analyser(language=language)
    name = Path(origin).resolve().name
    folder = out or Path(f"{name.lstrip('.') or 'documents'}-suite")
    with progress_bars() as bar:
        if docs is not None:
            collection = from_folder(docs, bar.step)
        else:
            with kb.open(origin, create=False) as base:
                collection, analyser = from_store(base), Analyser(language=base.language)
        suite = build_suite(collection, count, seed, analyser=analyser, kinds=kinds, progress=bar.step)
        meta = write_suite(suite, folder, source=name, seed=seed)
    if as_data:
        click.echo(
            format_json({**meta, "folder": str(folder), "problems": [list(p) for p in collection.problems]}, indent=2)
        )
    else:
        show(suite, collection, folder)
