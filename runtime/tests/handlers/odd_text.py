"""Errors whose texts have a lone surrogate, as a file name that is not UTF-8 has."""


class Handler:
    def asya_check_ready(self):
        raise ConnectionError("no server \udcff")

    def run(self, payload):
        return payload


class Broken:
    def __init__(self):
        raise ValueError("no file \udcff")

    def run(self, payload):
        return payload
