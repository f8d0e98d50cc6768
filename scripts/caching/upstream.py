"""An upstream whose answers the query of the target decides. It counts the requests for each target.

    python3 -m caching.upstream PORT

Each answer has a serial number of its own in the first line of its body: {"serial": 7, "at": 1234.5}. `at` is when the request came,
on the monotonic clock, which all processes of the host share. Other lines, each different, fill the body up to `size` bytes.

Parameters, all optional. A value may be a list with |, for the first, the second and each later request for the target:

  status=200      field=NAME: VALUE, also several times      size=64      wait=SECONDS before the head
  pause=SECONDS over which the body comes                    chunked=1    the body comes in chunks
  cut=before      the connection closes without an answer; half: after half of the body
  ranges=1        a Range is answered 206

If one of the fields is an ETag or a Last-Modified, and the request's condition names it, the answer is 304.

Other processes ask, as `Upstream` in site.py does: GET /_control/count says how many requests there were, GET /_control/requests/TARGET
(percent-encoded) lists those for a target. Targets that begin with /load/ are counted, and not listed.
"""

import asyncio
import contextlib
import email.utils
import json
import re
import sys
import time
import urllib.parse

PIECES = 10
# A target that begins so has many requests, which are not remembered one by one.
LOAD = "/load/"
FILLING = b"".join(b"%07d\n" % number for number in range(1 << 17))


class Plan:
    """How the request of a turn for a target is answered."""

    def __init__(self, target, turn):
        self.values = urllib.parse.parse_qs(target.partition("?")[2], keep_blank_values=True)
        self.turn = turn
        self.fields = [self.turned(one) for one in self.values.get("field", [])]

    def turned(self, value):
        choices = value.split("|")
        return choices[min(self.turn, len(choices) - 1)]

    def text(self, name, default=""):
        return self.turned(self.values[name][0]) if name in self.values else default

    def number(self, name, default=0):
        return float(self.text(name) or default)

    def field(self, name):
        return next((value.strip() for one, _, value in (field.partition(":") for field in self.fields) if one.lower() == name), None)

    def is_met(self, fields):
        """Whether the request's condition says that its sender has this answer already."""
        if "if-none-match" in fields:
            tags = [one.strip().removeprefix("W/") for one in fields["if-none-match"].split(",")]
            return (self.field("etag") or "-").removeprefix("W/") in tags
        return "if-modified-since" in fields and fields["if-modified-since"] == self.field("last-modified")


class Server:
    def __init__(self):
        self.serial, self.requests = 0, {}

    async def serve(self, reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while await self.exchange(reader, writer):
                pass
        writer.close()

    async def exchange(self, reader, writer):
        """Answers one request. Returns whether the connection goes on."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        fields = {}
        for name, _, value in (line.partition(":") for line in lines[1:] if line):
            name = name.lower()
            fields[name] = f"{fields[name]}, {value.strip()}" if name in fields else value.strip()
        await reader.readexactly(int(fields.get("content-length", 0)))
        if target.startswith("/_control/"):
            said = json.dumps(self.control(target)).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))
            return True
        self.serial += 1
        record = {"serial": self.serial, "at": time.monotonic(), "method": method, "fields": fields, "head_at": None}
        turn = 0
        if not target.startswith(LOAD):
            known = self.requests.setdefault(target, [])
            turn = len(known)
            known.append(record)
        return await self.answer(writer, Plan(target, turn), record)

    def control(self, target):
        _, _, what = target.partition("/_control/")
        if what == "count":
            return self.serial
        return self.requests.get(urllib.parse.unquote(what.removeprefix("requests/")), [])

    async def answer(self, writer, plan, record):
        await asyncio.sleep(plan.number("wait"))
        if plan.text("cut") == "before":
            return False
        said = json.dumps({"serial": record["serial"], "at": record["at"]}).encode() + b"\n"
        body = said + FILLING[:max(0, int(plan.number("size", 64)) - len(said))]
        head = [f"Date: {email.utils.formatdate(usegmt=True)}", *plan.fields]
        status, part = int(plan.text("status", "200")), re.fullmatch(r"bytes=(\d+)-(\d+)", record["fields"].get("range", ""))
        if plan.is_met(record["fields"]):
            status, body = 304, b""
        elif part and plan.text("ranges"):
            first, last = int(part[1]), int(part[2])
            head.append(f"Content-Range: bytes {first}-{last}/{len(body)}")
            status, body = 206, body[first:last + 1]
        if plan.text("chunked"):
            head.append("Transfer-Encoding: chunked")
        elif status not in (204, 304):
            head.append(f"Content-Length: {len(body)}")
        writer.write("\r\n".join([f"HTTP/1.1 {status} Said", *head, "", ""]).encode())
        record["head_at"] = time.monotonic()
        if record["method"] == "HEAD" or not body:
            await writer.drain()
            return True
        return await self.send(writer, plan, body)

    async def send(self, writer, plan, body):
        pause = plan.number("pause")
        count = PIECES if pause or plan.text("chunked") or plan.text("cut") else 1
        bounds = [len(body) * number // count for number in range(count + 1)]
        for number, (begin, end) in enumerate(zip(bounds, bounds[1:])):
            if plan.text("cut") == "half" and number == count // 2:
                await writer.drain()
                return False
            piece = body[begin:end]
            if piece:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if plan.text("chunked") else piece)
            await writer.drain()
            await asyncio.sleep(pause / count)
        if plan.text("chunked"):
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return True


async def main():
    server = await asyncio.start_server(Server().serve, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
