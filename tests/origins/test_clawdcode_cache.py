"""The bounded cache: lifetimes and who goes first."""

from hypothesis import given
from hypothesis import strategies as st

from sightline.origins.clawdcode.stores import DEFAULT_TTL, CacheStore


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def test_a_value_lives_for_five_minutes() -> None:
    """Without being told otherwise, up to but not at 300 seconds after it was set."""
    clock = Clock()
    cache = CacheStore(clock=clock)
    cache.set("key", "value")
    clock.now += DEFAULT_TTL - 1
    assert cache.get("key") == "value"
    clock.now += 1
    assert cache.get("key") is None
    assert len(cache) == 0
    assert DEFAULT_TTL == 300_000


def test_reading_does_not_make_younger() -> None:
    """A value that is read again and again still ends when it was said to end."""
    clock = Clock()
    cache = CacheStore(ttl=100, clock=clock)
    cache.set("key", 1)
    for _ in range(10):
        clock.now += 10
        cache.get("key")
    assert cache.get("key", "gone") == "gone"


def test_setting_again_begins_a_new_life() -> None:
    """A replaced value has its own lifetime."""
    clock = Clock()
    cache = CacheStore(ttl=100, clock=clock)
    cache.set("key", 1)
    clock.now += 90
    cache.set("key", 2)
    clock.now += 90
    assert cache.get("key") == 2


def test_a_value_may_have_a_lifetime_of_its_own() -> None:
    """`ttl` of one value overrides the cache's, 0 included."""
    clock = Clock()
    cache = CacheStore(ttl=100, clock=clock)
    cache.set("short", 1, ttl=0)
    cache.set("long", 2, ttl=1000)
    clock.now += 500
    assert (cache.get("short"), cache.get("long")) == (None, 2)


def test_the_least_recently_used_goes_first() -> None:
    """Reading and setting both count as use."""
    cache = CacheStore(size=3, clock=Clock())
    for key in "abc":
        cache.set(key, key)
    cache.get("a")
    cache.set("b", "again")
    cache.set("d", "d")
    assert [key for key in "abcd" if cache.get(key) is not None] == ["a", "b", "d"]


def test_nothing_and_none_are_told_apart() -> None:
    """A stored None is a value: it is returned, not the default."""
    cache = CacheStore(clock=Clock())
    cache.set("key", None)
    assert cache.get("key", "absent") is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans(), st.integers(0, 40)), max_size=60))
def test_a_cache_is_a_dict_that_forgets(steps: list[tuple[str, bool, int]]) -> None:
    """It never holds more than its size, and what it gives back is the last value set, younger than its lifetime."""
    clock = Clock()
    cache = CacheStore(size=3, ttl=100, clock=clock)
    last: dict[str, tuple[int, int]] = {}
    for number, (key, writes, passes) in enumerate(steps):
        clock.now += passes
        if writes:
            cache.set(key, number)
            last[key] = (number, clock.now)
        elif (value := cache.get(key)) is not None:
            assert (value, clock.now - last[key][1] < 100) == (last[key][0], True)
        assert len(cache) <= 3
