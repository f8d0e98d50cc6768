"""Callers that send one request after another, and remember what they got."""

import http.client
import itertools
import json
import threading
import time

from locking.site import code


class Load:
    """Each of `callers` threads keeps a connection to the gateway. `answers` has the time before each request and after its answer,
    of the wall clock, then the status and the code of Martlet's error."""

    def __init__(self, gateway, accounts, callers=8, target="bytes/10"):
        self.gateway, self.target, self.is_over, self.answers = gateway, target, False, []
        turns = itertools.cycle(accounts)
        self.threads = [threading.Thread(target=self.work, args=(turns,), daemon=True) for _ in range(callers)]
        for thread in self.threads:
            thread.start()

    def work(self, turns):
        connection = None
        while not self.is_over:
            account, began = next(turns), time.time()
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=20)
                connection.request("GET", f"/{account}/{self.target}")
                response = connection.getresponse()
                body = response.read()
                is_problem = "problem+json" in (response.headers["Content-Type"] or "")
                got = response.status, code(json.loads(body)) if is_problem else None
            except (OSError, http.client.HTTPException):
                # The gateway has closed the connection.
                connection, got = None, (0, None)
            self.answers.append((began, time.time(), *got))
            # A refusal comes at once: the gateway has more to do than refusing.
            time.sleep(0.002 if got[0] == 200 else 0.02)

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()

    def between(self, begin, end=float("inf")):
        """What the requests got that were sent in this time, each kind of answer once."""
        return {got: sum(answer[2:] == got for answer in self.answers if begin <= answer[0] < end)
                for got in {answer[2:] for answer in self.answers if begin <= answer[0] < end}}


def in_parallel(work, items):
    """Calls `work` with each item, all at once. Returns the threads."""
    threads = [threading.Thread(target=work, args=(item,), daemon=True) for item in items]
    for thread in threads:
        thread.start()
    return threads
