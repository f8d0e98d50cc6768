"""Starts programs, waits for them and ends them."""

import contextlib
import errno
import os
import pathlib
import random
import re
import select
import socket
import subprocess
import time

START_SECONDS = 30
COMMAND_SECONDS = 30


class Failed(Exception):
    pass


given_out = set()


def free_port():
    """Returns a free TCP port below the kernel's ephemeral port range, if there are ports below it: under load, an outgoing
    connection could take an ephemeral port at once. Never returns the same port twice."""
    begin = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(100):
        with socket.socket() as probe:
            port = random.SystemRandom().randrange(begin // 2, begin) if begin > 4096 else 0
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            port = probe.getsockname()[1]
        if port not in given_out:
            given_out.add(port)
            return port
    raise Failed("no port is free")


def ask(command, **options):
    """Runs a command that ends by itself, and returns its result."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"`martlet {command[1]}` does not end within {COMMAND_SECONDS} s") from None


class Process:
    def __init__(self, name, command, log, **options):
        self.name, self.log = name, log
        # If the log is a file, an earlier process may have written to it.
        self.log_start = os.fstat(log.fileno()).st_size if hasattr(log, "fileno") else 0
        self.process = subprocess.Popen([str(one) for one in command], stderr=log, stdin=subprocess.DEVNULL, **options)

    @property
    def is_alive(self):
        return self.process.poll() is None

    def last_words(self):
        """Returns the last line that the log file has gained since the process started, or a substitute text."""
        with contextlib.suppress(OSError, AttributeError, TypeError, IndexError):
            return pathlib.Path(self.log.name).read_bytes()[self.log_start:].decode(errors="replace").splitlines()[-1]
        return "it has logged nothing"

    def memory(self, key):
        """Returns a value of /proc/PID/status in KiB: VmRSS, or VmHWM, the peak of VmRSS."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{key}:\s+(\d+)", text)[1])

    def cpu(self):
        """Returns the processor time that the process has used, in seconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_for(self, port):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if not self.is_alive:
                raise Failed(f"{self.name} ended while starting")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        raise Failed(f"{self.name} does not listen on port {port}")

    def first_line(self):
        """Waits for the first line on the process's standard output (a pipe), which it prints once it serves, and returns it."""
        output, deadline, said = self.process.stdout.fileno(), time.monotonic() + START_SECONDS, b""
        while b"\n" not in said:
            readable, _, _ = select.select([output], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                raise Failed(f"{self.name} did not report within {START_SECONDS} s that it serves")
            piece = os.read(output, 4096)
            if not piece:
                raise Failed(f"{self.name} did not start: {self.last_words()}")
            said += piece
        return said.decode()

    def end(self):
        self.process.terminate()
        try:
            return self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
