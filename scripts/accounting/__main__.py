"""Imports, uses, refreshes and kills accounts by the thousand, with the real programs."""

import argparse
import asyncio
import contextlib
import http.client
import importlib
import json
import pathlib
import resource
import signal
import sys
import tempfile
import textwrap
import time

from accounting.results import Results
from accounting.site import Site
from harness.checks import Check, Skipped, report
from harness.client import BrokenAnswer
from harness.processes import Failed
from harness.programs import build, leave

CASES = ("figures", "interrupted", "storm", "kill", "input")

# Of a column of the table, in characters.
WIDTH = 100
BROKEN = (Failed, OSError, http.client.HTTPException, LookupError, ValueError, TypeError, asyncio.IncompleteReadError, BrokenAnswer)


def options():
    parser = argparse.ArgumentParser(
        prog="scripts/verify-accounts", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs a gateway with a family of accounts, and a provider (martlet-mock). Each case has its own.\n\n"
        "  figures      import, start, memory, idle processor time, first requests and a kill of all, each measured\n"
        "  interrupted  kill -9 half-way through an import, while accounts are used: the import is run again, and nothing is lost or put back\n"
        "  storm        a fifth of the accounts is in use and expires within a minute, at a provider that takes 50 token requests a second\n"
        "  kill         a kill of all: what is revoked, how fast, the progress and the estimate, the memory meanwhile\n"
        "  input        imports with broken lines and with too many accounts; a caller that names accounts that nobody has\n\n"
        "With 100,000 accounts it takes about 30 minutes and 2 GiB of memory.",
        epilog="example: scripts/verify-accounts --accounts 1000 --cases figures,kill\n\n"
        "Exit codes: 0 all holds, 1 something does not, 69 a program is missing.")
    parser.add_argument("--cases", default=",".join(CASES), help="the cases to run, separated by commas (default: %(default)s)")
    parser.add_argument("--accounts", type=int, default=100_000, help="how many accounts (default: %(default)s)")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite", help="where the gateway keeps them (default: %(default)s)")
    parser.add_argument("--programs", type=pathlib.Path, help="the directory of martlet and martlet-mock (default: builds a release)")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures and checks to this file too")
    chosen = parser.parse_args()
    chosen.cases = chosen.cases.split(",")
    if unknown := [case for case in chosen.cases if case not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    if chosen.accounts < 100:
        parser.error("fewer than 100 accounts show nothing")
    return chosen


def attempt(case, chosen, results):
    """Runs a case. Records why it ends early."""
    with tempfile.TemporaryDirectory(prefix=f"martlet-accounts-{case}-") as home:
        site = Site(chosen.programs.resolve(), home, chosen.accounts, chosen.store)
        try:
            importlib.import_module(f"accounting.case_{case}").run(site, results)
        except Skipped as reason:
            results.append(Check("the whole case", str(reason), "", None))
        except BROKEN as failure:
            results.append(Check("the rest of the case", f"{type(failure).__name__} {failure}"[:500], "", False))
        finally:
            for gateway in site.gateways:
                if gateway.has_crashed:
                    results.append(Check(f"{gateway.name} has ended by itself", str(gateway.process.process.returncode), "", False))
            if any(check.holds is False for check in results):
                sys.stderr.write(site.last_words())
            site.stop()


def shortened(check):
    """The check with texts that fit in a line of the table."""
    return check._replace(measured=textwrap.shorten(check.measured, WIDTH), bound=textwrap.shorten(check.bound, WIDTH))


def main():
    chosen = options()
    signal.signal(signal.SIGTERM, leave)
    # Callers that wait have a connection each.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if chosen.programs is None:
        chosen.programs = build(pathlib.Path(__file__).resolve().parents[2], "martlet", "martlet-mock")
    all_results = {}
    with contextlib.suppress(KeyboardInterrupt):
        for case in chosen.cases:
            started, results = time.monotonic(), all_results.setdefault(case, Results(case))
            attempt(case, chosen, results)
            print(f"verify-accounts: {case}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    report({case: [shortened(check) for check in results] for case, results in all_results.items()})
    verdicts = [check.holds for results in all_results.values() for check in results if check.holds is not None]
    print(f"{sum(verdicts)} of {len(verdicts)} hold")
    found = json.dumps({"accounts": chosen.accounts, "store": chosen.store, "cases": {
        case: {"figures": results.figures, "checks": [check._asdict() for check in results]} for case, results in all_results.items()}})
    print(found)
    if chosen.json:
        chosen.json.write_text(found + "\n")
    return 0 if len(all_results) == len(chosen.cases) and all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
