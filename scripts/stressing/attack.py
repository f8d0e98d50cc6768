"""Slow callers, half of them with heads and half with bodies: a byte of each every five seconds. Who is thrown out comes again.

    python3 -m stressing.attack PORT COUNT
"""

import asyncio
import contextlib
import sys

HEAD = b"GET /small HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /sink HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"


async def attack(port, number, count):
    # They come over some seconds, as a flood of new connections is another attack.
    await asyncio.sleep(5 * number / count)
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEAD if number % 2 else BODY)
            try:
                while True:
                    with contextlib.suppress(asyncio.TimeoutError):
                        # Also an answer: the gateway has had enough.
                        await asyncio.wait_for(reader.read(4096), 5)
                        break
                    writer.write(b"x")
            finally:
                writer.close()
        await asyncio.sleep(1)


async def main():
    port, count = int(sys.argv[1]), int(sys.argv[2])
    await asyncio.gather(*(attack(port, number, count) for number in range(count)))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
