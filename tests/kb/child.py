"""One job at a time in a process of its own, started by a warm zygote."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Child:
    """One job at a time in a process of its own."""

    def __init__(self) -> None:
        self._zygote = subprocess.Popen(
            [sys.executable, str(HERE / "zygote.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = 0

    def start(self, call: str, **arguments: Any) -> None:
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(json.dumps([call, arguments]) + "\n")
        self._zygote.stdin.flush()
        self.pid = int(self._line())

    def wait(self) -> int:
        """How it ended: 0 for well, 1 for an exception, -9 for killed."""
        self.pid = 0
        return os.waitstatus_to_exitcode(int(self._line()))

    def kill(self) -> int:
        os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def _line(self) -> str:
        assert self._zygote.stdout is not None
        return self._zygote.stdout.readline()

    def close(self) -> None:
        if self.pid:
            self.kill()
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._zygote.stdin.close()
        self._zygote.wait()
        self._zygote.stdout.close()
