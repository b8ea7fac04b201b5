"""The page in a real browser: search, stop, download, compare, refuse, by keyboard, narrow, in both themes.

Screenshots are kept in build/screenshots.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT
from serving import PATIENCE, served, visitor

from anycsp.cli import run
from anycsp.pictures.paint import color, ink_on

pytest.importorskip("fastapi")
webdriver = pytest.importorskip("selenium.webdriver")
By, Keys = pytest.importorskip("selenium.webdriver.common.by").By, webdriver.Keys
WebDriverWait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
StaleElementReferenceException = pytest.importorskip("selenium.common.exceptions").StaleElementReferenceException

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")),
        reason="no chromium and chromedriver here: make chromium installs them",
    ),
]
SCREENSHOTS = ROOT / "build" / "screenshots"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
Driver = Any


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """A folder with one training run in it, as far as the page looks at it."""
    run_folder = tmp_path_factory.mktemp("runs") / "sat"
    run_folder.mkdir()
    rows = [f"{10 * k},{0.5 * k},{30 - 2 * k},{20 - 1.5 * k}" for k in range(9)]
    (run_folder / "validation.csv").write_text("\n".join(["update,minutes,depth_20,depth_100", *rows]) + "\n")
    train = [f"{k},{0.05 * k},{k / (k + 9)}" for k in range(81)]
    (run_folder / "train.csv").write_text("\n".join(["update,minutes,return", *train]) + "\n")
    held = {"search": "default search", "name": "the default search", "seconds": 0.1, "instances": 8}
    (run_folder / "references.json").write_text(json.dumps([{**held, "unsatisfied": {"20": 14.0, "100": 14.0}}]))
    row = {"solved": 0.5, "seconds": 0.1, "quality": 1.5, "faster": "1.7 (1.2 to 2.4)", "best": True}
    (run_folder / "lesson.json").write_text(json.dumps({"rows": [{"name": "tuned", **row}]}))
    (run_folder / "config.toml").write_text('distribution = "coloring"\n')
    for suffix in (".safetensors", ".json"):
        shutil.copy(model.with_suffix(suffix), run_folder / f"best{suffix}")
    return run_folder.parent


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    with served("--upload", "1", "--runs", str(runs)) as where:
        yield where


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "--window-size=1200,1600"]:
        options.add_argument(flag)
    downloads = tmp_path_factory.mktemp("downloads")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.downloads = downloads
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(browser: Driver, address: str) -> Iterator[Driver]:
    """The page, freshly opened; what it complained of in its console fails the test."""
    browser.set_window_size(1200, 1600)
    browser.get(address)
    until(browser, lambda: browser.find_element(By.TAG_NAME, "body").get_attribute("data-ready"))
    browser.get_log("browser")
    yield browser
    complaints = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    refused = [entry for entry in complaints if "status of 4" in entry["message"]]  # those that a test asked for
    assert complaints == refused


def until(browser: Driver, what: Callable[[], Any]) -> Any:
    """The page may replace an element between finding and reading it: that is no answer yet."""
    waiting = WebDriverWait(browser, PATIENCE, 0.1, ignored_exceptions=[StaleElementReferenceException])
    return waiting.until(lambda _: what())


def shown(browser: Driver, selector: str) -> Any:
    return browser.find_element(By.CSS_SELECTOR, selector)


def pick(browser: Driver, example: str) -> None:
    shown(browser, f"[data-example={example}]").click()
    until(browser, lambda: shown(browser, "#start").is_enabled())


def choose(browser: Driver, row: str, key: str, value: str) -> None:
    field = shown(browser, f"#choices-{row} [data-key={key}]")
    if field.tag_name == "select":
        field.find_element(By.CSS_SELECTOR, f"option[value={value}]").click()
    else:
        field.clear()
        field.send_keys(value)


@contextmanager
def window(browser: Driver, width: int, height: int) -> Iterator[None]:
    """What a visitor sees at once is of this size."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    time.sleep(0.5)  # the page is laid out anew
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def top_and_bottom(browser: Driver, selector: str) -> tuple[float, float]:
    """Pixels from the top of the window."""
    box = browser.execute_script("return arguments[0].getBoundingClientRect()", shown(browser, selector))
    return box["top"], box["bottom"]


def header_heights(browser: Driver) -> set[int]:
    """Whatever there is to say of the queue."""
    script = """
        document.getElementById("queue").textContent = arguments[0];
        return document.querySelector("header").offsetHeight;
    """
    said = ("", "1 running, 0 waiting", "2 running, 15 waiting", "the server does not answer")
    return {browser.execute_script(script, text) for text in said}


