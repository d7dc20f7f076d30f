"""Claims evaluate themselves, and all formats of a report agree."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from trocar.errors import TrocarError
from trocar.report import Claim, Report

KEYS = ["id", "published", "ours", "unit", "relation", "tolerance", "holds", "kind", "number", "source", "note"]


def claim(**changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "id": "paper/error",
        "published": 2.0,
        "ours": 2.0,
        "unit": "mm",
        "relation": "equal",
        "tolerance": 0.5,
        "source": "Table 1",
        "note": "",
    }
    return Claim(**(fields | changes))


def not_run(**changes: Any) -> Claim:
    return claim(**({"ours": None, "note": "not run: no data"} | changes))


@pytest.mark.parametrize(
    ("relation", "ours", "holds"),
    [
        ("equal", 1.5, True),
        ("equal", 2.5, True),
        ("equal", 1.49, False),
        ("equal", 2.51, False),
        ("at_most", 2.5, True),
        ("at_most", -100.0, True),
        ("at_most", 2.51, False),
        ("at_least", 1.5, True),
        ("at_least", 100.0, True),
        ("at_least", 1.49, False),
    ],
)
def test_a_claim_holds_up_to_its_tolerance_and_no_further(relation: str, ours: float, holds: bool) -> None:
    assert claim(relation=relation, ours=ours).holds is holds


@pytest.mark.parametrize("relation", ["equal", "at_most", "at_least"])
@pytest.mark.parametrize("ours", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_always_fails(relation: str, ours: float) -> None:
    assert claim(relation=relation, ours=ours).holds is False


@pytest.mark.parametrize("note", ["not run: no data", "not reproducible: the source gives no units"])
@pytest.mark.parametrize("missing", ["ours", "published"])
def test_a_missing_number_with_a_reason_is_skipped(note: str, missing: str) -> None:
    assert claim(**{missing: None, "note": note}).holds is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ""}, "claim '': id is ''; allowed: a string that is not empty"),
        ({"id": 3}, "claim 3: id is 3; allowed: a string"),
        ({"published": math.nan}, "published is nan; allowed: a finite number or None"),
        ({"published": "2"}, "published is '2'; allowed: a finite number or None"),
        ({"ours": True}, "ours is True; allowed: a number or None"),
        ({"unit": None}, "unit is None; allowed: a string"),
        ({"relation": "below"}, "relation is 'below'; allowed: one of equal, at_most, at_least"),
        ({"tolerance": -0.1}, "tolerance is -0.1; allowed: a finite number >= 0"),
        ({"tolerance": math.inf}, "tolerance is inf; allowed: a finite number >= 0"),
        ({"tolerance": None}, "tolerance is None; allowed: a finite number >= 0"),
        ({"source": " "}, "source is ' '; allowed: a string that is not empty"),
        ({"note": None}, "note is None; allowed: a string"),
        ({"ours": None}, "note is ''; allowed: 'not run: ...' or 'not reproducible: ...'"),
        ({"ours": None, "note": "not run: "}, "note is 'not run: '; allowed:"),
        ({"published": None}, "note is ''; allowed:"),
        ({"note": "not run: no data"}, "both numbers are given"),
    ],
)
def test_an_invalid_field_is_named_with_the_allowed_values(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        claim(**changes)
    assert str(caught.value).startswith(f"claim {changes.get('id', 'paper/error')!r}: ")


def test_a_claim_is_frozen_and_takes_keywords_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        claim().ours = 3.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        Claim("paper/error", 2.0, 2.0, "mm", "equal", 0.5, "Table 1", "")  # type: ignore[misc]


def test_numbers_of_numpy_become_plain_ones() -> None:
    given = claim(published=np.int64(2), ours=np.float32(2.25), tolerance=np.float64(0.5))
    assert [type(value) for value in (given.published, given.ours, given.tolerance)] == [float] * 3
    assert given.holds is True


def test_duplicate_claim_ids_are_rejected() -> None:
    with pytest.raises(TrocarError, match="'paper/error' is already in the report 'Paper'"):
        Report("Paper", [claim(), claim(ours=1.0)])


def test_a_report_is_ok_until_a_claim_fails() -> None:
    report = Report("Paper", [claim(id="a"), not_run(id="b")])
    assert report.ok
    assert (
        report.summary() == "1 of 2 printed numbers met (1 not run); claims: 1 passed, 0 failed, 1 skipped (1 not run)"
    )
    report.add_claim(claim(id="c", ours=3.0))
    assert not report.ok
    claims = "claims: 1 passed, 1 failed, 1 skipped (1 not run)"
    assert report.summary() == f"1 of 3 printed numbers met (1 missed, 1 not run); {claims}"


def test_claims_about_one_printed_number_count_it_once_and_checks_of_ours_count_none() -> None:
    printed = [claim(id="a", number="n"), claim(id="b", number="n", ours=9.0)]
    assert Report("Paper", printed).summary() == "1 of 1 printed numbers met; claims: 1 passed, 1 failed, 0 skipped"
    assert Report("Checks", [claim(kind="own")]).summary() == "1 passed, 0 failed, 0 skipped"


def test_not_reproducible_claims_are_counted_separately_from_those_not_run() -> None:
    ruled_out = claim(id="c", ours=None, note="not reproducible: no units are printed")
    report = Report("Paper", [claim(id="a"), not_run(id="b"), ruled_out, claim(id="d", ours=9.0)])
    assert [entry.verdict for entry in report.claims] == ["passed", "not run", "not reproducible", "failed"]
    assert report.summary().endswith("claims: 1 passed, 1 failed, 2 skipped (1 not run, 1 not reproducible)")


def test_json_has_exactly_the_promised_keys(tmp_path: Path) -> None:
    report = Report("Paper", [claim(id="a", note="why"), claim(id="b", ours=3.0), not_run(id="c")])
    path = report.write_json(tmp_path / "claims.json")
    written = json.loads(path.read_text())
    assert written == report.to_json()
    assert list(written) == ["claims"]
    assert [list(entry) for entry in written["claims"]] == [KEYS] * 3
    assert [entry["holds"] for entry in written["claims"]] == [True, False, None]
    assert written["claims"][0] == dict(
        zip(KEYS, ["a", 2.0, 2.0, "mm", "equal", 0.5, True, "printed", "a", "Table 1", "why"], strict=True)
    )


def test_json_stays_valid_with_nan(tmp_path: Path) -> None:
    path = Report("Paper", [claim(ours=math.nan, note="diverged")]).write_json(tmp_path / "claims.json")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    (entry,) = json.loads(path.read_text(), parse_constant=refuse)["claims"]
    assert (entry["ours"], entry["holds"], entry["note"]) == (None, False, "ours is nan; diverged")


def test_the_table_shows_published_and_ours_side_by_side() -> None:
    report = Report(
        "Paper [2022]",
        [
            claim(id="equal", published=1.25, ours=1.5),
            claim(id="most", relation="at_most", ours=3.0, note="see [1]"),
            claim(id="least", relation="at_least", ours=1.5, note="see [1]"),
            not_run(id="null", tolerance=0.0),
            claim(id="bound", kind="own", published=0.0, ours=0.25, relation="at_most"),
            claim(id="statement", published=0.0, ours=0.0, tolerance=1e-9),
        ],
    )
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report.table())
    text = console.export_text()
    rows = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for cells in (re.split("[│┃]", line)[1:-1] for line in text.splitlines() if "│" in line)
    }
    assert rows["equal"] == ["= 1.25 ± 0.5", "1.5", "mm", "passed", ""]
    assert rows["most"] == ["≤ 2 + 0.5", "3", "mm", "FAILED", "1"]
    assert rows["least"] == ["≥ 2 - 0.5", "1.5", "mm", "passed", "1"]
    assert rows["null"] == ["= 2", "-", "mm", "skipped", "2"]
    assert rows["bound"] == ["≤ 0.5", "0.25", "mm", "passed", ""]
    assert rows["statement"] == ["= 0 ± 1e-09", "0", "mm", "passed", ""]
    headings = [text.index(word) for word in ("Paper [2022]", "published", "bound of ours", "our bound")]
    assert headings == sorted(headings)
    assert text.index("null") < text.index("our bound") < text.index("≤ 0.5")
    footer = [line.strip() for line in text.splitlines()[-3:]]
    counts = "2 of 4 printed numbers met (1 missed, 1 not run); claims: 4 passed, 1 failed, 1 skipped (1 not run)"
    assert footer == [counts, "1: see [1]", "2: not run: no data"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"published": 0.0, "relation": "at_most", "tolerance": 0.001}, "≤ 0.001"),
        ({"published": 3.0, "relation": "at_most", "tolerance": 0.5}, "≤ 3 + 0.5"),
        ({"published": 3.0, "relation": "at_most", "tolerance": 0.5, "kind": "own"}, "≤ 3.5"),
        ({"published": 3.0, "relation": "at_least", "tolerance": 0.5, "kind": "own"}, "≥ 2.5"),
        ({"published": 3.0, "relation": "equal", "tolerance": 0.5}, "= 3 ± 0.5"),
    ],
)
def test_our_own_bounds_are_written_as_one_number(fields: dict[str, Any], text: str) -> None:
    assert claim(**fields).expected() == text


def test_a_long_report_has_a_table_of_contents(tmp_path: Path) -> None:
    report = Report("Paper", [claim(id=f"c{k}", ours=1e3 if k == 7 else 2.0) for k in range(60)])
    report.add_figure(Figure(figsize=(1, 1)), "Tip over time. More words.")
    page = report.write_html(tmp_path / "page.html").read_text()
    for target, text in (("failed", "Failed claims"), ("figure-1", "Tip over time"), ("claims", "All 60 claims")):
        assert f'<a href="#{target}">{text}</a>' in page
        assert page.count(f'id="{target}"') == 1
    assert report.failures() == ["c7: ours 1000, published = 2 ± 0.5 mm"]
    assert "<nav>" not in Report("Paper", report.claims[:3]).write_html(tmp_path / "page.html").read_text()


class Page(HTMLParser):
    """Text, tags and attributes of a page; raises an error for tags that do not match."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.text, self.attributes, self.open = "", list[tuple[str, str, str | None]](), list[str]()
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in {"meta", "img", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_one_file_with_its_figures_inside(tmp_path: Path) -> None:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1])
    report = Report("Paper", [claim(id="a"), claim(id="b", ours=9.75), not_run(id="c")])
    report.add_figure(figure, "The caption")
    page = Page(report.write_html(tmp_path / "new" / "paper.html").read_text(encoding="utf-8"))

    assert page.open == []
    assert "1 of 3 printed numbers met" in page.text
    assert "1 passed, 1 failed, 1 skipped (1 not run)" in page.text
    assert all(word in page.text for word in ("9.75", "not run: no data", "Table 1", "The caption"))
    links = [value for _, name, value in page.attributes if name in {"src", "href"}]
    assert len(links) == 1
    header, _, image = (links[0] or "").partition(",")
    assert header == "data:image/png;base64"
    assert base64.b64decode(image).startswith(b"\x89PNG")
    assert "url(" not in page.text
    assert "@import" not in page.text


