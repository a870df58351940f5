"""The unprivileged user that runs test servers where we are root, and a folder that this user can enter."""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from assay.errors import StoreError


def server_user() -> pwd.struct_passwd | None:
    """The user that runs a server where we are root: nobody, or the first other user. None where we are not root."""
    if os.geteuid() != 0:
        return None
    others = sorted((entry for entry in pwd.getpwall() if entry.pw_uid != 0), key=lambda e: e.pw_name != "nobody")
    if not others:
        raise StoreError("a test server does not run as root, and there is no other user", "make one: useradd postgres")
    return others[0]


def as_user() -> dict[str, Any]:
    """The arguments of `subprocess` that run a process as that user."""
    user = server_user()
    return {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def enter_namespace(name: str) -> list[str]:
    """The words before a command that run it as that user in a network namespace; none for the own one."""
    user = server_user()
    if not name:
        return []
    if user is None:
        raise StoreError("only root can enter a network namespace", "run this as root")
    return ["nsenter", f"--net=/run/netns/{name}", f"--setuid={user.pw_uid}", f"--setgid={user.pw_gid}", "--"]


def change_owner(path: Path) -> None:
    user = server_user()
    if user is not None:
        os.chown(path, user.pw_uid, user.pw_gid)


def open_folder(prefix: str, parent: Path | None = None) -> Path:
    """A new folder that the server's user can enter: the system's temporary place may be closed to it."""
    for place in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp")) if parent is None else (parent,):
        with contextlib.suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
            folder.chmod(0o755)
            change_owner(folder)
            if not subprocess.run(
                ["/bin/sh", "-c", 'test -w "$0"', folder], check=False, cwd="/", **as_user()
            ).returncode:
                return folder
            folder.rmdir()
    raise StoreError("there is no folder that an unprivileged user can enter", "set TMPDIR to one")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
