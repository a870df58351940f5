"""The Python API: open, add, search, explain."""

from pathlib import Path
from tempfile import TemporaryDirectory

import assay

HANDBOOK = Path(__file__).resolve().parent / "handbook"

with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    report = kb.add(HANDBOOK)
    print(f"{report.added} files became {report.chunks_added} chunks")

    answer = kb.search("how do I rotate the signing key?", k=3)
    for hit in answer:
        print(f"{hit.rank}. {hit.title} › {hit.chunk.section}")
        print(f"   {hit.why()}")

    # Records need no files: dictionaries with a text, under a name of your own.
    kb.add([{"id": "boots", "text": "The rubber boots moved to the shed.", "created": "2025-05-02"}], name="notes")
    print(kb.search("where are the boots now?", k=1)[0].text)

    # Why is a chunk not in the answer?
    kitchen = next(chunk for chunk in kb.chunks() if chunk.section == "Kitchen")
    for reason in kb.explain("how do I rotate the signing key?", kitchen.id, k=3).reasons:
        print(f"{kitchen.title} › {kitchen.section}: {reason}")

    # The digests identify an answer; the same digests give the same bytes again.
    print(answer.status.word, {name: digest[:8] for name, digest in answer.digests.items()})
