"""A network of our own: namespaces that hang on a bridge, whose ports can be cut from each other without a word.

The bridge is in a namespace of its own. Two ports that are isolated do not reach each other, but everybody else; a port
that is disabled reaches nobody. Packets are dropped, not refused, as on a cut cable. Needs root and `ip`.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import StoreError
from assay.util.closeable import Closeable

_BRIDGE = "br0"
_NUMBERS = itertools.count()
CLIENT = "client"
"""The port of this process's own namespace."""


def find_obstacle() -> str:
    """Why no network can be made here; "" where it can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    for tool in ("ip", "bridge", "nsenter"):
        if shutil.which(tool) is None:
            return f"there is no {tool} here"
    try:
        NetworkSwitch.make(0).close()
    except StoreError as error:
        return error.message
    return ""


@dataclass
class NetworkSwitch(Closeable):
    """Ports `client` and `0`, `1`, …: a namespace each, with the addresses 10.77.N.254, 10.77.N.1, 10.77.N.2, …"""

    name: str
    subnet: str
    count: int
    ports: dict[str, str] = field(default_factory=dict)
    """Port → its device on the bridge."""

    @staticmethod
    def make(count: int) -> NetworkSwitch:
        switch = NetworkSwitch(f"as{os.getpid()}x{next(_NUMBERS)}", f"10.77.{os.getpid() % 250}", count)
        try:
            _ip("netns", "add", switch.name)
            switch._inside("ip", "link", "add", _BRIDGE, "type", "bridge")
            switch._inside("ip", "link", "set", _BRIDGE, "up")
            switch._plug(CLIENT, "", f"{switch.subnet}.254")
            for place in range(count):
                _ip("netns", "add", switch.namespace(place))
                switch._plug(str(place), switch.namespace(place), switch.address(place))
        except BaseException:
            switch.close()
            raise
        return switch

    def namespace(self, place: int) -> str:
        return f"{self.name}n{place}"

    def address(self, place: int) -> str:
        return f"{self.subnet}.{place + 1}"

    def _plug(self, port: str, namespace: str, address: str) -> None:
        """Connect a namespace, this process's own for "", to the bridge."""
        suffix = "c" if port == CLIENT else port
        near, far = f"{self.name}{suffix}", f"{self.name}{suffix}s"  # at most 15 letters
        _ip("link", "add", near, "type", "veth", "peer", "name", far)
        _ip("link", "set", far, "netns", self.name)
        self._inside("ip", "link", "set", far, "master", _BRIDGE, "up")
        if namespace:
            _ip("link", "set", near, "netns", namespace)
        enter = ("-n", namespace) if namespace else ()
        _ip(*enter, "addr", "add", f"{address}/24", "dev", near)
        _ip(*enter, "link", "set", near, "up")
        if namespace:
            _ip(*enter, "link", "set", "lo", "up")
        self.ports[port] = far

    def cut(self, one: str, other: str) -> None:
        """Cut the link between two ports, and no other link."""
        for port in (one, other):
            self._inside("bridge", "link", "set", "dev", self.ports[port], "isolated", "on")

    def cut_off(self, port: str) -> None:
        """Cut a port off from all others."""
        self._inside("bridge", "link", "set", "dev", self.ports[port], "state", "0")

    def heal(self) -> None:
        for device in self.ports.values():
            self._inside("bridge", "link", "set", "dev", device, "isolated", "off")
            self._inside("bridge", "link", "set", "dev", device, "state", "3")

    def _inside(self, *command: str) -> None:
        _run("ip", "netns", "exec", self.name, *command)

    def close(self) -> None:
        """Delete the namespaces; their devices go with them, a moment later."""
        if CLIENT in self.ports:
            _ip("link", "del", f"{self.name}c")  # at once: the next switch has the same addresses
        for name in (*map(self.namespace, range(self.count)), self.name):
            if Path(f"/run/netns/{name}").exists():
                _ip("netns", "del", name)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoreError(f"{' '.join(command)}: {done.stderr.strip()}", "this needs root and the right to use networks")
