"""The page in a real browser: what it says, where its figures lead, and who can read it."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page, started_browser
from commandline import run
from selenium import webdriver
from selenium.webdriver.common.by import By

# Words in Hebrew and Chinese, and labels that mean something in HTML, in scripts and in addresses.
ODD_GOLD = """\
(S (NP (DT the) (NN dog)) (VP (VB saw) (NP (DT a) (NN cat))))
(S (<script> (D הכלב) (N הגדול)) (VP (V ראה) (N חתול)))
(S (NP (PN 我们)) (VP (V 喜欢) ("&x (A 小) (N 猫))))
(S (A'b (X <b>bold</b>) (Y &amp;)) (%20 (Z "q") (W </script>)))
"""
ODD_PARSE = """\
(S (NP (DT the) (NN dog)) (VP (NP (VB saw) (DT a)) (NN cat)))
(S (NP (D הכלב) (N הגדול)) (VP (V ראה) (N חתול)))
(())
(S (X (X <b>bold</b>) (Y &amp;)) (%20 (Z "q") (W </script>)))
"""
pytestmark = pytest.mark.long
PARSES = ("labelled-tree", "labelled-recall", "bracketed-recall")
FILES = " ".join(f"{name}.mrg" for name in ("test", *PARSES))


@pytest.fixture(scope="session")
def driver() -> Iterator[webdriver.Chrome]:
    browser = started_browser()
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with parses of flights for three objectives, details, posteriors and a page of them."""
    folder = tmp_path_factory.mktemp("flights")
    objectives = " ".join(f"--objective {name}" for name in PARSES)
    with contextlib.chdir(folder):
        for line in (
            "binarize embedded:flights -o all",
            "split all --test-last 60 --train-output train --test-output test.mrg",
            "train train -o g",
            f"parse -g g test.mrg {objectives} -o {{objective}}.mrg --details d --write-posteriors p.npz",
            f"report {FILES} --details d --posteriors p.npz -o report.html --all",
            f"report {FILES} -o page",
        ):
            assert run(line).code == 0
    return folder


@pytest.fixture
def page(driver: webdriver.Chrome, flights: Path) -> Page:
    found = Page(driver, flights / "report.html")
    found.resize(1200)
    found.emulate()
    return found


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "gold.mrg").write_text(ODD_GOLD, "utf-8")
    (folder / "<i>one<i>.mrg").write_text(ODD_PARSE, "utf-8")
    about = ["--title", "</title><script>alert(1)</script>", "--about", "corpus=<b>עברית</b>"]
    with contextlib.chdir(folder):
        assert run("report gold.mrg <i>one<i>.mrg --form original -o report.html", *about).code == 0
    return folder


def test_the_table_is_that_of_evaluate(page: Page, flights: Path) -> None:
    with contextlib.chdir(flights):
        table = json.loads(run(f"evaluate {FILES} --details d --all --format json").output)
    page.open()
    assert json.loads(page.all("#table-json")[0].get_attribute("textContent")) == table
    rows = page.all("#results tbody tr")
    assert len(rows) == len(table["rows"])
    for shown, row in zip(rows, table["rows"], strict=True):
        assert shown.find_element(By.TAG_NAME, "th").text == row["name"]
        rates = [*row["rates"].values(), row["coverage"], row["fell_back"]]
        figures = shown.find_elements(By.CSS_SELECTOR, "td.number")
        assert [float(figure.get_attribute("data-rate")) for figure in figures] == rates
        links = shown.find_elements(By.CSS_SELECTOR, "td.number a")
        assert [link.text for link in links] == [f"{100 * rate:.2f}" for rate in rates]
    beaten = {row["name"]: row["criteria"] for row in table["significance"]["rows"]}
    for shown in rows:
        criteria = beaten[shown.find_element(By.TAG_NAME, "th").text].values()
        marks = [mark.text for mark in shown.find_elements(By.CSS_SELECTOR, "td.number sup")]
        letters = {name: "abc"[place] for place, name in enumerate(PARSES)}
        expected = ["".join(letters[other] for other in one["beats"]) for one in criteria]
        assert marks[: len(expected)] == expected
    assert table["signature"] in page.one(".facts").text


def test_three_clicks_from_a_cell_to_a_tree(page: Page) -> None:
    page.open()
    page.click("#results tbody tr:nth-child(2) td:nth-child(4) a")  # labelled recall of labelled recall
    assert "labelled_recall" in page.driver.current_url
    assert "by what they cost in lab. recall of labelled-recall" in page.one("#listed").text
    costs = [int(text) for text in page.texts("#list tbody td:nth-child(4)")]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] > 0
    page.click("#list tbody a")
    assert "Gold" in page.texts("article h3")
    assert page.one("article .tree svg, article .brackets")
    page.click("article .steps a[rel=next]")
    assert "2 of" in page.one("article .steps").text
    page.driver.back()
    page.settled()
    assert "1 of" in page.one("article .steps").text


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ("#by-length tbody a", "sentences, by what they cost"),
        ("#by-label tbody a", "with errors of labelled-tree at"),
        ("#by-attachment tbody a", "with errors of labelled-tree of attachment (PP below "),
        ("#confusions-0 tbody a", "is taken for"),
        (".calibration tbody a", "whose expected precision lies between"),
    ],
)
def test_each_figure_leads_to_its_sentences(page: Page, figure: str, said: str) -> None:
    page.open()
    page.click(figure)
    assert said in page.one("#listed").text
    assert page.all("#list tbody tr")


@pytest.mark.parametrize(("scheme", "width"), [("light", 400), ("dark", 1600)])
def test_axe_finds_nothing_serious(page: Page, scheme: str, width: int) -> None:
    page.resize(width)
    page.emulate(prefers_color_scheme=scheme)
    for state in ("", "#view=sentences", "#view=sentence&sentence=7", "#view=sentence&sentence=7000"):
        page.open(state)
        page.run("for (const details of document.querySelectorAll('details')) details.open = true")
        assert (page.violations(), page.messages()) == ([], []), state


def test_labels_and_words_are_text(driver: webdriver.Chrome, odd: Path) -> None:
    page = Page(driver, odd / "report.html")
    for sentence in range(1, 5):
        page.open(f"#view=sentence&sentence={sentence}&form=tree")
        assert page.all("article b") == [] or page.all("article b b") == []
    page.open()
    assert page.driver.title == "</title><script>alert(1)</script>"
    assert page.one("h1").text == page.driver.title
    assert "<b>עברית</b>" in page.one(".facts").text
    assert "<i>one<i>" in page.texts("#results th")
    labels = page.texts("#by-label tbody th")
    assert {"<script>", '"&x', "A'b", "%20"} <= set(labels)
    for label in ("<script>", '"&x', "A'b"):
        page.open()
        row = labels.index(label) + 1
        page.click(f"#by-label tbody tr:nth-child({row}) a")
        assert label in page.one("#listed").text
        page.click("#list tbody a")
        assert label in "".join(page.texts("article .tree"))
    page.open("#view=sentences&label=constructor")
    assert page.one("#listed").text.startswith("0 sentences")
    page.open("#view=sentence&sentence=4&form=brackets")
    assert "<b>bold</b>" in page.one(".tree").text
    assert page.messages() == []
