"""A pipeline of your own: written in TOML, checked by preflight, compared with the default."""

from pathlib import Path
from tempfile import TemporaryDirectory

import assay
from assay.config.preflight import preflight

HERE = Path(__file__).resolve().parent
OWN = str(HERE / "own_pipeline.toml")
QUESTIONS = ("can I work from abroad?", "how am I paid for being on call?", "what changed in v1.28.0?")

pipeline = assay.load_pipeline(OWN)
print(f"{pipeline.name} {pipeline.digest[:12]}")
for finding in preflight(pipeline):
    print(f"  {finding.level} in {finding.where}: {finding.text}")

with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(HERE / "handbook")
    for question in QUESTIONS:
        print(question)
        for name in ("default", OWN):
            answer = kb.search(question, k=2, pipeline=name, at="2025-06-01")
            for hit in answer:
                print(f"  {Path(name).stem:12} {hit.rank}. {hit.title} › {hit.chunk.section}")
