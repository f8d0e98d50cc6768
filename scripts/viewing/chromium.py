"""A headless Chromium, driven by the DevTools protocol over a pair of pipes. It needs no driver, no port and no package."""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from harness.processes import Failed

SECONDS = 20
# What Chromium says while a page is being replaced by another.
REPLACED = ("execution context", "navigated or closed", "context was destroyed", "Not attached to an active page")


class Page:
    """One tab. It collects the complaints of its console: errors, violations of the content security policy, failed loads."""

    def __init__(self, browser, session, context, target):
        self.browser, self.session, self.context, self.target = browser, session, context, target
        self.heard, self.expected = [], []
        # The addresses of all requests, also of redirects, and the addresses and statuses of all responses.
        self.requests, self.responses = [], []

    def listen(self):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        return self.browser.call(method, params, self.session)

    def expect(self, *words):
        """Ignores each complaint that contains all of these words."""
        self.expected.append(words)

    def hear_out(self, word, seconds=SECONDS):
        """Waits for an expected complaint with this word, and removes it; returns the number of such complaints."""
        deadline = time.monotonic() + seconds
        while not (found := [one for one in self.heard if word in one]) and time.monotonic() < deadline:
            self.evaluate("new Promise(done => setTimeout(done, 50))")
        if found:
            self.heard.remove(found[-1])
        return len(found)

    @property
    def problems(self):
        return [one for one in self.heard if not any(all(word in one for word in words) for words in self.expected)]

    def take(self, method, params):
        match method:
            case "Network.requestWillBeSent":
                if redirect := params.get("redirectResponse"):
                    self.responses.append((redirect["url"], redirect["status"]))
                self.requests.append(params["request"]["url"])
            case "Network.responseReceived":
                self.responses.append((params["response"]["url"], params["response"]["status"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                entry = params["entry"]
                self.heard.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}".strip())
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.heard.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.heard.append(str([one.get("value") for one in params["args"]]))

    def size(self, width, height=900, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    @property
    def address(self):
        """What the address bar shows. That is the page's address, also if the page could not be loaded."""
        history = self.call("Page.getNavigationHistory")
        return history["entries"][history["currentIndex"]]["url"]

    def wait_for_address(self, what, begin, seconds=SECONDS):
        """Waits until the address bar shows an address that begins with `begin`, and returns it."""
        deadline, address = time.monotonic() + seconds, ""
        while time.monotonic() < deadline:
            with self.while_replaced():
                address = self.address
                if address.startswith(begin):
                    return address
            time.sleep(0.05)
        raise Failed(f"{what}: not within {seconds} s; the browser is at {address.partition('?')[0]}")

    @staticmethod
    @contextlib.contextmanager
    def while_replaced():
        """Ignores that a question can't be answered while one page replaces another."""
        try:
            yield
        except Failed as failure:
            if not any(words in str(failure) for words in REPLACED):
                raise

    def cookies(self, url):
        """The cookies that a request for this address would have, by their names."""
        return {cookie["name"]: cookie["value"] for cookie in self.call("Network.getCookies", urls=[url])["cookies"]}

    def close(self):
        """Closes the tab. What it has heard is kept."""
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait_for(self, what, script, seconds=SECONDS):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            # While one page replaces another, there may be no document, and a script may lose its page.
            with self.while_replaced():
                if self.evaluate(f"(() => {{ try {{ return Boolean({script}) }} catch {{ return false }} }})()"):
                    return
            time.sleep(0.05)
        raise Failed(f"{what}: not within {seconds} s; the page says {self.evaluate('document.body.innerText')[:2000]!r}")

    def click(self, selector):
        """Clicks into the middle of an element with the mouse, as a person does."""
        place = self.evaluate(
            f"(() => {{ const element = document.querySelector({json.dumps(selector)}); element.scrollIntoView({{ block: 'center' }});"
            " const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] })()")
        for kind in "mouseMoved", "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="none" if kind == "mouseMoved" else "left",
                      clickCount=0 if kind == "mouseMoved" else 1)

    def focus(self, selector):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, code=None, text=None):
        code = code or key
        number = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}.get(key, 0)
        extra = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, windowsVirtualKeyCode=number, **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code, windowsVirtualKeyCode=number)

    def enter(self):
        self.press("Enter", text="\r")

    def screenshot(self, path, whole=True):
        """Takes a picture of the whole page, or only of the visible part."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))


class Chromium:
    def __init__(self, program):
        self.home = tempfile.mkdtemp(prefix="martlet-chromium.")
        commands, self.to = os.pipe()
        self.come, answers = os.pipe()
        # Chromium reads commands from descriptor 3 and writes replies to descriptor 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "chromium", program,
             "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--no-proxy-server",
             # The page is our own, and root may not use the sandbox.
             *(["--no-sandbox"] if os.geteuid() == 0 else []),
             f"--user-data-dir={self.home}", "about:blank"],
            pass_fds=(commands, answers), start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.last, self.rest, self.pages = 0, b"", {}

    def page(self, beside=None, is_kept=False):
        """Opens a tab with its own cookies and storage, or with those of the page `beside`. If `is_kept`, these are in the profile,
        as those of a window that is not private."""
        context = beside.context if beside else None if is_kept else self.call("Target.createBrowserContext")["browserContextId"]
        place = {"browserContextId": context} if context else {}
        return self.attach(self.call("Target.createTarget", {"url": "about:blank", **place})["targetId"], context)

    def opened_page(self, before, seconds=SECONDS):
        """Waits for the tab that a page has opened, and returns it. `before` is what `targets` was before."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for target, context in self.targets().items():
                if target not in before:
                    return self.attach(target, context)
            time.sleep(0.05)
        raise Failed(f"no page was opened within {seconds} s")

    def targets(self):
        """The ids of all tabs, and their contexts."""
        return {info["targetId"]: info.get("browserContextId") for info in self.call("Target.getTargets")["targetInfos"] if info["type"] == "page"}

    def attach(self, target, context):
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.pages[session] = Page(self, session, context, target)
        page.listen()
        return page

    def call(self, method, params=None, session=None):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.receive(deadline, method)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]
            page = self.pages.get(answer.get("sessionId"))
            if page and "method" in answer:
                page.take(answer["method"], answer["params"])

    def receive(self, deadline, what):
        while b"\0" not in self.rest:
            readable, _, _ = select.select([self.come], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.come, 1 << 20) if readable else b""
            if not piece:
                raise Failed(f"chromium does not answer {what}")
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def close(self):
        """Ends the browser as its user does, so that it writes its profile to `home`. `end` must follow."""
        self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # Its child processes may live a moment longer and write to its home directory.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.home, ignore_errors=True)
