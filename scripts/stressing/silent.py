"""Makes connections and sends nothing on them. Reconnects a second after the gateway has closed a connection, or after PAUSE
seconds.

    python3 -m stressing.silent PORT COUNT FILE [PAUSE]

Writes a line of JSON to FILE each second: how many connections are `open`, and how many were `made` and `ended` so far.
"""

import collections
import contextlib
import json
import select
import socket
import sys
import time


def main():
    port, count, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    pause = float(sys.argv[4]) if len(sys.argv) > 4 else 1
    poll, held, waiting, made, ended, told = select.epoll(), {}, collections.deque(), 0, 0, 0
    with open(path, "w", buffering=1) as lines:
        while True:
            while waiting and waiting[0] <= time.monotonic():
                waiting.popleft()
            while len(held) + len(waiting) < count:
                one = socket.socket()
                one.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    one.connect(("127.0.0.1", port))
                held[one.fileno()] = one
                # A connection becomes readable when the gateway closes it.
                poll.register(one, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLHUP)
                made += 1
            for number, _ in poll.poll(0.1):
                poll.unregister(number)
                held.pop(number).close()
                waiting.append(time.monotonic() + pause)
                ended += 1
            if time.monotonic() >= told + 1:
                told = time.monotonic()
                lines.write(json.dumps({"open": len(held), "made": made, "ended": ended}) + "\n")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
