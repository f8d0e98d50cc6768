"""Hosts on a network that no other program of this machine sees.

The script runs in a network namespace of its own, and each host is a further one. All replicas and all databases are on the store's
network. All replicas and the script are on the front network, where the callers, the provider and its API are:

    front network 10.77.1.0/24     script (.100) ── a (.1) ── b (.2) ── c (.3)

    store network 10.77.0.0/24     a (.1) ── db1 (.11)  ── trunk ──  b (.2) ── c (.3) ── db2 (.12)
                                        the island                      the mainland

With Redis there are also s1 (.21) on the island, and db3 (.13), s2 (.22) and s3 (.23) on the mainland; s1, s2 and s3 have a Sentinel
each. A cut is silent: the links stay up and frames are dropped, as with a switch that fails.
"""

import ctypes
import os
import pathlib
import signal
import subprocess

from harness.processes import Failed

REPLICAS = {"a": 1, "b": 2, "c": 3}
DATABASES = {"db1": 11, "db2": 12, "db3": 13, "s1": 21, "s2": 22, "s3": 23}
ISLAND = ("a", "db1", "s1")
# A hardware address that no host has.
NOBODY = "02:00:00:00:00:01"
# The script's address on the front network.
SCRIPT = "10.77.1.100"
PLACES = pathlib.Path("/run/netns")

# From sched.h, sys/mount.h and sys/prctl.h.
NEW_MOUNTS, NEW_PROCESSES, NEW_NETWORK = 0x00020000, 0x20000000, 0x40000000
PRIVATE, RECURSIVE, NO_SUID, NO_EXECUTE, NO_DEVICES = 1 << 18, 1 << 14, 2, 8, 4
DIE_WITH_PARENT = 1


def store_address(host):
    return f"10.77.0.{(REPLICAS | DATABASES)[host]}"


def front_address(replica):
    return f"10.77.1.{REPLICAS[replica]}"


def isolate():
    """Continues in a child process with namespaces of its own: the network, the processes and the mounts. The kernel removes all
    of them when that process ends, however it ends. This process waits, and exits as its child does."""
    call("unshare", NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK)
    child = os.fork()
    if child:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(code if code >= 0 else 128 - code)
    # A group of its own, so that a Ctrl-C arrives once, from the parent.
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    call("prctl", DIE_WITH_PARENT, signal.SIGKILL)
    # No mount of this process may appear outside.
    call("mount", b"none", b"/", None, RECURSIVE | PRIVATE, None)
    call("mount", b"proc", b"/proc", b"proc", NO_SUID | NO_EXECUTE | NO_DEVICES, None)
    PLACES.mkdir(exist_ok=True)
    call("mount", b"none", str(PLACES).encode(), b"tmpfs", NO_SUID | NO_DEVICES, None)


def call(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


class Network:
    """The hosts and the two networks of a script that has called `isolate`. They stay until the script ends. `databases` are the
    hosts of the store."""

    def __init__(self, databases):
        self.hosts = [*REPLICAS, *databases]
        # The hosts of the mainland that are on the island for now.
        self.moved = set()
        self.cuts, self.separated = set(), set()
        # Of the running case.
        self.history = None

    def start(self):
        lines = ["link set lo up"]
        for bridge in ("mainland", "island", "front"):
            lines += [f"link add {bridge} type bridge", f"link set {bridge} up"]
        lines += ["link add trunk type veth peer name trunk2", "link set trunk2 master island up", "link set trunk master mainland up",
                  f"address add {SCRIPT}/24 dev front"]
        for host in self.hosts:
            lines += [f"netns add {host}", f"-n {host} link set lo up", *self.plug(host, "store", self.side(host), store_address(host))]
            if host in REPLICAS:
                lines += self.plug(host, "front", "front", front_address(host))
        for line in lines:
            run_ip(*line.split())
        return self

    def side(self, host):
        return "island" if host in ISLAND or host in self.moved else "mainland"

    def move(self, host):
        """Moves a host of the mainland to the island, until all cuts end."""
        self.moved.add(host)
        run_ip("link", "set", f"{host}-store", "master", "island")
        self.history.note(f"{host} is on the island")

    @staticmethod
    def plug(host, link, bridge, address):
        """Returns the commands that connect a host to a bridge."""
        return [f"link add {host}-{link} type veth peer name {link} netns {host}", f"link set {host}-{link} master {bridge} up",
                f"-n {host} address add {address}/24 dev {link}", f"-n {host} link set {link} up"]

    @staticmethod
    def on(host, command):
        """Returns `command` as it runs on a host. The process keeps its id."""
        return ["nsenter", f"--net={PLACES / host}", "--", *command]

    def cut(self, host):
        """Cuts a host off from the store's network."""
        self.unplug(f"{host}-store", f"{host} is cut off from the store's network")

    def cut_trunk(self):
        """Cuts the island off from the mainland."""
        sides = [", ".join(host for host in self.hosts if self.side(host) == side) for side in ("island", "mainland")]
        self.unplug("trunk", f"the island ({sides[0]}) is cut off from the mainland ({sides[1]})")

    def unplug(self, link, what):
        run_ip("link", "set", link, "nomaster")
        self.cuts.add(link)
        self.history.note(what)

    def separate(self, one, other):
        """Cuts two hosts off from each other, and from nobody else: they send their frames to a hardware address that nobody has."""
        for host, peer in ((one, other), (other, one)):
            run_ip("-n", host, "neighbor", "replace", store_address(peer), "lladdr", NOBODY, "dev", "store", "nud", "permanent")
        self.separated.add((one, other))
        self.history.note(f"{one} and {other} are cut off from each other")

    def join(self):
        """Ends all cuts between two hosts."""
        for one, other in sorted(self.separated):
            for host, peer in ((one, other), (other, one)):
                run_ip("-n", host, "neighbor", "delete", store_address(peer), "dev", "store")
            self.separated.discard((one, other))
            self.history.note(f"{one} and {other} reach each other again")

    def mend(self, host=None):
        """Ends the cut of a host, or all cuts."""
        if host is None:
            self.join()
            while self.moved:
                run_ip("link", "set", f"{self.moved.pop()}-store", "master", "mainland")
        for one in sorted(self.cuts if host is None else {f"{host}-store"} & self.cuts):
            run_ip("link", "set", one, "master", "mainland" if one == "trunk" else self.side(one.removesuffix("-store")))
            self.cuts.discard(one)
            self.history.note(f"{one} is plugged in again")


def run_ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        raise Failed(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()}")
