"""A trace over four times as much as the cache may hold: its bound, its memory, its hit ratio beside an exact LRU, and its pauses."""

import asyncio
import collections
import itertools
import json
import math
import random
import subprocess
import sys
import time

from caching.site import FRESH, Route, target
from harness.checks import Check, at_most
from harness.processes import Failed, Process

MIB = 1 << 20
BOUND, LEAST, MOST = 32 * MIB, 200, 256 << 10
# The sum of all objects, as a multiple of the bound.
WORKING_SET = 4
# The trace runs in so many parts. Before each, a part of the same length runs over the route without a cache.
PARTS = 4
# How much longer the longest hit may take than on the other route, in ms. And the part of the bound by which memory may grow.
PAUSE, GROWTH = 5, 1.25


class Trace:
    """Objects with sizes from LEAST to MOST, of which small ones are as frequent as large ones in each order of magnitude. Their
    popularity is Zipf's with the exponent 1, whatever their sizes are."""

    def __init__(self, seed, count):
        generator = random.Random(seed)
        self.sizes = [MOST, LEAST]
        while sum(self.sizes) < WORKING_SET * BOUND:
            self.sizes.append(round(math.exp(generator.uniform(math.log(LEAST), math.log(MOST)))))
        generator.shuffle(self.sizes)
        weights = list(itertools.accumulate(1 / rank for rank in range(1, len(self.sizes) + 1)))
        self.order = generator.choices(range(len(self.sizes)), cum_weights=weights, k=count)

    def place(self, number):
        # All places are of one length, so that an object differs from others in its size alone.
        return place_of(f"load/object-{number:06}", self.sizes[number])


def place_of(name, size):
    return target(name, FRESH, size=f"{size:07}")


def least_recently_used(trace, accounted, bound):
    """The hits of an exact LRU that holds `bound` bytes, on the same order."""
    held, used, hits = collections.OrderedDict(), 0, 0
    for number in trace.order:
        if number in held:
            held.move_to_end(number)
            hits += 1
            continue
        held[number] = accounted(trace.sizes[number])
        used += held[number]
        while used > bound:
            used -= held.popitem(last=False)[1]
    return hits


class Sampler:
    """Watches a gateway's accounted bytes and its memory."""

    def __init__(self, gateway):
        self.gateway, self.samples, self.most_bytes, self.most_memory = gateway, 0, 0, 0

    async def run(self):
        while True:
            self.most_bytes = max(self.most_bytes, await self.gateway.metric("martlet_cache_bytes", "r"))
            self.most_memory = max(self.most_memory, self.gateway.process.memory("VmRSS") * 1024)
            self.samples += 1
            await asyncio.sleep(0.05)


