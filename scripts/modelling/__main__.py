"""Tries every order of steps in a model of the kill switch and of refreshes, with the model checker Spin.

The model is in scripts/modelling. martlet.pml assumes a store that keeps its guarantees; kills.pml, flights.pml and
stamps.pml use one that does not (store.pml). The comment at the head of each file says what it models and what it leaves out.
A run has a number of replicas, accounts and kill log entries, and the parts of the model that are built in. A search is
"exhaustive" if it visits every reachable state. A "bitstate" search visits as many states as it can in a minute and records
them in a table of bits, in which different states may collide: an error that it finds is real, but finding none proves nothing.

  I1  at most one refresh request per grant and generation is in flight
  I2  at most one result per grant and generation is committed; generations never fall
  I3  after `complete` no replica writes a head that carries a killed token
  I4  `complete` only with an acknowledgement, or a lapsed lease, from every replica
  I5  no refresh that began before a kill brings the account back
  I6  a replica that can't renew its lease stops before the lease ends

A mutant is the model without one of the rules that these invariants need. A limit is the model without one of its excuses.
The search must catch each of them, and prints the shortest sequence of steps that breaks an invariant.
Exits 0 if every mutant and limit is caught and no other run finds an error.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import typing

from modelling.runs import RUNS

HOME = pathlib.Path(__file__).resolve().parent


class Failed(Exception):
    """The search could not run; the message says why."""


class Result(typing.NamedTuple):
    """What one search has found; `story` lists the steps to the first error, if there is one."""

    states: int
    depth: int
    seconds: float
    kind: str
    story: list[str]


def say(text):
    print(f"model: {text}", flush=True)


def parse():
    width = max(len(run.name) for run in RUNS)
    names = "\n".join(f"  {run.name:{width}}  {run.says}" for run in RUNS)
    parser = argparse.ArgumentParser(
        prog="scripts/model", description=f"{__doc__}\nruns:\n{names}", formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: scripts/model --only no-stamp")
    parser.add_argument("--only", metavar="NAME", help="run only these, separated by commas (default: all)")
    parser.add_argument("--keep", metavar="DIR", type=pathlib.Path, help="keep the checker, the output and the trail of each run in this directory")
    options = parser.parse_args()
    known = {run.name: run for run in RUNS}
    names = options.only.split(",") if options.only else list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no run is called {unknown[0]}; there are {', '.join(known)}")
    options.runs = [known[name] for name in names]
    return options


def call(command, place):
    """Runs a command at low priority (nice 15)."""
    return subprocess.run(command, cwd=place, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=lambda: os.nice(15))


def clear(place):
    """Removes the checker and the trail of an earlier run, so that this run can't use them by mistake."""
    for left in (*place.glob("pan*"), *place.glob("*.trail")):
        left.unlink()


def build(run, place):
    sizes = [f"N={run.replicas}", f"A={run.accounts}", f"K={run.entries}"]
    for part in HOME.glob("*.pml"):
        (place / part.name).write_text(part.read_text())
    told = call(["spin", "-a", *(f"-D{define}" for define in (*sizes, *run.defines)), run.model], place)
    if told.returncode or not (place / "pan.c").exists():
        raise Failed(f"spin does not take the model: {told.stdout.strip()}")
    # The search for a mutant is breadth-first, so that the first error has the shortest story.
    search = ["-DBITSTATE"] if run.is_bitstate else ["-DBFS"] if run.breaks else ["-DMEMLIM=8000"]
    told = call(["gcc", "-O3", "-w", "-DSAFETY", *search, "-o", "pan", "pan.c"], place)
    if told.returncode:
        raise Failed(f"gcc does not take the checker: {told.stdout.strip()}")


def search(run, place):
    started = time.monotonic()
    arguments = ["-n", "-m1000000"]
    if run.is_bitstate:
        # The checker ends by itself after a minute and reports what it has searched.
        arguments += ["-w32", "-Q1"]
    checker = call(["./pan", *arguments], place)
    output = checker.stdout
    (place / "pan.out").write_text(output)
    seconds = time.monotonic() - started
    found = re.search(r"depth reached (\d+), errors: (\d+)\s+(\S+) states, stored", output)
    if checker.returncode < 0 or not found:
        raise Failed(f"the checker did not end: {output.strip()[-300:]}")
    depth, errors, states = int(found[1]), int(found[2]), int(float(found[3]))
    story = []
    if errors:
        story = tell(call(["./pan", "-S"], place).stdout)
        if not story:
            raise Failed(f"an error without a story: {output.strip()[:300]}")
        kind = "error"
    elif run.is_bitstate:
        kind = "bitstate"
    elif "Search not completed" in output or "max search depth too small" in output:
        raise Failed("the search was cut short")
    else:
        kind = "exhaustive"
    return Result(states, depth, seconds, kind, story)


def tell(replay):
    """Returns the steps of the trail up to the broken invariant."""
    lines = [line for line in replay.splitlines() if line.startswith("  ") or " is broken" in line]
    end = next((number for number, line in enumerate(lines) if " is broken" in line), None)
    return [] if end is None else lines[: end + 1]


def attempt(run, place):
    place.mkdir(parents=True, exist_ok=True)
    clear(place)
    say(f"{run.name}: {run.says}")
    try:
        build(run, place)
        result = search(run, place)
    except Failed as reason:
        say(f"{run.name}: FAILED: {reason}")
        return (run.name, "", "", "", "", "FAILED"), False
    broken = result.story[-1].split()[0] if result.story else None
    is_right = broken in run.breaks if run.breaks else broken is None
    if result.story:
        print("\n".join(f"    {line.strip()}" for line in result.story), flush=True)
    verdict = f"breaks {broken}" if broken else "holds" if result.kind == "exhaustive" else "nothing found"
    if run.breaks:
        verdict = f"caught: {verdict}" if is_right else f"NOT CAUGHT: {verdict}"
    elif not is_right:
        verdict = f"BROKEN: {broken}"
    size = f"{run.replicas} x {run.accounts} x {run.entries}"
    kind = "shortest" if run.breaks and broken else result.kind
    say(f"{run.name}: {verdict}")
    return (run.name, size, kind, f"{result.states:,}", str(result.depth), f"{result.seconds:.1f} s", verdict), is_right


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="martlet-model.") as work:
        place = (options.keep or pathlib.Path(work)).resolve()
        attempts = [attempt(run, place / run.name) for run in options.runs]
    head = ("run", "replicas x accounts x entries", "search", "states", "depth", "time", "")
    rows = [head, *(row for row, _ in attempts)]
    rows = [(*row, *[""] * (len(head) - len(row))) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    print()
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    if options.keep:
        say(f"kept in {options.keep}")
    sys.exit(0 if all(is_right for _, is_right in attempts) else 1)


main()
