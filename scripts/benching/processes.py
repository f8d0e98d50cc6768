"""Servers pinned to a core, and their CPU time and memory."""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def stop(text, code=69):
    print(f"bench: {text}", file=sys.stderr)
    sys.exit(code)


def compiled(source, target, *arguments):
    """Compiles a C program or library of this directory; returns `None` if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("clang")
    if compiler:
        subprocess.run([compiler, "-O2", "-Wall", "-Werror", *arguments, "-o", target, source], check=True)
    return target if compiler else None


def wait_for(port, process, name):
    for _ in range(400):
        if process.poll() is not None:
            stop(f"{name} ended while starting; its output is above")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    stop(f"{name} does not listen on port {port}")


class Process:
    """A server pinned to one core. It runs until `end` is called."""

    def __init__(self, name, command, port, core, **options):
        self.name, self.port = name, port
        log = options.pop("log")
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), *map(str, command)], stdout=log, stderr=log, stdin=subprocess.DEVNULL, **options
        )
        wait_for(port, self.process, name)

    def members(self):
        """The process and its children: Varnish works in a child."""
        found = [self.process.pid]
        for one in found:
            found += map(int, pathlib.Path(f"/proc/{one}/task/{one}/children").read_text().split())
        return found

    def cpu(self):
        ticks = 0
        for one in self.members():
            fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def rss(self):
        texts = (pathlib.Path(f"/proc/{one}/status").read_text() for one in self.members())
        return sum(int(re.search(r"VmRSS:\s+(\d+)", text)[1]) for text in texts)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
