"""A to-do list."""

from msgspec import Struct

from sightline.apps import Element, Lod, Page, Refused, action
from sightline.apps.builtin.app import BuiltinApp


class Task(Struct):
    """Something to do. Its number never changes, also when others are deleted."""

    number: int
    text: str
    done: bool = False


class Todo(BuiltinApp):
    """Keep a to-do list: what is to be done, and what is done."""

    name = "todo"
    zh = "待办事项管理应用"
    tasks: list[Task]
    added: int  # items ever added

    def __init__(self) -> None:
        self.tasks, self.added = [], 0

    @action(label="Add an item", zh="添加条目")
    def add(self, text: str) -> str:
        """Add an item at the end of the list."""
        if not text.strip():
            raise Refused(self._say("no item text"))
        self.added += 1
        self.tasks.append(Task(self.added, text.strip()))
        return self._say("added item", added=self.added)

    @action(label="Mark an item as done, or as open again", zh="切换完成状态")
    def toggle(self, index: int) -> str:
        """Mark an item as done; if it is done, as open again."""
        task = self._task(index)
        task.done = not task.done
        state = self._say("done item") if task.done else self._say("open item")
        return self._say("item state", index=index, state=state)

    @action(label="Delete an item", zh="删除条目", asks=True)
    def delete(self, index: int) -> str:
        """Delete an item; the others keep their numbers."""
        task = self._task(index)
        self.tasks.remove(task)
        return self._say("deleted item", text=task.text)

    @action(label="Delete what is done", zh="清除已完成", asks=True)
    def clear(self) -> str:
        """Delete every item that is done."""
        done = sum(task.done for task in self.tasks)
        self.tasks = [task for task in self.tasks if not task.done]
        return self._say("deleted items", done=done)

    def view(self, lod: Lod) -> Page:
        """GIST: how many; SUMMARY: the open items; FULL: all items with their actions."""
        left = sum(not task.done for task in self.tasks)
        counted = self._say("open items", left=left, count=len(self.tasks))
        elements = [] if lod is Lod.FULL else [Element(tag="count", text=counted)]
        actions = ("toggle", "delete") if lod is Lod.FULL else ()
        for task in self.tasks:
            if lod is Lod.FULL or (lod is Lod.SUMMARY and not task.done):
                done = (self._say("done item"),) if task.done else ()
                elements.append(Element(id=str(task.number), text=task.text, tags=done, actions=actions))
        return Page(self._say("todo title"), tuple(elements))

    def _task(self, index: int) -> Task:
        for task in self.tasks:
            if task.number == index:
                return task
        count = len(self.tasks)
        raise Refused(self._say("no item", index=index, count=count))
