"""Records what was done to which process and when. The record is printed when a case fails."""

import datetime
import sys
import time

LINES = 250
FINDINGS = 50
# The name of the suite, which begins each line that `say` prints.
prefix = "faults"


def say(text):
    print(f"{prefix}: {text}", file=sys.stderr, flush=True)


class History:
    def __init__(self):
        self.began = time.monotonic()
        # Log entries have wall clock times. The wall clock must not be set during a run.
        self.wall = time.time() - time.monotonic()
        self.events, self.findings = [], []

    def note(self, text):
        self.events.append((time.monotonic(), text))

    def find(self, text):
        """Records a reason why the case fails. The first FINDINGS reasons are printed, before the events."""
        self.findings.append(text)

    def text(self):
        left_out = max(0, len(self.events) - LINES)
        head = [f"({left_out} earlier events are left out)"] if left_out else []
        found = self.findings[:FINDINGS]
        if len(self.findings) > FINDINGS:
            found.append(f"({len(self.findings) - FINDINGS} more like these)")
        return "\n".join(found + head + [f"{at - self.began:9.3f} s  {text}" for at, text in self.events[left_out:]]) + "\n"

    def moment(self, text):
        """Converts the time of a log entry (RFC 3339, UTC) to the monotonic clock."""
        try:
            seconds = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        except ValueError:
            return self.began
        return seconds - self.wall
