"""The table of rules, and what does not fit into one: fields, ranges, and hits while others are away."""

import asyncio
import fnmatch

from caching.rules import RULES, STALE
from caching.site import FRESH, Route, target
from faulting.store import out_of_reach

SIZES = "max_size: 16MiB, max_object: 64KiB"
LEASE = 5


async def run(site, checks, options):
    gateway = await site.gateway(
        Route("plain", cache=SIZES), Route("lenient", cache=f"{SIZES}, default_ttl: 60s, stale_if_error: 60s"), Route("uncached", cache=None),
        lease=f"{LEASE}s")
    # Most rules wait for something to become stale, and each has a target of its own.
    for rule, (seen, requests) in zip(RULES, await asyncio.gather(*(follow(site, gateway, rule, number) for number, rule in enumerate(RULES)))):
        expected = [step.expected for step in rule.steps]
        holds = all(map(fnmatch.fnmatch, seen, expected))
        checks.equal(f"{rule.what}: answers", ", ".join(expected if holds else seen), ", ".join(expected))
        if rule.asked is not None:
            checks.equal(f"{rule.what}: upstream requests", len(requests), rule.asked)
        for name, value in rule.saw.items():
            checks.equal(f"{rule.what}: {name} upstream", requests[-1]["fields"].get(name), value)
    for one in (fields, cookies, ranges, invalidated_by_location, uncached, surfaces, upstream_away, store_away, provider_away):
        await one(site, gateway, checks)


async def follow(site, gateway, rule, number):
    """Sends a rule's requests. Returns what came of each, and the requests that came upstream."""
    caller, place, answers = gateway.caller(), target(f"rule-{number}", *rule.fields, **rule.parameters), []
    for step in rule.steps:
        await asyncio.sleep(step.wait)
        answers.append(await caller.get(f"/{rule.route}{place}", step.fields, step.method))
    caller.close()
    requests = await site.upstream.requests(place)
    serials = [request["serial"] for request in requests]
    return [described(answer, serials) for answer in answers], requests


def described(answer, serials):
    """An answer as a text: see Step."""
    how = "hit" if answer.is_hit else answer.cache.get("fwd", "")
    if answer.cache.get("fwd-status", str(answer.status)) != str(answer.status):
        how += f"/{answer.cache['fwd-status']}"
    if answer.cache.get("stored"):
        how += "+stored"
    number = f"#{serials.index(answer.serial) + 1}" if answer.serial in serials else ""
    return " ".join(filter(None, [str(answer.status), how, number]))


async def fields(site, gateway, checks):
    place = "/plain" + target("fields", FRESH, "Content-Type: text/x-test", "Age: 100", 'ETag: "a"')
    first = await gateway.get(place)
    checks.equal("a miss: Cache-Status has a ttl of", first.cache.get("ttl"), "500")
    await asyncio.sleep(2.1)
    second, empty = await gateway.get(place), await gateway.get(place, {"If-None-Match": '"a"'})
    age = int(second.fields.get("age", -1))
    checks.equal("a hit after 2 s: Age is 102 or 103", age in (102, 103))
    checks.equal("a hit: ttl and Age together", int(second.cache.get("ttl", -1)) + age, 600)
    for name in ("content-type", "content-length", "etag", "date", "cache-control"):
        checks.equal(f"a hit: {name}", second.fields.get(name), first.fields.get(name, "(none)"))
    for name in ("etag", "date", "cache-control", "age"):
        checks.equal(f"304 from memory: has {name}", name in empty.fields)
    checks.equal("304 from memory: has content-length or content-type", "content-length" in empty.fields or "content-type" in empty.fields, False)
    head = await gateway.get(place, method="HEAD")
    checks.equal("HEAD from memory: content-length", head.fields.get("content-length"), str(len(first.body)))


async def cookies(site, gateway, checks):
    place = "/plain" + target("cookies", FRESH, "Set-Cookie: session=secret")
    first, second = await gateway.get(place, {"Cookie": "session=mine"}), await gateway.get(place)
    checks.equal("Set-Cookie, in the first answer and in the hit", ("set-cookie" in first.fields, "set-cookie" in second.fields, second.is_hit), (False, False, True))


async def ranges(site, gateway, checks):
    place = "/plain" + target("ranges", FRESH, 'ETag: "a"', size=1000)
    whole = (await gateway.get(place)).body
    for what, sent, status, begin, end in (
            ("a range", {"Range": "bytes=100-199"}, 206, 100, 200), ("an open range", {"Range": "bytes=990-"}, 206, 990, 1000),
            ("a suffix", {"Range": "bytes=-10"}, 206, 990, 1000), ("a range beyond the end", {"Range": "bytes=990-2000"}, 206, 990, 1000),
            ("If-Range that holds", {"Range": "bytes=0-9", "If-Range": '"a"'}, 206, 0, 10),
            ("If-Range of another answer", {"Range": "bytes=0-9", "If-Range": '"b"'}, 200, 0, 1000),
            ("If-Range with a weak tag", {"Range": "bytes=0-9", "If-Range": 'W/"a"'}, 200, 0, 1000),
            ("an unknown unit", {"Range": "lines=0-9"}, 200, 0, 1000)):
        answer = await gateway.get(place, sent)
        place_of_part = f"bytes {begin}-{end - 1}/1000" if status == 206 else None
        checks.equal(f"{what}: status, Content-Range, a hit, the right bytes",
                     (answer.status, answer.fields.get("content-range"), answer.is_hit, answer.body == whole[begin:end]), (status, place_of_part, True, True))
    answer = await gateway.get(place, {"Range": "bytes=1000-"})
    checks.equal("a range that is not there: status, Content-Range", (answer.status, answer.fields.get("content-range")), (416, "bytes */1000"))
    checks.equal("ranges: upstream requests", await site.upstream.count(place.removeprefix("/plain")), 1)