async def run(site, checks, options):
    cache = f"max_size: {BOUND // MIB}MiB, max_object: {MOST >> 10}KiB"
    gateway = await site.gateway(Route("r", cache=cache), Route("uncached", cache=None))
    trace = Trace(options.seed, options.requests)
    accounted = await measure(gateway, checks)
    probed = "/r" + place_of("kept/measure-probed", LEAST)
    await gateway.get(probed)
    probe = Process("the probe", [sys.executable, "-m", "caching.probe", gateway.port, probed], site.log, stdout=subprocess.PIPE)
    sampler, spans = Sampler(gateway), collections.defaultdict(list)
    sampling = asyncio.create_task(sampler.run())
    try:
        hits, growth_from = 0, 0
        for part in range(PARTS):
            order = trace.order[part * len(trace.order) // PARTS:(part + 1) * len(trace.order) // PARTS]
            await timed(spans["before"], follow(gateway, trace, "uncached", order))
            growth_from = growth_from or gateway.process.memory("VmRSS") * 1024
            hits += await timed(spans["trace"], follow(gateway, trace, "r", order))
        purged = await timed(spans["purge"], gateway.done("POST", "/v1/cache/purge", {"route": "r", "path": "/r/load/"}))
        left = await gateway.metric("martlet_cache_bytes", "r")
    finally:
        sampling.cancel()
        probe.process.terminate()
        said, _ = await asyncio.to_thread(probe.process.communicate)
    checks.append(at_most(f"martlet_cache_bytes, the most of {sampler.samples} samples", sampler.most_bytes / MIB, BOUND / MIB, "MiB"))
    checks.append(Check("the cache was full at some time", f"{sampler.most_bytes / BOUND:.2f} of the bound", "at least 0.90", sampler.most_bytes >= 0.9 * BOUND))
    checks.append(at_most("growth of VmRSS", (sampler.most_memory - growth_from) / MIB, GROWTH * BOUND / MIB, "MiB"))
    ideal = least_recently_used(trace, accounted, BOUND - accounted(LEAST)) / len(trace.order)
    ratio = hits / len(trace.order)
    checks.append(Check(f"hits of {len(trace.order)} requests for {len(trace.sizes)} objects", f"{ratio:.4f}", f"at least {ideal:.4f}, as an exact LRU", ratio >= ideal))
    checks.equal("bytes after a purge of them all: those of the other object", left, accounted(LEAST))
    checks.append(Check("entries purged", str(purged.get("entries")), "some", purged.get("entries", 0) > 0))
    pauses(checks, json.loads(said), spans)


async def timed(spans, work):
    """Notes from when until when the work lasts; returns its result."""
    began = time.monotonic()
    result = await work
    spans.append((began, time.monotonic()))
    return result


async def follow(gateway, trace, route, order):
    """Sends a part of the trace over one connection. Returns the number of hits."""
    caller, hits = gateway.caller(), 0
    for number in order:
        answer = await caller.get(f"/{route}{trace.place(number)}")
        if answer.status != 200 or len(answer.body) != trace.sizes[number]:
            raise Failed(f"object {number} of {trace.sizes[number]} bytes: status {answer.status}, {len(answer.body)} bytes")
        hits += answer.is_hit
    caller.close()
    return hits


async def measure(gateway, checks):
    """Has objects of several sizes stored; returns a function that says what an object of some size is accounted for."""
    points = []
    for size in (LEAST, MOST):
        place = "/r" + place_of(f"load/measure-{size:06}", size)
        before = await gateway.metric("martlet_cache_bytes", "r")
        await gateway.get(place)
        points.append(await gateway.metric("martlet_cache_bytes", "r") - before - size)
        checks.equal(f"an object of {size} bytes is stored", (await gateway.get(place)).is_hit)
    checks.append(Check("accounted beside a body, of the least and of the largest object", ", ".join(f"{one:.0f}" for one in points), "", True))
    larger = "/r" + place_of("load/measure-larger", MOST + 1)
    await gateway.get(larger)
    checks.equal("a larger one is not", (await gateway.get(larger)).is_hit, False)
    await gateway.done("POST", "/v1/cache/purge", {})
    checks.equal("bytes after a purge", await gateway.metric("martlet_cache_bytes", "r"), 0)
    return lambda size: size + points[0] + (points[1] - points[0]) * (size - LEAST) / (MOST - LEAST)


def pauses(checks, found, spans):
    """Compares the longest hits of the other connection during the trace, and during the purge, with those before."""
    longest, counts = {}, {}
    for name, times in spans.items():
        took = sorted(took * 1000 for at, took, is_hit in found if is_hit and any(begin <= at + took and at <= end for begin, end in times))
        longest[name], counts[name] = took[-1] if took else 0, len(took)
        middle = f"{took[len(took) // 2]:.2f}, {took[len(took) * 99 // 100]:.2f}, {took[-1]:.2f} ms of {len(took)}" if took else "none"
        checks.append(Check(f"hits of another connection, {name}: median, p99, longest", middle, "some", bool(took)))
    checks.equal("requests of the other connection that were no hits", sum(not is_hit for _, _, is_hit in found), 0)
    for name in ("trace", "purge"):
        checks.append(at_most(f"the longest hit during the {name}", longest[name], longest["before"] + PAUSE, "ms"))
