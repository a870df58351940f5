"""A second source, asked only when the first is not enough, and its answer again when it is gone (docs/router.md)."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import assay
from assay import replay as served
from assay.config.load import from_dict
from assay.engine.answer import Answer
from assay.sources.opened import close_all

HANDBOOK = Path(__file__).resolve().parent / "handbook"
ARCHIVE = [
    {"id": "1998", "text": "The founders met at the regatta of 1998 and named the company after their boat."},
    {"id": "2003", "text": "In 2003 the workshop burnt down; the gauges were built in a barn for a year."},
]


def show(question: str, answer: Answer) -> None:
    second = next(span for span in answer.trace if span.name == "second")
    print(f"{question}\n   {answer[0].title}: {second.fate}, {second.fired.why}")
    for said in answer.verdict.degraded:
        print(f"   {answer.verdict.word}: {said}")


with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(HANDBOOK)
    with assay.open(f"{folder}/archive") as archive:
        archive.add(ARCHIVE)

    router = from_dict(
        {
            "k": 5,
            "legs": {
                "first": {"use": "bm25", "k": 20},
                "second": {
                    "source": {"use": "store", "path": f"{folder}/archive", "pipeline": "bm25"},
                    "priority": 1,
                    "when": {"use": "term_coverage_below", "share": 0.5},
                    "cap_ms": 600,
                },
            },
            "fuse": {"use": "rrf", "by": "doc_id", "weights": {"second": 2.0}},
        }
    )

    # The handbook holds the words of the first question, and few of the second.
    for question in ("how do I rotate the signing key?", "who named the company after a regatta boat?"):
        answer = kb.search(question, pipeline=router)
        show(question, answer)

    # The archive goes away: the record of the answer still gives it, and a new question says what it lacks.
    record = served.record(answer, router)
    close_all()
    shutil.rmtree(f"{folder}/archive")
    print("replayed, the same:", served.replay(record, kb).same)
    show(question, kb.search(question, pipeline=router))
