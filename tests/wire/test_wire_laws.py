"""What holds for every payload in every format."""

from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_payloads import (
    CHECKS,
    FORMATS,
    as_payload,
    check_types,
    content_blocks,
    histories,
    payload,
    payloads,
    read_back,
    sent,
    write,
)

from sightline.values.items import Message
from sightline.wire.payload import Payload

every_format = pytest.mark.parametrize("module", FORMATS, ids=lambda module: module.NAME)


@every_format
@given(made=payloads)
def test_the_sdk_types_accept_what_is_written(module: ModuleType, made: Payload) -> None:
    """Every argument validates against the SDK's own types, nested blocks included."""
    check_types(module, write(module, made))


@every_format
@given(made=payloads)
def test_the_api_rules_hold(module: ModuleType, made: Payload) -> None:
    """Pairs, order, ids and contents are what the API demands beyond its types."""
    CHECKS[module.NAME](write(module, made))


@every_format
@given(made=payloads)
def test_written_messages_are_json(module: ModuleType, made: Payload) -> None:
    """Whatever was put in, strict UTF-8 JSON comes out."""
    written = write(module, made)
    assert msgspec.json.decode(msgspec.json.encode(written)) == written


@pytest.mark.slow
@every_format
@given(made=payloads)
def test_reading_what_was_written_and_writing_it_again_changes_nothing(module: ModuleType, made: Payload) -> None:
    """read(write(read(x))) == read(x)."""
    once = read_back(module, write(module, made))
    assert read_back(module, write(module, as_payload(once))) == once


@every_format
@given(units=histories.filter(bool), cut=st.integers(1, 5))
def test_a_longer_body_begins_with_the_shorter_one(module: ModuleType, units: list[list[Message]], cut: int) -> None:
    """Adding units changes no message sent before; only the last may have gained blocks at its end."""
    short = [message for unit in units[:cut] for message in unit]
    whole = [message for unit in units for message in unit]
    before, after = sent(write(module, payload(short))), sent(write(module, payload(whole)))
    assert after[: len(before) - 1] == before[:-1]
    assert _grown(after[len(before) - 1], before[-1])


def _grown(after: dict[str, Any], before: dict[str, Any]) -> bool:
    if after == before:
        return True
    old, new = content_blocks(before), content_blocks(after)
    return after | {"content": None} == before | {"content": None} and new[: len(old)] == old


@every_format
@given(made=payloads)
def test_a_recall_only_lengthens_the_message_it_joins(module: ModuleType, made: Payload) -> None:
    """Nothing but the joined message differs from a payload without the recall."""
    merge_into_previous = [place for place, message in enumerate(made.body) if message.merge_into_previous]
    for place in merge_into_previous[:1]:
        before = sent(write(module, payload(made.body[:place])))
        after = sent(write(module, payload(made.body[: place + 1])))
        assert len(after) == len(before)
        assert after[:-1] == before[:-1]
        assert _grown(after[-1], before[-1])


@pytest.mark.slow
@every_format
@given(made=payloads)
def test_the_caller_owns_what_is_written(module: ModuleType, made: Payload) -> None:
    """Tearing apart the written arguments leaves the payload as it was."""
    written = write(module, made)
    kept = msgspec.json.encode(written)
    _destroy(written)
    assert msgspec.json.encode(write(module, made)) == kept


def _destroy(value: Any) -> None:
    for inner in list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else ():
        _destroy(inner)
    if isinstance(value, dict | list):
        value.clear()
