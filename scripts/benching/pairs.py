"""Compares two builds of martlet: measures the cost of a change even if it is smaller than the drift of the machine."""

import statistics

from benching.caches import CACHE
from benching.processes import say


def pairs(bench, case, other):
    """Measures the ratio of CPU per request, this build to the program `other`; there is one pair per round.

    Both processes of a pair run at the same time and are measured in turn. Each pair has new processes, since the memory layout
    of a process changes the ratio by some hundredths. The build measured first in one pair is measured second in the next.
    """
    programs = {"this": bench.options.bin / "martlet", "other": other}
    upstream, rounds = "tls" if case == "tls" else "plain", []
    for number in range(bench.options.rounds):
        servers = {name: bench.start_proxy("martlet", upstream, f"{case}-{name}-{number}", program=program, **settings(bench, case, name))
                   for name, program in programs.items()}
        for server in servers.values():
            bench.wrk(server.port, case, 1)
        taken = {}
        for name in sorted(programs, reverse=number % 2 == 0):
            before = servers[name].cpu()
            requests, _ = bench.wrk(servers[name].port, case, bench.options.seconds)
            taken[name] = (servers[name].cpu() - before) / requests * 1e6
        for server in servers.values():
            server.end()
            bench.servers.remove(server)
        rounds.append(taken)
        say(f"{case}: pair {number + 1} of {bench.options.rounds}: this {taken['this']:.1f} µs, other {taken['other']:.1f} µs, "
            f"ratio {taken['this'] / taken['other']:.3f}")
    ratios = sorted(one["this"] / one["other"] for one in rounds)
    return {"median_ratio": statistics.median(ratios), "least_ratio": ratios[0], "greatest_ratio": ratios[-1],
            "this_us": statistics.median(one["this"] for one in rounds),
            "other_us": statistics.median(one["other"] for one in rounds), "ratios": ratios}


def settings(bench, case, name):
    """In the case no-cache-route, another route caches; the other program need not know what that is."""
    if case != "no-cache-route":
        return {}
    return {"routes": f"""  - name: cached
    match: {{ path: /cached/ }}
    upstream: http://localhost:{bench.upstreams["plain"]}/
    account: bench
    {CACHE if name == "this" else ""}
"""}
