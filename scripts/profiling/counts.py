"""Which counts are worth keeping."""

import re

HEADING = "# IR level Instrumentation Flag\n:ir\n"
# What compilers put into each module that needs it, under one name: of the copies the linker keeps one, and the others'
# counts are read from wherever it has put something else.
COPIED = re.compile(r"^__swift_|WO[a-zA-Z]+$|W[lL]$|w[a-zA-Z]{2}$|T[gG]?[qQ]\d*$")


class Function:
    """Its name, the hash of its branches, and how often each of them was taken."""

    def __init__(self, text):
        lines = text.split("\n")
        self.name, self.hash = lines[0], lines[2]
        self.counts = [int(line) for line in lines[6:6 + int(lines[4])]]

    def __str__(self):
        return "\n".join([
            self.name, "# Func Hash:", self.hash, "# Num Counters:", str(len(self.counts)), "# Counter Values:",
            *map(str, self.counts),
            # Where this is missing, a name that begins with a dollar sign is read as it.
            "# Num Bitmap Bytes:", "$0"]) + "\n\n"

    @property
    def is_ours_to_keep(self):
        """Others than Swift's have names that say where they were built."""
        return self.name.startswith("$s") and not COPIED.search(self.name)


def keep(text, at_least):
    """Those functions of which some part ran so often, in order."""
    functions = map(Function, re.split(r"\n{2,}", text.removeprefix(HEADING).strip()))
    kept = [one for one in functions if one.is_ours_to_keep and max(one.counts, default=0) >= at_least]
    return HEADING + "".join(str(one) for one in sorted(kept, key=lambda one: (one.name, one.hash)))
