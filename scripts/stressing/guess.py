"""Connections that try admin tokens: each sends a wrong token, reads the response, and sends the next.

    python3 -m stressing.guess PORT COUNT FILE

Writes a line of JSON to FILE each second: the number of responses by status, and the number of connections that `ended`
without a response.
"""

import asyncio
import contextlib
import json
import random
import sys

from harness.client import BrokenAnswer, Caller


async def guess(port, tally):
    caller = Caller(port)
    while True:
        try:
            token = "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=43))
            status, _, _ = await caller.fetch("GET", "/v1/accounts", {"Authorization": f"Bearer {token}"})
            tally[str(status)] = tally.get(str(status), 0) + 1
        except (OSError, asyncio.IncompleteReadError, BrokenAnswer):
            tally["ended"] = tally.get("ended", 0) + 1
            caller.close()
            await asyncio.sleep(0.05)


async def write(path, tally):
    with open(path, "w", buffering=1) as lines:
        while True:
            lines.write(json.dumps(tally) + "\n")
            await asyncio.sleep(1)


async def main():
    port, count, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    tally = {}
    await asyncio.gather(write(path, tally), *(guess(port, tally) for _ in range(count)))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
