"""The engine's lines in the log of the program that runs it."""


def log_warning(text: str, *values: object) -> None:
    """Write a warning under the name `sightline`: as `Logger.warning`, which is imported with the first one."""
    _warn("sightline", text, values)


def log_damage(text: str, *values: object) -> None:
    """Write a warning about a line of a log, under the name `sightline.damage`."""
    _warn("sightline.damage", text, values)


def _warn(name: str, text: str, values: tuple[object, ...]) -> None:
    import logging

    logging.getLogger(name).warning(text, *values, stacklevel=3)
