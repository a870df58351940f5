"""Finds Chromium and its driver for tests of the workbench, and installs Debian's packages where that is possible.

    python -m assay.testing.chromium      installs them; does nothing where they are there, or where it may not

The browser runs headless with a fresh profile and without its own connections to the outside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = ("chromium", "chromium-driver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--no-first-run",
    "--hide-scrollbars",
)
REQUIRED = "ASSAY_REQUIRE_CHROMIUM"
"""The environment variable under which a missing browser is a failure, not a skipped test."""


def find_browser() -> tuple[Path, Path] | None:
    """Chromium and its driver, if both are installed."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return None if browser is None or driver is None else (Path(browser), Path(driver))


def explain_missing() -> str:
    """Why there is no browser here; "" where there is one."""
    if find_browser() is not None:
        return ""
    return f"Chromium and its driver are not installed (Debian: apt-get install {' '.join(PACKAGES)})"


def install() -> str:
    """Install Debian's packages as root; what was done, or why nothing was."""
    if not explain_missing():
        return "Chromium and its driver are installed"
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return f"{explain_missing()}; only root can install them with apt-get"
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for attempt in (command, ["apt-get", "update"], command):
        done = subprocess.run(attempt, env=environment, capture_output=True, text=True, check=False)
        if not explain_missing():
            return "Chromium and its driver are installed now"
    return f"{explain_missing()}; apt-get said: {done.stderr.strip()[-300:]}"


if __name__ == "__main__":
    sys.stdout.write(f"{install()}\n")
