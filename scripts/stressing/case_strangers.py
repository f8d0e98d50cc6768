"""Silent connections that take all places, and come back when they are closed, must not keep out a caller that authenticates
itself on a new connection for each request."""

import time

from harness.checks import Check, at_most, equals
from harness.client import answer_time, p99
from stressing.case_admin_siege import last

PLACES = 300


async def run(processes, options):
    gateway = processes.gateway(processes.upstream(), connections=PLACES)
    tally = processes.work / "strangers"
    strangers = processes.python("silent", gateway.port, PLACES, tally, "0")
    began = time.monotonic()
    times = sorted([await answer_time(gateway.port) for _ in range(processes.share(1000))])
    lived, seconds = strangers.is_alive, time.monotonic() - began
    strangers.end()
    counted = last(tally)
    return [equals("the strangers went on to the end", lived, True),
            Check("connections that they made", str(counted["made"]), f"at least {PLACES}", counted["made"] >= PLACES),
            equals("requests that failed", sum(one >= 10 for one in times), 0),
            at_most("p99 of a request on a new connection", p99(times) * 1000, 100, "ms"),
            Check("requests a second", f"{len(times) / seconds:.0f}", "-", True)]
