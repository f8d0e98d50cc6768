"""Sends requests for all accounts to all processes at an even rate, and records their outcomes."""

import asyncio
import collections
import contextlib
import json
import time

from harness.client import BrokenAnswer, Caller

LIMIT = 25
# How many seconds after a stopped process continues a request that it held may still wait for a token and its response.
AFTER_STOP = 16
# Problem codes whose responses must have Retry-After.
TEMPORARY = ("refresh_failed", "provider_config", "store_lost")
# How many failures are written to the history one by one.
NOTED = 60


class Load:
    """Sends requests from `begin` to `end`. A request without a response does not count as failed if its process was killed or
    stopped by the test. It does count as failed if the process ended by itself."""

    # How connections are made, and whether one is kept when its gateway has a new process.
    make_caller, keeps_connections = Caller, False

    def __init__(self, cluster, rate, accounts=None, gateways=None, workers=16):
        self.cluster, self.rate, self.workers = cluster, rate, workers
        self.accounts, self.gateways = accounts or cluster.accounts, gateways or cluster.gateways
        self.outcomes, self.failures = collections.Counter(), []
        # How many requests had no response although the test did nothing to the process.
        self.unanswered = 0
        # When each account first and last got a 200, the longest time of a 200 response, and the longest time of any response.
        self.first_served, self.served, self.slowest, self.longest = {}, {}, 0, 0
        self.longest_of = None
        self.ending, self.tasks = asyncio.Event(), []

    def begin(self):
        self.tasks = [asyncio.create_task(self.work(gateway, number, place))
                      for place, gateway in enumerate(self.gateways) for number in range(self.workers)]
        return self

    async def end(self):
        self.ending.set()
        await asyncio.gather(*self.tasks)
        if self.longest_of:
            self.cluster.history.note(f"the slowest response, after {self.longest:.3f} s: {self.longest_of}")

    async def work(self, gateway, number, place):
        caller, boot, turn = self.make_caller(gateway.port), gateway.boot, number
        pace, start = len(self.gateways) * self.workers / self.rate, time.monotonic()
        start += (number * len(self.gateways) + place) / self.rate
        # Each process gets requests for each account, at different moments.
        offset = place * len(self.accounts) // len(self.gateways)
        while not self.ending.is_set():
            await self.rest(start + (turn - number) // self.workers * pace - time.monotonic())
            if self.ending.is_set():
                break
            if boot != gateway.boot and not self.keeps_connections:
                # The kept connection belongs to the previous boot and is closed.
                caller.close()
                boot = gateway.boot
            if gateway.is_down:
                caller.close()
            else:
                await self.request(caller, gateway, self.choose(turn + offset))
            turn += self.workers
        caller.close()

    def choose(self, turn):
        """Returns the account of the next request."""
        return self.accounts[turn % len(self.accounts)]

    async def rest(self, seconds):
        if seconds > 0:
            try:
                await asyncio.wait_for(self.ending.wait(), seconds)
            except asyncio.TimeoutError:
                pass

    async def request_once(self, gateway, account):
        caller = Caller(gateway.port)
        try:
            await self.request(caller, gateway, account)
        finally:
            caller.close()

    async def request(self, caller, gateway, account):
        began = time.monotonic()
        try:
            status, fields, body = await asyncio.wait_for(caller.fetch("GET", *self.cluster.request_for(account)), LIMIT)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer) as error:
            caller.close()
            if not self.was_disturbed(gateway, began):
                self.unanswered += 1
                self.failed(account, gateway, type(error).__name__, began)
            else:
                self.outcomes["with a process that was killed or stopped"] += 1
            return
        now = time.monotonic()
        if not self.was_disturbed(gateway, began):
            if now - began > self.longest:
                self.longest, self.longest_of = now - began, f"{account} at {gateway.boot}, answered {status}, asked at {began - self.cluster.history.began:.3f} s"
            if status == 200:
                self.slowest = max(self.slowest, now - began)
        if status == 200:
            self.outcomes[200] += 1
            self.first_served.setdefault(account, now)
            self.served[account] = now
            return
        if fields.get("content-type") == "application/problem+json":
            self.cluster.answers.append(body)
            problem = json.loads(body)
            code = problem["type"].rpartition(":")[2]
            what = f"{status} {code}"
            if code in TEMPORARY and "retry-after" not in fields:
                what += " without Retry-After"
        else:
            what, problem = str(status), {}
        self.failed(account, gateway, what, began, problem.get("detail", ""))

    def was_disturbed(self, gateway, began):
        """Returns whether the process was killed since the request began, or was stopped during it and is still stopped or has
        continued less than AFTER_STOP seconds ago."""
        now = time.monotonic()
        return (any(at >= began - 0.1 for at in gateway.kills.values())
                or any(until is None or began - 0.1 <= until and now <= until + AFTER_STOP for _, until in gateway.stops))

    def failed(self, account, gateway, what, began, detail=""):
        self.outcomes[what] += 1
        self.failures.append((time.monotonic(), account, gateway.name, what))
        if len(self.failures) <= NOTED:
            self.cluster.history.note(
                f"a request for {account} at {gateway.boot}: {what} after {time.monotonic() - began:.3f} s {detail}")

    def failed_of(self, *codes):
        """Returns how many requests failed with one of these codes; without codes, how many failed at all."""
        return sum(any(code in what for code in codes) or not codes for _, _, _, what in self.failures)

    @property
    def summary(self):
        return ", ".join(f"{count} {what}" for what, count in sorted(self.outcomes.items(), key=str))


async def unserved(cluster, accounts, limit):
    """Retries a request for each account at each process for `limit` seconds. Returns the pairs that never got a 200."""
    deadline = time.monotonic() + limit

    async def is_served(gateway, account):
        while (left := deadline - time.monotonic()) > 0:
            caller = Caller(gateway.port)
            try:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
                    if (await asyncio.wait_for(caller.fetch("GET", *cluster.request_for(account)), left))[0] == 200:
                        return True
            finally:
                caller.close()
            await asyncio.sleep(0.1)
        return False

    pairs = [(gateway, account) for gateway in cluster.gateways for account in accounts]
    are_served = await asyncio.gather(*(is_served(*pair) for pair in pairs))
    return [(gateway.name, account) for (gateway, account), is_one in zip(pairs, are_served) if not is_one]