def test_a_page_lists_failed_claims_and_reasons_first(tmp_path: Path) -> None:
    claims = [claim(id="good"), claim(id="bad", ours=9.75, note="its <engine> slips")]
    page = Report("Paper", claims, paragraphs=["The text."]).write_html(tmp_path / "page.html").read_text()
    section = page[page.index('<section class="failing"') : page.index("</section>")]
    assert "<b>bad</b>: ours 9.75, published = 2 ± 0.5 mm." in section
    assert "its &lt;engine&gt; slips" in section
    assert "good" not in section
    assert page.index("</section>") < page.index("The text.") < page.index('<table id="claims">')
    assert Page(page).open == []
    assert "Failed claims" not in Report("Paper", claims[:1]).write_html(tmp_path / "page.html").read_text()


def test_consecutive_claims_share_one_note(tmp_path: Path) -> None:
    notes = ("same", "same", "other", "same")
    claims = [claim(id=f"claim {k}", note=note) for k, note in enumerate(notes)]
    page = Report("Paper", claims).write_html(tmp_path / "page.html").read_text()
    assert re.findall(r'rowspan="(\d)">(\w+)<br>', page) == [("2", "same"), ("1", "other"), ("1", "same")]
    assert page.count('<td class="id">') == 4


def test_a_command_in_a_note_is_code_on_the_page(tmp_path: Path) -> None:
    page = Report("R", [claim(note="run `trocar fetch <name>` first")]).write_html(tmp_path / "r.html").read_text()
    assert "run <code>trocar fetch &lt;name&gt;</code> first" in page


