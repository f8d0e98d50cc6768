"""What the suites share: options, programs, the frame of a case, and the report."""

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

from faulting import history
from faulting.history import History, say
from harness.checks import Check, Skipped, report
from harness.processes import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Suite:
    """A package with a module case_NAME for each case. `cases` has the time limit of each case in a full run, in seconds."""

    def __init__(self, name, package, cases, description, example):
        self.name, self.package, self.cases = name, package, cases
        self.parser = argparse.ArgumentParser(prog=f"scripts/{name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter,
                                              epilog=f"example: scripts/{name} {example}")
        history.prefix = name
        add = self.parser.add_argument
        add("--cases", default=",".join(cases), help="the cases to run, separated by commas (default: %(default)s)")
        add("--seed", type=int, help="the seed of all random choices (default: a new one each time; it is printed)")
        add("--minutes", type=float, default=5, help="the length of a full run is 5 (the default); other values change the timed parts in proportion")
        add("--program", type=pathlib.Path, help="the martlet to test (default: a release build, made first)")
        add("--mock", type=pathlib.Path, help="the martlet-mock to use (default: a release build, made first)")
        add("--history", action="store_true", help="print each case's history even when the case passes")
        add("--json", type=pathlib.Path, help="write the results to this file as JSON")

    def parse(self):
        options = self.parser.parse_args()
        options.cases = options.cases.split(",")
        if unknown := [one for one in options.cases if one not in self.cases]:
            self.parser.error(f"no case is called {unknown[0]}; there are {', '.join(self.cases)}")
        if not 0.05 <= options.minutes <= 60:
            self.parser.error("--minutes is from 0.05 to 60")
        if options.seed is None:
            options.seed = random.SystemRandom().randrange(1 << 32)
        return options

    def find_programs(self, options):
        """Sets `program` and `mock` of the options, after a build if one of them is missing. Exits if there is no such program."""
        try:
            if not (options.program and options.mock):
                say("building; the first time takes several minutes")
                built = subprocess.run([ROOT / "scripts/build", "release", "martlet", "martlet-mock"], check=True,
                                       stdout=subprocess.PIPE, text=True)
                place = pathlib.Path(built.stdout.strip().splitlines()[-1])
                options.program, options.mock = options.program or place / "martlet", options.mock or place / "martlet-mock"
            options.program, options.mock = options.program.resolve(), options.mock.resolve()
            for path in (options.program, options.mock):
                if not os.access(path, os.X_OK):
                    raise Failed(f"{path} is not an executable file")
        except (Failed, subprocess.CalledProcessError) as error:
            say(str(error))
            sys.exit(69)

    def run(self, options, make_run):
        """Runs the cases, prints the report and exits. `make_run` gets the options, a random generator, a history and a directory."""
        # Thousands of waiters and their upstream connections need this many descriptors.
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        say(f"seed {options.seed}")
        results = {}
        with contextlib.suppress(KeyboardInterrupt):
            for case in options.cases:
                results[case] = asyncio.run(self.attempt(case, options, make_run))
        if options.json:
            figures = {case: [check._asdict() for check in checks] for case, checks in results.items()}
            options.json.write_text(json.dumps({"seed": options.seed, "minutes": options.minutes, "cases": figures}) + "\n")
        report(results)
        is_broken = any(check.holds is False for checks in results.values() for check in checks)
        if is_broken:
            say(f"to repeat this run: scripts/{self.name} --seed {options.seed} --minutes {options.minutes:g}")
        sys.exit(1 if is_broken or len(results) < len(options.cases) else 0)

    async def attempt(self, case, options, make_run):
        started = time.monotonic()
        say(f"{case}: begins")
        limit = self.cases[case] * max(1, options.minutes / 5)
        with tempfile.TemporaryDirectory(prefix=f"martlet-{self.name}-{case}.") as work:
            run = make_run(options, random.Random(f"{options.seed}/{case}"), History(), pathlib.Path(work))
            try:
                module = importlib.import_module(f"{self.package}.case_{case.replace('-', '_')}")
                await asyncio.wait_for(module.run(run), limit)
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
