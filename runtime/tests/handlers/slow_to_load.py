"""Waits for ever at import."""

import os
import time

open(os.path.join(os.environ["TEST_DIR"], "loading"), "w").close()
while True:
    time.sleep(0.005)