def test_a_page_without_claims_counts_none(tmp_path: Path) -> None:
    assert "0 hold" not in Report("Pictures").write_html(tmp_path / "page.html").read_text()


def test_figures_keep_their_width(tmp_path: Path) -> None:
    report = Report("Paper", figures=[(Figure(figsize=(w, 2)), f"{w}") for w in (4, 8)])
    attributes = Page(report.write_html(tmp_path / "page.html").read_text()).attributes
    narrow, wide = (int(value or 0) for tag, name, value in attributes if (tag, name) == ("img", "width"))
    assert wide == 2 * narrow


def test_figures_come_before_the_claims(tmp_path: Path) -> None:
    report = Report("Title", [claim()], figures=[(Figure(), "caption")])
    page = report.write_html(tmp_path / "page.html").read_text()
    assert page.index("<figure>") < page.index('<table id="claims">')


def test_html_escapes_every_text(tmp_path: Path) -> None:
    bad = '<script>"&'
    report = Report(bad, [claim(id=bad, unit=bad, source=bad, note=bad)], figures=[(Figure(), bad)], paragraphs=[bad])
    source = report.write_html(tmp_path / "paper.html").read_text(encoding="utf-8")
    assert "<script" not in source
    # Title in head and heading, paragraph, four fields of the claim, caption (once more as alt text).
    assert Page(source).text.count(bad) == 8
    assert ("img", "alt", bad) in Page(source).attributes


