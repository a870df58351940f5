"""From real text to answers, twice: embedding, codes, halves, lists, model and answers have the same bytes, whatever
the number of threads and the hash seed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_CHILD = """
import json, sys
import faiss
faiss.omp_set_num_threads(int(sys.argv[3]))
from pathlib import Path
from assay import embed
from assay.cascade.service import open_cascade
from assay.cascade.bank.build import Split, build_bank
from assay.cascade.bank.documents import read_ordered_documents
from assay.cascade.bank.index_build import build_index
from assay.cascade.bank.train import train_model
from assay.cascade.evaluation.questions import make_questions
from assay.score.tmd_layout import LAYOUTS
from assay.cascade.tmd.prototypes import embed_prototypes
source, folder = Path(sys.argv[1]), Path(sys.argv[2])
model, layout = embed.load("minilm"), LAYOUTS["spec"]
documents = read_ordered_documents([source], "article")
built = build_bank(folder, documents, model, embed_prototypes(model, layout).codes, layout, Split(4, 0.5))
index = build_index(built.bank, folder / "index")
ridge = train_model(built.bank, built.sequences, folder / "lvm", context=4)
cascade = open_cascade(built.bank.path, folder / "index", folder / "lvm")
questions = make_questions(cascade.snapshot, built.sequences.val)
answers = [cascade.search(question.request).digest for question in questions]
print(json.dumps([built.bank.digest, built.sequences.digest, index.digest, ridge.digest, answers]))
"""


def test_the_same_bytes_from_text_to_answers(tmp_path):
    from assay.embed.installed_models import find_model

    corpus = Path(os.environ.get("ASSAY_DATA", "")) / "wiki_gensim" / "corpus.jsonl"
    if not os.environ.get("ASSAY_DATA") or not corpus.is_file():
        pytest.skip("ASSAY_DATA has no wiki_gensim")
    if not find_model("minilm"):
        pytest.skip("no embedding model is installed")
    held: dict[str, list[str]] = {}
    with corpus.open(encoding="utf-8") as lines:
        while len(held) < 9:
            line = next(lines)
            held.setdefault(json.loads(line)["metadata"]["article"], []).append(line)
    (tmp_path / "some.jsonl").write_text("".join(line for some in list(held.values())[:8] for line in some[:6]))
    payload = set()
    for threads, seed in (("1", "0"), ("2", "7")):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", _CHILD, tmp_path / "some.jsonl", tmp_path / threads, threads]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr
        payload.add(done.stdout)
    assert len(payload) == 1
    answers = json.loads(payload.pop())[-1]
    assert len(set(answers)) == len(answers) >= 10
