"""ir_datasets collections: a small one, registered here, read by the real package without a network."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay.bench.datasets import DatasetError, load
from assay.errors import MissingExtra


class Doc(NamedTuple):
    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        return f"{self.title} {self.text}"


class Bare(NamedTuple):
    doc_id: str
    body: str

    def default_text(self) -> str:
        return self.body


class Question(NamedTuple):
    query_id: str
    text: str
    kind: str

    def default_text(self) -> str:
        return self.text


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("irds")))
        package = pytest.importorskip("ir_datasets", reason="pip install -e '.[datasets]'")
        _register(package)
        yield package


def _register(package: Any) -> None:
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, TrecQrel

    class Docs(BaseDocs):
        def docs_iter(self) -> Iterator[Any]:
            yield Doc("d1", "Keys", "Rotate the key.")
            yield Bare("d2", "The kitchen closes at six.")

    class Queries(BaseQueries):
        def __init__(self, *rows: Question) -> None:
            self.rows = rows

        def queries_iter(self) -> Iterator[Question]:
            return iter(self.rows)

    class Qrels(BaseQrels):
        def __init__(self, *rows: Any) -> None:
            self.rows = rows

        def qrels_iter(self) -> Iterator[Any]:
            return iter(self.rows)

    class Unreachable(BaseDocs):
        def docs_iter(self) -> Iterator[Any]:
            raise OSError("no network")

    first, second = Question("q1", "rotate keys", "lexical"), Question("q2", "kitchen hours", "paraphrase")
    train, test = Qrels(TrecQrel("q1", "d1", 1, "0")), Qrels(TrecQrel("q2", "d2", 2, "0"))
    package.registry.register("assay-test", Dataset(Docs()))
    package.registry.register("assay-test/train", Dataset(Docs(), Queries(first), train))
    package.registry.register("assay-test/test", Dataset(Docs(), Queries(second), test))
    package.registry.register("assay-own", Dataset(Docs(), Queries(first, second), train))
    package.registry.register("assay-far", Dataset(Unreachable(), Queries(first), train))


def test_a_collection_and_its_splits(registered: Any) -> None:
    found = load("ir_datasets:assay-test")
    assert (found.name, found.source, found.split) == ("assay-test", "ir_datasets:assay-test", "test")
    assert (
        list(found.documents)
        == list(found.documents)
        == [
            {"id": "d1", "title": "Keys", "text": "Rotate the key."},
            {"id": "d2", "title": "", "text": "The kitchen closes at six."},
        ]
    )
    assert found.judgements == {"q2": {"d2": 2}}
    assert found.topics["q2"].meta == {"kind": "paraphrase"}
    assert load("ir_datasets:assay-test", "all").judgements == {"q1": {"d1": 1}, "q2": {"d2": 2}}


def test_a_collection_with_judgements_of_its_own(registered: Any) -> None:
    assert load("ir_datasets:assay-own", "all").judgements == {"q1": {"d1": 1}}


def test_a_split_is_asked_for_by_its_name(registered: Any) -> None:
    with pytest.raises(DatasetError, match="assay-test/train is a split of assay-test") as error:
        load("ir_datasets:assay-test/train")
    assert error.value.cure == "load ir_datasets:assay-test with the split 'train'"


def test_an_unknown_id_names_the_nearest(registered: Any) -> None:
    with pytest.raises(DatasetError, match="ir_datasets has no 'assay-tset'") as error:
        load("ir_datasets:assay-tset")
    assert "did you mean 'assay-test'?" in error.value.cure


def test_what_cannot_be_fetched_is_an_error_with_its_reason(registered: Any) -> None:
    with pytest.raises(DatasetError, match="ir_datasets cannot read assay-far: no network"):
        load("ir_datasets:assay-far", "all")


def test_without_the_package_the_cure_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtra) as error:
        load("ir_datasets:beir/scifact")
    assert "pip install -e '.[datasets]'" in error.value.cure


def test_loading_a_folder_imports_no_extra(tmp_path: Path) -> None:
    program = "import sys; from assay.bench.datasets import load; load('tiny'); print('ir_datasets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "False\n"
