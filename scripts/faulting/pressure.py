"""A steady load in a separate process, so that it does not slow down the process that measures.

    python3 -m faulting.pressure PATH RATE PORT...

Sends RATE requests a second for PATH to each port, over kept connections, until SIGTERM ends it. Then prints as JSON how
many requests got which status, how many were cut, and how many were left out because they were late by more than a second.
"""

import asyncio
import collections
import json
import signal
import sys
import time

CONNECTIONS = 16


class Connection(asyncio.Protocol):
    """Sends one request after the other. Expects responses with Content-Length, which the requested path always returns."""

    def __init__(self, outcomes):
        self.outcomes, self.answer, self.rest, self.transport = outcomes, None, b"", None

    def connection_made(self, transport):
        self.transport = transport

    def ask(self, head):
        self.answer, self.rest = asyncio.get_running_loop().create_future(), b""
        self.transport.write(head)
        return self.answer

    def data_received(self, data):
        self.rest += data
        end = self.rest.find(b"\r\n\r\n")
        if end < 0 or not self.answer or self.answer.done():
            return
        head = self.rest[:end].lower()
        place = head.find(b"content-length:")
        length = int(head[place + 15:].split(b"\r\n", 1)[0]) if place >= 0 else 0
        if len(self.rest) >= end + 4 + length:
            self.outcomes[int(head[9:12])] += 1
            self.answer.set_result(b"connection: close" not in head)

    def connection_lost(self, error):
        if self.answer and not self.answer.done():
            self.outcomes["cut"] += 1
            self.answer.set_result(False)


async def work(port, head, pace, offset, outcomes, ended):
    loop, connection, turn = asyncio.get_running_loop(), None, 0
    begun = time.monotonic() + offset
    # The task is cancelled too, but a wait_for that has just completed can swallow the cancellation, so the loop checks `ended`.
    while not ended.is_set():
        late = time.monotonic() - begun - turn * pace
        if late < 0:
            await asyncio.sleep(-late)
        elif late > 1:
            # A request that is more than a second late is skipped.
            outcomes["left out"] += 1
            turn += 1
            continue
        turn += 1
        try:
            if not connection or connection.transport.is_closing():
                _, connection = await loop.create_connection(lambda: Connection(outcomes), "127.0.0.1", port)
            if not await asyncio.wait_for(connection.ask(head), 20):
                connection.transport.close()
        except asyncio.TimeoutError:
            outcomes["not answered"] += 1
            connection.transport.close()
        except OSError:
            outcomes["no connection"] += 1
            connection = None


async def main():
    path, rate, ports = sys.argv[1], float(sys.argv[2]), [int(one) for one in sys.argv[3:]]
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    outcomes, pace = collections.Counter(), CONNECTIONS / rate
    ended = asyncio.Event()
    tasks = [asyncio.create_task(work(port, head, pace, number * pace / CONNECTIONS, outcomes, ended))
             for port in ports for number in range(CONNECTIONS)]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(json.dumps({str(what): count for what, count in outcomes.items()}))


if __name__ == "__main__":
    asyncio.run(main())
