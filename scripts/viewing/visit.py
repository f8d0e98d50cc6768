"""One person who uses one page, what is checked of the page, and pictures of it."""

import pathlib
import sys
import time

from harness.checks import equals
from harness.processes import Failed

WIDE, PHONE = 1280, 390
INSPECT = (pathlib.Path(__file__).parent / "inspect.js").read_text()


class Visit:
    def __init__(self, page, pictures=None, checks=None):
        self.page, self.pictures = page, pictures
        self.checks = [] if checks is None else checks

    def check(self, what, value, bound=True):
        self.checks.append(equals(what, value, bound))

    def has(self, what, script, seconds=20):
        """Waits until the script returns true, and records whether it did in time."""
        try:
            self.page.wait_for(what, script, seconds)
            self.check(what, True)
        except Failed as failure:
            print(failure, file=sys.stderr)
            self.check(what, False)

    def picture(self, name, schemes=("light", "dark"), whole=True):
        """Inspects the page at both widths and in each colour scheme, and takes pictures if they are wanted."""
        faults = []
        for width in (WIDE, PHONE):
            self.page.size(width, 900 if width == WIDE else 844)
            for scheme in schemes:
                self.page.scheme(scheme)
                time.sleep(0.35)  # The colours change in a transition.
                for kind, elements in self.page.evaluate(INSPECT).items():
                    faults += [f"{width} px, {scheme}: {kind}: {element}" for element in elements]
                if self.pictures:
                    self.page.screenshot(self.pictures / f"{name}-{width}-{scheme}.png", whole)
        self.check(f"{name}: what is cut off, hard to read or without a name", faults, [])
        self.page.size(WIDE)
        self.page.scheme("light")
