"""Signs people in at martlet-mock by each way, with a browser and terminals, attacks that, and looks for secrets afterwards."""

import argparse
import contextlib
import http.client
import importlib
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from harness.checks import Check, Checks, Skipped, report
from harness.processes import Failed
from harness.programs import build, leave
from signing.secrets import search
from signing.site import Gateway, Site
from viewing.chromium import Chromium

CASES = ("loopback", "paste", "gateway", "dashboard", "device", "refusals", "answers", "replicas")


def options():
    parser = argparse.ArgumentParser(
        prog="scripts/verify-sign-in",
        description="Runs gateways and two providers (martlet-mock), and signs in by each way: with headless Chromium, and with `martlet login` in "
        "tmux. Checks that one token request brings each account its tokens, that answers are refused which are replayed, swapped, of another browser, "
        "for another host or from another site, that bad answers of the provider change nothing and what they brought is revoked, and that any of two "
        "replicas completes what the other began, also when the store was away. In the end, looks for every token, code and verifier in logs, outputs, "
        "shell histories, stores and the browser's profile. Takes about 2 minutes.",
        epilog="example: scripts/verify-sign-in --cases loopback,gateway --pictures /tmp/pictures")
    parser.add_argument("--cases", default=",".join(CASES), help="the cases to run, separated by commas (default: %(default)s)")
    parser.add_argument("--programs", type=pathlib.Path, help="the directory of martlet and martlet-mock (default: builds a release)")
    parser.add_argument("--pictures", type=pathlib.Path, help="save screenshots of the pages, at 1280 and 390 px, in this directory")
    parser.add_argument("--chromium", default=None, help="the browser (default: chromium on the PATH)")
    chosen = parser.parse_args()
    chosen.cases = chosen.cases.split(",")
    if unknown := [case for case in chosen.cases if case not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return chosen


def perform(site, cases):
    """Runs the cases; returns their results."""
    modules = {case: importlib.import_module(f"signing.case_{case}") for case in cases}
    site.start()
    # Nobody signs in to the first account.
    accounts = {"nobody": "acme"} | {name: provider for module in modules.values() for name, provider in module.ACCOUNTS.items()}
    gateway = Gateway(site, "gateway", accounts).start()
    results = {}
    for case, module in modules.items():
        started, checks = time.monotonic(), results.setdefault(case, Checks())
        for provider in site.providers:
            provider.rules()
        with recorded(checks):
            module.run(site, gateway, checks)
        print(f"verify-sign-in: {case}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    checks = results["secrets"] = Checks()
    with recorded(checks):
        search(site, gateway, checks)
    return results


@contextlib.contextmanager
def recorded(checks):
    """Records why a case ends early. The other cases go on."""
    try:
        yield
    except Skipped as reason:
        checks.append(Check("the whole case", str(reason), "", None))
    except (Failed, OSError, http.client.HTTPException) as failure:
        checks.append(Check("the rest of the case", str(failure)[:500], "", False))


def main():
    chosen = options()
    signal.signal(signal.SIGTERM, leave)
    if chosen.programs is None:
        chosen.programs = build(pathlib.Path(__file__).resolve().parents[2], "martlet", "martlet-mock")
    if chosen.pictures:
        chosen.pictures.mkdir(parents=True, exist_ok=True)
    browser = Chromium(chosen.chromium or shutil.which("chromium"))
    try:
        with tempfile.TemporaryDirectory(prefix="martlet-sign-in-") as home:
            site = Site(chosen.programs.resolve(), home, browser, chosen.pictures)
            try:
                results = perform(site, chosen.cases)
            finally:
                site.stop()
    except Failed as failure:
        print(f"verify-sign-in: {failure}", file=sys.stderr)
        return 1
    finally:
        browser.end()
    report(results)
    return 0 if all(check.holds is not False for checks in results.values() for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
