from broken import no_such_sibling  # noqa: F401