def states(browser: Driver) -> list[str]:
    return [panel.get_attribute("data-state") for panel in browser.find_elements(By.CSS_SELECTOR, "#panels .panel")]


def improvements(browser: Driver) -> list[dict[str, str]]:
    """The table of the page, whether it is open or not."""
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#improvements tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    return [
        dict(zip(("search", "seconds", "step", "run", "violated", "objective", "by"), row, strict=True))
        for row in cells
    ]


def screenshot(browser: Driver, name: str) -> None:
    width = browser.execute_script("return window.innerWidth")
    height = browser.execute_script("return document.documentElement.scrollHeight")
    outer = browser.get_window_size()
    browser.set_window_size(width, height + 200)
    time.sleep(0.3)  # pictures are drawn anew
    browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
    browser.set_window_size(outer["width"], outer["height"])


def serious(browser: Driver) -> list[str]:
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    found = axe.run(browser)["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html']}" for v in found if v["impact"] in ("serious", "critical")]


def test_watch_the_curve_fall_stop_download_and_check(page: Driver, address: str) -> None:
    pick(page, "maxsat")
    choose(page, "a", "seconds", "60")
    shown(page, "#start").click()
    until(page, lambda: len(improvements(page)) > 2)
    until(page, lambda: "running" in shown(page, ".panel .state").text)
    screenshot(page, "running")
    drawn = page.execute_script("return document.querySelector('#curve path.series').getAttribute('d')")
    assert "V" in drawn, "a step down"
    shown(page, ".panel .bar button").click()  # Stop
    until(page, lambda: states(page) == ["stopped"])
    points = improvements(page)
    violated = [int(point["violated"]) for point in points if point["run"] == points[0]["run"]]
    assert violated == sorted(violated, reverse=True)
    assert violated[-1] < violated[0]
    for what in ("solution", "problem"):
        shown(page, f".get-{what}").click()
    answer, problem = page.downloads / "solution.json", page.downloads / "problem.json"
    until(page, lambda: answer.exists() and problem.exists())
    assert json.loads(answer.read_text())["status"] == "interrupted"
    assert run(["check", str(problem), str(answer)]) == 0


@pytest.mark.parametrize("leave", ["reload", "elsewhere"])
def test_a_search_ends_when_its_page_is_left(page: Driver, address: str, leave: str) -> None:
    pick(page, "maxsat")
    choose(page, "a", "seconds", "600")
    shown(page, "#start").click()
    until(page, lambda: "running" in shown(page, ".panel .state").text)
    page.refresh() if leave == "reload" else page.get("about:blank")
    with visitor(address) as client:
        until(page, lambda: client.get("/api/queue").json() == {"waiting": 0, "running": 0})


def test_compare_two_searches_and_replay_one(page: Driver) -> None:
    pick(page, "coloring")
    shown(page, "#compare").click()
    choose(page, "a", "search", "neural")
    choose(page, "b", "search", "local")
    for row in "ab":
        choose(page, row, "seconds", "4")
    shown(page, "#start").click()
    until(page, lambda: states(page) == ["done", "done"])
    names = [panel.text for panel in page.find_elements(By.CSS_SELECTOR, ".panel h3")]
    assert [name.partition(":")[0] for name in names] == ["First search", "Second search"]
    assert {point["search"] for point in improvements(page)} == set(names)
    finders = {point["by"] for point in improvements(page)}
    assert "network" in finders
    assert finders - {"network", "initial"}, "a local strategy"
    strokes = {path.get_attribute("stroke") for path in page.find_elements(By.CSS_SELECTOR, "#curve path.series")}
    assert len(strokes) == 2
    slider, says = shown(page, ".panel .replay input"), shown(page, ".panel .says")
    last = says.text
    slider.send_keys(Keys.HOME)
    until(page, lambda: says.text != last)
    assert slider.get_attribute("aria-valuetext").startswith("step ")
    slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    until(page, lambda: "leans to" in says.text)
    screenshot(page, "compare")
    shown(page, ".panel .replay button").click()  # Play
    until(page, lambda: says.text == last)


def test_a_second_search_has_the_seconds_of_the_first_until_it_is_given_its_own(page: Driver) -> None:
    second = shown(page, "#choices-b [data-key=seconds]")
    shown(page, "#compare").click()
    choose(page, "a", "seconds", "6")
    assert second.get_attribute("value") == "6"
    pick(page, "grid")
    assert second.get_attribute("value") == "10", "an example has seconds of its own"
    choose(page, "b", "seconds", "3")
    choose(page, "a", "seconds", "7")
    assert second.get_attribute("value") == "3"


