"""A shell in tmux, used as a person uses it: lines are typed, and the screen is read."""

import os
import re
import subprocess
import time

from harness.processes import Failed

SECONDS = 30


class Terminal:
    """Runs bash with a history file. `environment` has the variables that it has beside a few of its own."""

    def __init__(self, place, environment):
        self.place, self.history, self.commands, self.last_screen = place, place / "history", 0, ""
        place.mkdir()
        own = {"HOME": place, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "screen", "HISTFILE": self.history, "HISTSIZE": "1000", "PS1": "$ "}
        self.environment = {name: str(value) for name, value in {**own, **environment}.items()}
        (place / "tmux.conf").write_text("set -g history-limit 20000\nset -g remain-on-exit on\n")
        self.tmux("-f", place / "tmux.conf", "new-session", "-d", "-x", "150", "-y", "40", "bash", "--norc", "--noprofile", "-i")
        self.wait_for("the shell", r"\$ ")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-S", self.place / "socket", *arguments], capture_output=True, text=True, timeout=20, env=self.environment)
        if done.returncode:
            raise Failed(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def press(self, key):
        self.tmux("send-keys", key)

    def run(self, line):
        """Types a command; its exit code is read with `exit_code`."""
        self.commands += 1
        self.type(f"{line}; echo ended-{self.commands}=$?")
        self.press("Enter")

    def everything(self):
        """All lines so far, with those that have left the screen."""
        return self.tmux("capture-pane", "-p", "-J", "-S", "-")

    def screen(self):
        """What stands behind the last command."""
        return self.everything().rpartition(f"ended-{self.commands}=$?")[2] if self.commands else self.everything()

    def wait_for(self, what, pattern, seconds=SECONDS):
        """Waits until the screen has the pattern, and returns the match."""
        deadline = time.monotonic() + seconds
        while not (match := re.search(pattern, self.screen(), re.MULTILINE)):
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not on the terminal within {seconds} s; it shows {self.screen()[-600:]!r}")
            time.sleep(0.05)
        return match

    def exit_code(self, seconds=SECONDS):
        """Waits for the end of the command."""
        return int(self.wait_for("the end of the command", rf"^ended-{self.commands}=(\d+)", seconds)[1])

    def leave(self):
        """Leaves the shell, which writes its history then. The last screen is kept."""
        self.last_screen = self.everything()
        if self.commands and not re.search(rf"^ended-{self.commands}=", self.screen(), re.MULTILINE):
            # The case has failed, and its command still waits.
            self.press("C-c")
            self.exit_code()
        self.type("exit")
        self.press("Enter")
        deadline = time.monotonic() + SECONDS
        while not (self.history.exists() and self.history.read_text().rstrip().endswith("exit")):
            if time.monotonic() > deadline:
                raise Failed(f"the shell does not end within {SECONDS} s; the terminal shows {self.everything()[-300:]!r}")
            time.sleep(0.05)

    def end(self):
        subprocess.run(["tmux", "-S", self.place / "socket", "kill-server"], capture_output=True, timeout=20)
