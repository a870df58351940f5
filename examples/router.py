"""The router policy: a second source that runs only when needed, and a replay without it (docs/router.md)."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import assay
from assay import replay
from assay.config.load import from_dict
from assay.sources.open_cache import close_all

HANDBOOK = Path(__file__).resolve().parent / "handbook"
ARCHIVE = [
    {"id": "1998", "text": "The founders met at the regatta of 1998 and named the company after their boat."},
    {"id": "2003", "text": "In 2003 the workshop burnt down; the gauges were built in a barn for a year."},
]


def show(question: str, answer: assay.Answer) -> None:
    second = next(span for span in answer.trace if span.name == "second")
    print(f"{question}\n   {answer[0].title}: {second.outcome}, {second.trigger.why}")
    for problem in answer.status.degraded:
        print(f"   {answer.status.word}: {problem}")


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

    # The handbook contains the words of the first question, and few of the second.
    for question in ("how do I rotate the signing key?", "who named the company after a regatta boat?"):
        answer = kb.search(question, pipeline=router)
        show(question, answer)

    # Without the archive, the record still replays the answer, and a new search reports what is missing.
    record = replay.record(answer, router)
    close_all()
    shutil.rmtree(f"{folder}/archive")
    print("replayed, the same:", replay.replay(record, kb).same)
    show(question, kb.search(question, pipeline=router))
