"""Questions without a date get the end of their conversation or of the corpus."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.datasets import DatasetError, load
from assay.cli.main import cli
from assay.errors import QueryError


def written(folder: Path, dates: tuple[str | None, ...] = ("2024-01-01", "2024-03-01", "2024-02-01")) -> str:
    folder.mkdir()
    documents = [
        {"_id": f"d{n}", "text": f"words {n}", "metadata": {"conversation": chat, **({"created": day} if day else {})}}
        for n, (chat, day) in enumerate(zip(("a", "b", "a"), dates, strict=True))
    ]
    questions = [
        {"_id": "q0", "text": "in a?", "metadata": {"conversation": "a"}},
        {"_id": "q1", "text": "anywhere?"},
        {"_id": "q2", "text": "then?", "metadata": {"conversation": "b", "question_date": "2024-03-05"}},
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, questions)))
    (folder / "qrels").mkdir()
    rows = ["query-id\tcorpus-id\tscore", "q0\td0\t1", "q1\td1\t1", "q2\td1\t1"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(rows))
    return str(folder)


def test_the_end_of_a_conversation_and_of_everything(tmp_path):
    source = written(tmp_path / "talks")
    plain, ended = load(source, "all"), load(source, "all@end")
    moments = {name: topic.at for name, topic in ended.topics.items()}
    february, march = 1706745600.0, 1709251200.0
    assert moments == {"q0": february, "q1": march, "q2": march + 4 * 86400.0}  # its own date stays
    assert (plain.split, ended.split) == ("all", "all@end")
    assert plain.digest != ended.digest
    assert load(source, "all@end").digest == ended.digest
    assert load(source, "all@end~2").split == "all@end~2"
    assert ended.judgements == plain.judgements


def test_without_dates_there_is_no_end(tmp_path):
    with pytest.raises(DatasetError, match="no dated document"):
        load(written(tmp_path / "undated", (None, None, None)), "test@end")


def test_a_date_for_undated_questions(tmp_path):
    source = written(tmp_path / "dated")
    plain, dated = load(source, "all"), load(source, "all@2024-02-15")
    february = 1707955200.0
    assert {name: topic.at for name, topic in dated.topics.items()} == {
        "q0": february,
        "q1": february,
        "q2": plain.topics["q2"].at,
    }
    assert dated.split == "all@2024-02-15"
    assert dated.digest not in {plain.digest, load(source, "all@2024-02-16").digest}
    with pytest.raises(QueryError, match="is not a date"):
        load(source, "all@someday")


def test_a_halved_split_says_so_in_the_first_line(tmp_path):
    source = written(tmp_path / "halved")
    assert (load(source, "all").half_of, load(source, "test").half_of) == ("", "test")
    options = ["--at", "end", "--embedder", "none", "--no-baselines", "--no-timing", "--systems", "bm25"]
    invoked = CliRunner().invoke(cli, ["bench", "run", source, *options])
    assert invoked.exit_code == 0, invoked.output
    assert "halved/test@end (a half of test)" in invoked.output.splitlines()[0]
