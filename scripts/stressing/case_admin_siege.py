"""Silent connections to the admin listener, which reconnect when they are closed. Meanwhile, requests with the right token must
succeed over TCP and over the gateway's Unix socket, and a kill must succeed."""

import asyncio
import json
import time

from harness.checks import Check, at_most, equals
from harness.client import BrokenAnswer, Caller
from harness.processes import Failed
from stressing.processes import say

SECONDS = 8
SOCKET = "state/admin.sock"


async def run(processes, options):
    counts = [processes.share(600), processes.share(5000)]
    processes.need_descriptors(max(counts))
    checks = []
    for count in counts:
        checks += await besiege(processes, processes.gateway(processes.upstream()), count)
    return checks


async def besiege(processes, gateway, count):
    token = (gateway.home / "state/admin.token").read_text().split()[-1]
    socket = gateway.home / SOCKET
    calm = gateway.memory("VmRSS")
    path = processes.work / f"silent-{count}"
    silent = processes.python("silent", gateway.admin, count, path)
    began, waits, local = time.monotonic(), [], []
    # The requests begin while the silent connections are still being made.
    while time.monotonic() < began + max(2, SECONDS * processes.options.share):
        waits.append(await ask(gateway.admin, token, "GET", "/v1/status"))
        if socket.exists():
            local.append(await ask(str(socket), None, "GET", "/v1/status"))
        await asyncio.sleep(0.05)
    kill = await ask(gateway.admin, token, "POST", "/v1/kill", b'{"scope":{"all":true},"reason":"a siege","wait":"5s"}')
    held = gateway.memory("VmHWM")
    lived = silent.is_alive
    silent.end()
    tally = last(path)
    say(f"admin-siege: {tally['made']} connections made, {len(waits)} responses, {held - calm} KiB more memory")
    checks = [equals(f"{count} silent: they went on to the end", lived, True),
              Check(f"{count} silent: connections made", str(tally["made"]), f"at least {count}", tally["made"] >= count),
              at_most(f"{count} silent: slowest answer to a right token by TCP", max(waits) * 1000, 1000, "ms"),
              at_most(f"{count} silent: a kill by TCP", kill * 1000, 1000, "ms"),
              at_most(f"{count} silent: memory that they cost", (held - calm) / 1024, 64, "MiB")]
    if local:
        return [*checks, at_most(f"{count} silent: slowest answer by the socket", max(local) * 1000, 250, "ms")]
    return [*checks, Check(f"{count} silent: an answer by the socket", "no socket at state_dir/admin.sock", "at once", None)]


def last(path):
    """Returns the last complete line of the file, decoded."""
    lines = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    if not lines:
        raise Failed("the silent connections have not been counted")
    return json.loads(lines[-1])


async def ask(place, token, method, path, body=b""):
    """Returns how long a request takes on a new connection, in seconds; a failure counts as ten."""
    caller, began = Caller(place), time.monotonic()
    fields = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        status, _, _ = await asyncio.wait_for(caller.fetch(method, path, fields, body), 10)
        return time.monotonic() - began if status == 200 else 10
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
        return 10
    finally:
        caller.close()