async def invalidated_by_location(site, gateway, checks):
    for name in ("Location", "Content-Location"):
        place = target(f"by-{name}", FRESH)
        await gateway.get("/plain" + place)
        checks.equal(f"{name} of a POST: before, a hit", (await gateway.get("/plain" + place)).is_hit)
        await gateway.get("/plain" + target(f"other-{name}", f"{name}: {place}", status=201), method="POST")
        checks.equal(f"{name} of a POST invalidates: upstream", (await gateway.get("/plain" + place)).cache.get("fwd"), "uri-miss")


async def uncached(site, gateway, checks):
    place = target("uncached", FRESH)
    answers = [await gateway.get("/uncached" + place) for _ in range(2)]
    checks.equal("a route without cache: upstream requests", await site.upstream.count(place), 2)
    checks.equal("a route without cache: Cache-Status", [answer.fields.get("cache-status") for answer in answers], [None, None])


async def surfaces(site, gateway, checks):
    place = "/plain" + target("surfaces", FRESH)
    names = ("martlet_cache_hits_total", "martlet_cache_misses_total", "martlet_cache_bytes")
    before = [await gateway.metric(name, "plain") for name in names]
    for _ in range(3):
        await gateway.get(place)
    after = [await gateway.metric(name, "plain") for name in names]
    checks.equal("metrics: hits and misses of three requests", [after[0] - before[0], after[1] - before[1]], [2, 1])
    checks.equal("metrics: the bytes have grown", after[2] > before[2])
    said = await gateway.done("POST", "/v1/cache/purge", {"route": "plain", "path": place.partition("?")[0]})
    checks.equal("purge of a path: entries", said.get("entries"), 1)
    checks.equal("purge of a path: that is gone", (await gateway.get(place)).cache.get("fwd"), "uri-miss")
    await gateway.done("POST", "/v1/cache/purge", {"route": "plain"})
    checks.equal("purge of a route: bytes left", await gateway.metric("martlet_cache_bytes", "plain"), 0)
    status, _ = await gateway.ask("POST", "/v1/cache/purge", {"route": "plane"})
    checks.equal("purge of a route that is not there", status, 404)


async def store_away(site, gateway, checks):
    place = "/plain" + target("store-away", FRESH)
    await gateway.get(place)
    with out_of_reach(gateway.state):
        await asyncio.sleep(LEASE / 4)
        answer = await gateway.get(place)
        checks.equal("the store is away, within the lease: a hit", (answer.status, answer.is_hit), (200, True))
        await asyncio.sleep(LEASE + 1)
        answer = await gateway.get(place)
        checks.equal("the store is away, after the lease: refused", (answer.status, answer.is_hit), (503, False))
    await until_served(gateway, place)


async def until_served(gateway, place):
    for _ in range(100):
        if (await gateway.get(place)).status == 200:
            break
        await asyncio.sleep(0.1)


async def provider_away(site, gateway, checks):
    place = "/plain" + target("provider-away", FRESH)
    await gateway.sign_in("alice", expires_in=3)
    await gateway.get(place)
    site.provider.stop()
    await asyncio.sleep(4)
    hit, miss = await gateway.get(place), await gateway.get("/plain" + target("provider-away-miss", FRESH))
    checks.equal("the token has expired and the provider is away: a hit", (hit.status, hit.is_hit), (200, True))
    checks.equal("the token has expired and the provider is away: a miss", miss.status, 503)


async def upstream_away(site, gateway, checks):
    names = {"fresh": FRESH, "stale, with stale-if-error": "Cache-Control: max-age=2, stale-if-error=60", "stale": "Cache-Control: max-age=2"}
    places = {what: "/plain" + target(f"away-{number}", field) for number, (what, field) in enumerate(names.items())}
    for place in places.values():
        await gateway.get(place)
    await asyncio.sleep(STALE)
    site.upstream.stop()
    for what, bound in zip(names, ((200, True, None), (200, False, "stale-if-error"), (502, False, None))):
        answer = await gateway.get(places[what])
        checks.equal(f"the upstream is away, {what}: status, a hit, detail", (answer.status, answer.is_hit, answer.cache.get("detail")), bound)
    site.upstream.start()
