"""A handler whose readiness a test decides by files."""

import os


def path(name):
    return os.path.join(os.environ["TEST_DIR"], name)


class Unavailable(Exception):
    asya_give_back = True


class Handler:
    def __init__(self):
        self.stopped = False

    def asya_check_ready(self):
        if os.path.exists(path("raise")):
            raise ConnectionError("the server\nis gone")
        return os.path.exists(path("up"))

    def asya_stop(self):
        open(path("stopped"), "w").close()

    def run(self, payload):
        if payload == "give back":
            os.remove(path("up"))
            raise Unavailable("no server")
        if payload == "hold":
            open(path("begun"), "w").close()
            while not os.path.exists(path("stopped")):
                pass
        return payload


handler = Handler()
