"""The DocUI document's context: what an app shows, as one frozen value of header, state, content, anchors and history.

    notebook = Builder(lambda notes, lod: Page("Notebook", tuple(Element(lod=lod, text=each) for each in notes)))
    context = notebook.build(SourceData("notebook", "sess-001", 1, at, ["Entry 1"]), LodState(LodLevel.SUMMARY), None)

Every name here is the document's name for something in `sightline.apps`. The context of an open window
(`session.windows.window(id).context()`) is such a context. The JSON has the document's spelling.
"""

from sightline.apps.anchors import Marker, escaped, markers, resolve
from sightline.apps.context import MODEL, AnchorType, Context, from_json, to_json
from sightline.apps.context import Anchor as AnchorInfo
from sightline.apps.context import Header as ContextHeader
from sightline.apps.context import Round as Interaction
from sightline.apps.context import State as ContextState
from sightline.apps.context import Version as ContextVersion
from sightline.apps.document import ROUNDS, Builder, Document, LodState, SourceData
from sightline.apps.document import ContextBuilder as IContextBuilder
from sightline.apps.elements import Element, Page
from sightline.errors import AnchorConflict as AnchorConflictError
from sightline.errors import ContextTooLarge as ContextTooLargeError
from sightline.errors import InvalidSourceData as InvalidSourceDataError
from sightline.errors import VersionMismatch as VersionMismatchError
from sightline.values.items import Lod as LodLevel

__all__ = [
    "MODEL", "ROUNDS", "AnchorConflictError", "AnchorInfo", "AnchorType", "Builder", "Context", "ContextHeader",
    "ContextState", "ContextTooLargeError", "ContextVersion", "Document", "Element", "IContextBuilder", "Interaction",
    "InteractionHistory", "InvalidSourceDataError", "LodLevel", "LodState", "Marker", "Page", "SourceData",
    "VersionMismatchError", "escaped", "from_json", "markers", "resolve", "to_json",
]  # fmt: skip

# The rounds of interaction, the oldest first.
InteractionHistory = tuple[Interaction, ...]
