"""Checks that a framework is installed in a version that its adapter was written for."""

from importlib.metadata import PackageNotFoundError, version


def check_version(
    package: str, oldest: tuple[int, int], before: int, *, user: str = "", extra: str = "", module: str = ""
) -> None:
    """Raise ImportError if the package is missing, older than `oldest`, or of the major version `before` or later.

    The error says what to install. `extra` of Sightline, and `module` of the adapter: if they do not have the name of
    the package. `user`: what needs the package, if that is not an adapter; then there is no extra.
    """
    extra = extra or package
    wanted = f"{package}>={oldest[0]}.{oldest[1]},<{before}" if user else f"sightline-context[{extra}]"
    install = f"pip install '{wanted}'"
    module = user or f"sightline.adapters.{module or extra.replace('-', '_')}"
    try:
        installed = version(package)
    except PackageNotFoundError as error:
        raise ModuleNotFoundError(f"{module} needs {package}: {install}") from error
    numbers = tuple(int(number) for number in installed.split(".")[:2] if number.isdigit())
    if not oldest <= numbers < (before,):
        raise ImportError(
            f"{module} works with {package} {oldest[0]}.{oldest[1]} and later versions before "
            f"{before}, and {installed} is installed: {install} installs one that fits"
        )
