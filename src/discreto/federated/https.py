"""JSON over HTTPS with client certificates: a wire for silos that needs no Flower.

Both ends show a certificate that an authority of the federation has signed. The name in
a caller's certificate is the name under which a silo knows its partner; what a message
says about its sender is never believed. Anything that answers JSON messages of partners
can be served (``answer(message, partner) -> reply``), a :class:`Silo` above all.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreto.core.documents import read_json
from discreto.errors import MissingExtraError, ParameterError
from discreto.federated.messages import Message
from discreto.text.install_commands import install_command

Answer = Callable[[Any, str], Message]
MOST_BYTES = 1 << 26  # of a message; a round of a large model has a few million
MOST_AT_ONCE = 32
PATH = "/discreto"
_KEPT_OPEN = 600  # seconds that a connection may wait for its next message
_GRACE = 30.0  # seconds for replies that are under way when a server closes


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of one end: its certificate, its key, and the authority it trusts.

    Parameters
    ----------
    certificate, private_key
        Files of this end's own certificate and key (PEM).
    authority
        The certificate that signed those of the federation.
    """

    certificate: str | Path
    private_key: str | Path
    authority: str | Path

    def context(self, *, server: bool) -> ssl.SSLContext:
        """Return the rules of one end: certificates on both sides, TLS 1.2 or later."""
        side = ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT
        context = ssl.SSLContext(side)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(self.authority)
            context.load_cert_chain(self.certificate, self.private_key)
        except (OSError, ssl.SSLError):
            raise ParameterError(
                "the certificates of this silo or partner cannot be read: "
                f"{self.certificate}, {self.private_key}, {self.authority}."
            ) from None
        return context


class HttpsServer:
    """A uvicorn server that answers partners over HTTPS until it is closed.

    Parameters
    ----------
    answer
        The reply to a message of a partner, such as ``silo.answer``. It must not raise.
    certificates
        This end's certificate, and the authority of the partners'.
    host, port
        Where to listen; port 0 takes a free one, and ``port`` is then its number.
    timeout
        Seconds that a partner may take to send a message.
    """

    def __init__(
        self,
        answer: Answer,
        certificates: Certificates,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        timeout: float = 30.0,
    ) -> None:
        try:
            import uvicorn
            from uvicorn.protocols.http.h11_impl import H11Protocol
        except ImportError:
            raise MissingExtraError(
                f"HTTPS needs uvicorn. Install it with {install_command('federated')}."
            ) from None
        pool = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="discreto-https")

        class PartnerConnection(H11Protocol):
            """A connection after its handshake, of a partner who is known by name."""

            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                partner = name_in(transport.get_extra_info("peercert"))
                self.app: Any = partial(_serve, answer, partner, pool, timeout)
                self.loop.call_later(timeout, self._close_if_silent)

            def _close_if_silent(self) -> None:
                if self.cycle is None:
                    self.transport.close()

        config = uvicorn.Config(
            _serve,
            http=PartnerConnection,
            lifespan="off",
            access_log=False,  # the ledger is the log
            log_level="critical",
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEPT_OPEN,
        )
        config.load()
        config.ssl = certificates.context(server=True)
        self._socket = socket.create_server((host, port), backlog=256)
        self.port: int = self._socket.getsockname()[1]
        self._server, self._over = uvicorn.Server(config), threading.Event()
        self._over.set()

    def serve(self) -> None:
        """Answer until ``close`` is called from elsewhere."""
        self._over.clear()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._over.set()

    def start(self) -> None:
        """Answer in a thread of its own."""
        self._over.clear()
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self) -> None:
        """Stop answering, once the replies under way are sent."""
        self._server.should_exit = True
        self._over.wait(_GRACE)
        self._socket.close()


async def _serve(
    answer: Answer,
    partner: str,
    pool: ThreadPoolExecutor,
    timeout: float,
    scope: Any,
    receive: Any,
    send: Any,
) -> None:
    """Answer one request of a partner (ASGI)."""
    status, reply = 400, Message()
    if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == PATH:
        try:
            message = read_json(await asyncio.wait_for(_body(receive), timeout))
            loop = asyncio.get_running_loop()
            reply = await loop.run_in_executor(pool, answer, message, partner)
            status = 200
        except (ParameterError, TimeoutError):
            pass
    text = json.dumps(reply).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
    ]
    if status != 200:
        headers.append((b"connection", b"close"))
    start = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": text})


