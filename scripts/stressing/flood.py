"""Connections that keep an event loop as busy as they can: with requests that the gateway answers itself, or with bodies in
chunks of one byte.

    python3 -m stressing.flood PORT COUNT replies|up|down
"""

import contextlib
import socket
import sys
import threading

REFUSED = b"GET /small HTTP/1.1\r\nHost: localhost\r\nOrigin: http://elsewhere.example\r\n\r\n"
UP = b"POST /sink HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
DOWN = b"GET /crumbs HTTP/1.1\r\nHost: localhost\r\n\r\n"


def drain(one):
    with contextlib.suppress(OSError):
        while one.recv(1 << 20):
            pass


def flood(port, kind):
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as one:
            one.settimeout(None)
            if kind == "down":
                one.sendall(DOWN)
                drain(one)
                continue
            threading.Thread(target=drain, args=[one], daemon=True).start()
            if kind == "up":
                one.sendall(UP)
            piece = REFUSED * 3000 if kind == "replies" else b"1\r\nx\r\n" * 40_000
            while True:
                one.sendall(piece)


def main():
    port, count, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    threads = [threading.Thread(target=flood, args=[port, kind], daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
