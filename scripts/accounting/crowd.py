"""Callers that ask for many accounts over connections that they keep."""

import asyncio
import collections
import json
import random
import time
import typing

from harness.client import BrokenAnswer, Caller
from locking.site import code

CONNECTIONS, SECONDS = 64, 30
PATH = "/api/bytes/10"


class Answer(typing.NamedTuple):
    account: str
    # Of the monotonic clock.
    began: float
    ended: float
    status: int
    code: str | None
    retry_after: float


async def ask_once(caller, gateway, account):
    began = time.monotonic()
    try:
        status, fields, body = await asyncio.wait_for(caller.fetch("GET", PATH, gateway.fields(account)), SECONDS)
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer) as error:
        caller.close()
        return Answer(account, began, time.monotonic(), 0, type(error).__name__, 1)
    problem = code(json.loads(body)) if "problem+json" in fields.get("content-type", "") else None
    return Answer(account, began, time.monotonic(), status, problem, float(fields.get("retry-after", 1)))


async def ask_each(gateway, accounts, connections, until=lambda: False):
    turns, answers = iter(accounts), []

    async def work():
        caller = Caller(gateway.port)
        for account in turns:
            if until():
                break
            answers.append(await ask_once(caller, gateway, account))
        caller.close()

    await asyncio.gather(*(work() for _ in range(connections)))
    return answers


def ask(gateway, accounts, connections=CONNECTIONS, until=lambda: False):
    """Sends a request for each account, in this order; ends early when `until` says so. Returns the answers."""
    return asyncio.run(ask_each(gateway, accounts, connections, until))


def outcomes(answers):
    """How often each status and code came."""
    return collections.Counter((answer.status, answer.code) for answer in answers)


def said(counts):
    """The outcomes as text."""
    return ", ".join(f"{count:,} {kind or status}" for (status, kind), count in counts.most_common()) or "none"


async def insist_on_each(gateway, accounts, limit):
    deadline = time.monotonic() + limit

    async def insist(account):
        # Callers don't all come in the same moment.
        await asyncio.sleep(random.random())
        caller, began, tries = Caller(gateway.port), time.monotonic(), collections.Counter()
        while True:
            answer = await ask_once(caller, gateway, account)
            tries[answer.status, answer.code] += 1
            if answer.status == 200 or time.monotonic() > deadline:
                caller.close()
                return account, (answer.ended - began if answer.status == 200 else None, tries)
            await asyncio.sleep(answer.retry_after)

    return dict(await asyncio.gather(*(insist(account) for account in accounts)))


def insist(gateway, accounts, limit):
    """Asks for all accounts at once, each on a connection of its own, and again after `Retry-After` until the status is 200, or for
    `limit` seconds. Returns for each account how long that took, or None, and what it got."""
    return asyncio.run(insist_on_each(gateway, accounts, limit))
