"""Keyword options of a function: a misspelt one raises an error that lists the right ones."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from sightline.errors import BadInput

P = ParamSpec("P")
R = TypeVar("R")


def with_known_options(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that an unknown option raises BadInput, which names all options."""
    taken = signature(function).parameters.values()
    options = [parameter.name for parameter in taken if parameter.kind is Parameter.KEYWORD_ONLY]
    names = {parameter.name for parameter in taken}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if unknown := [name for name in kwargs if name not in names]:
            raise BadInput(f"{function.__name__} has no option {unknown[0]!r}; it takes {', '.join(options)}")
        return function(*args, **kwargs)

    return call
