"""Many callers of one key at once. Most of them wait for the first one's answer, and none waits in vain."""

import asyncio
import time

from caching.caller import LIMIT
from caching.site import FRESH, Route, target
from harness.checks import Check, at_most

CALLERS = 1000
# Longer than nobody waits for another's request, in seconds, and what a thousand answers at once may take on a small machine.
LONGEST, SLACK = 5, 2
NO_STORE = "Cache-Control: no-store"


async def run(site, checks, options):
    gateway = await site.gateway(Route("r", cache="max_size: 64MiB, max_object: 1MiB"))
    for one in (stored, not_stored, caller_leaves, upstream_cuts, slow):
        await one(site, gateway, checks)


async def crowd(gateway, place, count=CALLERS):
    """Sends a request on each of so many connections, at once. Returns the answers."""
    callers = [gateway.caller() for _ in range(count)]
    for caller in callers:
        await caller.connect()
    answers = await asyncio.gather(*(caller.get(f"/r{place}") for caller in callers))
    for caller in callers:
        caller.close()
    return answers


def waits(answers):
    """How long each waited for its head."""
    return [answer.head_at - answer.sent_at if answer.head_at else LIMIT for answer in answers]


def statuses(answers):
    return {status: sum(answer.status == status for answer in answers) for status in sorted({answer.status for answer in answers})}


def early(requests):
    """How many requests came upstream before the first of them was answered."""
    first = min(request["head_at"] or time.monotonic() for request in requests)
    return sum(request["at"] < first for request in requests)


async def stored(site, gateway, checks):
    place = target("stored", FRESH, wait=1, size=5000)
    answers = await crowd(gateway, place)
    what = f"{CALLERS} callers of a cold key: "
    checks.equal(what + "upstream requests", await site.upstream.count(place), 1)
    checks.equal(what + "answers", statuses(answers), {200: CALLERS})
    checks.equal(what + "different bodies", len({answer.body for answer in answers}), 1)
    checks.equal(what + "answers that are marked as collapsed", sum("collapsed" in answer.cache for answer in answers), CALLERS - 1)
    checks.append(at_most(what + "the longest wait for an answer that takes 1 s", max(answer.end_at - answer.sent_at for answer in answers), 1 + SLACK, "s"))


async def not_stored(site, gateway, checks):
    """The head comes after 2 s, and the body over 8 s. Whoever waited for another's body would get its own head after 10 s."""
    wait, pause = 2, 8
    place = target("not-stored", NO_STORE, wait=wait, pause=pause, size=2000)
    what = f"{CALLERS} callers of what is not stored: "
    answers = await crowd(gateway, place)
    requests = await site.upstream.requests(place)
    checks.equal(what + "answers", statuses(answers), {200: CALLERS})
    checks.equal(what + "different bodies", len({answer.body for answer in answers}), CALLERS)
    checks.equal(what + "upstream requests", len(requests), CALLERS)
    checks.equal(what + "upstream requests before the first head", early(requests), 1)
    # One head of the first request, and then the own one.
    checks.append(at_most(what + "the longest wait for a head", max(waits(answers)), 2 * wait + SLACK, "s"))
    checks.append(at_most(what + "the longest body", max(answer.end_at - answer.head_at for answer in answers), pause + SLACK, "s"))
    again = await crowd(gateway, place)
    requests = (await site.upstream.requests(place))[CALLERS:]
    checks.equal("the next ones: answers", statuses(again), {200: CALLERS})
    checks.equal("the next ones: upstream requests before the first head", early(requests), CALLERS)
    checks.append(at_most("the next ones: the longest wait for a head", max(waits(again)), wait + SLACK, "s"))


async def caller_leaves(site, gateway, checks):
    """The caller whose request went upstream closes its connection while the others wait."""
    place = target("leaves", FRESH, wait=2)
    leader = gateway.caller()
    await leader.send(f"/r{place}")
    await until(lambda: site.upstream.count(place))
    others = asyncio.create_task(crowd(gateway, place, CALLERS - 1))
    await asyncio.sleep(1)
    leader.close()
    answers = await others
    what = "the first caller leaves: "
    checks.equal(what + "answers of the others", statuses(answers), {200: CALLERS - 1})
    checks.equal(what + "their different bodies", len({answer.body for answer in answers}), 1)
    count = await site.upstream.count(place)
    checks.append(Check(what + "upstream requests", str(count), "1 or 2", count in (1, 2)))
    checks.append(at_most(what + "the longest wait of the others", max(waits(answers)), 2 * 2 + SLACK, "s"))


async def upstream_cuts(site, gateway, checks):
    for what, cut, most in (("before the head", "before|", 3), ("in the body", "half|", 2)):
        place = target(f"cut-{cut[:4]}", FRESH, wait=1, cut=cut, size=5000)
        answers = await crowd(gateway, place)
        found, count = statuses(answers), await site.upstream.count(place)
        name = f"the upstream cuts the first answer {what}: "
        checks.append(Check(name + "answers", str(found), "at most one without 200", found.get(200, 0) >= CALLERS - 1))
        checks.equal(name + "different bodies of the others", len({answer.body for answer in answers if answer.status == 200}), 1)
        checks.append(Check(name + "upstream requests", str(count), f"2 to {most}", 2 <= count <= most))


async def slow(site, gateway, checks):
    """The first answer takes 9 s, and each later one no time."""
    for what, parameters in (("head", {"wait": "9|0"}), ("body", {"pause": "9|0"})):
        place = target(f"slow-{what}", FRESH, size=5000, **parameters)
        leader = gateway.caller()
        first = asyncio.create_task(leader.get(f"/r{place}"))
        await until(lambda: site.upstream.count(place))
        answers = await crowd(gateway, place, CALLERS - 1)
        name = f"the {what} of the first answer takes 9 s: "
        checks.equal(name + "answers of the others", statuses(answers), {200: CALLERS - 1})
        checks.append(at_most(name + "the longest wait of the others", max(answer.end_at - answer.sent_at for answer in answers), LONGEST + SLACK, "s"))
        checks.append(Check(name + "the shortest wait of the others", f"{min(waits(answers)):.1f} s", "at least 4.0 s: they do wait", min(waits(answers)) >= 4))
        checks.equal(name + "the first caller's answer", (await first).status, 200)
        leader.close()


async def until(holds, seconds=10):
    deadline = time.monotonic() + seconds
    while not await holds() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
