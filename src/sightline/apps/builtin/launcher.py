"""A list of the apps that can be opened."""

from msgspec import Struct

from sightline.apps import Element, Lod, Options, Outcome, Page, action
from sightline.apps.builtin.app import BuiltinApp
from sightline.apps.calls import CREATE
from sightline.values.items import Call


class Offer(Struct, frozen=True):
    """An app that can be opened, and what it is for, in both languages."""

    name: str
    en: str
    zh: str


class Launcher(BuiltinApp):
    """List the apps that can be opened, and open one."""

    name = "launcher"
    zh = "应用启动器：列出并打开应用"
    single = True
    options = Options(closable=False, pinned=True)
    offers: list[Offer]

    def __init__(self) -> None:
        self.offers = []

    def opened(self) -> None:
        self.refresh()

    def refresh(self) -> bool:
        """List the apps again, because they may be registered at any time, and a resumed session may have others."""
        before, apps = self.offers, self.host.apps.values()
        self.offers = [Offer(app.name, app.describe("en"), app.describe("zh")) for app in apps if app.name != self.name]
        return self.offers != before

    @action(label="Open an app", zh="打开应用", asks=True)
    def open(self, app: str, target: str | None = None) -> Outcome:
        """Open an app in a window. The target says what for, such as a file."""
        return self.host.call(Call("", CREATE.name, {"name": app, "target": target}))

    def view(self, lod: Lod) -> Page:
        """GIST: the names in one line; SUMMARY: one line for each; FULL: what each is for, and how to open it."""
        elements, actions = [], ("open",) if lod is Lod.FULL else ()
        if lod is Lod.GIST:
            names = ", ".join(offer.name for offer in self.offers) or "–"
            counted = self._say("app count", count=len(self.offers), names=names)
            elements = [Element(tag="count", text=counted)]
        for number, offer in enumerate(self.offers if lod > Lod.GIST else (), 1):
            about = f" - {self.says(offer.en, offer.zh)}" if lod is Lod.FULL else ""
            elements.append(Element(tag="app", id=offer.name, text=f"{number}. {offer.name}{about}", actions=actions))
        return Page(self._say("apps title"), tuple(elements))
