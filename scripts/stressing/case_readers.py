"""Many callers read a large response slowly. The unread part must wait at the upstream, not in the gateway."""

import asyncio
import pathlib
import selectors
import socket
import time

from harness.checks import at_most, equals
from stressing.processes import say

SIZE = 1 << 20


async def run(processes, options):
    count = processes.share(5000)
    # Each caller needs one connection to the gateway and one from the gateway to the upstream.
    processes.need_descriptors(2 * count)
    upstream = processes.upstream()
    checks, resets = [], resets_for_memory()
    # The gateway must not read ahead even if the upstream closes its connection after the response.
    for what, path in (("kept", "/bytes"), ("ended", "/last")):
        gateway = processes.gateway(upstream)
        whole = await asyncio.to_thread(read_slowly, gateway.port, f"{path}/{SIZE}", count)
        checks += [equals(f"answers that arrived whole, upstream's connections {what}", whole, count),
                   at_most("memory (VmHWM)", gateway.memory("VmHWM") / 1024, 256, "MiB")]
        gateway.end()
    if resets_for_memory() > resets:
        say(f"readers: the kernel reset {resets_for_memory() - resets} connections for want of TCP memory (net.ipv4.tcp_mem)")
    return checks


def resets_for_memory():
    """Returns how many connections of all processes the kernel has reset so far for lack of TCP memory."""
    names, counts = [line.split() for line in pathlib.Path("/proc/net/netstat").read_text().splitlines()
                     if line.startswith("TcpExt:")]
    return int(dict(zip(names, counts))["TCPAbortOnMemory"])


def read_slowly(port, path, count):
    """Reads `count` responses concurrently in small pieces. Returns how many had the right length."""
    selector, got, whole = selectors.DefaultSelector(), {}, 0
    for _ in range(count):
        one = socket.socket()
        # A larger buffer would let the kernel read ahead for the caller.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        # The segment size of a network. With the segments of loopback, the kernel lets the gateway write 2.5 MiB ahead to each
        # caller.
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
        one.connect(("127.0.0.1", port))
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ)
        got[one] = bytearray(), 0
    say(f"readers: {count} have asked, and wait for 5 s")
    time.sleep(5)
    deadline, told = time.monotonic() + 200, time.monotonic()
    while got and time.monotonic() < deadline:
        # Each turn reads a little for every readable connection.
        for key, _ in selector.select(1):
            one = key.fileobj
            head, body = got[one]
            try:
                piece = one.recv(16 << 10)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                whole += body == SIZE
                selector.unregister(one)
                del got[one]
                one.close()
            elif b"\r\n\r\n" in head:
                got[one] = head, body + len(piece)
            else:
                head += piece
                got[one] = head, len(head.partition(b"\r\n\r\n")[2])
        if time.monotonic() > told + 5:
            told = time.monotonic()
            say(f"readers: {len(got)} still read")
    for one in got:
        one.close()
    return whole
