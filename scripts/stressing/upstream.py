"""A plain upstream. `/small` returns a short text, `/bytes/N` returns N bytes, `/last/N` returns N bytes and then closes the
connection, `/sink` returns how many bytes the request had. `/crumbs` returns chunks of one byte without end.

    python3 -m stressing.upstream PORT
"""

import asyncio
import contextlib
import sys

PIECE = b"x" * 65536
CRUMBS = b"1\r\nx\r\n" * 10_000


def head(status, length):
    return f"HTTP/1.1 {status} OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n".encode()


async def body(reader, lines):
    """Reads the request body and returns its length. Martlet frames each body by Content-Length or in chunks."""
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    count = 0
    if b"content-length" in fields:
        left = int(fields[b"content-length"])
        while left > 0:
            piece = await reader.read(min(left, len(PIECE)))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            count += len(piece)
    elif b"transfer-encoding" in fields:
        chunks = 0
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
            count += size
            chunks += 1
            # Chunks that are here already are read without a pause, and other connections would wait for all of them.
            if chunks % 100 == 0:
                await asyncio.sleep(0)
        await reader.readline()
    return count


async def serve(reader, writer):
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            path = lines[0].split(b" ")[1].decode()
            sent = await body(reader, lines[1:])
            if path == "/crumbs":
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while True:
                    writer.write(CRUMBS)
                    await writer.drain()
                    await asyncio.sleep(0)
            elif path.startswith(("/bytes/", "/last/")):
                left = int(path.rpartition("/")[2])
                writer.write(head(200, left))
                while left > 0:
                    writer.write(PIECE[:left])
                    left -= len(PIECE)
                    await writer.drain()
                if path.startswith("/last/"):
                    # Keeps the socket open until the gateway closes its end. The kernel resets orphaned connections once there are many.
                    writer.write_eof()
                    await reader.read()
                    break
            else:
                answer = str(sent).encode() if path == "/sink" else b"hello, world\n"
                writer.write(head(200, len(answer)) + answer)
                await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
