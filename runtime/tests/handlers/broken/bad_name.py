from payloads import no_such_name  # noqa: F401