def test_a_curve_goes_to_its_last_point_and_never_back(page: Driver) -> None:
    """Also where a search says that it ended before it found its best, and where points come late."""
    paths = page.execute_async_script(
        """
        const tell = arguments[0];
        const point = (run, seconds, weight) => ({ run, seconds, weight, objective: null, found_by: "network" });
        const points = [point(0, 0.1, 9), point(1, 0.2, 8), point(1, 0.79, 0), point(0, 0.4, 3)];
        Promise.all([import("/overview.js"), import("/curve.js")]).then(([{ seriesOf }, { curve }]) => {
          const drawn = curve(seriesOf({ points, seconds: 0.71 }, 0, null), { label: "" });
          tell([...drawn.querySelectorAll("path.series")].map((path) => path.getAttribute("d")));
        });
        """
    )
    assert len(paths) == 3, "each run and the best of both"
    across = [[float(x) for x in re.findall(r"[MH]([\d.]+)", path)] for path in paths]
    for xs in across:
        assert xs == sorted(xs)
    assert len({xs[-1] for xs in across}) == 1, "all end where the search did"


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (1366, 650), (400, 900)])
def test_after_start_curve_and_picture_are_seen_without_scrolling(page: Driver, width: int, height: int) -> None:
    with window(page, width, height):
        pick(page, "queens")
        shown(page, "#start").click()
        until(page, lambda: states(page) == ["done"])
        for selector in ("#curve svg", ".panel canvas"):
            top, bottom = top_and_bottom(page, selector)
            assert 0 <= top < bottom <= height, selector
        page.save_screenshot(str(SCREENSHOTS / f"started-{width}.png"))


