"""The command and its page: loaded when used, in step with the code, clear when the extra is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import cli
from tools.docs.mcp_reference import main, update_page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_says_what_the_code_says(capsys):
    assert main([str(ROOT / "docs" / "mcp.md"), "--check"]) == 0, capsys.readouterr().out


def test_a_stale_page_is_noticed_and_written_anew(tmp_path, capsys):
    page = tmp_path / "mcp.md"
    page.write_text("# Title\n\n<!-- tools -->\nold\n<!-- end -->\n\nThe rest.\n", "utf-8")
    assert main([str(page), "--check"]) == 1
    assert "is out of date" in capsys.readouterr().out
    assert main([str(page)]) == 0
    assert main([str(page), "--check"]) == 0
    text = page.read_text("utf-8")
    assert text.startswith("# Title\n")
    assert text.endswith("The rest.\n")
    assert "### memory_recall" in text
    assert update_page(text) == text


def _python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_the_sdk_is_imported_only_by_the_server():
    code = (
        "import sys; from assay.cli.main import cli; import click\n"
        "assert cli.get_command(click.Context(cli), 'mcp') is not None\n"
        "print(sorted({'mcp', 'mcp_types', 'pydantic', 'anyio', 'uvicorn', 'starlette', 'numpy'} & set(sys.modules)))"
    )
    assert _python(code).stdout == "[]\n"


def test_without_the_extra_the_cure_is_named(tmp_path):
    code = "import sys; sys.modules['mcp_types'] = None; from assay.cli.main import main; main()"
    done = _python(code, "mcp", "--store", str(tmp_path / "store"))
    assert done.returncode == 5
    assert "the MCP server needs a package that is not installed" in done.stderr
    assert "pip install -e '.[mcp]'" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--http", "0.0.0.0:80"), "is not an address of this machine alone"),
        (("--http", "nowhere"), "names no port"),
        (("--scope", "user:*"), "has no wildcards"),
        (("--pipeline", "nosuch"), "there is no pipeline called 'nosuch'"),
        (("--pipeline", "nosuch.json"), "nosuch.json: No such file"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_starts(tmp_path, capsys, options, said):
    with pytest.raises(SystemExit) as ended:
        cli(["mcp", "--store", str(tmp_path / "store"), *options])
    assert ended.value.code == 2
    messages = capsys.readouterr()
    assert said in messages.err
    assert messages.out == ""
    assert not (tmp_path / "store").exists()
