"""The page in a real browser: what it shows, live, by keyboard, for everybody."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from surepath import MDP, Study
from tests.cli.shell import SOURCE
from tests.study.postgres import free_port
from tests.web.conftest import NASTY, Window, until
from tests.web.site import READ, Site, database, new_study, served

pytestmark = pytest.mark.xdist_group("page")  # one browser and one server for all of them
LIVE = """
import sys
from surepath import MDP, Study
from tests.web.site import score
study = Study.load(sys.argv[1], "live")
while not study.done:
    trial = study.ask(worker="elsewhere")
    study.tell(trial, score(trial.plan))
"""


def text(page: Any, selector: str) -> str:
    return " ".join(page.inner_text(selector).split())


def test_a_study_says_what_is_proven_and_shows_how(site: Site, window: Window, place: str) -> None:
    page = window.open(site, "support tickets")
    study = Study.load(place, "support tickets")
    assert text(page, ".sentence").startswith(f"Proven after {len(study)} trials: this plan is within")
    assert text(page, ".badge") == "Proven"
    assert page.locator(".graph path.arc").count() == 116
    assert page.locator(".graph path.plan").count() == 8
    shown = page.locator(".planned tbody td:nth-child(2)").all_inner_texts()
    assert shown == list(study.best_plan.values())
    drawn = {int(arc) for arc in page.eval_on_selector_all(".graph path.plan", "all => all.map(a => a.dataset.arc)")}
    assert drawn == set(study.best_path.tolist())
    out = page.locator(".graph path.out").count()
    assert out == int((~study.learner.active).sum())
    assert page.locator(".gap path.line").count() == 1
    assert page.locator(".gap .asked-label").text_content() == "asked for: 0.3"
    assert page.locator(".rivals > li").count() == 3
    labels = page.eval_on_selector_all(".graph path.arc", "all => all.map(a => a.getAttribute('aria-label'))")
    for label in labels:
        assert re.search(r"in the current plan|ruled out: no plan through it can be the best|still possible", label)
    assert any("the best plan through it is estimated" in label for label in labels)
    page.wait_for_selector(".pace path.line", state="attached")
    pace = page.locator(".pace p").last.inner_text()
    assert re.match(rf"{len(study)} results in [\d.]+ s: [\d.,]+ a (second|minute), lately ", pace)
    assert page.locator(".trials tbody tr").count() == 25
    assert page.title() == "support tickets · surepath"


def test_bounds_are_rounded_up_and_labels_fit_whatever_the_unit(site: Site, window: Window, place: str) -> None:
    mdp = MDP.from_steps({"x": ["a", "b"], "y": ["c", "d"]}, sigma=1e-9)
    study = Study.create(mdp, place, "tiny", epsilon=1e-10, delta=0.1)
    while study.certified_gap == float("inf") or study.certified_gap <= float(f"{study.certified_gap:.3g}"):
        trial = study.ask()
        study.tell(trial, [2e-10 * (trial.plan["x"] == "b"), 3e-10 * (trial.plan["y"] == "d")])
    page = window.open(site, "tiny")
    gap = study.certified_gap
    facts = dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts()))
    assert gap <= float(facts["Proven within"]) <= 1.01 * gap
    assert "just as good" not in page.inner_text(".rivals")
    assert page.evaluate(
        """() => { const box = document.querySelector('.gap svg').getBoundingClientRect();
        return [...document.querySelectorAll('.gap svg text')].map((one) => one.getBoundingClientRect())
          .every((one) => one.left >= box.left && one.right <= box.right + 1); }"""
    )


def test_costs_make_scores_worth_and_excluded_options_are_in_no_plan(site: Site, window: Window, place: str) -> None:
    mdp = MDP.from_steps({"x": ["a", "b", "c"]}, sigma=0.1, costs={"x": {"a": 1, "b": 2}}, cost_weight=0.5)
    study = Study.create(mdp, place, "priced", epsilon=0.01, delta=0.1)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, [{"a": 0.5, "b": 0.5, "c": 5.0}[trial.plan["x"]]])
    study.exclude({"x": "c"})
    page = window.open(site, "priced")
    assert page.locator(".planned th").all_inner_texts()[2] == "Worth"
    assert page.locator(".planned tbody td.num").first.inner_text().startswith("0 ±")  # 0.5 - 0.5 x 1
    page.locator(".graph path.arc").nth(1).focus()
    page.wait_for_timeout(100)
    assert "worth -0.5 ±" in text(page, ".over .tip >> nth=0")
    assert "the best plan through it is estimated 0.5 worse than the best" in text(page, ".over .tip >> nth=0")


def test_the_gap_is_broken_where_nothing_is_proven_and_says_where_the_plan_changed(site: Site, window: Window) -> None:
    page = window.open(site, "support tickets")
    draw = """async (points) => { const { Gap } = await import('/static/gap.js'), box = document.createElement('div');
      new Gap(box, document.createElement('p')).load(points);
      return ['line', 'area'].map((name) => box.querySelector(`path.${name}`).getAttribute('d')).concat(
        [...box.querySelectorAll('.rise title')].map((one) => one.textContent)); }"""
    line, area = page.evaluate(draw, [[1, None, 1], [2, 5, 1], [3, 4, 1], [4, None, 1], [5, 6, 1]])
    assert re.sub(r"[\d. ]+", "", line) == "MLM"
    assert re.sub(r"[\d. ]+", "", area) == "MLLLZMLLZ"
    marks = page.evaluate(draw, [[1, 5, 1, 7], [2, 6, 1, 7], [3, 7, 1, 8], [4, 6, 1, 9]])[2:]
    assert marks == ["after 3 trials: the plan changed here"]


def test_hover_and_keys_tell_about_an_option(site: Site, window: Window) -> None:
    page = window.open(site, "support tickets")
    tip = page.locator(".over .tip").first
    assert tip.is_hidden()
    place = page.evaluate(
        "() => { const p = document.querySelector('.graph path.plan'), b = p.getBoundingClientRect(),"
        " m = p.getPointAtLength(p.getTotalLength() / 2), s = p.ownerSVGElement.getBoundingClientRect();"
        " return [s.left + m.x, s.top + m.y]; }"
    )
    page.mouse.move(*place)
    words = tip.inner_text()
    assert re.search(r"score 0\.\d+ ± 0\.\d+ over \d+ trials", words)
    assert "in the current plan" in words
    assert "for this option alone" in words
    page.mouse.move(2, 2)
    assert tip.is_hidden()
    page.locator(".graph path[tabindex='0']").focus()
    first = tip.inner_text()
    page.keyboard.press("ArrowDown")
    second = tip.inner_text()
    page.keyboard.press("ArrowRight")
    third = tip.inner_text()
    assert len({first, second, third}) == 3
    assert f"after {second.splitlines()[0]}" in third
    assert page.locator(".graph path[tabindex='0']").count() == 1
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_arrow_keys_move_along_the_gap_and_it_is_read_out(site: Site, window: Window, place: str) -> None:
    study = Study.load(place, "support tickets")
    page = window.open(site, "support tickets")
    page.wait_for_selector(".gap path.line", state="attached")
    points = page.evaluate(
        "async () => (await (await fetch('/api/gap?study=support+tickets', {headers: {Authorization:"
        " `Bearer ${sessionStorage.getItem('surepath-token')}`}})).json()).points"
    )
    said, tip = page.locator(".over .spoken[aria-live='polite']"), page.locator(".gap + .tip")
    assert said.text_content() == ""
    page.locator(".graph path[tabindex='0']").focus()
    page.keyboard.press("Tab")  # the chart comes next
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Proven gap over trials:")
    assert said.text_content().startswith(f"after {len(study)} trials: within {study.certified_gap:.3g}")
    for key, index in (("ArrowLeft", -2), ("ArrowLeft", -3), ("ArrowRight", -2), ("End", -1), ("Home", 0)):
        page.keyboard.press(key)
        n, gap, *_ = points[index]
        words = f"after {n:,} trial{'' if n == 1 else 's'}: " + ("nothing proven" if gap is None else "within ")
        assert said.text_content().startswith(words), key
        assert tip.inner_text().startswith(words)
    assert said.text_content() == "after 1 trial: nothing proven, asked for 0.3"
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    assert said.text_content() == ""


def test_it_follows_a_study_that_runs_in_another_process(site: Site, window: Window, place: str) -> None:
    new_study(place, "live")
    page = window.open(site, "live")
    assert text(page, ".sentence") == "Nothing is proven yet: no trial has been reported."
    page.evaluate(
        "() => { window.seen = []; new MutationObserver(() => window.seen.push(document.querySelector('.sentence')"
        ".textContent)).observe(document.querySelector('.sentence'), {childList: true, subtree: true}); }"
    )
    environment = {"PYTHONPATH": f"{SOURCE}:{Path(__file__).parents[2]}", "PATH": "/usr/bin:/bin"}
    worker = subprocess.Popen([sys.executable, "-c", LIVE, place], env=environment)
    page.wait_for_selector(".badge.done", timeout=60_000)
    assert worker.wait(30) == 0
    trials = len(Study.load(place, "live"))
    until(page, f"document.querySelectorAll('.trials tbody tr').length === {min(trials, 25)}")
    assert f"Proven after {trials} trials" in text(page, ".sentence")
    assert len(page.evaluate("window.seen")) >= 1
    assert page.locator(".trials td", has_text="elsewhere").count() == min(trials, 25)
    assert page.locator(".gap path.line").count() == 1
    assert page.locator(".graph path.plan").count() == 3


def test_a_wrong_token_is_refused_and_the_right_one_opens(site: Site, window: Window) -> None:
    page = window.open(site, token=None)
    page.wait_for_selector("#token")
    assert "rag" not in page.content()
    page.fill("#token", "wrong")
    page.click("button.main")
    until(page, "document.querySelector('#token-wrong').textContent === 'That token was refused.'")
    page.wait_for_timeout(50 if window.said else 2_000)  # what the console says may come a little later
    refused, window.said = window.said, []
    assert len(refused) == 1
    assert "401" in refused[0]  # the browser itself reports a refused request
    page.fill("#token", READ)
    page.keyboard.press("Enter")
    page.wait_for_selector(".studies li")
    assert "rag" in page.locator(".studies a").all_inner_texts()
    page.reload()
    page.wait_for_selector(".studies li")


def test_a_read_token_sees_no_way_to_write(site: Site, window: Window) -> None:
    page = window.open(site, "empty", token=READ)
    assert "token" not in page.url
    assert "study=empty" in page.url
    assert page.locator("text=Ask for the next trial").count() == 0
    assert "No trial yet." in text(page, ".pages")
    assert "The line begins with the first trials." in text(page, ".gap")


def test_scores_typed_in_become_evidence(site: Site, window: Window, place: str) -> None:
    study = new_study(place, "bench")
    page = window.open(site, "bench")
    page.click("text=Ask for the next trial")
    page.wait_for_selector(".entry input")
    page.click("text=Record scores")
    assert "Every step needs a score" in text(page, ".trial-form .wrong")
    fields = page.locator(".entry input")
    fields.nth(0).fill("0.5")
    fields.nth(1).fill("zero")
    fields.nth(2).fill("0.25")
    page.click("text=Record scores")
    assert '"zero" is not a number.' in text(page, ".trial-form .wrong")
    fields.nth(1).fill("-0,75")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Trial 1: scores recorded.")
    page.click("text=Ask for the next trial")
    page.wait_for_selector("text=Trial 2")
    page.locator(".entry input").nth(0).fill("0.1")
    page.fill("#note", "spilled")
    page.click("text=It failed")
    page.wait_for_selector("text=Trial 2 is recorded as failed")
    page.click("text=Ask for the next trial")
    page.wait_for_selector("text=Cancel it")
    page.click("text=Cancel it")
    page.wait_for_selector("text=Trial 3 is cancelled.")
    study.ask(worker="somebody")
    page.locator("[aria-label='Report trial 4']").click()
    page.wait_for_selector("h3:text('Trial 4')")
    with study.storage.reading("bench") as log:
        rows = log.trials(1, 9)
    assert [(row.state, row.rewards, row.note) for row in rows] == [
        ("complete", (0.5, -0.75, 0.25), ""),
        ("partial", (0.1,), "spilled"),
        ("cancelled", (), ""),
        ("running", (), ""),
    ]


def test_trials_turn_pages_and_are_filtered(site: Site, window: Window) -> None:
    page = window.open(site, "support tickets")
    page.wait_for_selector(".trials tbody tr")
    first = page.locator(".trials tbody th").first.inner_text()
    page.click("text=Older →")
    until(page, f"document.querySelector('.trials tbody th').textContent !== '{first}'")
    assert int(page.locator(".trials tbody th").first.inner_text()) == int(first) - 25
    page.click("text=← Newer")
    until(page, f"document.querySelector('.trials tbody th').textContent === '{first}'")
    page.fill(".filter input", "keyword rules")
    page.click("button:text('Filter')")
    until(page, "document.querySelector('.pages .muted').textContent.includes('match')")
    plans = page.locator(".trials tbody .plan").all_inner_texts()
    assert plans
    assert all("keyword rules" in plan for plan in plans)
    page.select_option(".filter select", "failed")
    page.wait_for_selector("text=No trial matches.")


def test_trials_are_sorted_and_files_can_be_kept(site: Site, window: Window, place: str, tmp_path: Path) -> None:
    page = window.open(site, "support tickets")
    page.click(".sort:text('Total')")
    until(page, "document.querySelector('.pages .muted').textContent.startsWith('The 25 largest totals')")
    shown = [float(one) for one in page.locator(".trials tbody td.num").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    page.click(".sort:text('Total')")
    until(page, "document.querySelector('.pages .muted').textContent.startsWith('The 25 smallest totals')")
    least = [float(one) for one in page.locator(".trials tbody td.num").all_inner_texts()]
    assert least == sorted(least)
    assert least[0] < shown[-1]
    for button, name in (("Export CSV", "log.csv"), ("Download the certificate", "certificate.json")):
        with page.expect_download() as waiting:
            page.click(f"text={button}")
        waiting.value.save_as(tmp_path / name)
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 1 + len(Study.load(place, "support tickets"))
    assert json.loads((tmp_path / "certificate.json").read_text())["certified_gap"] <= 0.3


def test_steps_that_are_called_by_numbers_keep_their_order(site: Site, window: Window, place: str) -> None:
    mdp = MDP.from_steps({"20": ["a"], "10": ["b", "c"]}, sigma=0.1)
    study = Study.create(mdp, place, "numbers", epsilon=0.1, delta=0.1)
    study.tell(study.ask(), [0.25, 0.5])
    page = window.open(site, "numbers")
    assert text(page, ".trials tbody .plan").startswith("a 0.25 ›")
    page.click("text=Ask for the next trial")
    page.wait_for_selector(".entry input")
    assert page.locator(".entry tbody th").all_inner_texts() == ["20", "10"]


# What overlaps, is cut, or makes the page scroll sideways.
FAULTS = """() => {
  const faults = document.documentElement.scrollWidth > innerWidth ? ['wider than the window'] : [];
  for (const one of document.querySelectorAll('.cell, .cell .value, .cell .name, dd, td, th, .ends span, h1, h2, .sentence'))
    if (one.clientWidth && one.scrollWidth > one.clientWidth + 1) faults.push(`cut: ${one.outerHTML.slice(0, 99)}`);
  for (const kind of ['.card, .hero', '.heat .cell, .heat h3', '.graph svg text', '.gap svg text', '.pace svg text']) {
    const all = [...document.querySelectorAll(kind)], boxes = all.map((one) => one.getBoundingClientRect());
    const meet = (a, b, low, high) => a[low] < b[high] - 1 && b[low] < a[high] - 1;
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, j) => {
      if (meet(a, b, 'left', 'right') && meet(a, b, 'top', 'bottom')) faults.push(`${all[i].textContent.slice(0, 40)} over ${all[i + 1 + j].textContent.slice(0, 40)}`);
    }));
  }
  return faults;
}"""  # noqa: E501


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (768, "dark"), (390, "light")])
def test_nothing_overlaps_or_is_cut(site: Site, windows: Callable[..., Window], width: int, scheme: str) -> None:
    window = windows(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name, steps in (
        ("support tickets", 8),
        ("2000 arcs", 20),
        ("fifty steps", 50),
        ("rounds", 5),
        ("long names", 6),
    ):
        page = window.open(site, name)
        page.wait_for_selector(".trials tbody tr")
        assert page.evaluate(FAULTS) == [], name
        assert page.locator(".planned tbody tr").count() == steps  # the plan is always whole
        assert page.evaluate("document.documentElement.scrollHeight") < 11_000
        page.click(f"button:text('{'Graph' if steps > 12 else 'Table'}')")
        assert page.evaluate(FAULTS) == [], name


def test_fifty_steps_are_a_table_and_the_graph_says_what_is_in_view(site: Site, window: Window) -> None:
    page = window.open(site, "fifty steps")
    page.wait_for_selector(".trials tbody tr")
    page.locator(".heat .cell.plan").first.click()
    page.wait_for_selector(".histogram")
    assert "standard deviation" in text(page, ".chosen")
    assert "worse than the best" not in text(page, ".chosen")  # an option of the current plan, whatever the rounding
    page.keyboard.press("ArrowDown")
    assert "at step number 2" in page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.click("button:text('Graph')")
    assert re.match(r"Steps 1 to \d+ of 50 are in view", text(page, ".sideways"))
    page.evaluate("document.querySelector('.graph').scrollLeft = 1e6")
    until(page, "document.querySelector('.sideways').textContent.includes('to 50 of 50')")
    assert page.locator(".trials summary").first.inner_text().startswith(("differs in", "the current plan"))


def test_a_study_of_end_scores_says_each_total_once(site: Site, window: Window) -> None:
    page = window.open(site, "rounds")
    facts = dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts()))
    assert re.match(r"3 9 of [\d,]+ scores", facts["Round"])
    assert text(page, ".notes") == "What is proven changes at the end of a round"
    assert page.locator(".planned th").all_inner_texts()[:3] == ["Step", "Option", "Trials"]
    assert page.locator(".trials .taken b").count() == 0


def test_two_studies_stand_beside_each_other(site: Site, window: Window) -> None:
    page = window.open(site, "rag")
    page.select_option(".compare select", "support tickets")
    page.wait_for_selector("h1:text('rag beside support tickets')")
    page.wait_for_selector(".gap path.line >> nth=1", state="attached")
    assert page.locator(".hero .sentence").count() == 2
    assert page.locator(".planned tbody tr.marked").count() == 3 + 8  # no step in common


def test_names_are_shown_as_text_whatever_they_contain(site: Site, window: Window) -> None:
    page = window.open(site)
    page.click(f"text={NASTY}")
    page.wait_for_selector("#live .dot")
    assert page.inner_text("#where h1") == NASTY
    assert page.locator("main img, main script, main b b, td u, th i").count() == 0
    shown = page.inner_text("main")
    for name in ("<b>bold</b>", "<u>note</u>", "<i>worker</i>", NASTY):
        assert name in shown
    labels = page.eval_on_selector_all(".graph path.arc", "all => all.map(a => a.getAttribute('aria-label'))")
    assert any(label.startswith("<script>alert(2)</script>") for label in labels)
    assert any(label.startswith("🦉 owl") for label in labels)


def test_two_thousand_arcs_draw_without_stutter(site: Site, window: Window) -> None:
    page = window.open(site, "2000 arcs")
    page.wait_for_selector(".heat .cell")
    assert page.locator(".heat .cell").count() == 200  # twenty steps: first the table, the graph one click away
    page.click("button:text('Graph')")
    assert page.locator(".graph path.arc").count() == 1910
    box = page.locator(".graph svg").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 100)
    assert page.locator(".graph path.lit").count() <= 1
    page.locator(".graph path[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".graph path.lit").count() == 1


def test_a_graph_beyond_that_shows_the_plan_and_zooms_by_stage(site: Site, window: Window) -> None:
    page = window.open(site, "beyond")
    page.wait_for_selector(".zoom")
    page.click("button:text('Graph')")
    assert "of 10,000 options" in text(page, ".zoom")
    assert page.locator(".graph path.plan").count() == 40
    assert page.locator(".graph path.arc").count() <= 2_000
    page.fill("[name='from step']", "4")
    page.fill("[name='to step']", "6")
    page.click("button:text('Zoom')")
    until(page, "document.querySelectorAll('.graph .step').length === 3")
    assert page.locator(".graph .step").all_text_contents() == ["step 4", "step 5", "step 6"]
    assert page.locator(".graph path.plan").count() == 3
    assert page.locator(".graph path.arc").count() == 3 * 256


def test_a_long_study_opens_at_once(long_site: Site, window: Window) -> None:
    page = window.open(long_site)
    page.wait_for_selector("#live .dot")
    assert "30,000" in text(page, "dl.facts")
    line = page.get_attribute(".gap path.line", "d")
    assert 200 < line.count("L") < 1_000
    assert "Trials 29,976 to 30,000" in text(page, ".pages")


def test_it_joins_again_when_the_server_restarts(tmp_path: Path, window: Window) -> None:
    place = database(tmp_path)
    study = new_study(place)
    port = free_port()
    with served(place, port) as first:
        page = window.open(first)
        page.wait_for_selector("#live .dot")
    page.wait_for_selector("#live .dot.away")
    trial = study.ask()
    study.tell(trial, [0.1, 0.2, 0.3])
    with served(place, port):
        page.wait_for_selector("#live .dot:not(.away)")
        until(page, "document.querySelector('.sentence').textContent.includes('after 1 trial')")
        until(page, "document.querySelectorAll('.graph path.untried').length === 14 - 3")
        page.goto("about:blank")
    assert all("Failed to load resource" in line or "ERR_" in line for line in window.said)
    window.said = []


# The rules that need no library: names of what can be reached, a language, a title, one main part, no id twice.
PLAIN_RULES = """() => {
  const bad = [];
  for (const part of document.querySelectorAll('button, a[href], input, select, textarea, [tabindex="0"]')) {
    const labels = part.labels ? [...part.labels].map((label) => label.textContent).join('') : '';
    const names = [part.getAttribute('aria-label'), part.getAttribute('aria-labelledby'), part.textContent, labels];
    if (!names.some((name) => name && name.trim())) bad.push(['name', part.outerHTML.slice(0, 120)]);
  }
  if (!document.documentElement.lang) bad.push(['lang', '']);
  if (!document.title) bad.push(['title', '']);
  if (document.querySelectorAll('main').length !== 1) bad.push(['main', '']);
  const ids = [...document.querySelectorAll('[id]')].map((part) => part.id);
  if (new Set(ids).size !== ids.length) bad.push(['id', '']);
  return bad;
}"""


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["desktop", "phone"])
def accessible(windows: Callable[..., Window], request: pytest.FixtureRequest) -> Window:
    """Windows of two sizes and colours."""
    width, scheme = request.param
    return windows(viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")


def pages(window: Window, site: Site) -> Iterator[tuple[str | None, Any]]:
    """Open a study with a trial to fill in, others of every kind, and the list."""
    for study in ("rag", "fifty steps", "rounds", "empty", NASTY, None):
        page = window.open(site, study)
        if study is None:
            page.wait_for_selector(".studies li")
        elif study == "rag":
            page.click("text=Ask for the next trial")
            page.wait_for_selector(".entry input")
            page.locator(".graph path[tabindex='0']").focus()
        yield study, page


def test_it_follows_the_plain_rules_of_accessibility(site: Site, accessible: Window) -> None:
    for study, page in pages(accessible, site):
        assert page.evaluate(PLAIN_RULES) == [], study


@pytest.mark.rare
def test_axe_finds_nothing(site: Site, accessible: Window, axe: str | None) -> None:
    """Hold the page to all rules of axe-core, where its package can be fetched."""
    for study, page in pages(accessible, site) if axe is not None else ():
        page.evaluate(axe)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in result["violations"]]
        assert found == [], study


def test_a_long_note_does_not_stretch_the_table_on_a_phone(
    site: Site, windows: Callable[..., Window], place: str
) -> None:
    study = new_study(place, "long notes")
    study.fail(study.ask(), note="exit code 1: AssertionError: " + "lysis buffer, polymerase, " * 20)
    page = windows(viewport={"width": 390, "height": 844}).open(site, "long notes")
    page.wait_for_selector(".trials .extra")
    assert page.locator(".trials tbody tr").bounding_box()["height"] < 150
    assert page.locator(".trials .extra").get_attribute("title").startswith("exit code 1: ")
