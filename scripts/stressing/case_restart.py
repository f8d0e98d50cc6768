"""A rolling restart under load. Each process takes over from its predecessor, and no caller sees an error.

When a listener closes, the kernel hands its waiting connections to another listener of the same port only with
net.ipv4.tcp_migrate_req=1. The case therefore runs in a separate network namespace, where it can set this option.
"""

import asyncio
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

from harness.checks import Check, Skipped, equals
from harness.client import BrokenAnswer, Caller
from harness.processes import ask
from stressing.processes import Gateway, say

MIGRATE = pathlib.Path("/proc/sys/net/ipv4/tcp_migrate_req")
WORKERS = 32
# Requests per connection; the limit makes callers open new connections continuously.
KEPT = 20


async def run(processes, options):
    if options.in_namespace:
        raise_loopback()
        MIGRATE.write_text("1")
        return await restart(processes)
    help_text = ask([options.program, "serve", "--help"]).stdout
    if "--takeover" not in help_text:
        raise Skipped("this martlet has no `serve --takeover`")
    if os.geteuid() != 0 or not shutil.which("unshare") or subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skipped("needs root and unshare, for a network namespace")
    if not MIGRATE.exists():
        raise Skipped("this kernel has no net.ipv4.tcp_migrate_req (Linux 5.14)")
    figures = processes.work / "figures"
    inner = await asyncio.create_subprocess_exec(
        "unshare", "-n", sys.executable, "-m", "stressing", "--in-namespace", "--cases", "restart",
        "--program", options.program, "--share", str(options.share), "--json", figures)
    try:
        await inner.wait()
    finally:
        if inner.returncode is None:
            # On SIGTERM, the inner process ends the processes that it has started.
            inner.terminate()
            await inner.wait()
    return [Check(**check) for check in json.loads(figures.read_text())["restart"]]


def raise_loopback():
    with socket.socket() as control:
        flags = struct.pack("16sh", b"lo", 0x1)  # IFF_UP
        fcntl.ioctl(control, 0x8914, flags + bytes(24 - len(flags)))  # SIOCSIFFLAGS


async def restart(processes):
    count = processes.share(100_000)
    gateway = processes.gateway(processes.upstream())
    tally = {"done": 0, "failed": 0, "again": 0}
    loading = asyncio.gather(*(work(gateway.port, count, tally) for _ in range(WORKERS)))
    restarts, unclean = 0, 0
    while tally["done"] < count * 0.9 and not loading.done():
        # A restart after each tenth of the load.
        goal = tally["done"] + count / 10
        while tally["done"] < goal and not loading.done():
            await asyncio.sleep(0.05)
        following = processes.keep(await asyncio.to_thread(
            Gateway, gateway.program, processes.log, gateway.home, gateway.port, gateway.admin, ["--takeover"]))
        gateway.process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(gateway.process.wait, 60)
        unclean += code != 0
        restarts += 1
        gateway = following
        say(f"restart: {restarts} restarts, {tally['done']} requests, {tally['failed']} failed")
    await loading
    return [equals("requests", tally["done"], count), equals("of them failed", tally["failed"], 0),
            Check("sent again, as a kept connection had ended", str(tally["again"]), "-", True),
            Check("restarts", str(restarts), "at least 3", restarts >= 3),
            equals("restarts without exit code 0", unclean, 0)]


async def work(port, count, tally):
    caller, kept = Caller(port), 0
    while tally["done"] < count:
        tally["done"] += 1
        try:
            if await asyncio.wait_for(get(caller, kept > 0, tally), 30) != 200:
                raise BrokenAnswer("no 200")
            kept = kept + 1 if caller.writer else 0
            if kept == KEPT:
                caller.close()
                kept = 0
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
            caller.close()
            kept = 0
            tally["failed"] += 1


async def get(caller, is_kept, tally):
    """Sends a GET. Retries it once, as HTTP clients do, if a kept connection ends before the first byte of a response."""
    try:
        return await caller.get("/small")
    except (OSError, asyncio.IncompleteReadError):
        if not is_kept or caller.has_answer:
            raise
        caller.close()
        tally["again"] += 1
        return await caller.get("/small")
