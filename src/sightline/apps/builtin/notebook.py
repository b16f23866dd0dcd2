"""A notebook whose entries fold and unfold one by one."""

import re

from msgspec import Struct
from msgspec.structs import replace

from sightline.apps import App, Element, Lod, Page, Refused, action
from sightline.apps.anchors import NAME

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


class Notebook(App):
    """Keep notes, each of them folded or unfolded as needed, found by tag."""

    name = "notebook"
    zh = "记忆笔记本：条目可折叠、展开，按标签查找"
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
            raise Refused(self.says("an id has letters, digits and _ - . : only", "ID 只能含字母、数字和 _ - . :"))
        if any(entry.id == entry_id for entry in self.entries):
            raise Refused(self.says(f"there is an entry {entry_id} already", f"条目 {entry_id} 已存在"))
        fields = (self._title(title), content or "", summary or "", gist or "", _words(tags or ""))
        self.entries.append(Entry(entry_id, *fields))
        return self.says(f"added entry {entry_id}", f"已添加条目 {entry_id}")

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
            raise Refused(self.says("say what to change", "请指明要修改的内容"))
        self._update(replace(self._entry(entry_id), **changes))
        return self.says(f"changed entry {entry_id}", f"已修改条目 {entry_id}")

    @action(label="Remove an entry", zh="删除条目", asks=True)
    def remove(self, entry_id: str) -> str:
        """Remove an entry."""
        self.entries.remove(self._entry(entry_id))
        self.focused = "" if self.focused == entry_id else self.focused
        return self.says(f"removed entry {entry_id}", f"已删除条目 {entry_id}")

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
        return self.says(f"folded {len(self.entries)}", f"已折叠 {len(self.entries)} 个条目")

    @action(label="Unfold all entries", zh="全部展开")
    def unfold_all(self) -> str:
        """Show every entry with all its content."""
        self.entries = [replace(entry, lod=Lod.FULL) for entry in self.entries]
        return self.says(f"unfolded {len(self.entries)}", f"已展开 {len(self.entries)} 个条目")

    @action(label="Unfold these entries and fold the others", zh="聚焦条目")
    def focus(self, ids: str) -> str:
        """Unfold the entries with these ids, between commas, and fold all others. The first one has the focus."""
        wanted = [self._entry(entry_id).id for entry_id in _words(ids)]
        if not wanted:
            raise Refused(self.says("say which entries", "请指明条目"))
        self.entries = [replace(entry, lod=Lod.FULL if entry.id in wanted else Lod.GIST) for entry in self.entries]
        self.focused = wanted[0]
        return self.says(f"focus on {', '.join(wanted)}", f"已聚焦 {'、'.join(wanted)}")

    @action(label="Show only entries with a tag", zh="按标签筛选")
    def filter(self, tag: str | None = None) -> str:
        """Show only the entries with this tag; without a tag, all again."""
        tags = list(dict.fromkeys(tag for entry in self.entries for tag in entry.tags))
        if tag and tag not in tags:
            there = ", ".join(tags[:_KNOWN]) or "–"
            raise Refused(self.says(f"no entry has the tag {tag!r}; tags: {there}", f"没有标签 {tag!r}；现有：{there}"))
        self.tag = tag or ""
        counts = f"{len(self._shown())}/{len(self.entries)}"
        return self.says(f"showing {counts} entries", f"显示 {counts} 个条目")

    # ------------------------------------------------------------------ view

    def view(self, lod: Lod) -> Page:
        """GIST: how many; SUMMARY: one line for each entry; FULL: each at its own level."""
        count, with_tag = len(self.entries), len(self._shown())
        some = self.says(f" | {with_tag} with tag {self.tag}", f" | 标签 {self.tag}：{with_tag} 个") if self.tag else ""
        text = self.says(f"{count} {'entry' if count == 1 else 'entries'}", f"{count} 个条目") + some
        levels = ", ".join(f"{sum(entry.lod is lod for entry in self.entries)} {lod.name.lower()}" for lod in Lod)
        distribution = self.says(f"LOD distribution: {levels}", f"级别分布：{levels}")
        elements = [Element(tag="count", text=text), Element(tag="levels", text=distribution)]
        elements += [self._element(entry, lod) for entry in self._shown() if lod > Lod.GIST]
        custom = {"filter": self.tag} if self.tag else None
        return Page(self.says("📓 Memory Notebook", "📓 记忆笔记本"), tuple(elements), self.focused or None, custom)

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
        raise Refused(self.says(f"no entry {entry_id!r}; there are: {there}", f"没有条目 {entry_id!r}；现有：{there}"))

    def _set_level(self, entry_id: str, lod: Lod) -> str:
        self._update(replace(self._entry(entry_id), lod=lod))
        return f"{entry_id}: {lod.name}"

    def _update(self, entry: Entry) -> None:
        self.entries = [entry if old.id == entry.id else old for old in self.entries]

    def _title(self, title: str) -> str:
        if not title.strip():
            raise Refused(self.says("an entry needs a title", "条目需要标题"))
        return " ".join(title.split())


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a list, each once. Commas or spaces separate them."""
    return tuple(dict.fromkeys(filter(None, re.split(r"[\s,，、]+", text))))
