"""The handler of my-actor."""


def handle(payload):
    """Gets the payload of a message, and returns the payload of its result."""
    return {"text": payload["text"].upper()}
