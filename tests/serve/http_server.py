"""A real server in a thread, on a free port of the loopback interface."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from assay.serve.address import listen
from assay.serve.http.connection_limits import make_server_config


@contextmanager
def running(app: Any) -> Iterator[str]:
    """The address of the app; at the end the server drains and stops."""
    with listen("127.0.0.1", 0) as listener:
        server = uvicorn.Server(make_server_config(app, 5, 1_024))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
