"""Locks and unlocks gateways, and approves accounts, with the real programs."""

import argparse
import contextlib
import http.client
import importlib
import json
import pathlib
import signal
import sys
import tempfile
import textwrap
import time

from harness.checks import Check, Checks, Skipped, report
from harness.processes import Failed
from harness.programs import build, leave
from locking.site import Site

CASES = ("load", "now", "memory", "replicas", "restart", "command", "passphrase", "store", "approvals", "origins")

# Of a column of the table, in characters.
WIDTH = 100


def options():
    parser = argparse.ArgumentParser(
        prog="scripts/verify-lock", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs gateways and providers (martlet-mock). Each case has its own.\n\n"
        "  load        a lock under load, while the provider takes 5 s for each of 20 token requests: no token leaves after it, and none is lost\n"
        "  now         lock --now names the accounts whose grants are lost, and no other\n"
        "  memory      looks for tokens, sealing keys and passphrases in the memory of the process, before and after a lock\n"
        "  replicas    three replicas on one store: a kill beside a locked one, a kill given to it, a lock of all\n"
        "  restart     a lock outlives SIGTERM, kill -9 and a reload\n"
        "  command     a command that should print the key says no, prints nonsense or hangs\n"
        "  passphrase  wrong passphrases are refused, then delayed, and change nothing\n"
        "  store       a lock while the database is away; an unlock with the key of another store\n"
        "  approvals   requests wait for martlet approve; a kill and the time end it\n"
        "  origins     keys from a credential of systemd, from gpg and from pass\n\n"
        "Takes about 3 minutes. Reading the memory of a process needs root.",
        epilog="example: scripts/verify-lock --cases memory,restart\n\nExit codes: 0 all holds, 1 something does not, 69 a program is missing.")
    parser.add_argument("--cases", default=",".join(CASES), help="the cases to run, separated by commas (default: %(default)s)")
    parser.add_argument("--programs", type=pathlib.Path, help="the directory of martlet and martlet-mock (default: builds a release)")
    parser.add_argument("--json", type=pathlib.Path, help="write the checks to this file")
    chosen = parser.parse_args()
    chosen.cases = chosen.cases.split(",")
    if unknown := [case for case in chosen.cases if case not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return chosen


def attempt(case, programs, checks):
    """Runs a case. Records why it ends early."""
    with tempfile.TemporaryDirectory(prefix=f"martlet-lock-{case}-") as home:
        site = Site(programs, home)
        try:
            importlib.import_module(f"locking.case_{case}").run(site, checks)
        except Skipped as reason:
            checks.append(Check("the whole case", str(reason), "", None))
        except (Failed, OSError, http.client.HTTPException, LookupError, ValueError) as failure:
            checks.append(Check("the rest of the case", f"{type(failure).__name__} {failure}"[:500], "", False))
        finally:
            for gateway in site.gateways:
                if gateway.has_crashed:
                    checks.append(Check(f"{gateway.name} has ended by itself", str(gateway.process.process.returncode), "", False))
            if any(check.holds is False for check in checks):
                sys.stderr.write(site.last_words())
            site.stop()


def shortened(check):
    """The check with texts that fit in a line of the table."""
    return check._replace(measured=textwrap.shorten(check.measured, WIDTH), bound=textwrap.shorten(check.bound, WIDTH))


def main():
    chosen = options()
    signal.signal(signal.SIGTERM, leave)
    if chosen.programs is None:
        chosen.programs = build(pathlib.Path(__file__).resolve().parents[2], "martlet", "martlet-mock")
    results = {}
    with contextlib.suppress(KeyboardInterrupt):
        for case in chosen.cases:
            started, checks = time.monotonic(), results.setdefault(case, Checks())
            attempt(case, chosen.programs.resolve(), checks)
            print(f"verify-lock: {case}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    report({case: [shortened(check) for check in checks] for case, checks in results.items()})
    if chosen.json:
        chosen.json.write_text(json.dumps({case: [check._asdict() for check in checks] for case, checks in results.items()}) + "\n")
    verdicts = [check.holds for checks in results.values() for check in checks if check.holds is not None]
    print(f"{sum(verdicts)} of {len(verdicts)} hold")
    return 0 if len(results) == len(chosen.cases) and all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
