"""Requests one target every few milliseconds, in a process of its own, so that nothing but the gateway slows it down.

    python3 -m caching.probe PORT TARGET

Until SIGTERM. Then prints, as JSON, for each request: when it was sent on the monotonic clock, how long its answer took,
both in seconds, and whether that was a hit.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time

PAUSE = 0.003


def main():
    with contextlib.suppress(OSError):
        # Only the superuser may. Without it, other processes on the same core show in the figures.
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    is_over = []
    signal.signal(signal.SIGTERM, lambda *_: is_over.append(True))
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = f"GET {sys.argv[2]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    found = []
    while not is_over:
        time.sleep(PAUSE)
        began = time.monotonic()
        connection.sendall(request)
        said = b""
        while (end := said.find(b"\r\n\r\n")) < 0:
            said += connection.recv(65536)
        head = said[:end].lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(said) < end + 4 + length:
            said += connection.recv(65536)
        found.append((began, time.monotonic() - began, b"martlet; hit" in head))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