async def _body(receive: Any) -> bytes:
    """Return the body of a request, if it is not too long."""
    parts, size, more = [], 0, True
    while more:
        event = await receive()
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        more = event.get("more_body", False)
        if size > MOST_BYTES or event["type"] != "http.request":
            raise ParameterError("a message that is too long, or was broken off")
    return b"".join(parts)


def name_in(certificate: Any) -> str:
    """The common name of a certificate that was checked; nothing if it has none."""
    for part in (certificate or {}).get("subject", ()):
        for kind, value in part:
            if kind == "commonName":
                return str(value)
    return ""


def place_of(name: str, address: str) -> tuple[str, int]:
    """Return the host and port of an address."""
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.hostname:
        raise ParameterError(
            f"the address of silo {name!r} must begin with https://. Got {address!r}."
        )
    return parts.hostname, parts.port or 443


class HttpsChannel:
    """Silos elsewhere, asked over HTTPS; a ``Channel`` for a ``Federation``.

    Parameters
    ----------
    addresses
        ``{"north": "https://north.example.org:8443"}``.
    certificates
        This end's certificate, and the authority that signed the silos'.
    timeout
        Seconds to wait for a silo; who takes longer is left out of the replies.

    Privacy
    -------
    Nothing private crosses: silos send releases. A message that is sent again gets the
    stored answer and costs nothing more.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        certificates: Certificates,
        *,
        timeout: float = 300.0,
    ) -> None:
        self._places = {name: place_of(name, at) for name, at in addresses.items()}
        self._context = certificates.context(server=False)
        self._timeout = timeout

    def names(self) -> list[str]:
        """Return the silos' names."""
        return list(self._places)

    def send(self, outgoing: Mapping[str, Message]) -> dict[str, Message]:
        """Return the replies by the silos' names; all silos are asked at once.

        Parameters
        ----------
        outgoing
            A message for each silo, by its name.
        """
        with ThreadPoolExecutor(max(1, len(outgoing))) as pool:
            asked = {
                name: pool.submit(self._ask, name, message)
                for name, message in outgoing.items()
            }
            replies = {name: one.result() for name, one in asked.items()}
        return {name: reply for name, reply in replies.items() if reply is not None}

    def _ask(self, name: str, message: Message) -> Message | None:
        link = HttpsLink(self._places[name], self._context, timeout=self._timeout)
        try:
            return link.ask(message)
        finally:
            link.close()


class HttpsLink:
    """One other end, asked over a connection that is kept open.

    Parameters
    ----------
    place
        Its host and port.
    context
        This end's rules; see :class:`Certificates`.
    timeout
        Seconds to wait for a reply.
    name
        The name that its certificate must show, if that is known.
    """

    def __init__(
        self,
        place: tuple[str, int],
        context: ssl.SSLContext,
        *,
        timeout: float = 300.0,
        name: str | None = None,
    ) -> None:
        self._place, self._context, self._timeout = place, context, timeout
        self._name = name
        self._wire: http.client.HTTPSConnection | None = None
        self._alone = threading.Lock()

    def ask(self, message: Message) -> Message | None:
        """Return the reply to a message; nothing if there is none, or it is not JSON.

        Parameters
        ----------
        message
            JSON data.
        """
        body = json.dumps(message).encode()
        with self._alone:
            kept = self._wire is not None
            reply = self._try(body)
            if reply is None and kept:  # the other end may have closed it long ago
                reply = self._try(body)
        return reply

    def _try(self, body: bytes) -> Message | None:
        try:
            wire = self._open()
            wire.request("POST", PATH, body, {"content-type": "application/json"})
            reply = wire.getresponse()
            text = reply.read(MOST_BYTES + 1)
            if reply.status != 200 or len(text) > MOST_BYTES:
                raise http.client.HTTPException
            data = read_json(text)
        except (OSError, http.client.HTTPException, ParameterError):
            self._drop()
            return None
        return data if isinstance(data, dict) else None

    def _open(self) -> http.client.HTTPSConnection:
        if self._wire is not None:
            return self._wire
        wire = http.client.HTTPSConnection(
            *self._place, timeout=self._timeout, context=self._context
        )
        self._wire = wire
        wire.connect()
        shown: Any = wire.sock
        if self._name is not None and name_in(shown.getpeercert()) != self._name:
            raise OSError("another node answers there")
        return wire

    def _drop(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def close(self) -> None:
        """Close the connection."""
        with self._alone:
            self._drop()
