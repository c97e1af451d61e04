"""The page of one sentence in a browser: cells, their values, and the steps through their splits."""

from collections.abc import Iterator

import pytest
from browser import Page, started_browser
from commandline import grammar_text, run
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.long
TOY = (
    "1 - S -> NP VP; 0.6 - NP -> Det N; 0.2 - NP -> NP PP; 0.2 - NP -> 'she'; 0.7 - VP -> V NP;"
    "0.3 - VP -> VP PP; 1 - PP -> P NP; 1 - Det -> 'the'; 0.5 - N -> 'dog'; 0.5 - N -> 'telescope';"
    "1 - V -> 'saw'; 1 - P -> 'with'"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("explain")
    (path / "toy.txt").write_text(grammar_text(TOY, terminals="words"))
    sentence = "she saw the dog with the telescope"
    assert run("explain -g", path / "toy.txt", sentence, "-o", path / "page.html").code == 0
    driver = started_browser()
    try:
        driver.get((path / "page.html").as_uri())
        yield Page(driver, path / "page.html")
    finally:
        driver.quit()


def test_a_cell_is_clicked_and_its_splits_stepped_through(page: Page) -> None:
    page.one("[data-span='1-7']").click()
    assert page.texts("#cell .values tbody tr") == ["VP 0.0315 0.2 1 0.0189 VP PP at 4"]
    assert page.texts("#which") == ["ways to build its labels: 2"]
    page.one("#later-way").click()
    assert page.texts("#cell tr.current th") == ["VP → VP PP"]
    assert page.texts("#cell tr.current .number") == ["0.3", "0.0189", "60%", "0.0189"]
    assert [one.get_attribute("data-span") for one in page.all("#cells .left, #cells .right")] == [
        "1-4",
        "4-7",
    ]
    page.one("#later-way").click()
    assert page.texts("#cell tr.current th") == ["VP → V NP"]
    assert page.texts("#cell tr.current .number")[-2:] == ["40%", "0.0126"]
    assert not page.one("#later-way").is_enabled()
    assert page.texts("[data-span='0-4'] .dead") == ["S"]
    assert page.messages() == []


def test_improbable_labels_are_folded(page: Page) -> None:
    rare = "{...cells[0].entries[0], label: 'X', posterior: '0.001', percent: '0.1'}"
    page.run(f"cells[0].entries.push({rare}); label(); choose(0)")
    assert page.texts("[data-span='0-1'] span") == ["1", "NP 100", "and 1 more"]
    assert page.texts("#cell summary") == ["labels below 1%: 1"]
    page.run("least.value = 0; least.dispatchEvent(new Event('input'))")
    assert page.texts("[data-span='0-1'] .label") == ["NP 100", "X 0.1"]
    assert page.texts("#cell summary") == []
    page.run("cells[0].entries.pop(); least.value = 1; label(); choose(0)")


def test_nothing_overflows_in_any_width_and_both_colours(page: Page) -> None:
    for width in (1600, 1280, 420):
        page.resize(width)
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    for scheme in ("light", "dark"):
        page.emulate(prefers_color_scheme=scheme)
        assert page.violations() == []


def test_words_are_stepped_through(page: Page) -> None:
    driver, path = page.driver, page._path.with_name("words.html")
    toy = page._path.with_name("toy.txt")
    assert run("explain --incremental -g", toy, "she saw the dog", "-o", path).code == 0
    driver.get(path.as_uri())
    assert page.texts(".step:not([hidden]) h2") == ["she"]
    page.one("#later").click()
    body = page.one("body")
    body.send_keys(Keys.ARROW_RIGHT)
    assert page.texts("[aria-current]") == ["the"]
    assert page.texts(".step:not([hidden]) h2") == ["the"]
    body.send_keys(Keys.END)
    assert not page.one("#later").is_enabled()
    body.send_keys(Keys.ARROW_LEFT)
    assert page.texts("[aria-current]") == ["dog"]
    page.one("[data-step='0']").click()
    assert page.texts("[aria-current]") == ["she"]
    for width in (1600, 420, 320):
        page.resize(width)
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    for scheme in ("light", "dark"):
        page.emulate(prefers_color_scheme=scheme)
        assert page.violations() == []
    assert page.messages() == []
