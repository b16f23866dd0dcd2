"""What the two OpenAI formats share: free-text tools, failed results, data URLs, files, functions and usage."""

from typing import Any

from sightline.values.items import Blob, Call, File, Image, Part, Result, Text, ToolDefinition, Usage
from sightline.wire.common import (
    Json,
    arguments_object,
    arguments_text,
    copy_json,
    dumped,
    image_type,
    other_fields,
    read_counts,
    text_of,
    text_part,
)
from sightline.wire.tools import name_and_description

VENDOR = "openai"  # whose file ids these are

ERROR = "[error] "  # begins a failed result, because these formats have no flag for it
UNNAMED = "file"  # the file name for file data without one, because it is required; read back as no name

FREE_FORM: Json = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The schema of a tool that takes free text. The neutral call of such a tool has the text as its only field `input`."""


# ------------------------------------------------------------------ calls and results


def free_form_call(call_id: str, name: str, text: str) -> Call:
    """A call whose argument is free text instead of JSON."""
    return Call(call_id, name, {"input": text_of(text_part(text))})


def free_form_text(call: Call) -> str:
    """The argument of a free-text call, or all arguments as JSON if they are no longer just that one."""
    match call.input:
        case {"input": str(text), **others} if not others:
            return text
        case _:
            return arguments_text(call)


def arguments_json(call: Call) -> str:
    """The arguments as the JSON text of an object, byte for byte as the model wrote them if they are one.

    Servers refuse any other text, such as one that was cut off, so that is put in an object as `arguments_object` does.
    """
    return arguments_text(call) if isinstance(call.input, dict) else dumped(arguments_object(call))


def marked_parts(result: Result) -> tuple[Part, ...]:
    """The parts of a result. Those of a failed one always begin with `ERROR`.

    Even if the text mentions the error itself, because the rule must not depend on wording.
    """
    match result.parts:
        case _ if not result.error:
            return result.parts
        case (Text() | Blob() as first, *others):
            return (Text(ERROR + text_of(first)), *others)
        case others:
            return (Text(ERROR.rstrip()), *others)


def text_or_blocks(blocks: list[Json]) -> str | list[Json]:
    """The content of a result: a string if it is one plain text or nothing, otherwise the blocks."""
    is_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    return blocks[0]["text"] if is_text else blocks or ""


# ------------------------------------------------------------------ images and files


def data_url(media_type: str, data: str) -> str:
    """Inline data as a URL. Base64 of unknown type stays bare."""
    return f"data:{media_type};base64,{data}" if media_type else data


def split_data_url(url: object) -> tuple[str, str] | None:
    """Media type and base64 of a plain data URL; None for anything else."""
    head, separator, data = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    media_type = head.removeprefix("data:")
    if not separator or media_type == head or "/" not in media_type or ";" in media_type or "," in media_type:
        return None
    return media_type, data


def image_url(image: Image) -> str:
    """The URL of an image, inline data included; empty if it has none."""
    media_type = image_type(image)
    return data_url(media_type, image.data) if image.data and media_type else image.url


def detail_extra(detail: Any) -> Json:
    """The `extra` of an image with this detail. "auto" is the default."""
    return {"detail": detail} if detail and detail != "auto" else {}


def read_file(file: Json, url: str = "", detail: object = None) -> File:
    """A file from the fields that it has in both formats, and its URL and detail where the format has them."""
    data, file_id, name = file.get("file_data") or "", file.get("file_id") or "", file.get("filename") or ""
    media_type, data = split_data_url(data) or ("", data)
    extra = other_fields({"detail": detail}) | ({"vendor": VENDOR} if file_id else {})
    return File(media_type, data, url, file_id, "" if data and name == UNNAMED else name, extra)


# ------------------------------------------------------------------ tools and usage


def function_fields(tool: ToolDefinition) -> Json:
    """Name, description and parameters of a function."""
    return {
        **name_and_description(tool),
        "parameters": copy_json(tool.schema) or {"type": "object", "properties": {}},
    }


def read_usage(usage: object, input_name: str, output_name: str) -> Usage | None:
    """The usage of a reply, in which its token counts have these names; None if it reports none."""
    if not isinstance(usage, dict) or input_name not in usage:
        return None
    cached = read_counts(usage.get(f"{input_name}_details"), "cached_tokens", "cache_write_tokens")
    return Usage(*read_counts(usage, input_name, output_name), *cached)
