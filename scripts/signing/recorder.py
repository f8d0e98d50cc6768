"""Stands between the gateways and a provider's token endpoint, and notes what is sent there: which codes, by which verifiers."""

import base64
import http.server
import threading
import time
import urllib.parse

from signing.web import fetch

SECRET = base64.b64encode(b"mock-client:mock-secret").decode()


class Recorder:
    """Passes token requests on to `provider`, an address. `requests` has the fields of each, with the status of its response."""

    def __init__(self, provider):
        self.provider, self.requests, self.lock = provider, [], threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/oauth/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(recorder):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                request = {**dict(urllib.parse.parse_qsl(body)), "status": None, "at": time.monotonic()}
                with recorder.lock:
                    recorder.requests.append(request)
                # The provider names itself by the Host that it is asked under.
                fields = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
                answer = fetch(f"{recorder.provider}/oauth/token", "POST", fields, body)
                request["status"] = answer.status
                try:
                    self.send_response(answer.status)
                    for name, value in answer.fields.items():
                        if name.lower() not in ("date", "server", "connection", "transfer-encoding"):
                            self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer.text.encode())
                except OSError:
                    # The gateway was killed.
                    self.close_connection = True

            def log_message(self, *_):
                pass

        return Handler

    def since(self, mark):
        """The token requests since there were `mark` of them."""
        with self.lock:
            return self.requests[mark:]

    @property
    def mark(self):
        with self.lock:
            return len(self.requests)

    def secrets(self):
        """What the gateways have sent here that nobody else may know."""
        for request in self.since(0):
            for kind in "code_verifier", "device_code":
                if kind in request:
                    yield kind, request[kind]

    def redeem(self, request):
        """Sends a token request with a code once more; returns the status and the error word."""
        form = urllib.parse.urlencode({name: value for name, value in request.items() if name not in ("status", "at")})
        answer = fetch(f"{self.provider}/oauth/token", "POST",
                       {"Authorization": f"Basic {SECRET}", "Content-Type": "application/x-www-form-urlencoded"}, form)
        return answer.status, answer.json.get("error")

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
