"""Pictures for the README and the guide, from the running program.

``.venv/bin/python tools/screenshots.py`` makes all of them; ``… screenshots.py upload pair`` just these, after the
walks that lead there.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.pages.conftest import FLAGS, pick, serving  # noqa: E402

SLOW = 600_000  # a loaded machine is slow, not wrong
WIDTH, HEIGHT, TALL = 1400, 1500, 4500
COLOURS = 256  # of a picture: enough for plots and words, and a third of the size
BROKEN = """time,sensor_a,sensor_b,value_a,value_b
2024-06-01T08:00:00Z,aq-01,boda-01,31.5,24.4
2024-06-01T08:10:00Z,aq-01,boda-01,3o.2,24.9
2024-06-01 08:20,aq-01,boda-01,30.8,25.1
2024-06-01T08:30:00Z,aq-01,aq-01,30.1,30.1
"""


Part = Locator | tuple[Locator, Locator] | dict[str, float] | None


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("menuitem", name=option).click()


def between(page: Page, first: Locator, last: Locator) -> dict[str, float]:
    """The part of the page from one element down to another."""
    top, end = first.bounding_box(), last.bounding_box()
    assert top, f"{first} is not on the page"
    assert end, f"{last} is not on the page"
    left = min(top["x"], end["x"]) - 14
    down = page.evaluate("window.scrollY")
    return {"x": left, "y": top["y"] + down - 10, "width": WIDTH - left - 10, "height": end["y"] - top["y"] + 2}


def network(page: Page) -> None:
    pick(page.locator(".tabulator-row", has_text="Kawempe market"))
    expect(page.get_by_text("aq-07 (Kawempe market)")).to_be_visible()
    page.get_by_role("tab", name="Network").scroll_into_view_if_needed()


def upload(page: Page) -> Part:
    page.get_by_role("button", name="Add data").click()
    file = {"name": "colocations.csv", "mimeType": "text/csv", "buffer": BROKEN.encode()}
    page.locator("input[type=file]").first.set_input_files([file])
    expect(page.get_by_text("What must be mended")).to_be_visible(timeout=SLOW)
    return page.locator(".MuiDialog-paper")


def close_upload(page: Page) -> None:
    page.reload()
    expect(page.get_by_text("Visits over time")).to_be_visible(timeout=SLOW)


def calibration(page: Page) -> None:
    page.get_by_role("tab", name="Calibration").click()
    expect(page.get_by_text("from aq-", exact=False).first).to_be_visible()
    expect(page.get_by_text("found by the fit").first).to_be_visible()
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=SLOW)


def drift(page: Page) -> Part:
    page.get_by_role("tab", name="Calibration").click()
    chosen = page.get_by_role("combobox", name="Sensor The sensor of the large plot.")
    chosen.click()
    page.get_by_role("menuitem", name="aq-05").click()
    expect(chosen).to_contain_text("aq-05")
    return chosen, page.get_by_text("Today", exact=True)


def pair(page: Page) -> Part:
    choose(page, "Side by side with", "boda-02")
    heading = page.get_by_text("aq-05 and boda-02 side by side")
    expect(heading).to_be_visible()
    return heading, page.get_by_text("Today", exact=True)


def visits(page: Page) -> None:
    page.get_by_role("tab", name="Visits").click()
    expect(page.get_by_text("Stops in order")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("the mean band over the horizon", exact=False)).to_be_visible(timeout=SLOW)


def effort(page: Page) -> Part:
    page.get_by_role("button", name="Work it out").click()
    expect(page.get_by_text("Meetings that can be dropped")).to_be_visible(timeout=SLOW)
    return page.get_by_text("How many visits a week", exact=True), page.get_by_text("Meetings that can be dropped")


def sheet(page: Page) -> Part:
    """What a rider takes along, in a tab of its own."""
    days = page.get_by_role("combobox", name="Day", exact=True).all()  # left those of promises, right those of tours
    max(days, key=lambda box: (box.bounding_box() or {"x": 0})["x"]).click()
    page.get_by_role("menuitem", name="all days").click()
    with page.expect_download() as waiting, tempfile.TemporaryDirectory() as folder:
        page.get_by_role("button", name="Sheets to print").or_(page.get_by_role("link", name="Sheets to print")).click()
        file = Path(folder) / "visits.html"
        waiting.value.save_as(file)
        paper = page.context.new_page()
        paper.set_viewport_size({"width": 760, "height": 1100})
        paper.goto(file.as_uri())
    paper.add_style_tag(content="section { padding: 16px !important; }")
    tours = {tour.locator("li").count(): tour for tour in paper.locator("section").all()}
    return tours[max((count for count in tours if count <= 5), default=min(tours))]


def report(page: Page) -> None:
    page.get_by_role("tab", name="Report").click()
    page.get_by_role("button", name="Make the report").click()
    expect(page.frame_locator("iframe").get_by_text("In short")).to_be_visible(timeout=SLOW)


def labellers(page: Page) -> None:
    page.get_by_role("combobox").first.click()
    page.get_by_role("menuitem", name="bees").click()
    page.get_by_role("tab", name="Labellers").click()
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.get_by_text("items.csv")).to_be_visible(timeout=SLOW)


def changes(page: Page) -> Part:
    return page.get_by_text("How that changed"), page.get_by_text("Items, the most uncertain first")


def runs(page: Page) -> Part:
    page.get_by_role("tab", name="Runs").click()
    expect(page.get_by_text("done").first).to_be_visible(timeout=SLOW)
    return {"x": 0, "y": 0, "width": WIDTH, "height": 460}


# In the order of the walk. What a step returns is the part to be taken; nothing: the whole page.
STEPS: tuple[Callable[[Page], Part], ...] = (
    network, upload, close_upload, calibration, drift, pair, visits, effort, sheet, report, labellers, changes, runs,
)  # fmt: skip
LEADING = {"pair": {"drift"}, "effort": {"visits"}, "sheet": {"visits"}, "changes": {"labellers"}}


def main(wanted: set[str]) -> None:
    """Write the pictures of these names, or all, to ``assets``."""
    names = {step.__name__ for step in STEPS} - {"close_upload"}
    assert wanted <= names, f"The pictures are {', '.join(sorted(names))}."
    wanted = wanted or names
    walked = wanted | ({"close_upload"} if "upload" in wanted else set())
    walked |= {before for name in wanted for before in LEADING.get(name, ())}
    with serving(ROOT / "example_data") as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page()
        page.goto(address)
        expect(page.get_by_text("Visits over time")).to_be_visible(timeout=SLOW)
        for step in STEPS:
            if step.__name__ in walked:
                part = step(page)
                page.wait_for_timeout(4000)  # plots fade in
                if step.__name__ in wanted:
                    write(step.__name__, taken(page, part))
        browser.close()


def taken(page: Page, part: Part) -> bytes:
    if isinstance(part, Locator):
        return part.screenshot()
    if isinstance(part, tuple):
        page.set_viewport_size({"width": WIDTH, "height": TALL})  # so that nothing has to be scrolled to
        page.wait_for_timeout(4000)
        picture = page.screenshot(clip=between(page, *part))  # type: ignore[arg-type]
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        return picture
    return page.screenshot() if part is None else page.screenshot(clip=part)  # type: ignore[arg-type]


def write(name: str, picture: bytes) -> None:
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    small = whole.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)  # rare ones too
    file = ROOT / "assets" / f"{name}.png"
    small.save(file, optimize=True)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB, {small.width} × {small.height}")


if __name__ == "__main__":
    main(set(sys.argv[1:]))
