"""Apps: what a model sees as windows and acts on.

from sightline.apps import App, Element, action

class Todo(App):
    '''Keep a to-do list.'''
    name = "todo"
    items: list[str]    # declared here, so that what is saved comes back as it was

    def __init__(self):
        self.items = []

    @action(label="Add an item")
    def add(self, text: str) -> str:
        self.items.append(text)
        return f"added {text}"

    def view(self, lod):
        return [Element(id=str(n), text=item) for n, item in enumerate(self.items, 1)]
"""

from sightline.apps.actions import Action, Parameter, action
from sightline.apps.app import App, Options
from sightline.apps.context import Anchor, AnchorType, Context, Round, Version
from sightline.apps.elements import Element, Page
from sightline.apps.events import Event
from sightline.apps.host import Host
from sightline.apps.outcome import Outcome
from sightline.apps.window import AppWindow
from sightline.errors import Refused
from sightline.values.items import Lod

__all__ = [
    "Action", "Anchor", "AnchorType", "App", "AppWindow", "Context", "Element", "Event", "Host", "Lod", "Options",
    "Outcome", "Page", "Parameter", "Refused", "Round", "Version", "action",
]  # fmt: skip
