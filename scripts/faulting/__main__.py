"""Breaks what several Martlets that share a store stand on, and checks what must come of it.

Starts `martlet` processes that share one state_dir and one SQLite file in front of a `martlet-mock` that rotates refresh
tokens and takes a second use for theft, all on free loopback ports in a temporary directory; ends what it started. What
is random comes from the seed. Prints what was measured beside its bound. When a bound is broken or a case failed, prints
the seed and the history: what was done when to which process, the mock's stats, the ends of the logs; and exits 1.

  shared   four processes, 200 accounts with tokens of 3 s, a minute of load: each refresh token is spent once, no
           request fails
  killed   the same, and each second a random process is killed and started again, with a provider's grace of 20, 5 and
           0 s in turn: no account dies where the grace suffices; else only those whose POST was sent and whose answer was
           not committed, with one event each
  lost     the provider rotates and its answer is lost: recovered within 20 s where there is a grace of 5 s, declared dead
           once and without a loop where there is none
  waiters  10,000 callers wait for a provider that takes 5 s: one token request, all are answered; and the same where half
           of them leave
  away     no provider for half of a token's life: no request fails; then expired tokens: 503 with Retry-After, no more
           token requests, or tries of one, than the steps of a backoff that all processes share, and no two at a time
  stopped  SIGSTOP of 3, 13 and 30 s at moments of a refresh and at random ones: each refresh token is spent once, or again
           after its claim has lapsed; a late success is kept, and in the end each process serves what lives
  steps    one of four processes dies, or is stopped for 3, 13 and 30 s, at each step of a refresh in turn (needs a debug
           build: --program .build/debug/martlet): nothing is lost or spent twice but in the stated window
  rate     refreshes per second on SQLite, beside what the disk syncs: a third of that, or 200
  checkpoints  two processes commit and empty SQLite's log as fast as they can for two minutes, others open and close the
           store meanwhile: everything that was acknowledged is there, and every record opens
  kills    an account is killed a thousand times under load, by one process and by one of three: how long a kill takes, and
           that no head with a dead token is read more than 100 ms after its answer
  streams  a kill while 1 GiB is downloaded, events are streamed and a WebSocket is open: all are cut, or, with drain, end
           by themselves, and no new one begins
  late     the provider rotates at once and answers after 9, 12, 30 and 55 s, before one process and before two; also with the
           store away or the sender stopped for 20 s in the middle, or asked to end: callers are answered within 9 s, each
           refresh token is sent once, and what comes late is used
  overload a provider that takes 5 to 15 s an answer, 200 accounts with tokens of 120 s, two processes, five minutes: the same,
           and nobody with a token is refused
  pages    a proxy answers token requests with an HTML page, 404, five times for an account, and for a while for 50 accounts:
           they are served again by nobody's hand, and the tries meanwhile are those of one backoff
  restored an earlier copy of the store is put back 20 times under two running processes: no refresh token is sent twice, no
           account dies, and nobody asks again and again, by token requests and by processor time
  many     10,000 accounts are killed at once: complete within a second; the memory before and after
  canary   answers of the provider with tokens where they don't belong. Also after every other case: no token in logs,
           metrics, admin answers, the database and all else in the state directory; each token that the provider ever gave
           is looked for, as text, hexadecimal digits and base64. And no process has ended that nobody ended

The full run is --minutes 5. Less shortens what lasts, down to a least time for each case.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

from faulting.history import History, say
from faulting.run import Run
from harness.checks import Check, Skipped, report
from harness.processes import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Seconds that a case may take in the full run.
CASES = {"shared": 150, "killed": 600, "lost": 180, "waiters": 180, "away": 300, "stopped": 460, "steps": 1200, "rate": 180, "checkpoints": 300, "kills": 900, "streams": 180,
         "late": 300, "overload": 400, "pages": 240, "restored": 300, "many": 300, "canary": 120}


def parse():
    parser = argparse.ArgumentParser(
        prog="scripts/faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: scripts/faults --seed 7 --minutes 0.25 --cases shared,killed,lost    (under a minute)")
    parser.add_argument("--cases", default=",".join(CASES), help="what to try (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="what chance begins with (default: another each time; it is printed)")
    parser.add_argument("--minutes", type=float, default=5, help="how long processes are killed; the rest in proportion (default: 5)")
    parser.add_argument("--program", type=pathlib.Path, help="the martlet to try (default: builds one, in release)")
    parser.add_argument("--mock", type=pathlib.Path, help="the martlet-mock to use (default: likewise)")
    parser.add_argument("--history", action="store_true", help="print each case's history, whatever came of it")
    parser.add_argument("--json", type=pathlib.Path, help="keep the figures in this file")
    options = parser.parse_args()
    options.cases = options.cases.split(",")
    if unknown := [one for one in options.cases if one not in CASES]:
        parser.error(f"no case is called {unknown[0]}; there are {', '.join(CASES)}")
    if not 0.05 <= options.minutes <= 60:
        parser.error("--minutes is from 0.05 to 60")
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 32)
    return options


def find_programs(options):
    if not (options.program and options.mock):
        say("building; the first time takes several minutes")
        built = subprocess.run([ROOT / "scripts/build", "release", "martlet", "martlet-mock"], check=True,
                               stdout=subprocess.PIPE, text=True)
        place = pathlib.Path(built.stdout.strip().splitlines()[-1])
        options.program, options.mock = options.program or place / "martlet", options.mock or place / "martlet-mock"
    options.program, options.mock = options.program.resolve(), options.mock.resolve()
    for path in (options.program, options.mock):
        if not os.access(path, os.X_OK):
            raise Failed(f"{path} is no program")


async def attempt(case, options):
    started = time.monotonic()
    say(f"{case}: begins")
    limit = CASES[case] * max(1, options.minutes / 5)
    with tempfile.TemporaryDirectory(prefix=f"martlet-faults-{case}.") as work:
        run = Run(options, random.Random(f"{options.seed}/{case}"), History(), pathlib.Path(work))
        try:
            await asyncio.wait_for(importlib.import_module(f"faulting.case_{case}").run(run), limit)
        except Skipped as reason:
            say(f"{case}: not tried: {reason}")
            run.checks.append(Check("the whole case", "not tried", str(reason), None))
        except asyncio.TimeoutError:
            run.checks.append(Check("the whole case", f"over {limit:.0f} s", "in time", False))
        except Exception as error:
            run.checks.append(Check("the whole case", f"failed: {type(error).__name__} {error}", "ends", False))
        if options.history or any(check.holds is False for check in run.checks):
            sys.stderr.write(f"--- {case}, seed {options.seed}: the history\n{run.history.text()}{run.evidence}")
    say(f"{case}: ended after {time.monotonic() - started:.0f} s")
    return run.checks


def main():
    options = parse()
    # Thousands of waiters and their upstream connections.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        find_programs(options)
    except (Failed, subprocess.CalledProcessError) as error:
        say(str(error))
        sys.exit(69)
    say(f"seed {options.seed}")
    results = {}
    with contextlib.suppress(KeyboardInterrupt):
        for case in options.cases:
            results[case] = asyncio.run(attempt(case, options))
    if options.json:
        figures = {case: [check._asdict() for check in checks] for case, checks in results.items()}
        options.json.write_text(json.dumps({"seed": options.seed, "minutes": options.minutes, "cases": figures}) + "\n")
    report(results)
    is_broken = any(check.holds is False for checks in results.values() for check in checks)
    if is_broken:
        say(f"again with: scripts/faults --seed {options.seed} --minutes {options.minutes:g}")
    sys.exit(1 if is_broken or len(results) < len(options.cases) else 0)


main()
