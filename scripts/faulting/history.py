"""What was done when to which process: printed where a case fails."""

import datetime
import sys
import time

LINES = 250
FINDINGS = 50


def say(text):
    print(f"faults: {text}", file=sys.stderr, flush=True)


class History:
    def __init__(self):
        self.began = time.monotonic()
        # A log's times are of the wall clock; nothing moves that during a run.
        self.wall = time.time() - time.monotonic()
        self.events, self.findings = [], []

    def note(self, text):
        self.events.append((time.monotonic(), text))

    def find(self, text):
        """What a case fails for: always printed, before the rest."""
        self.findings.append(text)

    def text(self):
        left_out = max(0, len(self.events) - LINES)
        head = [f"({left_out} earlier events are left out)"] if left_out else []
        found = self.findings[:FINDINGS]
        if len(self.findings) > FINDINGS:
            found.append(f"({len(self.findings) - FINDINGS} more like these)")
        return "\n".join(found + head + [f"{at - self.began:9.3f} s  {text}" for at, text in self.events[left_out:]]) + "\n"

    def moment(self, text):
        """The moment of a log line's time (RFC 3339, UTC), on the monotonic clock."""
        try:
            seconds = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        except ValueError:
            return self.began
        return seconds - self.wall
