"""`make demo`: index the sample handbook, ask it, see why, compare two pipelines. All through the real command line."""

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
        click.secho("The embedding model is not installed: this demo runs on words alone, and says so.", fg="yellow")
        click.secho("cure: assay model install, then run it again\n", fg="green")

    say("A folder of markdown, text, html, csv, jsonl, mail, PDF and Word becomes a store")
    run("add", "examples/handbook")
    say("A question. bm25 ranks by words, dense by meaning; the bars show what each gave to the score")
    run("search", KEY, "-k", "2")
    say("Meaning finds what words cannot: no page has “happens”, “fall” or “ill”")
    run("search", ILL, "-k", "1")
    say("Words find what meaning cannot: to a model, all serial numbers look alike")
    run("search", GAUGE, "-k", "1")
    say("Meaning alone names the wrong harbour")
    run("search", GAUGE, "-k", "1", "--pipeline", "dense")
    say("Why is the first answer first? Every step, and the score as a sum you can check")
    run("explain", KEY, "--id", first(KEY))
    say("The same store as of June 2024, when another vacation policy held")
    run("search", DAYS, "-k", "1", "--at", "2024-06-01")
    say("Where is the policy of 2025? Absence is explained too")
    run("explain", DAYS, "-k", "1", "--at", "2024-06-01", "--id", first(DAYS, 'title = "Vacation policy"'))
    say("Adding the folder again does nothing, because nothing changed")
    run("add", "examples/handbook")

    if default_spec() != "none":
        say("Is words and meaning better than words alone? The lab asks ten questions of a shipped dataset")
        run("bench", "run", "tiny", "--systems", "bm25,default", "--out", RECEIPTS, "--again")
        say("One against the other, question by question, with tests; ten questions prove little, and the lab says so")
        pair = [f"{RECEIPTS}/tiny.test.{name}.json" for name in ("bm25", "default")]
        run("bench", "compare", *pair, "--metrics", "nDCG@10,R@10")
        say("Anyone can replay a receipt: the same digest, or the first differing query")
        run("bench", "replay", pair[1])

    say("Now you. The store stays in .demo/kb")
    print("export ASSAY_STORE=.demo/kb PATH=$PWD/.venv/bin:$PATH")
    print('assay search "can I work from abroad?" --pipeline weighted   # drafts count less')
    print("assay search \"what changed for gauges?\" --where 'created >= 2025-01-01' --budget 300 --json")
    print("assay add ~/my-notes && assay ls                             # your own folder, beside the handbook")
    print("assay bench report .demo/receipts --html .demo/report.html   # tables and pictures in one file")
    print("\nThen read docs/tutorial.md: fifteen minutes to an explained answer from your own folder.")


def say(what: str) -> None:
    click.secho(f"\n── {what}", bold=True)


def run(*words: str) -> None:
    """Run `assay` in this process, after showing what one would type."""
    click.secho(f"$ assay {shlex.join(words)}\n", fg="cyan")
    try:
        cli(words, prog_name="assay")
    except SystemExit as end:
        if end.code:
            raise


def first(question: str, where: str | None = None) -> str:
    """The beginning of the id of the best answer's chunk; `--id` needs no more."""
    with assay.open(STORE) as kb:
        return kb.search(question, k=1, where=where)[0].id[:8]


if __name__ == "__main__":
    main()
