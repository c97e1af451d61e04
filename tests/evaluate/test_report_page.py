"""The page in a real browser: what it says, where its figures lead, and who can read it."""

import base64
import contextlib
import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Page, started_browser
from commandline import run
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

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
TO = "\N{EN DASH}"
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


@pytest.fixture(scope="session")
def long(flights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of sentences of up to 60 words and more: those of flights, one to six of them as one."""
    folder = tmp_path_factory.mktemp("long")
    for name in FILES.split():
        lines = (flights / name).read_text("utf-8").splitlines()
        joined: list[str] = []
        while lines:
            count = len(joined) % 6 + 1
            joined.append(f"(S {' '.join(lines[:count])})\n" if count > 1 else f"{lines[0]}\n")
            del lines[:count]
        (folder / name).write_text("".join(joined), "utf-8")
    with contextlib.chdir(folder):
        assert run(f"report {FILES} --form original --resamples 10 -o report.html").code == 0
    return folder / "report.html"


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


def test_nothing_is_complained_of(page: Page) -> None:
    for state in ("", "#view=sentences", "#view=sentence&sentence=7", "#view=sentence&sentence=7000"):
        page.open(state)
        assert page.messages() == [], state


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
        ("#by-width tbody a", "in constituents of 2 words"),
        ("#by-depth tbody tr:nth-child(2) a", "in constituents at depth 1"),
        ("#by-attachment tbody a", "with errors of labelled-tree of attachment (PP below "),
        ("#confusions-0 tbody a", "is taken for"),
        (".forest tbody tr:nth-child(4) a", "differs from labelled-tree"),
        (".calibration tbody a", "whose expected precision lies between"),
    ],
)
def test_each_figure_leads_to_its_sentences(page: Page, figure: str, said: str) -> None:
    page.open()
    page.click(figure)
    assert said in page.one("#listed").text
    assert page.all("#list tbody tr")


def test_a_confusion_lists_as_many_as_it_says(page: Page) -> None:
    page.open()
    times = int(page.one("#confusions-0 tbody a").text)
    page.click("#confusions-0 tbody a")
    counts = [text.rstrip("\N{MULTIPLICATION SIGN}") for text in page.texts("#list tbody td:nth-child(4)")]
    assert sum(map(int, counts)) == times


def test_filters_narrow_the_list_and_stand_in_the_address(page: Page) -> None:
    page.open("#view=sentences")
    everything = page.one("#listed").text
    assert everything.startswith("60 sentences")
    page.one("input[name=text]").send_keys("BOSTON")
    page.wait(lambda: page.one("#listed").text != everything)
    page.settled()
    assert all("boston" in text.lower() for text in page.texts("#list .words a"))
    Select(page.one("select[name=wins]")).select_by_value("equal")
    page.settled()
    page.one("input[name=max]").send_keys("9")
    page.settled()
    shown, address = page.texts("#list .words a"), page.driver.current_url
    assert all(len(text.split()) <= 9 for text in shown)
    assert "text=BOSTON" in address
    assert "max=9" in address
    page.driver.get("about:blank")
    page.driver.get(address)
    page.settled()
    assert page.texts("#list .words a") == shown
    assert page.one("input[name=text]").get_attribute("value") == "BOSTON"
    page.one("#filters button[type=reset]").click()
    page.wait(lambda: page.one("#listed").text == everything)


@pytest.mark.parametrize("name", ["report.html", "page/index.html"])
def test_a_place_in_the_corpus_finds_its_sentence(driver: webdriver.Chrome, flights: Path, name: str) -> None:
    source, line, _ = (flights / "test.mrg.places").read_text().splitlines()[17].split("\t")
    page = Page(driver, flights / name)
    page.open(f"#view=sentences&text={source}%3A{line}")
    assert page.texts("#list tbody td:first-child") == ["17"]
    page.click("#list .words a")
    assert page.texts("#sentence .place") == [f"embedded:flights:{line}"]


def test_the_list_is_saved_as_csv(page: Page, flights: Path, tmp_path: Path) -> None:
    """What the filters leave, all of it, with the counts that evaluate has."""
    with contextlib.chdir(flights):
        assert run(f"evaluate {FILES} --details d --all --per-sentence", tmp_path / "counts.csv").code == 0
    with (tmp_path / "counts.csv").open(newline="", encoding="utf-8") as stream:
        counts = {(row["name"], row["sentence"]): row for row in csv.DictReader(stream)}
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.driver.execute_cdp_cmd("Page.setDownloadBehavior", folder)
    page.open("#view=sentences&max=9&sort=order")
    page.one("#save").click()
    page.wait((tmp_path / "sentences.csv").exists)
    with (tmp_path / "sentences.csv").open(newline="", encoding="utf-8") as stream:
        saved = list(csv.DictReader(stream))
    assert [row["words"] for row in saved] == page.texts("#list .words a")
    assert 0 < len(saved) < 60
    assert [row["place"].rpartition(":")[0] for row in saved] == ["embedded:flights"] * len(saved)
    for row in saved:
        assert int(row["length"]) == len(row["words"].split()) <= 9
        for name in PARSES:
            counted = counts[name, row["sentence"]]
            above, below = row[f"{name} labelled_recall"], row[f"{name} labelled_recall of"]
            assert [above, below] == [counted["labelled"], counted["gold"]]


def test_who_wins(page: Page) -> None:
    page.open("#view=sentences&wins=bracketed-recall&criterion=bracketed_recall")
    for row in page.all("#list tbody tr"):
        *_, one, other, best = [cell.text.split(" (")[0] for cell in row.find_elements(By.TAG_NAME, "td")]
        matched = [int(text.split(" of ")[0]) for text in (one, other, best)]
        assert matched[2] > max(matched[:2])


def test_by_keyboard_alone(page: Page) -> None:
    page.open()

    def press(*keys: str) -> None:
        ActionChains(page.driver).send_keys(*keys).perform()

    def focused() -> str:
        return str(page.run("return document.activeElement.outerHTML.slice(0, 200)"))

    for _ in range(40):
        press(Keys.TAB)
        if page.run("return 'rate' in document.activeElement.parentElement.dataset"):
            break
    assert page.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press(Keys.ENTER)
    page.settled()
    assert "sentences-heading" in focused()
    for _ in range(30):
        press(Keys.TAB)
        if "view=sentence&amp;" in focused():
            break
    press(Keys.ENTER)
    page.settled()
    assert "sentence-heading" in focused()
    for _ in range(40):
        press(Keys.TAB)
        if "Chart of posteriors" in focused():
            break
    readout = page.one(".readout")
    whole = readout.text
    words = page.one("article .text").text.split()
    assert f"(0{TO}{len(words)})" in whole
    press(Keys.ARROW_LEFT)
    assert f"(0{TO}{len(words) - 1})" in readout.text
    press(Keys.ARROW_DOWN)
    assert f"(1{TO}{len(words) - 1})" in readout.text
    assert readout.text.startswith(" ".join(words[1:-1]))


def test_the_chart_says_the_file_s_posteriors(page: Page, flights: Path) -> None:
    listed = run("posteriors --line 3 --format tsv --posteriors", flights / "p.npz").output.splitlines()[1:]
    page.open("#view=sentence&sentence=3")
    length = len(page.one("article .text").text.split())
    roots = [line.split("\t") for line in listed if line.startswith(f"0\t{length}\t")]
    root = max(roots, key=lambda row: float(row[3]))
    page.run("document.querySelector('.cells').focus()")
    assert f"{root[2]} {float(root[3]):.2f}" in page.one(".readout").text


@pytest.mark.parametrize(("scheme", "width"), [("light", 400), ("light", 1000), ("dark", 1600)])
@pytest.mark.parametrize("state", ["", "#view=sentences", "#view=sentence&sentence=7"])
def test_axe_finds_nothing_serious(page: Page, state: str, scheme: str, width: int) -> None:
    page.resize(width)
    page.emulate(prefers_color_scheme=scheme)
    page.open(state)
    page.run("for (const details of document.querySelectorAll('details')) details.open = true")
    assert page.violations() == []


def test_dark_is_dark(page: Page) -> None:
    page.open()
    colours = "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    light = page.run(colours)
    page.emulate(prefers_color_scheme="dark")
    assert page.run(colours) != light
    page.emulate()


@pytest.mark.parametrize("width", [400, 640, 1600])
def test_nothing_is_wider_than_the_window(page: Page, width: int) -> None:
    """640 pixels are a window of 1280 at 200%; what must be wide scrolls in a frame of its own."""
    page.resize(width)
    for state in ("", "#view=sentences", "#view=sentence&sentence=7"):
        page.open(state)
        assert page.run("return document.documentElement.scrollWidth") <= width, state


#: How many trees there are, are wider than their frame, have folded constituents, are brackets.
TREES = """
const frames = [...document.querySelectorAll("article .tree")];
const wider = (one) => one.scrollWidth > one.clientWidth;
const wide = frames.filter((frame) => [frame, ...frame.querySelectorAll(".scroll")].some(wider));
const having = (what) => frames.filter((frame) => frame.querySelector(what));
return [frames, wide, having(".fold"), having(".brackets")].map((some) => some.length);
"""


@pytest.mark.parametrize("width", [640, 1280])
def test_trees_are_folded_to_the_page(driver: webdriver.Chrome, long: Path, width: int) -> None:
    page = Page(driver, long)
    page.resize(width)
    sums = {}
    for form in ("", "&form=tree"):
        found = []
        for sentence in range(1, 19):
            page.open(f"#view=sentence&sentence={sentence}{form}")
            found.append(page.run(TREES))
            assert page.run("return document.documentElement.scrollWidth") <= width
        sums[form] = [sum(column) for column in zip(*found, strict=True)]
    trees, wide, folded, brackets = sums[""]
    assert wide == 0
    assert folded > 10
    assert 2 * brackets < trees
    # Drawn whole, as many as that are wider, and scroll.
    assert sums["&form=tree"][1] >= folded + brackets
    assert sums["&form=tree"][2:] == [0, 0]


def test_a_folded_constituent_opens(driver: webdriver.Chrome, long: Path) -> None:
    page = Page(driver, long)
    page.resize(1280)
    for sentence in range(1, 19):
        page.open(f"#view=sentence&sentence={sentence}")
        if page.all("article .fold"):
            break
    words = page.one("article .text").text.split()
    tree = page.one("article .tree:has(.fold)")

    def drawn() -> list[str]:
        """The words in sight, those of folded constituents left out."""
        shown = "return [...arguments[0].querySelectorAll('svg > text:not([class])')]"
        return [text for text in page.run(f"{shown}.map((one) => one.textContent)", tree) if text in words]

    folded = page.one("article .fold")
    label = folded.get_attribute("aria-label")
    first, _, last = label.partition("folded: ")[2].partition(";")[0].partition(" … ")
    assert first in words
    assert last in words
    before = drawn()
    assert len(before) < len(words)
    assert page.violations() == []
    page.run("arguments[0].focus()", folded)
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    assert len(drawn()) > len(before)
    opened = "const here = document.activeElement; return [here.getAttribute('class'), here.ariaExpanded]"
    assert page.run(opened) == ["fold", "true"]
    ActionChains(driver).send_keys(Keys.SPACE).perform()
    assert drawn() == before
    page.one("article .fold text").click()
    assert len(drawn()) > len(before)
    # In a window of another width all is fitted anew.
    page.resize(900)
    page.wait(lambda: page.run(TREES)[1] == 0)
    assert page.messages() == []


def test_it_prints(page: Page) -> None:
    page.open()
    printed = page.driver.execute_cdp_cmd("Page.printToPDF", {})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not page.all("nav")[0].is_displayed()
    assert page.one("#results").is_displayed()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


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


def test_words_from_right_to_left(driver: webdriver.Chrome, odd: Path) -> None:
    page = Page(driver, odd / "report.html")
    page.resize(1200)
    page.open("#view=sentence&sentence=2&form=tree")
    assert page.run("return getComputedStyle(document.querySelector('article .text')).direction") == "rtl"
    places = {element.text: element.rect["x"] for element in page.all("article .tree:first-of-type svg text")}
    assert places["הכלב"] > places["הגדול"] > places["ראה"]
    page.open("#view=sentence&sentence=1&form=tree")
    places = {element.text: element.rect["x"] for element in page.all("article .tree svg text")}
    assert places["the"] < places["dog"] < places["saw"]
    page.open("#view=sentence&sentence=3")
    assert page.one("article .text").text == "我们 喜欢 小 猫"
    assert "No parse." in page.one("article").text


def test_what_is_wrong_is_named(driver: webdriver.Chrome, odd: Path) -> None:
    page = Page(driver, odd / "report.html")
    page.open("#view=sentence&sentence=1&form=tree")
    gold, parse = page.texts("article .tree")
    assert "missed" in gold
    assert "crosses gold" in parse
    assert f"NP over saw a (2{TO}4): crosses a constituent of the gold" in parse
    page.open("#view=sentence&sentence=2&form=brackets")
    assert "gold: <script>" in page.texts("article .tree")[1]


def test_a_folder_opens_from_its_index(driver: webdriver.Chrome, flights: Path) -> None:
    assert (flights / "page" / "data" / "chunk-0.js").exists()
    page = Page(driver, flights / "page" / "index.html")
    page.open("#view=sentences&text=boston")
    assert page.all("#list tbody tr")
    page.click("#list tbody a")
    assert page.one("article .tree")
    assert page.messages() == []


def test_two_thousand_sentences(driver: webdriver.Chrome, flights: Path, folder: Path) -> None:
    """They open and can be listed; how quickly, benchmarks/report_page.py measures."""
    for name in FILES.split():
        Path(name).write_text((flights / name).read_text("utf-8") * 34, "utf-8")
    assert run(f"report {FILES} --resamples 100 -o report.html").code == 0
    assert Path("report.html").stat().st_size < 2_000_000
    page = Page(driver, folder / "report.html")
    page.open("#view=sentences")
    assert page.one("#listed").text.startswith("2,040 sentences")
    assert len(page.all("#list tbody tr")) == 50
    page.one("#more-sentences").click()
    assert len(page.all("#list tbody tr")) == 100
    page.open("#view=sentence&sentence=2040")
    assert page.one("article .tree")
