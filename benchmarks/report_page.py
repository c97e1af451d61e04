"""How large pages are, and how soon they open in Chromium: ``python benchmarks/report_page.py PAGE...``.

Of each page: its bytes, and the milliseconds until its figures are there, until all sentences are listed, and
until one is drawn, each from a fresh start of the page; the best of ``--repetitions``. A folder's page is its
index.html, and its size that of all its files.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

SHOWN = "return document.documentElement.dataset.shown === location.hash"
VIEWS = {"figures": "", "list": "#view=sentences", "sentence": "#view=sentence&sentence=17"}


def main() -> None:
    """Measure, and print a line for each page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    print("page", "bytes", *VIEWS, sep="\t")
    for page in given.pages:
        path = page / "index.html" if page.is_dir() else page
        files = page.rglob("*") if page.is_dir() else [page]
        size = sum(file.stat().st_size for file in files if file.is_file())
        times = [min(opened(path, view) for _ in range(given.repetitions)) for view in VIEWS.values()]
        print(page, size, *(f"{1000 * seconds:.0f}" for seconds in times), sep="\t")


def opened(page: Path, view: str) -> float:
    """Seconds from asking for a view to its being shown, in a browser of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    try:
        start = time.perf_counter()
        driver.get(f"{page.resolve().as_uri()}{view}")
        WebDriverWait(driver, 60, poll_frequency=0.01).until(lambda one: one.execute_script(SHOWN))
        return time.perf_counter() - start
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