def test_the_page_holds_its_clips(tmp_path: Path) -> None:
    film = tmp_path / "film.gif"
    film.write_bytes(b"GIF89a and more")
    report = Report("Title", [claim()])
    report.add_clip(film, "A caption")
    page = report.write_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"data:image/gif;base64,{base64.b64encode(b'GIF89a and more').decode()}" in page
    assert "<figcaption>A caption</figcaption>" in page


@pytest.mark.parametrize("name", ["missing.gif", "page.html"])
def test_a_clip_that_is_not_a_film_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / "page.html").write_text("")
    with pytest.raises(TrocarError, match="clip of a report"):
        Report("Title").add_clip(tmp_path / name, "caption")


def test_claims_are_counted_by_kind_of_evidence(tmp_path: Path) -> None:
    report = Report(
        "Paper",
        [
            claim(id="a"),
            claim(id="b", ours=9.0),
            claim(id="c", relation="at_most"),
            claim(id="d", kind="log"),
            claim(id="e", kind="fit", relation="at_most"),
            not_run(id="f", kind="own"),
            claim(id="g", published=0.0, ours=0.1),
            claim(id="h", kind="signal"),
        ],
    )
    assert [row[:2] for row in report.evidence()] == [
        ("printed", "1"),
        ("log", "1"),
        ("fit", "1"),
        ("one-sided", "1"),
        ("missed", "1"),
        ("signal", "1 of 1"),
        ("statement", "1 of 1"),
    ]
    assert [entry["kind"] for entry in report.to_json()["claims"]] == [
        "printed",
        "printed",
        "one-sided",
        "log",
        "fit",
        "own",
        "statement",
        "signal",
    ]
    assert "recomputed from its authors" in report.write_html(tmp_path / "page.html").read_text()
    with pytest.raises(TrocarError, match="kind is 'guess'"):
        claim(kind="guess")


def test_a_printed_number_counts_once_by_its_strongest_evidence() -> None:
    report = Report(
        "Paper",
        [
            claim(id="engine", number="peak", ours=9.0),
            claim(id="with noise", number="peak", kind="noise"),
            claim(id="log", number="peak", kind="log"),
            claim(id="log of another", number="mean", kind="log", ours=9.0),
            claim(id="bound", number="mean", relation="at_most"),
            claim(id="wrong", number="width", ours=9.0),
            not_run(id="engine, width", number="width"),
            not_run(id="height", number="height"),
            claim(id="own check", number="height", kind="own"),
        ],
    )
    assert report.numbers() == [
        ("peak", "noise"),
        ("mean", "one-sided"),
        ("width", "missed"),
        ("height", "not run"),
    ]
    assert [c.number for c in report.claims][-1] == ""  # a check is not about a printed number
    assert claim(id="alone").number == "alone"


def test_tables_of_text_are_on_the_page_before_the_figures(tmp_path: Path) -> None:
    report = Report("Paper")
    report.add_table("Links <1>", ("link", "mass [kg]"), [("yaw", "5.1"), ("pitch", "2")])
    report.add_figure(Figure(figsize=(1, 1)), "A figure.")
    page = report.write_html(tmp_path / "page.html").read_text()
    assert "<caption>Links &lt;1&gt;</caption>" in page
    assert '<tr><td class="id">yaw</td><td class="number">5.1</td></tr>' in page
    assert page.index("<caption>") < page.index("<figure>")


def test_hostile_names_in_tables_and_titles_are_text(tmp_path: Path) -> None:
    """Names of arms, joints, files and studies come from files of others."""
    bad = "\"><img src=x onerror='alert(1)'></td><script>alert($1)</script>&amp;{{7*7}}"
    report = Report(f"{bad} identified from {bad}", paragraphs=[f"Row 1 failed: {bad}"])
    report.add_table(bad, ("joint", bad), [(bad, bad), ("yaw", bad)])
    report.add_figure(Figure(figsize=(1, 1)), bad)
    page = Page(report.write_html(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert {tag for tag, name, _ in page.attributes if name.startswith("on")} == set()
    assert all(value.startswith("data:image/") for tag, name, value in page.attributes if name == "src" and value)
    assert "<script>alert($1)</script>" in page.text
    assert page.text.count(bad) >= 8
