"""Slow callers: half of them send a head, half a body, one byte every five seconds. A disconnected caller reconnects.

    python3 -m stressing.attack PORT COUNT FILE

Writes a line of JSON to FILE each second: how many connections are `open`; how many callers were `let_in` (one of their
connections lived until its first slow byte); how many connections were `refused` (not made, or ended before that byte).
"""

import asyncio
import contextlib
import json
import sys

HEAD = b"GET /small HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /sink HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"


class Tally:
    def __init__(self):
        self.open, self.refused, self.let_in = 0, 0, set()

    async def write(self, path):
        with open(path, "w", buffering=1) as lines:
            while True:
                lines.write(json.dumps({"open": self.open, "refused": self.refused, "let_in": len(self.let_in)}) + "\n")
                await asyncio.sleep(1)


async def attack(port, number, count, tally):
    # The connections are spread over five seconds, because a flood of new connections is a different attack.
    await asyncio.sleep(5 * number / count)
    while True:
        slow_bytes = 0
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            tally.open += 1
            try:
                writer.write(HEAD if number % 2 else BODY)
                while not await is_over(reader):
                    tally.let_in.add(number)
                    writer.write(b"x")
                    slow_bytes += 1
            finally:
                tally.open -= 1
                writer.close()
        tally.refused += slow_bytes == 0
        await asyncio.sleep(1)


async def is_over(reader):
    """Returns whether the gateway closes the connection or responds within five seconds."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(reader.read(4096), 5)
        return True
    return False


async def main():
    port, count, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    tally = Tally()
    await asyncio.gather(tally.write(path), *(attack(port, number, count, tally) for number in range(count)))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
