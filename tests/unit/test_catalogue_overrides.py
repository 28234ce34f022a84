"""Links, ports and chips of a topology file that differ from the rest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardsim.catalogue import find_topology
from shardsim.documents import parse_document
from shardsim.errors import InputErrors, ShardsimError
from shardsim.hardware import Link
from shardsim.topology import Topology

G = 10**9
US = Fraction(1, 10**6)
USUAL = Link(Fraction(45 * G), US)

GRID = """\
chip: v5e
dimensions:
  - {name: x, size: 4, kind: ring, bandwidth: 45 GB/s}
  - {name: y, size: 3, kind: line, bandwidth: 45 GB/s}
overrides:
"""
NODES = """\
chip: h100
dimensions:
  - {name: node, size: 2, kind: switch, bandwidth: 50 GB/s}
  - {name: gpu, size: 4, kind: switch, bandwidth: 450 GB/s, latency: 0.5 us}
overrides:
"""
NODE = """\
chip: h100
dimensions:
  - {name: gpu, size: 4, kind: switch, bandwidth: 450 GB/s, latency: 0.5 us}
overrides:
"""


def read(base: str, *overrides: str) -> Topology:
    """The topology of a file with these overrides, one a line from line 6 (NODE: 5) on."""
    text = base + "".join(f"  - {override}\n" for override in overrides)
    return find_topology(parse_document(text, "f.yaml"))


X_PLUS, X_MINUS, Y_PLUS, Y_MINUS = (0, 1), (0, -1), (1, 1), (1, -1)
SLOW = Link(Fraction(20 * G), US)
LATE = Link(Fraction(45 * G), 2 * US)
BOTH = Link(Fraction(20 * G), 2 * US)


@pytest.mark.parametrize(
    ("override", "changed"),
    [
        (
            "{from: [0, 0], to: [1, 0], bandwidth: 20 GB/s}",
            {((0, 0), X_PLUS): SLOW, ((1, 0), X_MINUS): SLOW},
        ),
        (
            "{from: [1, 0], to: [0, 0], latency: 2 us}",
            {((0, 0), X_PLUS): LATE, ((1, 0), X_MINUS): LATE},
        ),
        # the wraparound
        (
            "{from: [0, 2], to: [3, 2], bandwidth: 20 GB/s, latency: 2 us, one_way: false}",
            {((0, 2), X_MINUS): BOTH, ((3, 2), X_PLUS): BOTH},
        ),
        ("{from: [0, 2], to: [3, 2], removed: true, one_way: true}", {((0, 2), X_MINUS): None}),
        (
            "{from: [2, 1], to: [2, 2], removed: True}",
            {((2, 1), Y_PLUS): None, ((2, 2), Y_MINUS): None},
        ),
        # a figure that is the usual one is no change
        ("{from: [2, 1], to: [2, 2], bandwidth: 45e9}", {}),
        ("{from: [0, 0], to: [0, 1], bandwidth: 20 GB/s, removed: false, one_way: true}",
         {((0, 0), Y_PLUS): SLOW}),
    ],
)  # fmt: skip
def test_cables(override: str, changed: dict[Any, Link | None]) -> None:
    topology = read(GRID, override)
    assert dict(topology.changed) == changed
    assert topology.missing == frozenset()
    assert topology.is_regular is (not changed)
    for (chip, key), link in changed.items():
        assert topology.link(chip, key) == link
    assert topology.link((2, 0), X_PLUS) == USUAL


def test_a_chip_that_is_missing() -> None:
    topology = read(GRID, "{chip: [1, 1], removed: true}")
    assert (topology.changed, topology.missing, topology.size) == ((), frozenset({(1, 1)}), 11)
    assert topology.neighbour((0, 1), X_PLUS) is None


def test_ports() -> None:
    topology = read(
        NODES,
        "{chip: [1, 3], port: out, dimension: gpu, bandwidth: 225 GB/s}",
        "{chip: [1, 3], port: in, dimension: gpu, latency: 1 us}",
        "{chip: [0, 0], port: out, dimension: node, removed: true}",
    )
    assert dict(topology.changed) == {
        ((1, 3), (1, +1)): Link(Fraction(225 * G), US / 2),
        ((1, 3), (1, -1)): Link(Fraction(450 * G), US),
        ((0, 0), (0, +1)): None,
    }


def test_the_port_at_the_only_switch() -> None:
    topology = read(NODE, "{chip: [3], port: out, bandwidth: 45 GB/s}")
    assert dict(topology.changed) == {((3,), (0, +1)): Link(Fraction(45 * G), US / 2)}


def test_two_cables_between_two_chips_are_changed_alike() -> None:
    base = GRID.replace("size: 4, kind: ring", "size: 2, links: 2, kind: ring")
    assert dict(read(base, "{from: [0, 0], to: [1, 0], bandwidth: 20 GB/s}").changed) == {
        (chip, key): SLOW for chip in ((0, 0), (1, 0)) for key in (X_PLUS, X_MINUS)
    }
    one_way = read(base, "{from: [1, 0], to: [0, 0], removed: true, one_way: true}")
    assert dict(one_way.changed) == {((1, 0), X_PLUS): None, ((1, 0), X_MINUS): None}


BAD = [
    ("{from: [0, 0], to: [2, 0], removed: true}", "no cable joins chips [0, 0] and [2, 0]",
     "the neighbours of [0, 0] are [0, 1], [1, 0], [3, 0]", "6:24"),
    ("{from: [0, 0], to: [1, 1], latency: 1 us}", "no cable joins chips [0, 0] and [1, 1]",
     "the neighbours of [0, 0] are", "6:24"),
    ("{from: [3, 2], to: [3, 2], latency: 1 us}", "no cable joins chips [3, 2] and [3, 2]",
     "the neighbours of [3, 2] are [0, 2], [2, 2], [3, 1]", "6:24"),
    ("{from: [0, 0], to: [0, 2], latency: 1 us}", "no cable joins chips [0, 0] and [0, 2]",
     "the neighbours of [0, 0] are", "6:24"),
    ("{from: [0, 0], to: [4, 0], latency: 1 us}", "there is no chip [4, 0] in a topology of 4x3",
     "chips are from [0, 0] to [3, 2]", "6:24"),
    ("{from: [0], to: [1, 0], latency: 1 us}", "there is no chip [0] in a topology of 4x3",
     "chips are from [0, 0] to [3, 2]", "6:12"),
    ("{chip: [0, 0, 0], removed: true}", "there is no chip [0, 0, 0] in a topology of 4x3",
     "chips are from [0, 0] to [3, 2]", "6:12"),
    ("{from: 3, to: [1, 0], latency: 1 us}", "overrides[0].from must be the coordinates of a "
     "chip; it is '3'", "write one number from 0 on for each dimension", "6:12"),
    ("{from: [0, 0], to: [a, 0], latency: 1 us}", "overrides[0].to must be the coordinates of a "
     "chip; it is [a, 0]", "write one number from 0 on", "6:24"),
    ("{from: [0, 0], to: [-1, 0], latency: 1 us}", "overrides[0].to must be the coordinates of a "
     "chip; it is [-1, 0]", "write one number from 0 on", "6:24"),
    ("{from: [0, 0], to: [], latency: 1 us}", "overrides[0].to must be the coordinates of a "
     "chip; it is a list", "write one number from 0 on", "6:24"),
    ("{from: [0, 0], to: [1, 0]}", "overrides[0] changes nothing",
     "add bandwidth, latency or removed: true", "6:5"),
    ("{chip: [0, 0]}", "overrides[0] changes nothing", "add bandwidth", "6:5"),
    ("{}", "overrides[0] names no link and no chip", "write from and to for a cable", "6:5"),
    ("{removed: true}", "overrides[0] names no link and no chip", "write from and to", "6:5"),
    ("{from: [0, 0], latency: 1 us}", "overrides[0] names one end of a cable only",
     "add to: [...]", "6:5"),
    ("{to: [0, 0], latency: 1 us}", "overrides[0] names one end of a cable only",
     "add from: [...]", "6:5"),
    ("{from: [0, 0], to: [1, 0], removed: true, latency: 1 us}",
     "overrides[0] removes what it gives figures of", "write removed, or bandwidth", "6:41"),
    ("{from: [0, 0], to: [1, 0], chip: [0, 0], removed: true}",
     "overrides[0] names a cable and a chip", "write two entries", "6:38"),
    ("{chip: [0, 0], latency: 1 us}", "overrides[0] gives figures of a chip",
     "say which link: port: out or in at a switch, from and to for a cable", "6:12"),
    ("{chip: [0, 0], removed: true, one_way: true}", "overrides[0] is one way in any case",
     "remove one_way: it is for cables", "6:44"),
    ("{chip: [0, 0], removed: true, dimension: x}", "overrides[0] has a dimension and no port",
     "remove it: it says at which switch a port is", "6:46"),
    ("{from: [0, 0], to: [1, 0], port: out, latency: 1 us}", "overrides[0] has a port of no chip",
     "add the chip", "6:38"),
    ("{chip: [0, 0], port: out, latency: 1 us}", "no dimension is a switch, so no chip has ports",
     "name a cable: from, to", "6:26"),
    ("{chip: [0, 0], port: up, latency: 1 us}", "overrides[0].port must be one of out, in; it is "
     "'up'", "out: from the chip to the switch", "6:26"),
    ("{from: [0, 0], to: [1, 0], removed: maybe}", "overrides[0].removed must be true or false; "
     "it is 'maybe'", "write true, or leave it out", "6:41"),
    ("{from: [0, 0], to: [1, 0], bandwide: 1 GB/s}", "unknown key 'bandwide' in overrides[0]; "
     "allowed: from, to, chip, port, dimension, bandwidth", "did you mean bandwidth?", "6:32"),
    ("{from: [0, 0], to: [1, 0], start: [1, 0]}", "unknown key 'start' in overrides[0]; allowed",
     "remove it", "6:32"),
    ("{from: [0, 0], to: [1, 0], bandwidth: 20}", "overrides[0].bandwidth: 20 B/s is too slow",
     "write 20 GB/s", "6:43"),
    ("cut", "overrides[0] must be a mapping of keys and values; it is 'cut'", "", "6:5"),
]  # fmt: skip


@pytest.mark.parametrize(("override", "message", "hint", "place"), BAD)
def test_faults(override: str, message: str, hint: str, place: str) -> None:
    with pytest.raises(ShardsimError) as caught:
        read(GRID, override)
    error = caught.value
    assert not isinstance(error, InputErrors)
    assert error.message.startswith(message)
    assert error.hint.startswith(hint)
    assert str(error.place) == f"f.yaml:{place}"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("override", "message", "hint", "place"),
    [
        ("{chip: [1, 1], port: out, latency: 1 us}", "chips have ports at several switches: node, "
         "gpu", "say which: dimension: node", "6:26"),
        ("{chip: [1, 1], port: in, dimension: cpu, latency: 1 us}", "no switch is named 'cpu'",
         "the switches are node, gpu", "6:41"),
        ("{from: [0, 1], to: [1, 1], latency: 1 us}", "chips [0, 1] and [1, 1] are joined by a "
         "switch, not by a cable", "name a port: {chip: [0, 1], port: out, bandwidth: ...}",
         "6:24"),
        ("{from: [0, 1], to: [1, 2], latency: 1 us}", "no cable joins chips [0, 1] and [1, 2]",
         "chip [0, 1] has no cables", "6:24"),
    ],
)  # fmt: skip
def test_faults_at_switches(override: str, message: str, hint: str, place: str) -> None:
    with pytest.raises(ShardsimError) as caught:
        read(NODES, override)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert str(caught.value.place) == f"f.yaml:{place}"  # type: ignore[attr-defined]


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(InputErrors) as caught:
        read(
            GRID.replace("v5e", "v9"),
            "{chip: [1, 1], removed: true}",
            "{chip: [1, 1], removed: true}",
            "{from: [0, 1], to: [1, 1], latency: 1 us}",
            "{from: [0, 0], to: [1, 0], latency: 2 us}",
            "{from: [1, 0], to: [0, 0], removed: true, one_way: true}",
            "{from: [9, 9], to: [8, 8], latency: 3 us}",
        )
    assert [(error.message, str(error.place)) for error in caught.value.errors[1:]] == [
        ("chip [1, 1] is removed by overrides[0]", "f.yaml:7:12"),
        ("chip [1, 1] is removed by overrides[0]", "f.yaml:8:24"),
        ("the link from [1, 0] to [0, 0] is named by overrides[3] already", "f.yaml:10:5"),
        ("there is no chip [9, 9] in a topology of 4x3", "f.yaml:11:12"),
        ("there is no chip [8, 8] in a topology of 4x3", "f.yaml:11:24"),
    ]
    assert caught.value.errors[0].message.startswith("there is no chip 'v9'")


def test_a_port_that_is_named_twice() -> None:
    twice = "{chip: [3], port: in, latency: 1 us}"
    with pytest.raises(
        ShardsimError, match=r"^the port in of chip \[3\] is named by overrides\[0\]"
    ):
        read(NODE, twice, twice)


@pytest.mark.parametrize(
    ("base", "overrides", "message"),
    [
        (
            GRID,
            [f"{{from: [{x}, 0], to: [{x}, 1], removed: true}}" for x in range(4)],
            "with these overrides no way leads from chip [0, 0] to chip [0, 1]",
        ),
        # the links up are there, and no link down
        (
            GRID,
            [f"{{from: [{x}, 1], to: [{x}, 0], removed: true, one_way: true}}" for x in range(4)],
            "with these overrides no way leads from chip [0, 1] to chip [0, 0]",
        ),
        (
            NODE,
            ["{chip: [2], port: in, removed: true}"],
            "with these overrides no way leads from chip [0] to chip [2]",
        ),
        (
            NODE,
            ["{chip: [2], port: out, removed: true}"],
            "with these overrides no way leads from chip [2] to chip [0]",
        ),
        (NODE, [f"{{chip: [{i}], removed: true}}" for i in range(4)], "these overrides leave no"),
    ],
)
def test_a_topology_that_falls_apart(base: str, overrides: list[str], message: str) -> None:
    with pytest.raises(ShardsimError) as caught:
        read(base, *overrides)
    assert caught.value.message.startswith(message)
    assert caught.value.hint == "leave more of them in"
    line = base[: base.index("overrides:")].count("\n") + 1
    assert str(caught.value.place) == f"f.yaml:{line}:1"  # type: ignore[attr-defined]


def test_what_still_holds_together() -> None:
    """All links down but one, and a port where the other switch still leads."""
    gone = [f"{{from: [{x}, 1], to: [{x}, 0], removed: true, one_way: true}}" for x in range(3)]
    assert len(read(GRID, *gone).changed) == 3
    assert len(read(NODES, "{chip: [1, 1], port: in, dimension: gpu, removed: true}").changed) == 1


def test_the_same_mapping_in_python() -> None:
    dimension = {"name": "x", "size": 4, "kind": "ring", "bandwidth": "45 GB/s"}
    topology = find_topology(
        {
            "chip": "v5e",
            "dimensions": [dimension],
            "overrides": [{"from": (0,), "to": (1,), "bandwidth": 20e9, "one_way": True}],
        }
    )
    assert dict(topology.changed) == {((0,), (0, 1)): SLOW}


KINDS = st.sampled_from(["ring", "line", "switch"])
KEYS = st.fixed_dictionaries(
    {},
    optional={
        "from": st.lists(st.integers(-1, 3), max_size=3),
        "to": st.lists(st.integers(-1, 3), max_size=3),
        "chip": st.lists(st.integers(-1, 3), max_size=3),
        "port": st.sampled_from(["in", "out", "up"]),
        "dimension": st.sampled_from(["d0", "d1", "q"]),
        "bandwidth": st.sampled_from(["20 GB/s", 45e9, "x"]),
        "latency": st.sampled_from(["2 us", 0, -1]),
        "removed": st.sampled_from([True, False, "true", 2]),
        "one_way": st.booleans(),
        "odd": st.just(1),
    },
)


@given(st.lists(st.tuples(st.integers(1, 3), KINDS), min_size=1, max_size=2), st.lists(KEYS))
def test_any_overrides_are_read_or_refused(
    grid: list[tuple[int, str]], overrides: list[dict[str, object]]
) -> None:
    dimensions = [
        {"name": f"d{i}", "size": size, "kind": kind, "bandwidth": "45 GB/s"}
        for i, (size, kind) in enumerate(grid)
    ]
    given_ = {"chip": "v5e", "dimensions": dimensions, "overrides": overrides}
    try:
        topology = find_topology(given_)
    except ShardsimError as error:
        assert str(error)  # noqa: PT017
        return
    for (chip, key), link in topology.changed:
        assert chip not in topology.missing
        assert topology.link(chip, key) == link
        assert link != topology.dimensions[key[0]].link
    assert topology.cut_apart() is None
    assert set(topology.coordinates()).isdisjoint(topology.missing)
