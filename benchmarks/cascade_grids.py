"""Runs the cascade grid on real ordered text and on a planted bank; writes receipts/cascade (needs ASSAY_DATA, model).

python -m benchmarks.cascade_grids                  15,000 chunks are embedded the first time, then taken from the cache
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from assay import embed
from assay.cascade.bank.build import Split, build_bank
from assay.cascade.bank.documents import read_ordered_documents
from assay.cascade.evaluation.evaluate import EvaluationJob, evaluate
from assay.cascade.evaluation.grid import Axes
from assay.cascade.evaluation.report import TITLE
from assay.cascade.tmd.prototypes import embed_prototypes
from assay.embed.vector_cache import CachedEmbedder
from assay.score.tmd_layout import LAYOUTS
from benchmarks.data import data_folder
from benchmarks.measure import RECEIPTS

SOURCES = ("wiki_gensim", "gitlab_handbook", "keps", "peps")
MOST = 110
"""Documents of each source, spread over all; the encyclopedia has 103 articles."""


def real_bank(folder: Path, most: int) -> Path:
    """Ordered chunks of the four sources under the local model, codes by description, documents held out."""
    model = embed.load("minilm")
    assert model is not None
    cached, layout = CachedEmbedder(model), LAYOUTS["spec"]
    documents = read_ordered_documents([data_folder() / name / "corpus.jsonl" for name in SOURCES], "article", most)
    built = build_bank(folder, documents, cached, embed_prototypes(cached, layout).codes, layout, Split())
    print(built.manifest, file=sys.stderr)
    return folder / "bank.npz"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=MOST, help="documents of each source")
    parser.add_argument("--queries", type=int, default=0, help="held-out questions; 0 takes all")
    parser.add_argument("--out", type=Path, default=RECEIPTS / "cascade")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        banks = {"real": real_bank(Path(scratch) / "real", args.most), "planted": None}
        names = {"real": "wiki, handbook, keps, peps", "planted": "planted"}
        for which, bank in banks.items():
            out = Path(scratch) / which / "evals" / "grid.json"
            summary = evaluate(EvaluationJob(bank=bank, most=args.queries, name=names[which]), Axes(), out)
            print(summary.splitlines()[-1])
            shutil.copyfile(out, args.out / f"{which}.json")
            page = f"{TITLE}.md" if which == "real" else f"{which}.md"
            shutil.copyfile(out.with_suffix(".md"), args.out / page)


if __name__ == "__main__":
    main()
