"""The checks of a case, and what was measured beside them. Both are printed at once, because a case takes long."""

import statistics
import sys
import textwrap

from harness.checks import Check, Checks

# The longest line, in characters.
LINE = 400


class Results(Checks):
    def __init__(self, case):
        super().__init__()
        self.case, self.figures = case, {}

    def append(self, check):
        super().append(check)
        word = {True: "ok", False: "FAIL", None: "skipped"}[check.holds]
        self.say(f"{word}: {check.what}: {check.measured}" + (f" ({check.bound})" if check.bound else ""))

    def figure(self, what, value, unit=""):
        """Something measured that has no bound."""
        self.figures[f"{what}, {unit}" if unit else what] = value
        self.say(f"{what}: {value} {unit}".rstrip())

    def at_most(self, what, value, bound, unit):
        self.figures[f"{what}, {unit}"] = round(value, 3)
        self.append(Check(what, f"{rounded(value)} {unit}", f"at most {rounded(bound)} {unit}", value <= bound))

    def at_least(self, what, value, bound, unit):
        self.figures[f"{what}, {unit}"] = round(value, 3)
        self.append(Check(what, f"{rounded(value)} {unit}", f"at least {rounded(bound)} {unit}", value >= bound))

    def say(self, text):
        print(f"{self.case}: {textwrap.shorten(text, LINE)}", file=sys.stderr, flush=True)


def rounded(value):
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2f}"


def spread(values):
    """The median, the 95th percentile and the largest of some values."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)], ordered[-1]
