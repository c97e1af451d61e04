"""Debian's Chromium, driven through Selenium: what the tests of pages share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

#: Seconds that anything on a page may take on a busy machine: generous.
LIMIT = 60


def started_browser() -> webdriver.Chrome:
    """A headless browser; without one the test is skipped, or fails where MBRPARSE_REQUIRE_BROWSER is set."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        missing = "no browser: apt-get install chromium chromium-driver"
        if os.environ.get("MBRPARSE_REQUIRE_BROWSER"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    # As root, and with little shared memory, as in a container; no network.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Page:
    """A page in the browser."""

    def __init__(self, driver: webdriver.Chrome, path: Path) -> None:
        self.driver = driver
        self._path = path

    def open(self, state: str = "") -> None:
        """Open the page anew, with what is behind # in its address, and wait until it is shown."""
        self.driver.get("about:blank")
        self.driver.get(f"{self._path.as_uri()}{state}")
        self.settled()

    def settled(self) -> None:
        """Wait until what the address says is shown."""
        script = "return document.documentElement.dataset.shown === location.hash"
        WebDriverWait(self.driver, LIMIT, poll_frequency=0.05).until(
            lambda driver: driver.execute_script(script)
        )

    def wait(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        WebDriverWait(self.driver, LIMIT, poll_frequency=0.05).until(lambda _: condition())

    def one(self, selector: str) -> Any:
        """The first element that is visible."""
        return next(element for element in self.all(selector) if element.is_displayed())

    def all(self, selector: str) -> list[Any]:
        """All elements, hidden ones too."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        """Click on the first visible one, and wait until the page has changed."""
        element = self.one(selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        self.settled()

    def texts(self, selector: str) -> list[str]:
        """The texts of all visible elements."""
        return [element.text for element in self.all(selector) if element.is_displayed()]

    def run(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def messages(self) -> list[str]:
        """What the browser has complained of since it was asked last."""
        found = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in found]

    def emulate(self, **features: str) -> None:
        """Say what the reader prefers, such as prefers_color_scheme="dark"."""
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})

    def resize(self, width: int, height: int = 900) -> None:
        """The window's size, in the page's pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def violations(self) -> list[str]:
        """What axe-core finds serious or critical on the page as it is shown."""
        found = find_spec("axe_playwright_python")  # which brings axe-core; Playwright itself is not used
        assert found is not None
        assert found.origin is not None
        self.run((Path(found.origin).parent / "axe.min.js").read_text("utf-8"))
        result = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then(done, (error) => done({error: String(error)}))"
        )
        assert "error" not in result, result
        return [
            f"{one['id']} ({one['impact']}): {one['nodes'][0]['html']}"
            for one in result["violations"]
            if one["impact"] in ("serious", "critical")
        ]
