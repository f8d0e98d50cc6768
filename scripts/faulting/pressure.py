"""A steady load in a separate process, so that it does not slow down the process that measures.

    python3 -m faulting.pressure PATH RATE [HOST:]PORT... [--field "NAME: VALUE"]...

Sends RATE requests a second for PATH with the fields to each port, over kept connections, until SIGTERM ends it. Then prints as
JSON how many requests got which status, how many were cut, and how many were left out because they were late by more than a second.
"""

import argparse
import asyncio
import collections
import json
import signal
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


async def work(place, head, pace, offset, outcomes, ended):
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
                _, connection = await loop.create_connection(lambda: Connection(outcomes), *place)
            if not await asyncio.wait_for(connection.ask(head), 20):
                connection.transport.close()
        except asyncio.TimeoutError:
            outcomes["not answered"] += 1
            connection.transport.close()
        except OSError:
            outcomes["no connection"] += 1
            connection = None


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("rate", type=float)
    parser.add_argument("places", nargs="+")
    parser.add_argument("--field", action="append", default=[])
    options = parser.parse_args()
    head = "\r\n".join([f"GET {options.path} HTTP/1.1", "Host: localhost", *options.field, "", ""]).encode()
    places = [(host or "127.0.0.1", int(port)) for host, _, port in (place.rpartition(":") for place in options.places)]
    outcomes, pace = collections.Counter(), CONNECTIONS / options.rate
    ended = asyncio.Event()
    tasks = [asyncio.create_task(work(place, head, pace, number * pace / CONNECTIONS, outcomes, ended))
             for place in places for number in range(CONNECTIONS)]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(json.dumps({str(what): count for what, count in outcomes.items()}))


if __name__ == "__main__":
    asyncio.run(main())
