"""Wires that a test can hold, cut and listen to: one for each direction of an edge."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Carries bytes from whoever connects to ``target``, while it is not cut."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.flowing = threading.Event()
        self.flowing.set()
        self.connections = 0
        self._sockets: list[socket.socket] = []
        self._cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Nothing passes any more."""
        self._cut = True
        self._listener.close()
        for one in self._sockets:
            _close(one)

    def _accept(self) -> None:
        while not self._cut:
            try:
                caller = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            try:
                called = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                caller.close()
                continue
            for one in (caller, called):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets += [caller, called]
            for pair in ((caller, called), (called, caller)):
                threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.flowing.wait()
                sink.sendall(data)
        for one in (source, sink):
            _close(one)


def _close(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
