"""aider has no tools: it writes its files, a map and its rules anew in each request, and not at their former places."""

from pathlib import Path

import pytest
from aider_talk import RULES, AiderTalk, source
from through_proxy import Talk, Through
from upstream_script import answer, fail

WINDOW = 6_000


def answered(number: int) -> str:
    """An answer with a block that replaces lines, and a fact that nothing else tells."""
    return (
        f"I changed valve_{number}; its code is KX-{number * 7919}.\n\npumps.py\n```\n<<<<<<< SEARCH\n"
        f"        return self.pressure * {number}\n=======\n        return self.pressure * {number * 7919}\n"
        f">>>>>>> REPLACE\n```\n" + f"Valve {number} opens when pump {number * 31 % 17} is off. " * 12
    )


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["chat", "anthropic"])
@pytest.mark.parametrize("examples", [True, False])
def test_forty_turns_are_one_conversation(wire: str, examples: bool, tmp_path: Path) -> None:
    """On one branch, also after a restart; each question comes last, the file before it as it is now and only so."""
    number = 0
    with Through(tmp_path, lambda _: answer(answered(number)), window=WINDOW) as through:
        talk, shortened = AiderTalk(through, wire, examples=examples, max_tokens=500), 0
        for number in range(40):
            if number == 25:
                through.restart()
            talk.edit(f"Please change valve_{number} of the pump, run {number}.")
            body = through.bodies[-1]
            texts = [str(message["content"]) for message in body["messages"]]
            if RULES in texts[-1] and len(texts) >= len(talk.done):  # as it came
                continue
            shortened += 1
            now = source(number)
            assert any(now in text or repr(now)[1:-1] in text for text in texts)
            assert f"run {number}." in texts[-1]
            assert f"run {number}." not in "".join(texts[:-1])
            older = [source(turn) for turn in range(number)]
            assert not any(text in sent or repr(text)[1:-1] in sent for text in older for sent in texts)
        assert shortened > 20
        assert through.upstream.invalid == []
        assert len(through.names) == 1
        with through.session() as session:
            assert len(session.branches) == 1
            assert "KX-0." in "".join(session.items.text(item.id) for item in session.items)
            assert session.items.constraints() == []


def test_below_the_trigger_its_bytes_go_up_and_the_log_has_what_changed(tmp_path: Path) -> None:
    """A map that is the same is logged once, a file at each edit, its rules once; none of it as the user's words."""
    with Through(tmp_path, lambda _: answer("Done."), window=60_000) as through:
        talk = AiderTalk(through, max_tokens=500)
        for number in range(4):
            talk.list.append({"role": "user", "content": f"Please change valve_{number}."})
            body = talk.body()
            talk.list.pop()
            talk.edit(f"Please change valve_{number}.")
            assert through.bodies[-1] == body
        with through.session() as session:
            texts = [session.items.text(item.id) for item in session.items]
            told = [info for info in session.items.table() if info.by_program]
            counts = [
                sum(text.startswith(start) for text in texts) for start in ("Here are summ", "I have *added", "# *SE")
            ]
            assert counts == [2, 4, 1]
            assert [session.items.text(info.id)[:6] for info in told].count("Please") == 0
            assert sum(text.startswith("Please change") for text in texts) == 4
            assert len(session.branches) == 1


def test_the_same_question_about_another_file_is_a_branch(tmp_path: Path) -> None:
    """A request that is sent again is one; after an edit by hand, the model is asked about the file as it is now."""
    with Through(tmp_path, [fail(503), fail(503), answer("Done.")], window=60_000) as through:
        talk = AiderTalk(through, max_tokens=500)
        talk.list.append({"role": "user", "content": "Please change valve_1."})
        for file in (source(1), source(1), source(2)):
            talk.file = file
            through.post("chat", talk.body())
        with through.session() as session:
            assert len(session.branches) == 2
            texts = [session.items.text(item.id) for item in session.items]
            assert [sum(source(at) in text for text in texts) for at in (1, 2)] == [1, 1]
            assert texts.index("Please change valve_1.") - 2 == next(
                at for at, text in enumerate(texts) if source(2) in text
            )
            assert texts[-1] == "Done."


@pytest.mark.slow
def test_reports_do_not_outlive_what_they_are_about(tmp_path: Path) -> None:
    """When questions and answers are left out, "I updated the files." is too, but for the newest one."""
    number = 0
    with Through(tmp_path, lambda _: answer(answered(number)), window=WINDOW) as through:
        talk = AiderTalk(through, max_tokens=500)
        for number in range(24):
            talk.edit(f"Please change valve_{number} of the pump, run {number}.")
        sent = [str(message["content"]) for message in through.bodies[-1]["messages"]]
        assert sum("I updated the files." in text for text in sent) == 1
        assert "- program" not in "".join(sent)


@pytest.mark.parametrize("tools", [True, False])
def test_another_agent_may_speak_of_such_files(tools: bool, tmp_path: Path) -> None:
    """One with tools is not aider; in a request without such messages, nothing is taken for them."""
    with Through(tmp_path, lambda _: answer("Yes.")) as through:
        talk = Talk(through, "chat")
        if not tools:
            del talk.fields["tools"]
        talk.say("What does “I am not sharing any files that you can edit yet.” mean?")
        talk.say("And “I have *added these files to the chat*”?")
        assert through.texts()[0].startswith("What does")
        assert len(through.texts()) == 4


@pytest.mark.slow
@pytest.mark.parametrize("window", [WINDOW, 60_000])
def test_a_summary_of_its_own_is_linked(window: int, tmp_path: Path) -> None:
    """aider names no session: what goes on from its summary is known by that. Also twice, and after a restart."""
    number = 0
    with Through(tmp_path, lambda _: answer(answered(number)), window=window) as through:
        talk = AiderTalk(through, examples=False, max_tokens=500)
        for number in range(30):
            if number in (10, 20):
                talk.summarize()
            if number == 25:
                through.restart()
            talk.edit(f"Please change valve_{number} of the pump, run {number}.")
            texts = [str(message["content"]) for message in through.bodies[-1]["messages"]]
            assert any(source(number) in text for text in texts)
            assert not any(source(turn) in text for turn in range(number) for text in texts)
        assert through.upstream.invalid == []
        [talked] = [
            name for name in through.names if "Please change valve_29 of the pump, run 29." in through.texts(name)
        ]
        assert len(through.names) == 3  # and the two requests for summaries
        with through.session(talked) as session:
            assert "Please change valve_0 of the pump, run 0." in [
                session.items.text(item.id) for item in session.items
            ]
