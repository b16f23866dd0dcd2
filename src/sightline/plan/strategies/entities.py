"""State instead of dialogue: the values collected so far as one typed JSON object, and the question."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from sightline.plan.plan import Plan
from sightline.plan.strategies.sliding import (
    ConstraintsShown,
    begins_turn,
    reachable_units,
    show_newest,
    without_constraints,
)
from sightline.plan.strategies.state_schema import Schema, field_of, object_in, problem, schema_of
from sightline.plan.strategy import Hooks, Merged
from sightline.plan.view import View
from sightline.values.items import Kind
from sightline.values.phrases import say


class Entities(Hooks, Struct, frozen=True, forbid_unknown_fields=True):
    """Shows the state as JSON, and the question with what came after it.

    The rest of the dialogue is not sent, except what no extraction has read yet, or its summary: nothing is forgotten
    before its values are in the state.
    """

    name = "entities"

    schema: Annotated[
        dict[str, Any], Meta(description='what to remember: a JSON Schema, or in short {"date": "string"}')
    ]
    null_erases: Annotated[bool, Meta(description="whether null from the model deletes a stored value")] = False
    compression_model: Annotated[str, Meta(description="the name of the model that extracts")] = ""
    constraints: ConstraintsShown = True

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "schema", schema_of(self.schema))

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. A new question or a new state is a sweep."""
        view = view if self.constraints else without_constraints(view)
        state = f"{say('state', view.notices.locale)}\n{msgspec.json.encode(view.state).decode()}"
        says = state if view.read >= 0 else ""
        units, must, timeline = reachable_units(view), view.must_show, view.timeline
        if view.trims:  # what was not read, the question, what came after it, and what must be shown
            unread = (unit for unit in units if timeline.unit_row[unit] >= view.read and begins_turn(timeline, unit))
            first = min(next(unread, view.asked), view.asked) if view.read >= 0 else 0
            later = {unit for unit in units if unit >= first and timeline.unit_kind(unit) is not Kind.SUMMARY}
            units = sorted(later | (must | _unread_summaries(view)).intersection(units))
        last, stage = view.last, view.last_stage
        fits = view.fits_later or view.tokens_with_new() <= view.limit
        is_same = last is not None and units == [*last, *view.new] and not (stage is not None and stage.reason)
        if last is not None and is_same and fits and not view.command:
            preface, _ = view.notices.preface(units, last.lods, says)
            if preface == last.preface:
                return Plan.extended(view, {}, {})
        return show_newest(view, units, view.command or "sweep: state", says=says)

    def merged(self, state: Mapping[str, Any], found: Any) -> Merged:
        """See `Strategy.merged`. Values that the schema does not allow are refused."""
        return merged(self.schema, state, found, null_erases=self.null_erases)


def _unread_summaries(view: View) -> set[int]:
    """The summaries of user messages that no extraction has read."""
    timeline, summaries = view.timeline, set[int]()
    for compaction in view.compactions:
        first, last = timeline.unit_row[compaction.first], timeline.unit_row[compaction.last]
        unread = timeline.rows_on(view.path, range(max(view.read, first), last + 1))
        if any(begins_turn(timeline, timeline.unit[row]) for row in unread):
            summaries.update(compaction.summaries)
    return summaries


def merged(schema: Schema, state: Mapping[str, Any], values: Any, *, null_erases: bool = False) -> Merged:
    """The state with found values merged in. Pure.

    Later values overwrite earlier ones, field by field. Fields that were not found keep their values. A value that the
    schema does not allow is refused, and the old one stays. Null is ignored, or removes a value if `null_erases`.
    """
    refused: dict[str, str] = {}
    node = object_in(schema, schema) or {}
    if not isinstance(fields := _plain(values), Mapping):
        return Merged(dict(state), {"": f"{type(values).__name__} is no object with fields"})
    return Merged(_Merging(schema, null_erases, refused).into(node, state, fields, ""), refused)


class _Merging(NamedTuple):
    root: Schema
    null_erases: bool
    refused: dict[str, str]

    def into(
        self, node: Mapping[str, Any], state: Mapping[str, Any], fields: Mapping[Any, Any], path: str
    ) -> dict[str, Any]:
        """One object's fields."""
        result = dict(state)
        for name, value in fields.items():
            where = f"{path}.{name}" if path else str(name)
            part = field_of(node, name)
            if part is None:
                self.refused[where] = "no such field"
            elif value is None:
                if self.null_erases:
                    result.pop(name, None)
            else:
                self._field(part, result, str(name), value, where)
        return result

    def _field(self, part: Any, result: dict[str, Any], name: str, value: Any, where: str) -> None:
        inner = object_in(part, self.root) if isinstance(part, Mapping) else None
        if inner is not None and isinstance(value, Mapping):
            before = result.get(name)
            inside = self.into(inner, before if isinstance(before, Mapping) else {}, value, where)
            if inside:
                result[name] = inside
        elif wrong := problem(part, value, self.root):
            self.refused[where] = wrong
        else:
            result[name] = value


def _plain(values: Any) -> Any:
    """Found values as plain JSON: from a mapping, JSON text, or an object of a msgspec or pydantic type."""
    if isinstance(values, Mapping):
        return values
    dump = getattr(values, "model_dump", None)
    try:
        if dump is not None:
            return dump(mode="json", exclude_unset=True)
        return msgspec.json.decode(values) if isinstance(values, str | bytes) else msgspec.to_builtins(values)
    except (TypeError, ValueError, msgspec.DecodeError):
        return None
