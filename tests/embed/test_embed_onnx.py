"""A real ONNX encoder of two tokens' width and a real word tokenizer, both made here."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from assay.embed.onnx import from_spec, open_onnx
from assay.errors import ConfigError, MissingExtra, ModelError
from assay.protocols import Embedder

WORDS = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "up": 4, "right": 5, "query": 6, ":": 7}
TABLE = np.array([[1, 1], [0, 0], [0, 0], [9, 9], [0, 3], [4, 0], [-1, 0], [0, -1]], np.float32)


def make_tokenizer(path: Path, *, specials: bool = True) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if specials:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    tokenizer.enable_padding(length=16, pad_id=3, pad_token="[PAD]")  # traps that lie baked in real files
    tokenizer.enable_truncation(4)
    tokenizer.save(str(path))


def make_model(path: Path, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask"), pooled: bool = False) -> None:
    """hidden[t] = table[ids[t]] · mask[t]; with `pooled`, also sentence_embedding = the largest of each column."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"])]
    last = "rows"
    if "attention_mask" in inputs:
        nodes += [
            helper.make_node("Unsqueeze", ["attention_mask", "two"], ["tall"]),
            helper.make_node("Cast", ["tall"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["rows", "mask"], ["masked"]),
        ]
        last = "masked"
    nodes.append(helper.make_node("Identity", [last], ["last_hidden_state"]))
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["b", "t", 2])]
    if pooled:
        nodes.append(helper.make_node("ReduceMax", [last, "one"], ["sentence_embedding"], keepdims=0))
        outputs.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["b", 2]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in inputs],
        outputs,
        [
            numpy_helper.from_array(TABLE, "table"),
            numpy_helper.from_array(np.array([2]), "two"),
            numpy_helper.from_array(np.array([1]), "one"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    make_tokenizer(folder / "tokenizer.json")
    make_model(folder / "model.onnx")
    return folder


def unit(*row: float) -> list[float]:
    return (np.array(row) / np.linalg.norm(row)).astype(np.float32).tolist()


def test_mean_pooling_by_hand(folder: Path) -> None:
    """(0,3) + (4,0) + two zero specials, divided by four: the direction of (4,3). No padding is in the mean."""
    embedder = open_onnx(folder)
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.dim, embedder.max_tokens, embedder.pooling) == ("onnx:tiny", 2, 512, "mean")
    assert embedder.encode(["up right", "RIGHT"]).tolist() == [unit(4, 3), unit(1, 0)]
    assert embedder.encode_query("up").tolist() == unit(0, 1)
    assert embedder.encode([]).shape == (0, 2)


def test_cls_pooling_takes_the_first_token(folder: Path) -> None:
    make_tokenizer(folder / "tokenizer.json", specials=False)
    (folder / "1_Pooling").mkdir()
    config = {"word_embedding_dimension": 2, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    embedder = open_onnx(folder)
    assert embedder.pooling == "cls"
    assert embedder.encode(["right up up"]).tolist() == [unit(1, 0)]
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    assert open_onnx(folder).encode(["right up up"]).tolist() == [unit(4, 6)]


def test_a_graph_that_pools_by_itself_is_believed_unless_told_otherwise(folder: Path) -> None:
    make_model(folder / "model.onnx", pooled=True)
    assert open_onnx(folder).pooling == "graph"
    assert open_onnx(folder).encode(["up right right"]).tolist() == [unit(4, 3)]
    assert open_onnx(folder, pooling="mean").encode(["up right right"]).tolist() == [unit(8, 3)]


def test_the_cut_is_the_models_not_the_tokenizer_files(folder: Path) -> None:
    text = "right " * 20 + "up " * 20
    assert open_onnx(folder).encode_query(text).tolist() == unit(4, 3)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 22}')
    assert open_onnx(folder).max_tokens == 22
    assert open_onnx(folder).encode_query(text).tolist() == unit(1, 0)
    assert open_onnx(folder, max_tokens=42).encode_query(text).tolist() == unit(4, 3)
    (folder / "sentence_bert_config.json").unlink()
    (folder / "config.json").write_text('{"max_position_embeddings": 514}')
    assert open_onnx(folder).max_tokens == 512


def test_prefixes(folder: Path) -> None:
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "query: ", "document": "up "}}')
    embedder = open_onnx(folder)
    assert embedder.encode_query("right").tolist() == unit(3, -1)
    assert embedder.encode(["right"]).tolist() == [unit(4, 3)]
    bare = open_onnx(folder, query_prefix="", document_prefix="")
    assert bare.encode_query("right").tolist() == unit(1, 0)
    assert bare.digest != embedder.digest


