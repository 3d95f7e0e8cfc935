# SPDX-License-Identifier: ISC
"""Chromium without a window, driven by chromium-driver over the WebDriver protocol."""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from patience import PATIENCE

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Shift": "\ue008", "Enter": "\ue007", "Home": "\ue011", "End": "\ue010", "Left": "\ue012",
        "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Space": " "}


class Browser:
    """A session. urllib talks to the driver directly: a proxy of the environment is of no use here."""

    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._session = None

    def ask(self, method, path, body=None):
        """The driver's answer. An error of the driver becomes an AssertionError with its text."""
        words = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, words, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with self._opener.open(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode(errors='replace')}") from error

    def start(self, profile, scripts=True):
        """Opens a window. scripts=False is a browser whose user has switched JavaScript off."""
        preferences = {} if scripts else {"profile.managed_default_content_settings.javascript": 2}
        words = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--no-default-browser-check",
                 "--password-store=basic", f"--user-data-dir={profile}", "--window-size=1280,1000",
                 "--proxy-server=direct://"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")
        options = {"args": words, "prefs": preferences, "binary": shutil.which("chromium")}
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self._session = f"/session/{made['sessionId']}"

    def call(self, method, path, body=None):
        """A command of this session."""
        return self.ask(method, self._session + path, body)

    def close(self):
        """Ends the browser."""
        if self._session:
            self.call("DELETE", "")

    def open(self, url):
        """Loads a page, and waits until it is loaded.

        On a busy machine the driver may answer while the page before, about:blank, is still there.
        """
        self.call("POST", "/url", {"url": url})
        deadline, wanted = time.monotonic() + PATIENCE, f"complete {url.split('#')[0]}"
        while self.run("return document.readyState + ' ' + location.href.split('#')[0]") != wanted:
            if time.monotonic() > deadline:
                raise AssertionError(f"{url} is not loaded after {PATIENCE} s")
            time.sleep(0.02)

    def run(self, script, *args):
        """The value of a function's body in the page."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def devtools(self, command, **params):
        """A command of Chromium's own protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def press(self, *keys):
        """Presses keys one after the other. "Shift+Tab" holds the first."""
        for key in keys:
            names = [KEYS.get(name, name) for name in (key.split("+") if len(key) > 1 else [key])]
            actions = [{"type": "keyDown", "value": name} for name in names]
            actions += [{"type": "keyUp", "value": name} for name in reversed(names)]
            self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type(self, text):
        """Types a text into what has the focus."""
        self.press(*text)

    def log(self, kind="browser"):
        """What the browser logged since the last call."""
        return self.call("POST", "/se/log", {"type": kind})

    def screenshot(self, file, whole=False):
        """Writes a PNG of the window, or of the whole page."""
        words = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
            words["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
        file.write_bytes(base64.b64decode(self.devtools("Page.captureScreenshot", format="png", **words)["data"]))

    def pdf(self, file, **words):
        """Prints the page."""
        made = self.devtools("Page.printToPDF", preferCSSPageSize=False, paperWidth=8.27, paperHeight=11.69, **words)
        file.write_bytes(base64.b64decode(made["data"]))

    def emulate(self, **features):
        """Sets media features: prefers_color_scheme="dark"."""
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def resize(self, width, height):
        """The size of the viewport."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=False)

    def wait(self, script, *args):
        """Waits until the function's body in the page returns something true, and returns that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = self.run(script, *args)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"The page never came to this: {script}")


@contextlib.contextmanager
def browser(scripts=True):
    """A browser with a profile of its own."""
    for program in ("chromium", "chromedriver"):
        assert shutil.which(program), f"{program} is missing. Type scripts/deps fleet"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="keyveto-browser-", ignore_cleanup_errors=True) as folder:
        surroundings = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"}
        with subprocess.Popen(["chromedriver", f"--port={port}", "--silent"], env=surroundings,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
            made = Browser(port)
            try:
                _answers(made, driver)
                made.start(f"{folder}/profile", scripts)
                yield made
            finally:
                with contextlib.suppress(AssertionError, OSError):
                    made.close()
                driver.terminate()


def _answers(made, driver):
    """Waits until the driver answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and driver.poll() is None:
        with contextlib.suppress(OSError):
            if made.ask("GET", "/status")["ready"]:
                return
        time.sleep(0.05)
    raise AssertionError("chromedriver does not answer")
