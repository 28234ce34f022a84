"""What all pictures have in common: files, bytes that repeat, text, grey, room for labels."""

from __future__ import annotations

import itertools
import logging
import re
from fractions import Fraction
from pathlib import Path

import pytest

from shardsim.errors import InputError
from shardsim.plot.axes import decades, logarithmic, round_step
from shardsim.plot.canvas import Page, Picture, file_kind, styled, text_width
from shardsim.plot.colours import STROKES, colour, luminance, shade, stroke
from shardsim.plot.labels import Labels, Spot
from shardsim.plot.roofline import Point, Roof, draw_roofline, roofline_picture, write_roofline
from tests.command_line import command, process
from tests.pictures import SVG, outside, overlaps, texts_of, tips_of

V5E = Roof("v5e", Fraction(197 * 10**12), (("HBM", Fraction(820 * 10**9)),))


@styled()
def page_of(*texts: str) -> Picture:
    page = Page(400, 40 + 30 * len(texts), ("a heading", "and a line"))
    for row, text in enumerate(texts):
        page.text(24, 90 + 30 * row, text)
        page.box((300, 80 + 30 * row), (20, 10), fill="#dddddd", tip=f"<{text}>")
    return page.picture()


def test_text_is_text() -> None:
    texts = ["A[I, J_X] · B -> C", "$x^2$", "a_b & <c>", "µs …", "汉", "tab\there"]
    found = texts_of(page_of(*texts).svg())
    assert found == ["a heading", "and a line", *texts[:-1], "tab?here"]


def test_what_is_said_where_one_points() -> None:
    assert tips_of(page_of("a & b", "c").svg()) == ["<a & b>", "<c>"]


def test_the_same_picture_gives_the_same_bytes() -> None:
    one, other = (
        roofline_picture([V5E], [Point("p", Fraction(9), Fraction(10**12))]) for _ in "ab"
    )
    assert one.svg() == other.svg() == one.svg()
    assert one.png() == other.png() == one.png()
    assert not re.search(r"dc:date|20\d\d-\d\d-\d\d", one.svg())


def test_two_processes_give_the_same_bytes() -> None:
    code = (
        "import hashlib; from fractions import Fraction; from shardsim.plot.roofline import *\n"
        "one = roofline_picture([Roof('r', Fraction(9), (('HBM', Fraction(2)),))])\n"
        "print(hashlib.sha256(one.svg().encode() + one.png()).hexdigest())"
    )
    found = {process("-c", code, environment={"PYTHONHASHSEED": seed}).out for seed in "12"}
    assert len(found) == 1
    assert len(found.pop()) == 65


def test_the_user_s_style_changes_nothing() -> None:
    import matplotlib as mpl

    plain = draw_roofline([V5E])
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}):
        assert draw_roofline([V5E]) == plain


@pytest.mark.parametrize(
    ("name", "starts"), [("a.svg", b"<svg "), ("a.png", b"\x89PNG\r\n"), ("a.PNG", b"\x89PNG\r\n")]
)
def test_the_name_of_a_file_says_what_it_is(tmp_path: Path, name: str, starts: bytes) -> None:
    write_roofline([V5E], tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(starts)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "ends"), [("a.pdf", "it ends in .pdf"), ("a", "it has no ending"), (".svg", "no end")]
)
def test_other_endings_are_refused(tmp_path: Path, name: str, ends: str) -> None:
    with pytest.raises(InputError, match=rf"pictures are \.svg or \.png, and .*{ends}") as caught:
        write_roofline([V5E], tmp_path / name)
    assert re.fullmatch(r"write .*\.svg or .*\.png", caught.value.hint)
    assert list(tmp_path.iterdir()) == []


def test_a_device_takes_svg() -> None:
    assert file_kind("/dev/null") == "svg"
    write_roofline([V5E], "/dev/null")


