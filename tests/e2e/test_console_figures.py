# SPDX-License-Identifier: MIT
"""What the console costs: until it can be used, while a large result scrolls, and over many queries.
Times are those of the page's own thread, so that they hold on a busy machine, too; what a clock on
the wall said is printed beside them."""
import os

import pytest

from conftest import PATIENCE, ROOT
from console import sign_in, until_text, write_sql
from native import OwnDatabase

INTERACTIVE_SECONDS = 1
FRAMES_A_SECOND = 50
ROWS, COLUMNS, SCROLLED = 100_000, 30, 120
QUERIES, AT_ONCE, GROWTH_MAX = 200, 10, 1.2
EMBEDDED_MAX = 3 << 20
WIDE = (f"CREATE TABLE wide AS SELECT {', '.join(f'n + {i} AS c{i}' for i in range(COLUMNS))}"
        f" FROM generate_series(1, {ROWS}) n;")


@pytest.fixture(scope="module")
def wide(gateway, postgres):
    return OwnDatabase(postgres, WIDE).connection(gateway.admin, name="wide")


@pytest.fixture
def page(browser):
    page = browser.page(1280, 800)
    page.call("Performance.enable", timeDomain="threadTicks")
    yield page
    page.close()
    assert page.complaints == []


def thread_seconds(page):
    """Of the processor, that the page's thread has used."""
    metrics = page.call("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in metrics}["TaskDuration"]


def test_the_first_page_can_soon_be_used(gateway, wide, page, record_property):
    sign_in(page, gateway, "/")
    shown = page.call("Page.addScriptToEvaluateOnNewDocument", source="""
        const look = () => document.querySelector('[data-connection]') === null
            ? requestAnimationFrame(look) : (window.shownAt = performance.now());
        requestAnimationFrame(look);""")
    worst = 0
    for _ in range(3):
        before = thread_seconds(page)
        page.open(gateway.url("/?fresh"))
        page.until("window.shownAt > 0 && document.querySelector('#search')?.checkVisibility()")
        used = thread_seconds(page)
        used -= before if used > before else 0  # a new page may have a new process
        worst = max(worst, used)
        print(f"first page: {used:.2f} s of its thread, {page.run('shownAt') / 1000:.2f} s in all")
    page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=shown["identifier"])
    record_property("first_page_seconds", worst)
    assert 0 < worst <= INTERACTIVE_SECONDS


@pytest.mark.quiet
def test_a_wide_result_scrolls(gateway, wide, page, record_property):
    sign_in(page, gateway, f"/sql/{wide}")
    write_sql(page, "SELECT * FROM wide")
    page.click("#run")
    page.until(f"document.querySelector('[data-rows]')?.dataset.rows === '{ROWS}'", 8 * PATIENCE)
    page.until_shown("[data-cell='0:0']")
    frames = []
    for _ in range(3):  # others on the machine make some of them dearer, and none cheaper
        before = thread_seconds(page)
        wall = page.run(f"""new Promise((done) => {{
            const grid = document.querySelector('[role=grid]'); const start = performance.now();
            let frames = 0; const step = () => {{ frames += 1; grid.scrollTop += 120;
              if (frames < {SCROLLED}) requestAnimationFrame(step); else done(performance.now() - start); }};
            requestAnimationFrame(step); }})""") / 1000
        frames.append((thread_seconds(page) - before) / SCROLLED)
        print(f"a frame: {frames[-1] * 1000:.1f} ms of the thread; {SCROLLED / wall:.0f} a second in all")
    frame = min(frames)
    record_property("frame_ms", frame * 1000)
    assert page.run("Number(document.querySelector('[role=gridcell]').dataset.cell.split(':')[0])") > 400
    assert frame <= 1 / FRAMES_A_SECOND


def test_many_queries_leave_the_page_as_large_as_it_was(gateway, wide, page, record_property):
    sign_in(page, gateway, f"/sql/{wide}")
    write_sql(page, "SELECT * FROM wide LIMIT 200")
    page.click("#run")
    until_text(page, "200 rows")

    def after(queries):
        """Bytes that are in use once so many more were made, a few in each word to the browser."""
        for _ in range(queries // AT_ONCE):
            page.run(f"""(async () => {{
                const record = () => document.querySelector('.result-foot a')?.href;
                for (let count = 0; count < {AT_ONCE}; count += 1) {{
                    const before = record();
                    document.querySelector('#run').click();
                    for (;;) {{
                        await new Promise((done) => setTimeout(done, 5));
                        if (record() !== undefined && record() !== before &&
                            document.querySelector('#run') !== null) break;
                    }}
                }} }})()""")
        page.call("HeapProfiler.collectGarbage")
        return page.run("performance.memory.usedJSHeapSize")

    early = after(20)
    late = after(QUERIES - 20)
    print(f"memory: {early / 1e6:.1f} MB after 20 queries, {late / 1e6:.1f} MB after {QUERIES}")
    record_property("heap_growth", late / early)
    assert late <= GROWTH_MAX * early


def test_the_console_is_a_small_part_of_the_binary(gateway):
    """Each file as it is embedded: as it is, and smaller where that is so."""
    folder, total, count = os.path.join(ROOT, "build/web"), 0, 0
    for at, _, names in os.walk(folder):
        for name in names:
            path = "/" + os.path.relpath(os.path.join(at, name), folder)
            for encoding in "identity", "gzip", "br":
                status, headers, body = gateway.get(path, headers={"Accept-Encoding": encoding})
                told = {key.lower(): value for key, value in headers.items()}.get("content-encoding")
                assert status == 200, path
                if encoding in ("identity", told):
                    total += len(body)
                    count += 1
    print(f"embedded: {total / 1e6:.2f} MB in {count} variants of files")
    assert count > 20 and total <= EMBEDDED_MAX
