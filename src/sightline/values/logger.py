"""The engine's lines in the log of the program that runs it."""


def log_warning(text: str, *values: object) -> None:
    """Write a warning under the name `sightline`: as `Logger.warning`, which is imported with the first one."""
    import logging

    logging.getLogger("sightline").warning(text, *values, stacklevel=2)


def log_damage(text: str, *values: object) -> None:
    """Write a warning about a line of a log, under the name `sightline.damage`."""
    import logging

    logging.getLogger("sightline.damage").warning(text, *values, stacklevel=2)
