"""What one tool call did to files, for the tools of many agents."""

from collections.abc import Iterable
from typing import Any

from sightline.shorten import shell
from sightline.shorten.call_subject import text_of
from sightline.shorten.shell import CHANGED, DELETED, READ, WRITTEN, Command, Touch
from sightline.values.items import Call

_PATHS = ("file_path", "filePath", "notebook_path", "path", "filename", "file_name", "file", "target_file", "filepath")
_TOOLS = {
    READ: "read read_file readfile view view_file open open_file cat fs_read notebookread get_file_contents",
    WRITTEN: "write write_file writefile create create_file save_file write_to_file fs_write",
    CHANGED: "edit multiedit notebookedit edit_file multi_edit str_replace insert insert_line replace replace_in_file "
    "apply_diff search_replace edit_notebook append append_file",
    DELETED: "delete delete_file remove remove_file",
}
_ACTIONS = {name: action for action, tools in _TOOLS.items() for name in tools.split()}


def command_of(call: Call) -> str:
    """Return the command line that a call runs; "" if it runs none."""
    arguments = call.input if isinstance(call.input, dict) else {}
    return text_of(arguments.get("command")) or text_of(arguments.get("cmd"))


def call_touches(
    call: Call, commands: Iterable[Command], scripts: dict[str, str], *, failed: str | None
) -> list[Touch]:
    """Return what a call did to which file. `commands` are those it ran; for `scripts` see `shell.command_touches`.

    `failed` is the result of a call that failed, else None. A call that failed did nothing to the file it names. A
    command that failed did nothing to the files that it did not find.
    """
    arguments = call.input if isinstance(call.input, dict) else {"input": call.input or call.raw}
    words = [word for value in arguments.values() for word in (value if isinstance(value, list) else [value])]
    if patch := next((word for word in words if isinstance(word, str) and "*** Begin Patch" in word), ""):
        touches = shell.patch_touches(patch) if failed is None else []
    elif path := next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str) and arguments[key]), ""):
        action = _find_action(call.name, arguments)
        touches = [Touch(path, action)] if action and failed is None else []
    else:
        touches = shell.command_touches(commands, scripts)
    return [
        Touch(touch.path.strip().removeprefix("./"), touch.action)
        for touch in touches
        if touch.path.isprintable() and (failed is None or f"{touch.path}: No such file" not in failed)
    ]


def _find_action(tool: str, arguments: dict[str, Any]) -> str:
    """Return the action by the tool's name or by an editor's argument. An editor without one shows the file."""
    name = tool.rpartition("__")[2].rpartition(".")[2].lower()
    if name in _ACTIONS:
        return _ACTIONS[name]
    verb = arguments.get("command") or arguments.get("action")
    if verb is None and "editor" in name and not {"old_str", "new_str", "file_text"} & arguments.keys():
        return READ
    return _ACTIONS.get(verb, CHANGED if verb == "undo_edit" else "") if isinstance(verb, str) else ""
