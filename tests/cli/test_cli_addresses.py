"""The addresses that servers print: each can be used by whoever reads it."""

import socket

import pytest

from sightline.cli import addresses
from sightline.cli.addresses import in_address, outer_address, page_address


@pytest.mark.parametrize("host", ["0.0.0.0", ""])
def test_every_address_is_told_as_one_that_can_be_reached(host: str) -> None:
    """Nobody on another machine can connect to 0.0.0.0. What is told is an address or the name of this machine."""
    told = outer_address(host)
    assert told not in ("0.0.0.0", "::", "", "[::]")
    if told != socket.gethostname():
        with socket.socket() as own:
            own.bind((told, 0))  # which only works for an address of this machine


def test_without_a_network_the_machine_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no address then by which others would be reached."""
    monkeypatch.setitem(addresses._EVERY, "0.0.0.0", "no address")
    assert outer_address("0.0.0.0") == socket.gethostname()


def test_other_hosts_stay_as_they_are() -> None:
    """With brackets where an address needs them. A page is opened on this machine."""
    assert [outer_address(each) for each in ("127.0.0.1", "box.lan", "::1", "[::1]")] == [
        "127.0.0.1", "box.lan", "[::1]", "[::1]",
    ]  # fmt: skip
    assert (in_address("::"), in_address("0.0.0.0")) == ("127.0.0.1", "127.0.0.1")
    assert page_address("::1", 80, "token=x") == "http://[::1]:80/inspector/#token=x"
