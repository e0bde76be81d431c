"""The socket that a server listens on."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from surepath.web.server import listen


def test_answers_wait_for_no_receipt() -> None:
    """Asyncio turns Nagle's algorithm off on connections that it knows for TCP."""

    async def delayed() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        server = await asyncio.start_server(connected, sock=listen("127.0.0.1", 0))
        async with server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            without_delay = await found
            writer.close()
        return without_delay

    with ThreadPoolExecutor() as thread:  # a loop may run in this one, of a browser that another test has left open
        assert thread.submit(asyncio.run, delayed()).result() != 0
