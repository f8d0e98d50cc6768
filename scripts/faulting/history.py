"""What was done when to which process: printed where a case fails."""

import datetime
import sys
import time

LINES = 250


def say(text):
    print(f"faults: {text}", file=sys.stderr, flush=True)


class History:
    def __init__(self):
        self.began = time.monotonic()
        # A log's times are of the wall clock; nothing moves that during a run.
        self.wall = time.time() - time.monotonic()
        self.events = []

    def note(self, text):
        self.events.append((time.monotonic(), text))

    def text(self):
        left_out = max(0, len(self.events) - LINES)
        head = [f"({left_out} earlier events are left out)"] if left_out else []
        return "\n".join(head + [f"{at - self.began:9.3f} s  {text}" for at, text in self.events[left_out:]]) + "\n"

    def moment(self, text):
        """The moment of a log line's time (RFC 3339, UTC), on the monotonic clock."""
        try:
            seconds = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        except ValueError:
            return self.began
        return seconds - self.wall
