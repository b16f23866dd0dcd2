"""A notebook whose entries fold and unfold one by one."""

import re

from msgspec import Struct
from msgspec.structs import replace

from sightline.apps import Element, Lod, Page, Refused, action
from sightline.apps.anchors import NAME
from sightline.apps.builtin.app import BuiltinApp

_SUMMARY = 200  # characters of the content that are its summary if nobody wrote one
_KNOWN = 10  # ids or tags named in an error message
_OFFERED = {Lod.GIST: ("summary", "unfold"), Lod.SUMMARY: ("fold", "unfold"), Lod.FULL: ("fold", "summary")}


class Entry(Struct, frozen=True):
    """A note, with a level of its own."""

    id: str
    title: str
    content: str = ""
    summary: str = ""
    gist: str = ""
    tags: tuple[str, ...] = ()
    lod: Lod = Lod.SUMMARY

    def at(self, lod: Lod) -> str:
        """Return its text below the title at this level: as written, or else made from the next higher level."""
        whole = self.content or self.summary or self.gist
        short = self.summary or (whole if len(whole) <= _SUMMARY else whole[:_SUMMARY] + "...")
        return {Lod.FULL: whole, Lod.SUMMARY: short, Lod.GIST: self.gist or short}[lod]


class Notebook(BuiltinApp):
    """Keep notes, each of them folded or unfolded as needed, found by tag."""

    name = "notebook"
    zh = "记忆笔记本：条目可折叠、展开，按标签查找"
    shareable = True
    entries: list[Entry]
    tag: str  # only entries with this tag are shown; empty: all
    focused: str  # the id of the entry that has the focus

    def __init__(self) -> None:
        self.entries, self.tag, self.focused = [], "", ""

    # ------------------------------------------------------------------ actions

    @action(label="Add an entry", zh="添加条目")
    def add(
        self,
        entry_id: str,
        title: str,
        content: str | None = None,
        tags: str | None = None,
        summary: str | None = None,
        gist: str | None = None,
    ) -> str:
        """Add an entry at the end. Tags are words between commas; without a summary, the beginning is one."""
        if not NAME.fullmatch(entry_id):
            raise Refused(self._say("bad entry id"))
        if any(entry.id == entry_id for entry in self.entries):
            raise Refused(self._say("entry exists", entry_id=entry_id))
        fields = (self._title(title), content or "", summary or "", gist or "", _words(tags or ""))
        self.entries.append(Entry(entry_id, *fields))
        return self._say("added entry", entry_id=entry_id)

    @action(label="Change an entry", zh="修改条目")
    def edit(
        self,
        entry_id: str,
        title: str | None = None,
        content: str | None = None,
        tags: str | None = None,
        summary: str | None = None,
        gist: str | None = None,
    ) -> str:
        """Change what is given, keep the rest. A summary and a gist of the old content go with it."""
        fields = {
            "title": self._title(title) if title is not None else None,
            "content": content,
            "tags": _words(tags) if tags is not None else None,
            "summary": summary if content is None else summary or "",
            "gist": gist if content is None else gist or "",
        }
        changes = {name: value for name, value in fields.items() if value is not None}
        if not changes:
            raise Refused(self._say("no change named"))
        self._update(replace(self._entry(entry_id), **changes))
        return self._say("changed entry", entry_id=entry_id)

    @action(label="Remove an entry", zh="删除条目", asks=True)
    def remove(self, entry_id: str) -> str:
        """Remove an entry."""
        self.entries.remove(self._entry(entry_id))
        self.focused = "" if self.focused == entry_id else self.focused
        return self._say("removed entry", entry_id=entry_id)

    @action(label="Fold an entry to one line", zh="折叠条目")
    def fold(self, entry_id: str) -> str:
        """Show an entry in one line."""
        return self._set_level(entry_id, Lod.GIST)

    @action(label="Unfold an entry", zh="展开条目")
    def unfold(self, entry_id: str) -> str:
        """Show an entry with all its content."""
        return self._set_level(entry_id, Lod.FULL)

    @action(label="Show an entry's summary", zh="显示条目摘要")
    def summary(self, entry_id: str) -> str:
        """Show an entry's summary."""
        return self._set_level(entry_id, Lod.SUMMARY)

    @action(label="Fold all entries", zh="全部折叠")
    def fold_all(self) -> str:
        """Show every entry in one line."""
        self.entries = [replace(entry, lod=Lod.GIST) for entry in self.entries]
        return self._say("folded entries", count=len(self.entries))

    @action(label="Unfold all entries", zh="全部展开")
    def unfold_all(self) -> str:
        """Show every entry with all its content."""
        self.entries = [replace(entry, lod=Lod.FULL) for entry in self.entries]
        return self._say("unfolded entries", count=len(self.entries))

    @action(label="Unfold these entries and fold the others", zh="聚焦条目")
    def focus(self, ids: str) -> str:
        """Unfold the entries with these ids, between commas, and fold all others. The first one has the focus."""
        wanted = [self._entry(entry_id).id for entry_id in _words(ids)]
        if not wanted:
            raise Refused(self._say("no entries named"))
        self.entries = [replace(entry, lod=Lod.FULL if entry.id in wanted else Lod.GIST) for entry in self.entries]
        self.focused = wanted[0]
        return self._say("focus", ids=self._say("between ids").join(wanted))

    @action(label="Show only entries with a tag", zh="按标签筛选")
    def filter(self, tag: str | None = None) -> str:
        """Show only the entries with this tag; without a tag, all again."""
        tags = list(dict.fromkeys(tag for entry in self.entries for tag in entry.tags))
        if tag and tag not in tags:
            there = ", ".join(tags[:_KNOWN]) or "–"
            raise Refused(self._say("no tag", tag=tag, there=there))
        self.tag = tag or ""
        counts = f"{len(self._shown())}/{len(self.entries)}"
        return self._say("entries shown", counts=counts)

    # ------------------------------------------------------------------ view

    def view(self, lod: Lod) -> Page:
        """GIST: how many; SUMMARY: one line for each entry; FULL: each at its own level."""
        count, with_tag = len(self.entries), len(self._shown())
        some = self._say("with tag", with_tag=with_tag, tag=self.tag) if self.tag else ""
        text = self._say("entries one" if count == 1 else "entries", count=count) + some
        levels = ", ".join(f"{sum(entry.lod is lod for entry in self.entries)} {lod.name.lower()}" for lod in Lod)
        distribution = self._say("levels", levels=levels)
        elements = [Element(tag="count", text=text), Element(tag="levels", text=distribution)]
        elements += [self._element(entry, lod) for entry in self._shown() if lod > Lod.GIST]
        custom = {"filter": self.tag} if self.tag else None
        return Page(self._say("notebook title"), tuple(elements), self.focused or None, custom)

    def _element(self, entry: Entry, lod: Lod) -> Element:
        own, offered = (entry.lod, _OFFERED[entry.lod]) if lod is Lod.FULL else (Lod.GIST, ())
        body, tags = entry.at(own), entry.tags
        return Element(tag="entry", id=entry.id, text=entry.title, lod=own, tags=tags, body=body, actions=offered)

    # ------------------------------------------------------------------ entries

    def _shown(self) -> list[Entry]:
        return [entry for entry in self.entries if not self.tag or self.tag in entry.tags]

    def _entry(self, entry_id: str) -> Entry:
        for entry in self.entries:
            if entry.id == entry_id:
                return entry
        there = ", ".join(entry.id for entry in self.entries[:_KNOWN]) or "–"
        raise Refused(self._say("no entry", entry_id=entry_id, there=there))

    def _set_level(self, entry_id: str, lod: Lod) -> str:
        self._update(replace(self._entry(entry_id), lod=lod))
        return f"{entry_id}: {lod.name}"

    def _update(self, entry: Entry) -> None:
        self.entries = [entry if old.id == entry.id else old for old in self.entries]

    def _title(self, title: str) -> str:
        if not title.strip():
            raise Refused(self._say("no title"))
        return " ".join(title.split())


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a list, each once. Commas or spaces separate them."""
    return tuple(dict.fromkeys(filter(None, re.split(r"[\s,，、]+", text))))
