class NeedsArguments:
    def __init__(self, path):
        self.path = path

    def run(self, payload):
        return payload


class Fails:
    def __init__(self):
        raise OSError("no GPU")

    def run(self, payload):
        return payload


class LeavesThread:
    """Fails after starting a thread that never ends."""

    def __init__(self):
        import threading

        threading.Thread(target=threading.Event().wait).start()
        raise OSError("no GPU")


number = 5
