"""TREC collections and runs."""

import gzip
from pathlib import Path

import pytest
from dataset_folder import write
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.datasets import DatasetError, load
from assay.bench.datasets.trec_runs import read_run, write_run
from assay.bench.metrics import sort_like_trec_eval
from assay.bench.types import TopicResult

TOPICS = """<top>
<num> Number: 301
<title> tide gauges
<desc> Description:
How are tides
measured?
<narr> Narrative:
Anything &amp; everything.
</top>

<top>
<num>302</num>
<title></title>
<desc>ice and hulls</desc>
</top>
"""
DOCS = """<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>Tides &amp; gauges</HEADLINE>
<DATE>1 June 1994</DATE>
<TEXT>
<P>A gauge   drowned.</P>
</TEXT>
<TEXT>It was raised.</TEXT>
</DOC>
<DOC><DOCNO>FT-2</DOCNO><title>Ice</title> Hulls split <b>below</b> zero.</DOC>
"""
QRELS = "301 0 FT-1 2\n301 0 FT-2 -1\n302 0 FT-2 1\n"


def _folder(root: Path, **files: str) -> Path:
    folder = root / "small"
    folder.mkdir()
    for name, text in {"topics.txt": TOPICS, "docs.trec": DOCS, "qrels.txt": QRELS, **files}.items():
        (folder / name).write_text(text)
    return folder


def test_a_folder_of_marked_up_files(tmp_path: Path) -> None:
    found = load(f"trec:{_folder(tmp_path)}", "all")
    assert (found.name, found.source) == ("small", "trec:small")
    assert list(found.documents) == [
        {"id": "FT-1", "title": "Tides & gauges", "text": "A gauge drowned.\n\nIt was raised.", "created": 770428800.0},
        {"id": "FT-2", "title": "Ice", "text": "Hulls split below zero."},
    ]
    assert {name: topic.text for name, topic in found.topics.items()} == {"301": "tide gauges", "302": "ice and hulls"}
    assert found.topics["301"].meta == {
        "title": "tide gauges",
        "desc": "How are tides measured?",
        "narr": "Anything & everything.",
    }
    assert found.judgements == {"301": {"FT-1": 2, "FT-2": -1}, "302": {"FT-2": 1}}


def test_named_files_columns_and_json_lines(tmp_path: Path) -> None:
    beir = write(tmp_path / "beir")
    (tmp_path / "t.tsv").write_text("q1\twhen to rotate keys\n")
    (tmp_path / "q.txt").write_text("q1 Q0 d1 1\n")
    found = load(f"trec:corpus={beir}/corpus.jsonl,topics={tmp_path}/t.tsv,qrels={tmp_path}/q.txt", "all")
    assert found.judgements == {"q1": {"d1": 1}}
    assert found.document_count == 3
    assert found.source == "trec:corpus=corpus.jsonl,topics=t.tsv,qrels=q.txt"


