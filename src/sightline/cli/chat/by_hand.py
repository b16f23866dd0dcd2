"""A window that the user acts on by hand, as the model would: `/windows todo_1 add milk`."""

from rich.text import Text

from sightline.apps.window import AppWindow
from sightline.cli.app_shell import AppShell
from sightline.cli.chat.chat import Chat
from sightline.cli.render import align, print_text, printable
from sightline.values.escape import plain_label
from sightline.values.phrases import texts

_FORM = "xml"  # of a view that nobody asks for
_DID = texts("chat")["acted by hand"]
_LONGEST = 300  # characters of a line and of its result that the note repeats


def act(chat: Chat, window: AppWindow, line: str) -> None:
    """Run a line in a window, show the result, and note in the conversation that the user did it.

    If there is no such action, or its arguments are wrong, list what the window offers.
    """
    shell = AppShell(chat.session, window.id, _FORM, chat.words)
    shell.commands.clear()  # here only the window's own actions mean something
    reply = shell.run(line)
    outcome = reply.outcome
    print_text(chat.out, printable(outcome.message), "" if outcome.success else "red")
    if reply.acted and (outcome.success or outcome.reason == "failed"):  # the app has answered
        chat.session.note(note(window.id, line, outcome.message, chat.session.settings.locale))
        window_now = chat.session.windows.window(window.id)
        if window_now is not None:
            chat.out.print(Text(printable(window_now.render())), soft_wrap=True)
        if reply.note:
            print_text(chat.out, printable(reply.note), "dim")
    elif outcome.reason != "failed":
        _list_actions(chat, window)


def _list_actions(chat: Chat, window: AppWindow) -> None:
    locale = chat.words.language
    chat.say("window offers", id=window.id)
    rows = [(f"  {action.id} {action.params}".rstrip(), action.label_in(locale)) for action in window.actions.values()]
    print_text(chat.out, printable("\n".join(align(rows))))
    chat.say("window example", id=window.id, style="dim")


def note(window_id: str, line: str, result: str, locale: str) -> str:
    """Return what the log and the model are told: that it was the user, what was done, and the result."""
    done, led_to = (plain_label(" ".join(text.split())[:_LONGEST]) for text in (line, result))
    return f"{_DID[locale == 'zh']}{plain_label(window_id)}: {done} → {led_to}"


def is_note(text: str) -> bool:
    """Whether a message of the program is such a note."""
    return text.startswith(_DID)
