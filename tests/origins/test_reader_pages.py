"""The pages for who knows one of the documents: five of one form, in two languages, and one program with all five."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "origins"
DOCUMENTS = ("contextui", "docui", "clawdcode", "openstarry", "ba-agent")
HEADINGS = {
    "": ["Your name, ours", "Ten lines that run", "What differs, and why", "What you get beyond"],
    ".zh": ["你的名称与我们的名称", "可运行的十行", "有何不同，为什么", "额外得到什么"],
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_documents_page_has_the_same_form_in_both_languages(document: str) -> None:
    """Names, a short program that other tests run, what differs, what is more; and both are linked."""
    linked = (PAGES / "README.md").read_text(encoding="utf-8")
    programs = []
    for language, headings in HEADINGS.items():
        text = (PAGES / f"from-{document}{language}.md").read_text(encoding="utf-8")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == headings
        programs += re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        assert f"(from-{document}{language}.md)" in linked
        assert len(text.splitlines()) < 60
    assert len(programs) == 2
    assert programs[0] == programs[1]
    assert len([line for line in programs[0].splitlines() if line]) <= 10


def test_all_five_stand_in_one_short_program() -> None:
    """At most 40 lines, each document by its own module; what it prints is compared with the text beside it."""
    text = (ROOT / "examples" / "documents" / "all_five.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    for module in ("ba_agent", "clawdcode", "contextui", "docui", "openstarry"):
        assert f"{module}." in text
    assert "sightline.origins import ba_agent, clawdcode, contextui, docui, openstarry" in text
