"""A user's module with the name of the runtime script."""


def same(payload):
    return payload