def test_splits_by_file_name_and_packed_folders_of_documents(tmp_path: Path) -> None:
    folder = _folder(tmp_path, **{"qrels.dev.txt": "301 0 FT-1 1\n", "qrels.test.txt": "302 0 FT-2 1\n"})
    (folder / "qrels.txt").unlink()
    (folder / "docs.trec").unlink()
    (folder / "docs").mkdir()
    with gzip.open(folder / "docs" / "1.gz", "wt") as file:
        file.write(DOCS)
    assert load(f"trec:{folder}", "dev").judgements == {"301": {"FT-1": 1}}
    assert load(f"trec:{folder}").judgements == {"302": {"FT-2": 1}}


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("qrels.txt", "301 FT-1 1\n", r"qrels.txt:1 has 3 columns"),
        ("qrels.txt", "301 0 FT-1 yes\n", r"qrels.txt:1: the grade 'yes'"),
        ("qrels.txt", "301 0 FT-9 1\n", r"qrels.txt:1 judges document 'FT-9'"),
        ("qrels.txt", "999 0 FT-1 1\n", r"qrels.txt:1 judges query '999'"),
        ("topics.txt", "<top>\n<title> no number\n</top>", r"topics.txt:1: a topic without <num>"),
        ("topics.txt", "<top>\n<num> 1\n<narr> n\n</top>", r"topics.txt:1: topic '1' is empty"),
        ("topics.txt", "<top>\n<num> 1\n<title> never ends", r"topics.txt:1: <top> never ends"),
        ("topics.txt", "301 no tab", r"topics.txt:1 has one column"),
        ("topics.txt", "1\ta\n1\tb\n", r"topics.txt:2: topic '1' again"),
        ("docs.trec", "<DOC>\n<TEXT>x</TEXT>\n</DOC>", r"docs.trec:1: a document without <DOCNO>"),
        ("docs.trec", "<DOC><DOCNO>a</DOCNO>", r"docs.trec:1: <doc> never ends"),
        ("docs.trec", DOCS + DOCS, r"docs.trec:11: document 'FT-1' again, first at .*docs.trec:1"),
    ],
)
def test_bad_lines_are_named(name: str, text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=complaint):
        load(f"trec:{_folder(tmp_path, **{name: text})}", "all")


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ("corpus=a,topic=b,qrels=c", "there is no part 'topic'"),
        ("corpus=a,topics=b", "no qrels are named"),
        ("nowhere", "there is no dataset 'nowhere'"),
    ],
)
def test_a_source_that_cannot_be_found(what: str, complaint: str) -> None:
    with pytest.raises(DatasetError, match=complaint):
        load(f"trec:{what}")


def test_a_folder_without_topics_says_how_to_call_them(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "topics.txt").unlink()
    with pytest.raises(DatasetError, match="has no topics") as error:
        load(f"trec:{folder}")
    assert error.value.cure == "call the file topics*"


def test_runs_are_read_in_trec_evals_order(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("2 Q0 x 1 1 t\n1 Q0 a 1 0.5 t\n1 Q0 c 2 0.5 t\n1 Q0 b 3 2e0 t\n")
    assert read_run(path) == (TopicResult("1", ("b", "c", "a"), (2.0, 0.5, 0.5)), TopicResult("2", ("x",), (1.0,)))


def test_the_order_is_that_of_trec_eval_itself(tmp_path: Path) -> None:
    measures = pytest.importorskip("ir_measures", reason="pip install -e '.[lab]'")
    path = tmp_path / "run.txt"
    path.write_text("q Q0 a 1 1 t\nq Q0 b 2 1.000000000001 t\nq Q0 c 3 1 t\nq Q0 d 4 0.5 t\nq Q0 e 5 2 t\n")
    (found,) = read_run(path)
    for place, name in enumerate(found.documents, 1):
        qrels = [measures.Qrel("q", name, 1)]
        (measured,) = measures.iter_calc([measures.RR], qrels, measures.read_trec_run(str(path)))
        assert measured.value == pytest.approx(1 / place)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1e6, 1e6), min_size=1))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float]) -> None:
    path = tmp_path_factory.getbasetemp() / "round.txt"
    run = (sort_like_trec_eval("q", scores),)
    write_run(path, run)
    assert read_run(path) == run


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1 Q0 a 1 0.5", r"run.txt:1 has 5 columns"),
        ("1 Q0 a 1 high t", r"run.txt:1: the score 'high' is no number"),
        ("1 Q0 a 1 nan t", r"run.txt:1: the score 'nan' is no number"),
        ("1 Q0 a 1 1 t\n1 Q0 a 2 0 t", r"run.txt:2: document 'a' again for query '1'"),
    ],
)
def test_bad_runs_are_named(line: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(line)
    with pytest.raises(DatasetError, match=complaint):
        read_run(tmp_path / "run.txt")


def test_an_id_with_a_blank_cannot_stand_in_a_run(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="has no six columns"):
        write_run(tmp_path / "run.txt", [TopicResult("q 1", ("a",), (1.0,))])
