"""Sixteen clients of an HTTP server in one process, light enough to share the server's cores: raw sockets and epoll.

It imports nothing but the standard library, counts its own processor time, and is started as a program of its own:
host, port, requests and seconds come as JSON on standard input, the result leaves as JSON on standard output.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field
from itertools import cycle

_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass
class Connection:
    """One client: it sends the next request when the answer of the last is complete."""

    socket: socket.socket
    missing: int = 0
    """Bytes of the answer that have not arrived; 0 while its head is awaited."""
    head: bytes = field(default=b"")

    def take(self, data: bytes) -> bytes | None:
        """Take bytes of an answer: its first line when the answer is complete."""
        if not self.missing:
            self.head += data
            end = self.head.find(_END)
            if end < 0:
                return None
            lower = self.head[:end].lower()
            start = lower.index(_LENGTH) + len(_LENGTH)
            length = int(lower[start:].split(b"\r\n", 1)[0])
            data = self.head[end + len(_END) :]
            self.head = self.head[:end]
            self.missing = length
        self.missing -= len(data)
        if self.missing:
            return None
        line, self.head = self.head.split(b"\r\n", 1)[0], b""
        return line


def load(host: str, port: int, bodies: list[str], clients: int, seconds: float) -> dict[str, float]:
    """Ask for some seconds; how many answers came in which time, how many were not 200, and the time of the processor
    that the clients took."""
    head = f"POST /search HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: "
    requests = cycle([f"{head}{len(one.encode())}\r\n\r\n{one}".encode() for one in bodies])
    with selectors.DefaultSelector() as selector:
        connections = [Connection(socket.create_connection((host, port))) for _ in range(clients)]
        for one in connections:
            one.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(one.socket, selectors.EVENT_READ, one)
        done = failed = 0
        start, used = time.perf_counter(), time.process_time()
        for one in connections:
            one.socket.sendall(next(requests))
        while time.perf_counter() - start < seconds:
            for key, _ in selector.select(1.0):
                data = key.fileobj.recv(1 << 18)
                if not data:
                    raise ConnectionError("the server closed a connection")
                line = key.data.take(data)
                if line is not None:
                    done += 1
                    failed += b" 200 " not in line
                    key.fileobj.sendall(next(requests))
        elapsed, used = time.perf_counter() - start, time.process_time() - used
        for one in connections:
            one.socket.close()
    return {"done": done, "failed": failed, "seconds": elapsed, "processor_seconds": used}


if __name__ == "__main__":
    print(json.dumps(load(**json.load(sys.stdin))))
