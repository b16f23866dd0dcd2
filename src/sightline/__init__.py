"""Sightline decides what a language-model agent sees, and loses nothing.

import sightline as sl

session = sl.Session.open(project=".")
session.user("Why does the login test fail?")
payload = session.compose(sl.Budget(window=128_000, output=8_000))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.adapters.clients import wrap as wrap
    from sightline.compaction.compactor import Compacted as Compacted
    from sightline.compaction.loss import Loss as Loss
    from sightline.errors import AnchorConflict as AnchorConflict
    from sightline.errors import AppError as AppError
    from sightline.errors import BadCodeId as BadCodeId
    from sightline.errors import BadInput as BadInput
    from sightline.errors import BadSessionId as BadSessionId
    from sightline.errors import Conflict as Conflict
    from sightline.errors import ContextOverflow as ContextOverflow
    from sightline.errors import ContextTooLarge as ContextTooLarge
    from sightline.errors import Damaged as Damaged
    from sightline.errors import InvalidSourceData as InvalidSourceData
    from sightline.errors import Locked as Locked
    from sightline.errors import ModelBusy as ModelBusy
    from sightline.errors import ModelError as ModelError
    from sightline.errors import ModelRefused as ModelRefused
    from sightline.errors import NoModel as NoModel
    from sightline.errors import NothingCompacted as NothingCompacted
    from sightline.errors import NotShorter as NotShorter
    from sightline.errors import OpenCalls as OpenCalls
    from sightline.errors import PinnedOverflow as PinnedOverflow
    from sightline.errors import Refused as Refused
    from sightline.errors import SessionClosed as SessionClosed
    from sightline.errors import SessionNotFound as SessionNotFound
    from sightline.errors import SightlineError as SightlineError
    from sightline.errors import StoreError as StoreError
    from sightline.errors import StrategyError as StrategyError
    from sightline.errors import ToolFailed as ToolFailed
    from sightline.errors import Unconfirmed as Unconfirmed
    from sightline.errors import UnknownApp as UnknownApp
    from sightline.errors import UnknownCall as UnknownCall
    from sightline.errors import UnknownCode as UnknownCode
    from sightline.errors import UnknownItem as UnknownItem
    from sightline.errors import Unsynced as Unsynced
    from sightline.errors import Unwritable as Unwritable
    from sightline.errors import VersionMismatch as VersionMismatch
    from sightline.fleet.postgres import PostgresStores as PostgresStores
    from sightline.log.stores import Store as Store
    from sightline.log.stores import Stores as Stores
    from sightline.log.stores.jsonl import JsonlStore as JsonlStore
    from sightline.log.stores.memory import MemoryStore as MemoryStore
    from sightline.log.stores.memory import MemoryStores as MemoryStores
    from sightline.plan.plan import Plan as Plan
    from sightline.plan.strategy import Strategy as Strategy
    from sightline.plan.view import Budget as Budget
    from sightline.plan.view import View as View
    from sightline.session.async_session import AsyncSession as AsyncSession
    from sightline.session.fit import Fitted as Fitted
    from sightline.session.fit import fit as fit
    from sightline.session.session import Session as Session
    from sightline.values.items import Item as Item
    from sightline.values.items import Kind as Kind
    from sightline.values.items import Lod as Lod
    from sightline.values.items import Message as Message
    from sightline.values.settings import Settings as Settings
    from sightline.wire.payload import Payload as Payload

__version__ = "0.1.0"

# Names are found when first used: importing the package reads no vocabulary, opens no file and loads no optional part.
_HOMES = {
    "adapters.clients": ("wrap",),
    "compaction.compactor": ("Compacted",),
    "compaction.loss": ("Loss",),
    "errors": (
        "AnchorConflict", "AppError", "BadCodeId", "BadInput", "BadSessionId", "Conflict", "ContextOverflow",
        "ContextTooLarge", "Damaged", "InvalidSourceData", "Locked", "ModelBusy", "ModelError", "ModelRefused",
        "NoModel", "NotShorter", "NothingCompacted", "OpenCalls", "PinnedOverflow", "Refused", "SessionClosed",
        "SessionNotFound", "SightlineError", "StoreError", "StrategyError", "ToolFailed", "UnknownApp", "UnknownCall",
        "Unconfirmed", "UnknownCode", "UnknownItem", "Unsynced", "Unwritable", "VersionMismatch",
    ),
    "values.items": ("Item", "Kind", "Lod", "Message"),
    "values.settings": ("Settings",),
    "wire.payload": ("Payload",),
    "plan.plan": ("Plan",),
    "plan.strategy": ("Strategy",),
    "plan.view": ("Budget", "View"),
    "session.async_session": ("AsyncSession",),
    "session.fit": ("Fitted", "fit"),
    "session.session": ("Session",),
    "log.stores": ("Store", "Stores"),
    "log.stores.jsonl": ("JsonlStore",),
    "log.stores.memory": ("MemoryStore", "MemoryStores"),
    "fleet.postgres": ("PostgresStores",),
}  # fmt: skip
_NAMES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_NAMES)  # noqa: PLE0605 - the one list of public names is above


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'sightline' has no attribute {name!r}")
    return getattr(import_module(f"sightline.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
