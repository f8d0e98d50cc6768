"""A WebSocket server that first sends the `Authorization` value of the handshake, then echoes each message.

    python3 -m stressing.echo PORT
"""

import asyncio
import contextlib
import sys

import websockets


async def echo(socket):
    # Versions of websockets before 13 have the header fields on the connection.
    fields = getattr(socket, "request_headers", None) or socket.request.headers
    await socket.send(fields.get("Authorization", ""))
    async for message in socket:
        await socket.send(message)


async def main():
    async with websockets.serve(echo, "127.0.0.1", int(sys.argv[1]), max_size=None):
        await asyncio.Future()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