def test_tabs_are_there_for_training_runs_only_and_the_header_never_jumps(page: Driver) -> None:
    with window(page, 400, 900):
        assert shown(page, "#view-training").is_displayed()
        assert len(header_heights(page)) == 1
        with served() as without_runs:
            page.get(without_runs)
            until(page, lambda: page.find_element(By.TAG_NAME, "body").get_attribute("data-ready"))
            assert not shown(page, "#view-search").is_displayed()
            assert len(header_heights(page)) == 1
            page.get("about:blank")  # it would ask on when the server is gone


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("large.cnf", b"c" * (1 << 20) + b"\n", "larger than the 1 MB"),
        ("broken.cnf", b"p cnf 1 1\nx 0\n", "broken.cnf: line 2: "),
        ("letter.txt", b"Dear friend\n", "choose which under Format"),
    ],
)
def test_uploads_that_are_refused_say_why(page: Driver, tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    shown(page, "#file").send_keys(str(tmp_path / name))
    until(page, lambda: words in shown(page, "#load-error").text)
    assert name in shown(page, "#load-error").text
    assert not shown(page, "#start").is_enabled()
    assert serious(page) == []
    screenshot(page, f"refused-{name.partition('.')[0]}")


def test_an_upload_is_searched(page: Driver) -> None:
    shown(page, "#file").send_keys(str(ROOT / "examples" / "petersen.col"))
    until(page, lambda: shown(page, "#start").is_enabled())
    assert shown(page, "#loaded").text.startswith("petersen.col: 10 variables, 15 constraints")
    assert shown(page, "#choices-a [data-key=colors]").is_displayed()
    choose(page, "a", "colors", "3")
    shown(page, "#start").click()
    until(page, lambda: states(page) == ["done"])
    assert shown(page, ".panel .state").text.startswith("satisfied: 0 violated")
    assert shown(page, ".panel canvas").get_attribute("aria-label") == "Graph: 0 of 15 edges in conflict"


def test_the_page_and_films_have_the_same_colours_and_what_stands_on_them_is_read(page: Driver) -> None:
    drawn = page.execute_async_script(
        """
        const tell = arguments[0];
        import("/palette.js").then(({ color, inkOn }) =>
          tell([...Array(40).keys()].map((index) => [color(index), inkOn(color(index))])));
        """
    )
    assert drawn == [[color(index), ink_on(color(index))] for index in range(40)]


def test_of_problems_that_are_brought_in_haste_the_last_one_counts(page: Driver) -> None:
    page.execute_script(
        """
        const fetched = window.fetch;
        window.fetch = async (...asked) => {
          const answer = await fetched(...asked);
          if (!String(asked[0]).includes("jobshop")) return answer;
          await new Promise((go) => { window.letLateAnswer = go; });
          setTimeout(() => { window.answeredLate = true; }, 200);
          return answer;
        };
        """
    )
    shown(page, "[data-example=jobshop]").click()
    until(page, lambda: page.execute_script("return Boolean(window.letLateAnswer)"))
    shown(page, "[data-example=queens]").click()
    until(page, lambda: shown(page, "#loaded").text.startswith("queens"))
    page.execute_script("window.letLateAnswer()")
    until(page, lambda: page.execute_script("return window.answeredLate"))
    assert shown(page, "#loaded").text.startswith("queens")
    search = shown(page, "#choices-a [data-key=search]")
    assert search.get_attribute("value") == "neural", "as the example is best shown"
    shown(page, "#file").send_keys(str(ROOT / "examples" / "petersen.col"))
    until(page, lambda: "10 variables" in shown(page, "#loaded").text)
    assert search.get_attribute("value") == "auto"
    assert page.find_elements(By.CSS_SELECTOR, "#gallery [aria-pressed=true]") == []


def test_a_file_can_be_dropped_anywhere(page: Driver) -> None:
    page.execute_script(
        """
        const data = new DataTransfer();
        data.items.add(new File([arguments[0]], "petersen.col"));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        """,
        (ROOT / "examples" / "petersen.col").read_text(),
    )
    until(page, lambda: "10 variables, 15 constraints" in shown(page, "#loaded").text)


def test_everything_is_done_by_keyboard(page: Driver) -> None:
    def active() -> Any:
        return page.switch_to.active_element

    def press(*keys: str) -> None:
        webdriver.ActionChains(page).send_keys(*keys).perform()

    def tab_to(selector: str) -> None:
        wanted = shown(page, selector)
        for _ in range(80):
            if active() == wanted:
                return
            press(Keys.TAB)
        raise AssertionError(f"{selector} is not reached")

    tab_to("[data-example=queens]")
    outline = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "where one is must be seen"
    press(Keys.ENTER)
    until(page, lambda: shown(page, "#start").is_enabled())
    tab_to("#choices-a [data-key=seconds]")
    press(Keys.BACKSPACE, Keys.BACKSPACE, "8")
    tab_to("#start")
    press(Keys.ENTER)
    until(page, lambda: states(page) and states(page)[0] in ("done", "stopped"))
    assert active() == shown(page, "#watch-title"), "reading goes on where the search is"
    tab_to(".panel .replay input")
    before = shown(page, ".panel output").text
    press(Keys.HOME)
    assert shown(page, ".panel output").text != before
    tab_to("#theme")
    press(Keys.SPACE)
    assert page.execute_script("return document.documentElement.dataset.theme") in ("dark", "light")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_themes_at_any_width_have_nothing_serious(page: Driver, theme: str) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
    pick(page, "jobshop")
    choose(page, "a", "seconds", "6")
    shown(page, "#start").click()
    until(page, lambda: states(page)[0] == "done")
    shown(page, "summary").click()
    assert serious(page) == []
    screenshot(page, f"wide-{theme}")
    with window(page, 400, 900):
        assert page.execute_script("return document.documentElement.scrollWidth") <= 400
        assert serious(page) == []
        height = page.execute_script("return document.documentElement.scrollHeight")
    with window(page, 400, height):
        page.save_screenshot(str(SCREENSHOTS / f"narrow-{theme}.png"))
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_training_runs_are_shown_and_their_policy_searches(page: Driver, runs: Path) -> None:
    shown(page, "#view-training").click()
    until(page, lambda: len(page.find_elements(By.CSS_SELECTOR, "#training-view figure")) == 3)
    assert "80 updates" in shown(page, "#training-view [role=status]").text
    assert "tuned (kept)" in shown(page, "#training-view table").text
    assert "the default search" in shown(page, "#training-view figure").text
    shown(page, ".watch-policy").click()
    panel = until(page, lambda: shown(page, "#training-view .panel"))
    until(page, lambda: panel.get_attribute("data-state") == "done")
    assert panel.find_element(By.CSS_SELECTOR, "canvas").get_attribute("aria-label").startswith("Graph: ")
    assert "model sat" in panel.find_element(By.CSS_SELECTOR, ".state").text
    assert page.find_elements(By.CSS_SELECTOR, "#training-view .curve path.series")
    screenshot(page, "training")
    assert serious(page) == []
    with open(runs / "sat" / "train.csv", "a") as file:
        file.write("200,9.5,0.9\n20")  # the last line is not yet whole
    until(page, lambda: "200 updates in 9.5 minutes" in shown(page, "#training-view [role=status]").text)
    shown(page, "#training-view .use-policy").click()
    assert shown(page, "#choices-a [data-key=model]").get_attribute("value") == "run:sat"
    pick(page, "grid")
    choose(page, "a", "seconds", "1")
    choose(page, "a", "search", "neural")
    shown(page, "#start").click()
    until(page, lambda: states(page) == ["done"])
    assert "model sat" in shown(page, ".panel .state").text
