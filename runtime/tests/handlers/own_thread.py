"""Has a thread that gets all signals, as the main thread blocks them."""

import signal
import threading

SIGNALS = (signal.SIGTERM, signal.SIGINT)

threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def same(payload):
    return payload
