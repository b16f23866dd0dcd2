"""The code store's phrases for models and users, in English and Chinese. Some are the BA-Agent document's own."""

from sightline.values.phrases import Phrases, texts

say = Phrases(texts("code"))


def one_line(text: str, most: int = 200) -> str:
    """Return a text as one line: white space joined, cut after so many characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1].rstrip() + "…"
