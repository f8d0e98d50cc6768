"""Checks caching routes with callers, an upstream and a provider of its own."""

import argparse
import asyncio
import contextlib
import importlib
import json
import pathlib
import resource
import signal
import sys
import tempfile
import time

from caching.site import Site
from harness.checks import Check, Checks, Skipped, report
from harness.processes import Failed
from harness.programs import build, leave

# The time limit of each case, in seconds.
CASES = {"rules": 180, "separation": 120, "collapse": 240, "kill": 900, "zipf": 600}


def options():
    parser = argparse.ArgumentParser(
        prog="scripts/verify-cache", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs a gateway with caching routes, an upstream that numbers its answers, and a provider (martlet-mock). Each case has its own.\n\n"
        "  rules       what RFC 9111, 5861 and 9211 say, one exchange each: freshness, conditions, revalidation, ranges, HEAD, Vary, invalidation,\n"
        "              stale answers; hits while the upstream, the provider or the store is away\n"
        "  separation  requests that differ in caller, account, scopes, a key field or the route never get each other's answers\n"
        "  collapse    1,000 callers of one key: one upstream request; nobody waits for a body that is not stored, or longer than 5 s\n"
        "  kill        under load, an answer that was stored before a kill, a removal, a new grant or a purge is never seen after it\n"
        "  zipf        a Zipf trace over four times the cache's size: its bytes stay below the bound, its memory too, it hits as often as an\n"
        "              exact LRU, and hits of another connection do not wait",
        epilog="example: scripts/verify-cache --cases rules,kill --rounds 3\n\nExit codes: 0 all holds, 1 something does not, 69 a program is missing.")
    parser.add_argument("--cases", default=",".join(CASES), help="the cases to run, separated by commas (default: %(default)s)")
    parser.add_argument("--programs", type=pathlib.Path, help="the directory of martlet and martlet-mock (default: builds a release)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of the case kill (default: %(default)s)")
    parser.add_argument("--requests", type=int, default=40_000, help="requests of the case zipf (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the case zipf (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, help="write the checks to this file")
    chosen = parser.parse_args()
    chosen.cases = chosen.cases.split(",")
    if unknown := [case for case in chosen.cases if case not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return chosen


async def attempt(case, chosen, checks):
    """Runs a case. Records why it ends early."""
    with tempfile.TemporaryDirectory(prefix=f"martlet-cache-{case}-") as home:
        site = Site(chosen.programs, home)
        try:
            site.start()
            await asyncio.wait_for(importlib.import_module(f"caching.case_{case}").run(site, checks, chosen), CASES[case])
        except Skipped as reason:
            checks.append(Check("the whole case", str(reason), "", None))
        except asyncio.TimeoutError:
            checks.append(Check("the rest of the case", f"over {CASES[case]} s", "in time", False))
        except (Failed, OSError, asyncio.IncompleteReadError) as failure:
            checks.append(Check("the rest of the case", f"{type(failure).__name__} {failure}"[:500], "", False))
        finally:
            for gateway in site.gateways:
                if gateway.process and not gateway.process.is_alive:
                    checks.append(Check(f"{gateway.name} has ended by itself", str(gateway.process.process.returncode), "", False))
            if any(check.holds is False for check in checks):
                sys.stderr.write(site.last_words())
            site.stop()


def main():
    chosen = options()
    signal.signal(signal.SIGTERM, leave)
    # Thousands of callers and their upstream connections need this many descriptors, also in the processes that are started here.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if chosen.programs is None:
        chosen.programs = build(pathlib.Path(__file__).resolve().parents[2], "martlet", "martlet-mock")
    chosen.programs = chosen.programs.resolve()
    results = {}
    with contextlib.suppress(KeyboardInterrupt):
        for case in chosen.cases:
            started, checks = time.monotonic(), results.setdefault(case, Checks())
            asyncio.run(attempt(case, chosen, checks))
            print(f"verify-cache: {case}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    report(results)
    if chosen.json:
        chosen.json.write_text(json.dumps({case: [check._asdict() for check in checks] for case, checks in results.items()}) + "\n")
    return 0 if len(results) == len(chosen.cases) and all(check.holds is not False for checks in results.values() for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
