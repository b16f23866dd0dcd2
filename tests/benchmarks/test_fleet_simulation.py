"""The simulation of a fleet: the same for the same seed, right where it can be counted by hand, and its checks bite."""

import pytest
from benchmarks.scaling.database_model import Rules
from benchmarks.scaling.kernel import Cores, Interpreter, Kernel, Places, Steps
from benchmarks.scaling.simulation import Costs, Failure, Fleet, Shape

SLOW_DISK = Costs(flush=0.1, server=0.02, moved=0.001)
TROUBLE = [
    *(Failure(1.0 + 1.5 * number, "database", 0, 0.5) for number in range(6)),
    *(Failure(0.7 + 1.1 * number, "server", number, 0.5) for number in range(8)),
    Failure(3.0, "network", 0, 0.7),
]


def troubled(rules: Rules = Rules(), seed: int = 1) -> Fleet:  # noqa: B008 - it cannot be changed
    """Conversations that go from server to server, while servers, database and network fail."""
    return Fleet(Shape(servers=3, talks=8, moves=True), SLOW_DISK, TROUBLE, rules=rules, seed=seed).run(11)


def test_the_protocol_loses_and_doubles_nothing() -> None:
    """Whatever fails, every line that was acknowledged is there once, and every answer that a client has is logged."""
    for seed in range(3):
        fleet = troubled(seed=seed)
        assert (dict(fleet.faults()), fleet.unlogged()) == ({}, 0)
        assert fleet.retries > 10
        assert len(fleet.latencies) > 50


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        (Rules(compares=False), "line twice"),
        (Rules(confirms=False), "refused and written"),
        (Rules(flushes=False), "acknowledged and lost"),
    ],
)
def test_a_protocol_without_one_of_its_rules_is_found_out(rules: Rules, fault: str) -> None:
    """A blind append doubles lines, one that does not look again refuses what was done, one without a flush loses."""
    assert troubled(rules).faults()[fault] > 0


def test_a_long_silence_leaves_nobody_in_doubt_for_good() -> None:
    """After a pause that is longer than anybody's patience, what was sent before it arrives once or never."""
    trouble = [Failure(1.0, "network", 0, 65.0), Failure(80.0, "database", 0, 45.0)]
    fleet = Fleet(Shape(servers=2, talks=6, model=1.0, think=0.2), SLOW_DISK, trouble).run(140)
    assert (dict(fleet.faults()), fleet.unlogged()) == ({}, 0)
    assert fleet.told("unconfirmed") > 0
    assert fleet.told("unwritable") > 0


def test_the_same_seed_gives_the_same_run() -> None:
    """To the last digit; another seed gives another run."""
    runs = [
        Fleet(Shape(servers=2, talks=5, think=0.1, model=0.1), Costs(), TROUBLE[:3], seed=seed).run(4)
        for seed in (1, 1, 2)
    ]
    assert runs[0].latencies == runs[1].latencies != runs[2].latencies


def test_what_saturates_is_what_the_arithmetic_says() -> None:
    """A process gives as many turns as its core can, processes on two cores as the two can, and a database likewise."""
    costs = Costs(other=0.0, flush=0.0001, round_trip=0.0001, moved=0.0)

    def rate(shape: Shape, costs: Costs = costs) -> float:
        return sum(at > 1 for at, _ in Fleet(shape, costs).run(4).latencies) / 3

    database = 3 * costs.append + costs.read + costs.notify
    assert rate(Shape(servers=1)) == pytest.approx(1 / costs.server, rel=0.1)
    whole = 2 / (costs.server + database)
    assert rate(Shape(servers=4, talks=6, shared_cores=2)) == pytest.approx(whole, rel=0.1)
    slow = costs._replace(append=0.01)
    assert rate(Shape(servers=4, talks=10, database_cores=2), slow) == pytest.approx(2 / 0.03, rel=0.1)


def test_commits_share_a_flush() -> None:
    """A slow disk makes an append slow, and not fewer of them possible: all that wait go with the next flush."""
    few, many = (
        Fleet(Shape(servers=number, talks=20, database_cores=8), Costs(server=0.0005, flush=0.02)).run(2)
        for number in (1, 4)
    )
    assert len(many.latencies) > 3 * len(few.latencies)
    assert many.databases[0].flushes <= 2 / 0.02 + 1


def test_work_waits_for_a_core_and_a_place() -> None:
    """Two cores do three pieces in two rounds; a Python process uses one of them; a place is given back."""
    kernel, done = Kernel(), []
    cores, places = Cores(kernel, 2), Places(1)
    process = Interpreter(cores, 0.5)

    def work(name: str) -> Steps:
        yield cores.work(1.0)
        done.append((name, kernel.now))

    def think(name: str) -> Steps:
        yield places.take()
        yield process.work(1.0)
        places.leave()
        done.append((name, kernel.now))

    for name in "abc":
        kernel.start(work(name))
    kernel.run(5.0)
    for name in "de":
        kernel.start(think(name))
    kernel.run(10.0)
    assert done == [("a", 1.0), ("b", 1.0), ("c", 2.0), ("d", 6.0), ("e", 7.0)]
