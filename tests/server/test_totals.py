"""The sums that `sightline wrap` prints at its end."""

from pathlib import Path
from typing import Any

from through_proxy import Talk, Through, page
from upstream_script import answer, call


def test_what_the_agent_reads_again_is_counted(tmp_path: Path) -> None:
    """A file that was shortened and is read again is one read that a larger window would have saved."""
    files = [*(f"file_{number}.py" for number in range(6)), "file_0.py"]

    def respond(asked: Any) -> Any:
        read = sum(each["role"] == "assistant" for each in asked.body["messages"])
        return answer(call("read", {"path": files[read]})) if read < len(files) else answer("Done.")

    with Through(tmp_path, respond, window=6000) as through:
        Talk(through, "chat", read=lambda path: page(path, 80)).say("Read everything.")
        assert through.upstream.invalid == []
        assert through.totals.sweeps > 0
        assert through.totals.read_again == 1
