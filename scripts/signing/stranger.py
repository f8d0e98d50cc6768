"""A web server of somebody else, whose pages try to send a browser's requests to the gateway."""

import http.server
import json
import threading

# For each way, a page that sends a request for URL. Its kind of destination, and whether cookies are sent, is up to the browser.
WAYS = {
    "an image": "<img src=URL>",
    "a script": "<script src=URL></script>",
    "a style sheet": "<link rel=stylesheet href=URL>",
    "a frame": "<iframe src=URL></iframe>",
    "an object": "<object data=URL></object>",
    "a fetch without CORS": "<script>fetch(URL, { mode: 'no-cors', credentials: 'include' }).catch(() => {})</script>",
    "a fetch": "<script>fetch(URL, { credentials: 'include' }).catch(() => {})</script>",
    "a prefetch": "<link rel=prefetch href=URL>",
    "a form in a frame": "<iframe name=f></iframe><form method=post target=f action=URL></form><script>document.forms[0].submit()</script>",
    "a form": "<form method=post action=URL></form><script>document.forms[0].submit()</script>",
}


class Stranger:
    """`url` gives the address of a page on the host of that name."""

    def __init__(self):
        self.pages = {}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, host, way, target):
        """Makes a page that sends a request to `target`; returns the page's address."""
        path = f"/{len(self.pages)}"
        # As a text of JSON, the address is a script's string, and in HTML a quoted attribute.
        self.pages[path] = f"<!doctype html><title>stranger</title>{WAYS[way].replace('URL', json.dumps(target))}"
        return f"http://{host}:{self.server.server_address[1]}{path}"

    def handler(stranger):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = stranger.pages.get(self.path, "").encode()
                self.send_response(200 if text else 404)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        return Handler

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
