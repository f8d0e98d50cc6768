"""The results of a case, and the table that shows them."""

import typing


class Skipped(Exception):
    """The case can't run on this machine; the message says why."""


class Check(typing.NamedTuple):
    """A measured value and its bound. `holds` is None if the check was skipped."""

    what: str
    measured: str
    bound: str
    holds: bool | None


def at_most(what, value, bound, unit):
    return Check(what, f"{value:.1f} {unit}", f"at most {bound:.1f} {unit}", value <= bound)


def equals(what, value, bound):
    return Check(what, str(value), str(bound), value == bound)


class Checks(list):
    """The results of a case."""

    def equal(self, what, value, bound=True):
        self.append(equals(what, value, bound))


def report(results):
    rows = [(case, *check[:3], {True: "holds", False: "BROKEN", None: "skipped"}[check.holds])
            for case, checks in results.items() for check in checks]
    head = ("case", "what", "measured", "bound", "")
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
