"""Callers that never let up, in a process of their own, so that they don't hold up who measures.

    python3 -m faulting.pressure PATH RATE PORT...

Sends so many requests a second for PATH to each port, over connections that are kept, until it is ended by SIGTERM; says
then as JSON how many were answered with which status, were cut, or came later than planned by a second.
"""

import asyncio
import collections
import json
import signal
import sys
import time

CONNECTIONS = 16


class Connection(asyncio.Protocol):
    """One request after the other. Answers have a length, as all of those asked for here do."""

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
    # Asked for as well as cancelled: a wait that has just ended does not hear of that.
    while not ended.is_set():
        late = time.monotonic() - begun - turn * pace
        if late < 0:
            await asyncio.sleep(-late)
        elif late > 1:
            # What can't be sent in time is not made up for.
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
