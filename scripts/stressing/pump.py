"""Callers that send the next request as soon as they have a response. Measures the throughput.

    python3 -m stressing.pump PORT CONNECTIONS SECONDS

Prints the number of responses per second. A response other than 200 ends the program with an error.
"""

import asyncio
import sys
import time

REQUEST = b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def pump(port, deadline):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while time.monotonic() < deadline:
        writer.write(REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            sys.exit(f"pump: answered {head[:40]}")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        count += 1
    writer.close()
    return count


async def main():
    port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    deadline = time.monotonic() + seconds
    counts = await asyncio.gather(*(pump(port, deadline) for _ in range(connections)))
    print(f"{sum(counts) / seconds:.1f}", flush=True)


asyncio.run(main())