def test_workers_and_neighbours_change_no_bit(folder: Path) -> None:
    texts = [f"{'up ' * (n % 7)} right unknown" for n in range(60)]
    one = open_onnx(folder, workers=1)
    assert replace(one, workers=4).encode(texts).tobytes() == one.encode(texts).tobytes()
    assert np.stack([one.encode_query(text) for text in texts]).tobytes() == one.encode(texts).tobytes()


def test_any_string_is_legal_where_the_tokenizer_marks_beginnings(folder: Path) -> None:
    model = onnx.load(str(folder / "model.onnx"))
    shifted = numpy_helper.from_array(TABLE + 1, "table")
    model.graph.initializer[0].CopyFrom(shifted)
    onnx.save(model, str(folder / "model.onnx"))
    vectors = open_onnx(folder).encode(["", "\ud800", "\0", "🙂" * 3000])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


def test_the_digest_follows_bytes_and_not_paths(folder: Path, tmp_path: Path) -> None:
    digest = open_onnx(folder).digest
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    assert open_onnx(moved).digest == digest
    (moved / "model.onnx_data").write_bytes(b"a tensor kept beside the model")
    assert open_onnx(moved).digest != digest
    (moved / "model.onnx_data").unlink()
    make_tokenizer(moved / "tokenizer.json", specials=False)
    assert open_onnx(moved).digest != digest
    assert open_onnx(folder, max_tokens=9).digest != digest


def test_the_onnx_subfolder_is_found(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert from_spec(str(folder)).dim == 2


def test_a_vector_without_direction_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match="zero or not finite"):
        open_onnx(folder).encode([""])  # both specials of this model are zero


def test_folders_that_cannot_work(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds no model\.onnx"):
        open_onnx(tmp_path)
    with pytest.raises(ConfigError, match="needs a folder"):
        from_spec("")
    with pytest.raises(ConfigError, match="'max' pooling"):
        open_onnx(folder, pooling="max")
    with pytest.raises(ModelError, match="no use for graph pooling"):
        open_onnx(folder, pooling="graph")

    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Dense"}]')
    with pytest.raises(ModelError, match="Dense step"):
        open_onnx(folder)
    (folder / "modules.json").write_text("{")
    with pytest.raises(ModelError, match=r"modules\.json cannot be read"):
        open_onnx(folder)
    (folder / "modules.json").write_text('{"a": 1}')
    with pytest.raises(ModelError, match=r"modules\.json is not what"):
        open_onnx(folder)
    (folder / "modules.json").unlink()

    make_model(folder / "model.onnx", inputs=("input_ids", "attention_mask", "pixels"))
    with pytest.raises(ModelError, match="'pixels'"):
        open_onnx(folder)
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="cannot be loaded"):
        open_onnx(folder)
    make_model(folder / "model.onnx")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="not a tokenizer"):
        open_onnx(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"holds no tokenizer\.json"):
        open_onnx(folder)


def test_a_run_that_fails_is_a_model_error(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A tokenizer with more words than the model has rows: found when the folder is opened or the word is met."""
    path = folder / "tokenizer.json"
    path.write_text(path.read_text().replace('"right":5', '"right":5000').replace('"right": 5', '"right": 5000'))
    with pytest.raises(ModelError, match="cannot read 'right'"):
        open_onnx(folder).encode(["right"])
    assert capfd.readouterr() == ("", "")


def test_without_the_tokenizers_package_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"pip install -e .\.\[onnx\]"):
        open_onnx(folder)
