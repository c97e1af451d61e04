"""The documentation's site: what its search finds, typed in a browser."""

import contextlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browser import LIMIT, started_browser
from children import finished
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the site is, as make docs builds it: its search needs a server."""
    if importlib.util.find_spec("material") is None:
        missing = "no mkdocs: pip install '.[docs]'"
        if os.environ.get("MBRPARSE_REQUIRE_BROWSER"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("site")
    with contextlib.chdir(ROOT):
        environment = {"NO_MKDOCS_2_WARNING": "1"}
        words = ("-m", "mkdocs", "build", "--strict", "--site-dir", str(folder))
        built = finished(sys.executable, *words, environment=environment)
    assert built.returncode == 0, built

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    browser = started_browser()
    yield browser
    browser.quit()


@pytest.mark.parametrize("word", ["grid", "tokenize", "untokenized", "flurble"])
def test_what_is_typed_is_found(driver: webdriver.Chrome, address: str, word: str) -> None:
    driver.get(address)
    driver.find_element(By.CSS_SELECTOR, "label.md-header__button[for=__search]")
    driver.execute_script("document.querySelector('#__search').click()")
    driver.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys(word)

    def found(_: webdriver.Chrome) -> str | bool:
        said = driver.find_element(By.CSS_SELECTOR, ".md-search-result__meta").text
        return said if "matching" in said else False

    said = WebDriverWait(driver, LIMIT).until(found)
    pages = [
        str(link.get_attribute("href"))
        for link in driver.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
    ]
    assert (said == "No matching documents") == (word == "flurble") == (not pages)
    for page in pages[:1]:
        driver.get(page)
        assert word[:5] in driver.find_element(By.CSS_SELECTOR, "article").text.lower()
