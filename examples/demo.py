"""`make demo`: indexes the sample handbook, searches it, explains the answer and compares two pipelines."""

import os
import shlex
import shutil
from pathlib import Path

import click

import assay
from assay.cli.main import cli
from assay.embed import default_spec

ROOT = Path(__file__).resolve().parent.parent
STORE = ROOT / ".demo" / "kb"
RECEIPTS = ".demo/receipts"
KEY, ILL, GAUGE = "how do I rotate the signing key?", "what happens if I fall ill?", "which harbour has gauge 0417?"
DAYS = "how many days of vacation do I get?"


def main() -> None:
    os.chdir(ROOT)
    shutil.rmtree(STORE, ignore_errors=True)
    os.environ["ASSAY_STORE"] = str(STORE)
    if default_spec() == "none":
        click.secho("The embedding model is not installed: this demo uses words alone.", fg="yellow")
        click.secho("cure: assay model install, then run it again\n", fg="green")

    title("A folder of markdown, text, html, csv, jsonl, mail, PDF and Word becomes a store")
    run("add", "examples/handbook")
    title("A question. bm25 ranks by words, dense by vectors; the bars show what each adds to the score")
    run("search", KEY, "-k", "2")
    title("Vectors find what words cannot: no page has “happens”, “fall” or “ill”")
    run("search", ILL, "-k", "1")
    title("Words find what vectors cannot: to a model, all serial numbers look alike")
    run("search", GAUGE, "-k", "1")
    title("Vectors alone return the wrong harbour")
    run("search", GAUGE, "-k", "1", "--pipeline", "dense")
    title("Why is the first result first? Every step, and the parts of the score")
    run("explain", KEY, "--id", first(KEY))
    title("The same store as of June 2024, when another vacation policy was valid")
    run("search", DAYS, "-k", "1", "--at", "2024-06-01")
    title("Why is the policy of 2025 missing? explain answers that too")
    run("explain", DAYS, "-k", "1", "--at", "2024-06-01", "--id", first(DAYS, 'title = "Vacation policy"'))
    title("Adding the folder again does nothing, because nothing changed")
    run("add", "examples/handbook")

    if default_spec() != "none":
        title("Are words and vectors better than words alone? The lab runs ten questions of the included dataset")
        run("bench", "run", "tiny", "--systems", "bm25,default", "--out", RECEIPTS, "--again")
        title("A paired comparison with tests; ten questions prove little, and the lab says so")
        pair = [f"{RECEIPTS}/tiny.test.{name}.json" for name in ("bm25", "default")]
        run("bench", "compare", *pair, "--metrics", "nDCG@10,R@10")
        title("A receipt can be replayed: the same digest, or the first differing query")
        run("bench", "replay", pair[1])

    title("Try it yourself. The store stays in .demo/kb")
    print("export ASSAY_STORE=.demo/kb PATH=$PWD/.venv/bin:$PATH")
    print('assay search "can I work from abroad?" --pipeline weighted   # drafts count less')
    print("assay search \"what changed for gauges?\" --where 'created >= 2025-01-01' --budget 300 --json")
    print("assay add ~/my-notes && assay ls                             # your own folder, in the same store")
    print("assay bench report .demo/receipts --html .demo/report.html   # tables and charts in one file")
    print("\nThen read docs/tutorial.md: fifteen minutes to an explained answer from your own folder.")


def title(text: str) -> None:
    click.secho(f"\n── {text}", bold=True)


def run(*words: str) -> None:
    """Prints the command, then runs it in this process."""
    click.secho(f"$ assay {shlex.join(words)}\n", fg="cyan")
    try:
        cli(words, prog_name="assay")
    except SystemExit as exit_:
        if exit_.code:
            raise


def first(question: str, where: str | None = None) -> str:
    """The beginning of the id of the first result, which `--id` accepts."""
    with assay.open(STORE) as kb:
        return kb.search(question, k=1, where=where)[0].id[:8]


if __name__ == "__main__":
    main()
