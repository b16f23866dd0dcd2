"""The picture of docs/scaling.md: a minute of a fleet, second by second, while parts of it fail."""

from itertools import pairwise

from benchmarks.quality.svg import COLOURS, OURS, Scale, line, picture, rule, text
from benchmarks.scaling.fleet import percentile
from benchmarks.scaling.forecast import TROUBLE, TROUBLE_SECONDS
from benchmarks.scaling.simulation import Fleet

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 150, 56, 16, 40, 30
_NAMES = {"server": "server killed", "database": "database fails over", "network": "network still"}


def draw(fleet: Fleet) -> str:
    """Answers in each second above, how long 9 of 10 of them took below."""
    seconds = range(int(TROUBLE_SECONDS))
    counts = [float(sum(at <= when < at + 1 for when, _ in fleet.latencies)) for at in seconds]
    slow = [[taken for when, taken in fleet.latencies if at <= when < at + 1] for at in seconds]
    tenths = [percentile(each, 0.9) if each else None for each in slow]
    across = Scale(0, TROUBLE_SECONDS, _LEFT, _WIDTH - _RIGHT)
    title = f"{fleet.shape.servers} servers in the simulation"
    pieces = [
        *_panel(across, 0, f"{title}: answers in each second", max(counts), list(enumerate(counts)), COLOURS[0]),
        *_panel(
            across, _HEIGHT + 10, "seconds within which 9 of 10 answers came", max(each or 0.0 for each in tenths),
            [(at, each) for at, each in enumerate(tenths) if each is not None], COLOURS[1],
        ),
    ]  # fmt: skip
    return picture(_WIDTH, 2 * _HEIGHT + 30, title, pieces)


def _panel(
    across: Scale, top: float, title: str, most: float, points: list[tuple[int, float]], colour: str
) -> list[str]:
    up = Scale(0, most * 1.1, top + _HEIGHT - _BOTTOM, top + _TOP)
    out = [text(_LEFT, top + 14, title, "title")]
    for number, failure in enumerate(TROUBLE):
        left, right = across(failure.at), across(min(failure.at + failure.seconds, TROUBLE_SECONDS))
        box = f'x="{left:.1f}" y="{up.end:.1f}" width="{right - left:.1f}" height="{up.start - up.end:.1f}"'
        out.append(f'<rect {box} fill="{OURS}" fill-opacity=".12"/>')
        if number == 0 or TROUBLE[number - 1].kind != failure.kind:
            count = sum(each.kind == failure.kind for each in TROUBLE)
            name = _NAMES[failure.kind] if count == 1 else f"{count} servers killed"
            out.append(text(left + 2, up.end - 4, name, "small"))
    for tick in up.ticks():
        out += [rule((_LEFT, up(tick)), (_WIDTH - _RIGHT, up(tick)), "grid")]
        out.append(text(_LEFT - 5, up(tick) + 3.5, f"{tick:g}", "small", "end"))
    for tick in across.ticks():
        out.append(text(across(tick), up.start + 13, f"{tick:g} s", "small", "middle"))
    for start, end in pairwise(points):
        if end[0] == start[0] + 1:  # no line where nothing is known
            out.append(line([(across(at + 0.5), up(value)) for at, value in (start, end)], colour, 2.0))
    return out
