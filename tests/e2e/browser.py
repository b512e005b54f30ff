# SPDX-License-Identifier: MIT
"""A headless Chromium, driven through its DevTools protocol over a pipe.

Browser() is one process; browser.page() is a window with cookies of its own. What the pages' policy
forbade and what threw is in page.complaints, the browser's own questions are in page.dialogs. Names of other hosts are not resolved.
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from conftest import PATIENCE

FLAGS = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--hide-scrollbars",
         # No process is started for a page that nobody opens: a quarter of what a page costs.
         "--disable-features=SpareRendererForSitePerProcess,OptimizationHints,MediaRouter,Translate",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
ANSWER_SECONDS = 60  # its first start on a busy machine
STOPPED = ("context was destroyed", "Cannot find", "navigated or closed")
REST_MS = 60  # what is to be clicked stays where it is for so long
NOT_THERE = ("of null (reading", "of undefined (reading")


class Moved(Exception):
    """The page went elsewhere meanwhile."""


class NotThere(AssertionError):
    """An expression reached into what the page does not have, or not yet: a new page begins without
    a body."""


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="gatehouse-browser-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self.folder}/profile"]
        if os.getuid() == 0:
            flags.append("--no-sandbox")
        # Chromium reads commands from 3 and writes to 4; a shell puts the pipes there.
        script = f'exec chromium "$@" 3<&{to_browser} 4>&{from_browser}'
        with open(os.path.join(self.folder, "output.txt"), "wb") as out:
            self.process = subprocess.Popen(
                ["bash", "-c", script, "chromium", *flags], stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, pass_fds=(to_browser, from_browser),
                env=dict(os.environ, HOME=self.folder), start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.received = b""
        self.number = 0
        self.answers = {}
        self.pages = {}
        self.call("Browser.getVersion")

    def stop(self):
        os.close(self.output)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.input)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        return self.number

    def call(self, method, session=None, **parameters):
        number = self.send(method, session, **parameters)
        end = time.monotonic() + ANSWER_SECONDS
        while number not in self.answers:
            self.receive(end - time.monotonic())
        answer = self.answers.pop(number)
        if "error" in answer:
            message = answer["error"]["message"]
            raise (Moved if any(s in message for s in STOPPED) else AssertionError)(
                f"{method}: {message}")
        return answer["result"]

    def receive(self, seconds):
        ready, _, _ = select.select([self.input], [], [], max(seconds, 0))
        part = os.read(self.input, 1 << 20) if ready else b""
        assert part, f"no word from the browser: {self.folder}"
        *messages, self.received = (self.received + part).split(b"\0")
        for message in map(json.loads, messages):
            page = self.pages.get(message.get("sessionId"))
            if "id" in message:
                self.answers[message["id"]] = message
            elif page is not None:
                page.on_event(message["method"], message["params"])

    def page(self, width=1280, height=800):
        return Page(self, width, height)


class Page:
    def __init__(self, browser, width, height):
        self.browser, self.stubs, self.complaints = browser, [], []
        self.dialogs = []  # of the browser's own, all of which are said yes to
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank",
                              browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def close(self):
        del self.browser.pages[self.session]
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def forget(self):
        """Nobody is signed in any more: for tests that take turns in one window, which costs half of
        what a new one does."""
        self.open("about:blank")
        self.until("location.href === 'about:blank'")
        self.browser.call("Storage.clearCookies", browserContextId=self.context)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def on_event(self, method, parameters):
        if method == "Log.entryAdded" and parameters["entry"]["source"] != "network":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        elif method == "Fetch.requestPaused":
            self.answer_stub(parameters)
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["type"])
            self.browser.send("Page.handleJavaScriptDialog", self.session, accept=True)

    # Stubs -----------------------------------------------------------------------------------

    def stub(self, part, answer):
        """Requests whose address has 'part' are answered by answer(request): status, JSON, and
        headers where there are some."""
        self.stubs.append((part, answer))
        self.call("Fetch.enable", patterns=[{"urlPattern": f"*{part}*"} for part, _ in self.stubs])

    def answer_stub(self, paused):
        answer = next(a for part, a in self.stubs if part in paused["request"]["url"])
        status, value, *headers = answer(paused["request"])
        all_headers = {"Content-Type": "application/json", **(headers[0] if headers else {})}
        self.browser.send(
            "Fetch.fulfillRequest", self.session, requestId=paused["requestId"],
            responseCode=status, body=base64.b64encode(json.dumps(value).encode()).decode(),
            responseHeaders=[{"name": k, "value": v} for k, v in all_headers.items()])

    # What a person does, and sees ------------------------------------------------------------

    def open(self, url):
        self.call("Page.navigate", url=url)

    def run(self, expression):
        """The value of an expression in the page; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        fault = result.get("exceptionDetails")
        if fault and any(words in json.dumps(fault) for words in NOT_THERE):
            raise NotThere(fault)
        assert fault is None, fault
        return result["result"].get("value")

    def until(self, expression, seconds=PATIENCE):
        """Waits until the expression is true, over whatever pages come meanwhile."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.run(expression)
            except (Moved, NotThere):
                value = None
            if value:
                return value
            assert time.monotonic() < end, (expression, self.run("location.href"), self.text(),
                                            self.complaints)
            time.sleep(0.02)

    def until_shown(self, selector):
        self.until(f"document.querySelector({json.dumps(selector)})?.checkVisibility()")

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText")

    def fill(self, selector, text):
        """A dialog that opens takes the focus a moment later: what went elsewhere is typed again."""
        self.until_shown(selector)
        value = f"document.querySelector({json.dumps(selector)}).value"
        for _ in range(3):
            before = self.run(value)
            self.run(f"document.querySelector({json.dumps(selector)}).select()")
            self.call("Input.insertText", text=text)
            if before == text or self.run(value) != before:
                return

    def click(self, selector):
        """Once, in the middle of it, when it has rested for REST_MS and nothing else lies over it. A
        page that moves it away in that very moment would have a person click on something else: that
        is a fault."""
        element = json.dumps(selector)
        at = self.until(
            f"(() => {{ const e = document.querySelector({element});"
            "if (!e?.checkVisibility()) return null; e.scrollIntoView({block: 'center'});"
            "const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;"
            "if (e.wasAt !== `${x} ${y}`) { e.wasAt = `${x} ${y}`; e.since = performance.now(); }"
            "const hit = document.elementFromPoint(x, y);"
            "const isFree = hit && (hit.contains(e) || e.parentElement.contains(hit));"
            f"if (!isFree || performance.now() - e.since < {REST_MS}) return null;"
            "window.clicked = null; document.addEventListener('pointerdown', (event) => {"
            " window.clicked = e.contains(event.target) || event.target.contains(e) || e.parentElement.contains(event.target)"
            " ? 'it' : event.target.outerHTML.slice(0, 200) }, {once: true, capture: true});"
            "return {x, y} })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
        try:
            clicked = self.run("window.clicked === null ? 'nothing' : window.clicked")
        except Moved:
            return
        assert clicked in ("it", None), f"{selector} moved away under the pointer, which met {clicked}"

    def press_enter(self):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
                      windowsVirtualKeyCode=13)