def test_what_was_there_stays_where_nothing_can_be_written(tmp_path: Path) -> None:
    for name in ("a.svg", "a.png"):
        with pytest.raises(InputError, match="cannot write the picture to"):
            write_roofline([V5E], tmp_path / "none" / name)
    with pytest.raises(InputError, match="it is a folder"):
        write_roofline([V5E], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_lines_differ_in_grey_in_dash_and_in_marker() -> None:
    grey = [luminance(one.colour) for one in STROKES]
    assert max(grey) < 0.6  # seen on white
    for one, other in itertools.pairwise([*STROKES, STROKES[0]]):
        assert abs(luminance(one.colour) - luminance(other.colour)) > 0.12
    assert len({one.dash for one in STROKES}) == len({one.marker for one in STROKES}) == 6
    assert stroke(7) == STROKES[1]


def test_shades_get_darker_evenly_and_bear_black_type() -> None:
    grey = [luminance(shade(step / 10)) for step in range(11)]
    assert all(one - other > 0.03 for one, other in itertools.pairwise(grey))
    assert grey[-1] > 0.5
    assert shade(-1) == shade(0)
    assert shade(2) == shade(1)


@pytest.mark.parametrize("hue", range(0, 360, 40))
@pytest.mark.parametrize("light", [0.1, 0.5, 0.9])
def test_a_colour_has_the_luminance_asked_for(hue: int, light: float) -> None:
    assert luminance(colour(hue, light)) == pytest.approx(light, abs=0.01)


@pytest.mark.parametrize(
    ("least", "step"), [("1", 1), ("11/10", 2), ("3", 5), ("6", 10), ("1/30", "1/20"), ("0", 1)]
)
def test_steps_are_round(least: str, step: int | str) -> None:
    assert round_step(Fraction(least)) == Fraction(step)


def test_decades_hold_all_values_with_room() -> None:
    assert decades([Fraction(1), Fraction(1000)], 2) == (-1, 4)
    assert decades([Fraction(1), Fraction(1000)], 1) == (0, 3)
    assert decades([Fraction(5)], 1) == (0, 1)


@styled()
def test_a_logarithmic_axis_has_few_ticks() -> None:
    page = Page(400, 400, ("", ""))
    chart = page.chart(50, 80, 300, 300)
    logarithmic(chart, "x", (1.0, 1e30), lambda value: f"1e{len(str(value)) - 1}")
    names = [text.get_text() for text in chart.get_xticklabels()]
    assert names == [f"1e{power}" for power in range(0, 31, 4)]


@styled()
def test_labels_find_room_beside_each_other() -> None:
    page = Page(400, 400, ("", ""))
    chart = page.chart(50, 80, 300, 300)
    labels = Labels(page, chart)
    labels.keep(200, 230)
    placed = [labels.beside(f"label {number}", 200, 230) for number in range(12)]
    assert placed[:4] == [True] * 4
    written = [text for text in page.sheet.texts if text.get_text().startswith("label")]
    assert len(written) == sum(placed) < 12
    assert not labels.put("x" * 100, [Spot(200, 200)])
    assert not labels.put("again", [Spot(200, 230)])
    picture = page.picture()
    assert overlaps(picture) == outside(picture) == []


@styled()
def test_a_label_goes_on_a_line_only_where_there_is_no_other_room() -> None:
    page = Page(400, 400, ("", ""))
    chart = page.chart(50, 80, 300, 300)
    labels = Labels(page, chart)
    labels.avoid((60, 200), (340, 200))
    labels.put("clear", [Spot(200, 203), Spot(200, 240, cost=30)])
    labels.put("on it", [Spot(120, 203), Spot(120, 300, cost=300)])
    placed = {text.get_text(): text.get_position()[1] for text in page.sheet.texts}
    assert (placed["clear"], placed["on it"]) == (240, 203)


@styled()
def test_a_thin_line_goes_through_no_other_marker() -> None:
    page = Page(400, 400, ("", ""))
    chart = page.chart(50, 80, 300, 300)
    labels = Labels(page, chart)
    labels.keep(200, 230)
    labels.keep(200, 200)
    through = Spot(200, 140, "middle", cost=60, point=(200, 230))
    assert not labels.put("above", [through])
    assert labels.put("beside", [through, Spot(300, 190, "start", cost=90, point=(200, 230))])


@styled()
def test_a_label_keeps_clear_of_markers_if_it_can() -> None:
    page = Page(400, 400, ("", ""))
    chart = page.chart(50, 80, 300, 300)
    labels = Labels(page, chart)
    labels.keep(200, 230)
    spots = [Spot(200, 215), Spot(200, 150, cost=30)]
    labels.put("near", spots[:1], clear=20)
    labels.put("far", spots, clear=20)
    placed = {text.get_text(): text.get_position()[1] for text in page.sheet.texts}
    assert (placed["near"], placed["far"]) == (215, 150)


CACHE = [
    ("matplotlib", "mkdir -p failed for path /a: no", False),
    ("matplotlib", "/a is not a writable directory", False),
    ("matplotlib", "Matplotlib created a temporary cache directory at /b because there was", False),
    ("matplotlib", "Missing colon in file 'a', line 1", True),
    ("matplotlib.font_manager", "Matplotlib is building the font cache; this may take", False),
    ("matplotlib.font_manager", "Could not save font_manager cache No space left", False),
    ("matplotlib.font_manager", "findfont: Font family 'a' not found.", True),
]


@pytest.mark.parametrize(("logger", "text", "said"), CACHE)
def test_only_what_matplotlib_says_of_its_cache_is_not_passed_on(
    logger: str, text: str, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    page_of("a")
    logging.getLogger(logger).warning("%s", text)
    assert [record.getMessage() for record in caplog.records] == [text] * said


@pytest.mark.parametrize("name", ["MPLCONFIGDIR", "HOME"])
@pytest.mark.parametrize("folder", ["new", "a file/below"])
def test_a_first_picture_says_nothing_of_a_cache(tmp_path: Path, name: str, folder: str) -> None:
    (tmp_path / "a file").touch()
    empty = dict.fromkeys(("MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), "")
    asked = ("roofline", "A[I, J] · B[J, K] -> C[I, K]", "--on", "v5e", "--dims", "I=8,J=8,K=8")
    found = process(
        *("-m", "shardsim", *asked, "--svg", str(tmp_path / "a.svg")),
        environment={**empty, name: str(tmp_path / folder)},
    )
    assert (found.code, found.err) == (0, f"picture written to {tmp_path / 'a.svg'}\n")
    assert found.out == command(*asked).out


def test_without_any_folder_for_a_cache_it_says_what_to_do(tmp_path: Path) -> None:
    code = (
        "import sys, tempfile\n"
        "def fail(*_, **__): raise FileNotFoundError('No usable temporary directory')\n"
        "tempfile.mkdtemp = fail\n"
        "from shardsim.cli import main\n"
        "sys.argv = ['shardsim', 'show', 'v5e', '--svg', sys.argv[1]]\n"
        "main()"
    )
    (tmp_path / "a file").touch()
    nowhere = {"MPLCONFIGDIR": str(tmp_path / "a file" / "below")}
    found = process("-c", code, str(tmp_path / "a.svg"), environment=nowhere)
    assert found.code == 2
    assert found.err.startswith("error: pictures need a folder to keep the list of fonts in")
    assert "  help: set MPLCONFIGDIR to a folder that can" in found.err
    assert not (tmp_path / "a.svg").exists()


def test_widths_are_those_of_the_font() -> None:
    assert text_width("", 12) == 0
    assert text_width("abc", 24) == pytest.approx(2 * text_width("abc", 12), rel=0.01)


def test_an_svg_has_the_size_of_its_page() -> None:
    picture = page_of("a")
    assert re.search(r'viewBox="0 0 400 70"', picture.svg())
    assert SVG.strip("{}") in picture.svg()
