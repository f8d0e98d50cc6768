"""Load tests: puts Martlet under loads that it must withstand, and checks the bound of each.

Starts the gateway and a plain upstream on free loopback ports in a temporary directory, and stops what it started. Each
case has a time limit. Prints each measured value beside its bound; exits 1 when a bound is broken or a case fails.

  memory       a 1 GiB upload and a 1 GiB download: at most 100 MiB of memory (VmHWM) each
  readers      5,000 slow readers of 1 MiB responses: at most 256 MiB of memory (VmHWM)
  idle         10,000 idle connections: at most 12 KiB of memory (RSS) each
  slow         5,000 connections that send heads and bodies one byte at a time, all of them let in: well-behaved callers
               have a p99 of at most twice their p99 before or 50 ms, and the admin listener responds within 1 s
  descriptors  256 file descriptors and 1,000 connections: every connection gets a response or is closed, the admin listener
               responds within 1 s, and callers are served again within 5 s after the connections are closed
  flood        4 connections that pipeline requests which the gateway answers itself, then send and get bodies of one-byte chunks:
               other callers' p99 is at most 20 ms or five times what it was before
  strangers    300 places, and 300 silent connections that come back at once when they are closed: 1,000 requests, each on a new
               connection, all get a response, with a p99 of at most 100 ms
  heads        9,900 connections with 30 KiB of a head that never ends: at most 80 MiB of memory (RSS), most of it given back
  admin-attack 64 connections, then 256, that try wrong admin tokens: callers get at least 80 % of the responses per second
               that they get without the attack, and a request with the right token gets a response within 1 s
  admin-siege  600 silent connections, then 5,000, to the admin listener; each reconnects when it is closed: a request with
               the right token gets a response within 1 s, or within 250 ms over the gateway's Unix socket, and a kill
               succeeds within 1 s
  websockets   10,000 messages and frames of 16 MiB to an echo server and back, unchanged (Python's websockets)
  restart      one process after another takes over under load: 100,000 requests, none failed (needs root, for a network
               namespace with net.ipv4.tcp_migrate_req=1, and serve --takeover)
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

from harness.checks import Check, Skipped, report
from harness.processes import Failed
from stressing.processes import Processes, say

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DESCRIPTORS = 1 << 15
# The time limit of each case, in seconds.
CASES = {"memory": 600, "readers": 500, "idle": 180, "slow": 180, "descriptors": 120, "flood": 180, "strangers": 120,
         "heads": 180, "admin-attack": 300, "admin-siege": 180, "websockets": 300, "restart": 600}


def parse():
    parser = argparse.ArgumentParser(
        prog="scripts/stress", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: scripts/stress --cases memory,websockets --json figures.json")
    parser.add_argument("--cases", default=",".join(CASES), help="the cases to run, separated by commas (default: %(default)s)")
    parser.add_argument("--program", type=pathlib.Path, help="the martlet to test (default: a release build, made first)")
    parser.add_argument("--share", type=float, default=1, help="run only this fraction of each load, to test this script: 0.01 to 1")
    parser.add_argument("--json", type=pathlib.Path, help="write the results to this file as JSON")
    parser.add_argument("--in-namespace", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.cases = options.cases.split(",")
    if unknown := [one for one in options.cases if one not in CASES]:
        parser.error(f"no case is called {unknown[0]}; there are {', '.join(CASES)}")
    if not 0.01 <= options.share <= 1:
        parser.error("--share is from 0.01 to 1")
    return options


def program(options):
    if options.program:
        path = options.program.resolve()
        if not os.access(path, os.X_OK):
            raise Failed(f"{path} is not an executable file")
        return path
    say("building; the first time takes several minutes")
    built = subprocess.run([ROOT / "scripts/build", "release", "martlet"], check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(built.stdout.strip().splitlines()[-1]) / "martlet"


async def run(case, options):
    started = time.monotonic()
    say(f"{case}: begins")
    with tempfile.TemporaryDirectory(prefix=f"martlet-stress-{case}.") as work:
        processes = Processes(pathlib.Path(work), options)
        try:
            module = importlib.import_module(f"stressing.case_{case.replace('-', '_')}")
            checks = await asyncio.wait_for(module.run(processes, options), CASES[case])
        except Skipped as reason:
            checks = [Check("the whole case", "not tried", str(reason), None)]
        except asyncio.TimeoutError:
            checks = [Check("the whole case", f"over {CASES[case]} s", "in time", False)]
        except Exception as error:
            sys.stderr.write(processes.log_tail())
            checks = [Check("the whole case", f"failed: {error or type(error).__name__}", "ends", False)]
        finally:
            processes.stop()
    say(f"{case}: ended after {time.monotonic() - started:.0f} s")
    return checks


def raise_descriptors():
    """Raises the descriptor limit to what 10,000 callers and their upstream connections need, if this user may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(hard, DESCRIPTORS),) * 2)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main():
    options = parse()
    raise_descriptors()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        options.program = program(options)
    except (Failed, subprocess.CalledProcessError) as error:
        say(str(error))
        sys.exit(69)
    results = {case: asyncio.run(run(case, options)) for case in options.cases}
    if options.json:
        options.json.write_text(json.dumps({case: [check._asdict() for check in checks] for case, checks in results.items()}) + "\n")
    if not options.in_namespace:
        report(results)
    sys.exit(1 if any(check.holds is False for checks in results.values() for check in checks) else 0)


main()
