"""Answers that were stored, or under way, before a kill, a removal, a new grant or a purge are never served after it."""

import asyncio
import collections
import random
import time

from caching.site import FRESH, Route, target
from harness.checks import Check
from harness.processes import Failed

# STORED keys are hits before the moment that counts. The answers of the others are under way then: the upstream takes this many seconds.
KEYS, STORED, UNDER_WAY = 1000, 800, 0.4
SWEEPERS, LOAD = 50, 8


async def run(site, checks, options):
    gateway = await site.gateway(Route("r", cache="max_size: 64MiB, max_object: 1MiB"))
    for name, way in WAYS.items():
        trial = Trial(site, gateway, name)
        load = [asyncio.create_task(trial.load()) for _ in range(LOAD)]
        try:
            for number in range(options.rounds):
                await trial.round(number, way)
        finally:
            trial.is_over = True
            await asyncio.gather(*load)
        trial.report(checks, options.rounds)


class Trial:
    """Rounds of one way to end what is stored."""

    def __init__(self, site, gateway, name):
        self.site, self.gateway, self.name, self.number = site, gateway, name, 0
        self.random, self.is_over, self.loaded, self.swept = random.Random(name), False, collections.Counter(), collections.Counter()
        self.hits_before, self.old, self.took = 0, 0, []

    def place(self, key):
        # Each round has keys of its own, so that no answer is left from the last one.
        wait = {} if key < STORED else {"wait": UNDER_WAY}
        return "/r" + target(f"load/{self.name.replace(' ', '-')}-{self.number}-{key}", FRESH, **wait)

    async def load(self):
        """Requests stored keys all the time, also while they are being ended."""
        caller = self.gateway.caller()
        while not self.is_over:
            answer = await caller.get(self.place(self.random.randrange(STORED)))
            self.loaded["hits" if answer.is_hit else answer.status] += 1
            # A refusal comes at once: the gateway has more to do than refusing.
            await asyncio.sleep(0 if answer.status == 200 else 0.01)
        caller.close()

    async def sweep(self, keys):
        """Requests each key once, over several connections. Returns the answers."""
        keys, answers = list(keys), []
        self.random.shuffle(keys)

        async def work():
            caller = self.gateway.caller()
            while keys:
                answers.append(await caller.get(self.place(keys.pop())))
            caller.close()

        await asyncio.gather(*(work() for _ in range(SWEEPERS)))
        return answers

    async def round(self, number, way):
        self.number = number
        await self.sweep(range(STORED))
        self.hits_before += sum(answer.is_hit for answer in await self.sweep(range(STORED)))
        known = await self.site.upstream.count()
        under_way = [asyncio.create_task(self.gateway.get(self.place(key))) for key in range(STORED, KEYS)]
        # The upstream has them all, and has answered none of them.
        deadline = time.monotonic() + 10
        while await self.site.upstream.count() < known + KEYS - STORED and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        began = time.monotonic()
        await way(self.gateway, self, began)
        await asyncio.gather(*under_way)
        # Those that were under way have ended; what they have brought must not have been stored.
        self.judge(await self.sweep(range(STORED, KEYS)), began)

    async def judged_sweep(self, began, may_hit=True):
        self.judge(await self.sweep(range(KEYS)), began, may_hit)

    def judge(self, answers, began, may_hit=True):
        """Counts answers whose request had come upstream before `began`, and if nothing may be served, all answers from memory."""
        for answer in answers:
            is_old = answer.status == 200 and (not answer.origin or answer.origin["at"] < began or answer.is_hit and not may_hit)
            self.old += is_old
            self.swept["from memory" if is_old else answer.status] += 1

    def report(self, checks, rounds):
        checks.append(Check(f"{self.name}: took, median and longest", f"{sorted(self.took)[len(self.took) // 2] * 1000:.0f} ms, {max(self.took) * 1000:.0f} ms", "", True))
        checks.append(Check(f"{self.name}: load meanwhile", listed(self.loaded), "", True))
        checks.equal(f"{self.name}: hits before, of {rounds} rounds", self.hits_before, rounds * STORED)
        checks.append(Check(f"{self.name}: next requests of the keys", listed(self.swept), "none from memory", self.old == 0))


def listed(counter):
    return ", ".join(f"{count} {what}" for what, count in sorted(counter.items(), key=str))


async def kill(gateway, trial, began):
    said = await gateway.done("POST", "/v1/kill", {"scope": {"all": True}, "reason": "trial"})
    if said["state"] != "complete":
        raise Failed(f"the kill is not complete: {said['state']}")
    trial.took.append(time.monotonic() - began)
    await trial.judged_sweep(began, may_hit=False)
    await gateway.done("POST", "/v1/revive", {"scope": {"all": True}, "reason": "over"})
    await gateway.sign_in("alice")
    await trial.judged_sweep(began)


async def remove(gateway, trial, began):
    await gateway.done("DELETE", "/v1/accounts/alice/tokens")
    trial.took.append(time.monotonic() - began)
    await trial.judged_sweep(began, may_hit=False)
    await gateway.sign_in("alice")
    await trial.judged_sweep(began)


async def grant(gateway, trial, began):
    await gateway.sign_in("alice")
    trial.took.append(time.monotonic() - began)
    await trial.judged_sweep(began)


async def purge(gateway, trial, began):
    await gateway.done("POST", "/v1/cache/purge", {})
    trial.took.append(time.monotonic() - began)
    await trial.judged_sweep(began)


WAYS = {"kill --all": kill, "removal": remove, "a new grant": grant, "purge": purge}
