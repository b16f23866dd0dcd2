"""Pictures and files as one line each."""

from collections.abc import Mapping, Sequence

from sightline.values.items import File, Image, Part, Result


def media_labels(parts: Sequence[Part], wording: Mapping[str, str]) -> list[str]:
    """Return one label for every picture and file, those of results included."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, Image):
            size = f"{part.width}×{part.height}" if part.width and part.height else ""
            out.append(_label(wording["image"], part.media_type, size or part.url[:120]))
        elif isinstance(part, File):
            named = _label(wording["file"], part.name or part.url[:120], part.media_type)
            bytes_ = len(part.data) * 3 // 4
            size = f"{bytes_} B" if bytes_ < 1024 else f"{bytes_ // 1024:,} KB"
            out.append(f"{named[:-1]}, {size}]" if part.data else named)
        elif isinstance(part, Result):
            out.extend(media_labels(part.parts, wording))
    return out


def _label(*words: str) -> str:
    return f"[{' '.join(filter(None, words))}]"
