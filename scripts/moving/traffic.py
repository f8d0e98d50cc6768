"""Requests for random accounts, on kept connections, while the gateways take over from each other."""

import asyncio
import contextlib
import time

from faulting.load import LIMIT, Load
from harness.client import BrokenAnswer, Caller, p99

# This many accounts get HOT_SHARE of all requests.
HOT, HOT_SHARE = 10, 0.2
# Seconds between two requests for a victim at one gateway.
VICTIM_PAUSE = 0.02
KILLED = b":killed\""


class KeptCaller(Caller):
    """Sends a request a second time, as HTTP clients do, if a kept connection ends before the first byte of a response."""

    again = 0

    async def fetch(self, method, path, fields=None, body=b""):
        is_kept = self.writer is not None
        try:
            return await super().fetch(method, path, fields, body)
        except (OSError, asyncio.IncompleteReadError):
            if not is_kept or self.has_answer:
                raise
            self.close()
            KeptCaller.again += 1
            return await super().fetch(method, path, fields, body)


class Traffic(Load):
    """Requests for random accounts of `accounts`. Connections stay when a process is taken over, until the older process closes
    them. With `is_strict`, every request without a 200 has failed, even if the test stopped its process."""

    make_caller, keeps_connections = KeptCaller, True

    def __init__(self, cluster, rate, accounts=None, is_strict=True):
        super().__init__(cluster, rate, accounts, workers=8)
        self.random, self.is_strict = cluster.run.random, is_strict
        self.hot = self.accounts[:HOT]
        # When each request was sent, and how long its response took.
        self.times = []
        KeptCaller.again = 0

    def choose(self, turn):
        return self.random.choice(self.hot if self.random.random() < HOT_SHARE else self.accounts)

    async def request(self, caller, gateway, account):
        began = time.monotonic()
        await super().request(caller, gateway, account)
        self.times.append((began, time.monotonic() - began))

    def was_disturbed(self, gateway, began):
        return not self.is_strict and super().was_disturbed(gateway, began)

    def waits(self, since, until):
        """Returns the p99 and the longest time of the requests that were under way in this time, in seconds."""
        took = sorted(seconds for at, seconds in self.times if at + seconds >= since and at <= until)
        return (p99(took), took[-1]) if took else (0, 0)

    @property
    def summary(self):
        return f"{super().summary}; {KeptCaller.again} sent again, as a kept connection had ended"


@contextlib.asynccontextmanager
async def pressed(cluster, account):
    """A context in which both gateways get requests for one account all the time. Its list gets (time, gateway, status) of each
    response, in Unix time; the status of a killed account is KILLED."""
    seen, ending = [], asyncio.Event()

    async def press(gateway):
        caller = KeptCaller(gateway.port)
        while not ending.is_set():
            began = time.time()
            try:
                status, _, body = await asyncio.wait_for(caller.fetch("GET", *cluster.request_for(account)), LIMIT)
                seen.append((began, gateway.name, KILLED if status == 503 and KILLED in body else status))
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer) as error:
                caller.close()
                seen.append((began, gateway.name, type(error).__name__))
            await asyncio.sleep(VICTIM_PAUSE)
        caller.close()

    tasks = [asyncio.create_task(press(gateway)) for gateway in cluster.gateways]
    try:
        yield seen
    finally:
        ending.set()
        await asyncio.gather(*tasks)
