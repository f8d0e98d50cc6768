"""Counts the memory allocations of martlet per request, with a preloaded library that replaces malloc."""

import os
import pathlib
import re
import statistics
import struct
import subprocess

from benching.processes import compiled, say, stop
from harness.processes import free_port

SOURCE = pathlib.Path(__file__).with_name("count_allocations.c")
SIZE = 4096
REQUESTS = 20_000


class Counter:
    """The allocations of a process with the preloaded library since its start."""

    def __init__(self, library, file):
        self.file = file
        file.write_bytes(bytes(SIZE))
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "COUNT_ALLOCATIONS_IN": str(file)}

    def read(self):
        """Returns one pair of calls and bytes for each thread."""
        _, _, *slots = struct.unpack("=512Q", self.file.read_bytes())
        return list(zip(slots[::2], slots[1::2]))


def build(work):
    library = compiled(SOURCE, work / "count_allocations.so", "-fno-builtin", "-fPIC", "-shared")
    return library or stop("not found: cc (Debian: gcc), for the case mallocs")


def mallocs(bench):
    """Allocations per request on the fast path: a fresh token and an idle upstream connection."""
    library, result = build(bench.work), {}
    for upstream in ("plain", "tls"):
        name = f"martlet-{upstream}-mallocs"
        counter = Counter(library, bench.work / f"{name}.count")
        proxy = bench.proxy_martlet(
            free_port(), bench.upstreams[upstream], upstream == "tls", name, env=counter.environment)
        if not any(calls for calls, _ in taken(bench, proxy, counter, REQUESTS)):
            stop("martlet runs without the counting library", 1)
        rounds = [one_round(bench, proxy, counter) for _ in range(bench.options.rounds)]
        result[upstream] = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        result[upstream]["mallocs_rounds"] = [one["mallocs"] for one in rounds]
        say(f"mallocs: {upstream}: " + ", ".join(f"{one['mallocs']:.2f}" for one in rounds) + " a request")
        proxy.end()
        bench.servers.remove(proxy)
    return result


def one_round(bench, proxy, counter):
    """Subtracts a short load from a long one with as many connections, so that the cost of a connection cancels out."""
    few = 2 * bench.options.connections
    short, long = taken(bench, proxy, counter, few), taken(bench, proxy, counter, few + REQUESTS)
    calls = [more[0] - less[0] for less, more in zip(short, long)]
    size = sum(more[1] - less[1] for less, more in zip(short, long))
    # The event loop that serves requests is the busiest thread by far.
    return {"mallocs": sum(calls) / REQUESTS, "bytes": size / REQUESTS, "elsewhere": (sum(calls) - max(calls)) / REQUESTS}


def taken(bench, proxy, counter, requests):
    before = counter.read()
    load(bench, proxy, requests)
    return [(new[0] - old[0], new[1] - old[1]) for old, new in zip(before, counter.read())]


def load(bench, proxy, requests):
    text = subprocess.run(
        ["taskset", "-c", str(bench.options.load_core), "h2load", "--h1", "-t1", f"-c{bench.options.connections}",
         f"-n{requests}", f"http://127.0.0.1:{proxy.port}/small"], check=True, capture_output=True, text=True).stdout
    if int(re.search(r"status codes: (\d+) 2xx", text)[1]) != requests:
        stop(f"not all responses were successful:\n{text}", 1)
