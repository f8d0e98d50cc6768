"""HTTP requests that follow no redirect and may say anything, unlike a browser's."""

import http.client
import json
import urllib.parse


class Answer:
    def __init__(self, response):
        self.status, self.fields, self.text = response.status, response.headers, response.read().decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.text)


def fetch(url, method="GET", fields=None, body=None):
    """Sends one request. Fields replace those of the client, also `Host`. An object as the body is sent as JSON."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=40)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        content = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        connection.putrequest(method, target, skip_host=bool(fields and "Host" in fields), skip_accept_encoding=True)
        for name, value in (fields or {}).items():
            connection.putheader(name, value)
        if content is not None:
            connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def query(url):
    """The parameters of an address."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


def changed(url, **parameters):
    """The same address with other values of some parameters; None removes one."""
    parts = urllib.parse.urlsplit(url)
    values = {name: value for name, value in {**query(url), **parameters}.items() if value is not None}
    return parts._replace(query=urllib.parse.urlencode(values)).geturl()
