"""The parts of a message that asks for several things, each of which is searched for by itself."""

from sightline.recall.search.terms import query_terms
from sightline.values.pattern import pattern

_LONGEST = 400  # characters of a message that is taken apart: a longer one tells something too
_MOST = 3  # parts: each is one more search
_LEAST_TERMS = 2  # of a part: what has fewer goes on with the part before it ("and when?")
_ASKING = (
    "what|when|where|who|whom|whose|which|why|how|did|does|do|is|are|was|were|has|have|had|can|could|will|would|should"
)
_ENDS = pattern(
    rf"[?？!！。;；]+\s*|\.\s+|,?\s+(?:and|or|but|also)\s+(?:also\s+)?(?=(?:{_ASKING})\b)|[，,]?(?:还有|以及|另外|并且)[，,]?",
    2,
)


def question_parts(text: str) -> list[str]:
    """Return the parts of a message that asks for two or three things; none if it asks for one.

    Each part has words of its own to look for. A message that also tells something is not taken apart.
    """
    if len(text) > _LONGEST or not ("?" in text or "？" in text):
        return []
    parts = [part for part in _ENDS.split(text) if part and part.strip()]
    is_apart = all(_content(part) >= _LEAST_TERMS for part in parts)
    return parts if 1 < len(parts) <= _MOST and is_apart else []


def _content(part: str) -> int:
    """Return how many words a part has to look for. A pair of Chinese characters is one."""
    return sum(len(term) > 1 for term in query_terms(part))
