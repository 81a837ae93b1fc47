"""A package whose attribute `work` is a function and also the name of a submodule."""

from .work import work  # noqa: F401


def process(payload):
    return "package.process"
