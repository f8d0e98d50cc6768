"""Tries every order of steps in a model of the kill switch and of refreshes, with the model checker Spin.

The model is in scripts/modelling: martlet.pml stands on a store that keeps its word, and kills.pml, flights.pml and
stamps.pml on one that does not (store.pml). The head of each says what is in it and what is not. A run is a number of
replicas, accounts and entries of the kill log, and what of the model is built in. Each state that these can reach is looked
at ("exhaustive"), or as many as go into a table of bits in a minute, some of them taken for others ("bitstate": an error
found is one, but none found proves nothing).

  I1  at most one refresh request per grant and generation is in flight
  I2  at most one result per grant and generation is committed; generations never fall
  I3  after `complete` no replica writes a head that carries a killed token
  I4  `complete` only with an acknowledgement, or a lapsed lease, from every replica
  I5  no refresh begun before a kill brings the account back
  I6  a replica that can't renew its lease stops within it

Mutants are the model without one of the rules that these rest on, and limits are the model without an excuse. Each must
be caught; its shortest story is shown.
Exits 0 when nothing is found but what must be found.
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
    """The search itself could not be done; says why."""


class Result(typing.NamedTuple):
    """What one search has found: the story of the first error, where there is one."""

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
    parser.add_argument("--only", metavar="NAME", help="only these runs, with commas between them (default: all)")
    parser.add_argument("--keep", metavar="DIR", type=pathlib.Path, help="keep each run's checker, its output and its trail in here")
    options = parser.parse_args()
    known = {run.name: run for run in RUNS}
    names = options.only.split(",") if options.only else list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no run is called {unknown[0]}; there are {', '.join(known)}")
    options.runs = [known[name] for name in names]
    return options


def call(command, place):
    """Gives way to everything else on the machine, and takes one core."""
    return subprocess.run(command, cwd=place, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=lambda: os.nice(15))


def clear(place):
    """Of an earlier run: its checker must not pass for this one's, nor its trail."""
    for left in (*place.glob("pan*"), *place.glob("*.trail")):
        left.unlink()


def build(run, place):
    sizes = [f"N={run.replicas}", f"A={run.accounts}", f"K={run.entries}"]
    for part in HOME.glob("*.pml"):
        (place / part.name).write_text(part.read_text())
    told = call(["spin", "-a", *(f"-D{define}" for define in (*sizes, *run.defines)), run.model], place)
    if told.returncode or not (place / "pan.c").exists():
        raise Failed(f"spin does not take the model: {told.stdout.strip()}")
    # A mutant is searched by breadth, so that the first story is the shortest.
    search = ["-DBITSTATE"] if run.is_bitstate else ["-DBFS"] if run.breaks else ["-DMEMLIM=8000"]
    told = call(["gcc", "-O3", "-w", "-DSAFETY", *search, "-o", "pan", "pan.c"], place)
    if told.returncode:
        raise Failed(f"gcc does not take the checker: {told.stdout.strip()}")


def search(run, place):
    started = time.monotonic()
    arguments = ["-n", "-m1000000"]
    if run.is_bitstate:
        # The checker ends by itself after a minute, and says what it has seen.
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
    """The steps that the trail has taken, and what is broken then."""
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
