"""An app of your own: a countdown that the model sees in a window and can act on.

An app has data, a view of the data, and actions. The engine shows the window at the end of every payload, offers its
actions as tools, saves the data after each action, and shows a lower level of detail when windows need too much room.

    session = sl.Session.open(apps=[Countdown])

Run this file to see it work.
"""

import sightline as sl
from sightline.apps import App, Element, Lod, Refused, action
from sightline.testing import check_app


class Countdown(App):
    """Count down the steps that are left."""

    name = "countdown"
    left: int  # the declared type is what a resumed session restores
    done: list[str]

    def __init__(self) -> None:
        self.left, self.done = 3, []

    @action(label="Finish a step")
    def finish(self, what: str) -> str:
        """The parameters of the method are those of the tool. What it returns is the tool's result."""
        if not self.left:
            raise Refused("nothing is left; the countdown is over")
        self.left -= 1
        self.done.append(what)
        return f"{self.left} left"

    def view(self, lod: Lod) -> list[Element]:
        """Show less at a lower level: a gist is one line."""
        head = Element(text=f"{self.left} steps left")
        return [head] if lod is Lod.GIST else [head, *(Element(id=str(n), text=t) for n, t in enumerate(self.done, 1))]


def main() -> None:
    """Open the window, act on it as a model would, and print what the model sees next."""
    check_app(Countdown, [("finish", {"what": "read the log"}), ("finish", {"what": "fix the test"})])
    session = sl.Session(sl.MemoryStore("example"), apps=[Countdown])
    window = session.windows.open("countdown")
    session.user("Tick off what you have done.")
    print(session.windows.act(window, "finish", what="read the log").message)
    payload = session.compose(sl.Budget(window=8_000, output=500))
    print(payload.tail[-1].parts[0].text)


if __name__ == "__main__":
    main()
