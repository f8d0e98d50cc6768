"""Two builds of martlet, one against the other: what a change costs where that is less than a machine drifts."""

import pathlib
import statistics

from benching.processes import say


def pairs(bench, case, other):
    """The ratio of CPU per request, this build to the one in the directory `other`, of so many pairs as there are rounds.

    Both of a pair run at once and take turns. Each pair has new processes, since where one comes to lie in memory is worth
    some hundredths, and the one that was measured first in a pair is measured second in the next.
    """
    programs = {"this": bench.options.bin, "other": pathlib.Path(other)}
    upstream, rounds = "tls" if case == "tls" else "plain", []
    for number in range(bench.options.rounds):
        servers = {name: bench.start_proxy("martlet", upstream, f"{case}-{name}-{number}", programs=directory)
                   for name, directory in programs.items()}
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
