"""Measures the layout of the package in this checkout: modules, import layers, size, repeated names and file hops.

    python tools/measure_layout.py            prints a table
    python tools/measure_layout.py --json     prints JSON

A file hop is a file of the package in which a function runs while a command is executed on the sample handbook;
import-time code does not count. It approximates the number of files a reader opens to follow the command.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "assay"
QUESTION = "how do I rotate the signing key?"

_PROBE = """
import sys, threading
package, *arguments = sys.argv[1:]
files = set()
def record(frame, event, argument):
    code = frame.f_code
    is_function = code.co_flags & 2 and not code.co_name.startswith("<")  # CO_NEWLOCALS: no module code
    if event == "call" and is_function and code.co_filename.startswith(package):
        files.add(code.co_filename)
from assay.cli.main import main
threading.setprofile(record)
sys.setprofile(record)
sys.argv = ["assay", *arguments]
status = 0
try:
    main()
except SystemExit as exit_:
    status = exit_.code or 0
finally:
    sys.setprofile(None)
    threading.setprofile(None)
print("file hops:", len(files), "exit code:", status, file=sys.stderr)
"""


def count_file_hops(*arguments: str) -> int:
    """The number of files of the package in which `assay ARGUMENTS` runs a function, threads included."""
    command = [sys.executable, "-c", _PROBE, str(PACKAGE), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    words = process.stderr.rstrip().rsplit("\n", 1)[-1].split()
    if words[:2] != ["file", "hops:"] or words[-1] != "0":
        raise SystemExit(f"assay {' '.join(arguments)} failed:\n{process.stderr}")
    return int(words[2])


def count_repeated(names: Iterable[str]) -> int:
    """How many names occur more than once."""
    return sum(count > 1 for count in Counter(names).values())


def class_names(files: Iterable[Path]) -> list[str]:
    """The names of all classes, private ones included."""
    trees = (ast.parse(path.read_text("utf-8")) for path in files)
    return [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def measure() -> dict[str, int]:
    """All measurements by name."""
    files = sorted(PACKAGE.rglob("*.py"))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    entry_points = ("__init__.py", "__main__.py")
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/kb"
        return {
            "loose_modules": sum(path.name not in entry_points for path in PACKAGE.glob("*.py")),
            "layers": len(settings["tool"]["importlinter"]["contracts"][0]["layers"]),
            "files": len(files),
            "lines": sum(len(path.read_text("utf-8").splitlines()) for path in files),
            "class_names_repeated": count_repeated(class_names(files)),
            "file_names_repeated": count_repeated(path.name for path in files if path.name not in entry_points),
            "hops_add": count_file_hops("add", "examples/handbook", "--store", store),
            "hops_search": count_file_hops("search", QUESTION, "--store", store),
            "hops_bench_run": count_file_hops(
                "bench", "run", "tiny", "--systems", "bm25,default", "--out", f"{folder}/receipts"
            ),
        }


def main() -> None:
    measurements = measure()
    if "--json" in sys.argv[1:]:
        print(json.dumps(measurements, indent=1))
    else:
        for name, value in measurements.items():
            print(f"{name.replace('_', ' '):24}{value:>8,}")


if __name__ == "__main__":
    main()
