"""`adapters.triton.forward`: NVIDIA Triton. Requests, results and settings are those of
`adapters.kserve_v2`; a request's `parameters` (sequences, priority, timeout and others), `id` and
`outputs` are passed on as they are. Binary tensors are not used.

Where Triton has no such model, or it is not ready, its repository index (`/v2/repository/index`)
says why: a model that is loading is waited for, in all other cases the error has Triton's reason.
"""

import os

from adapters._open_inference import OpenInference
from adapters.errors import TargetError, TargetRefused, TargetUnavailable

MAX_LISTED_MODELS = 10
MAX_REASON_CHARACTERS = 300


class Triton(OpenInference):
    """Inference on one Triton server."""

    def explained(self, deadline, call, failure):
        """Triton answers 404 or, older ones, 400 for a model that is not there, and 503 for one
        that is not ready, also when it will never be."""
        if failure.status not in (400, 404, 503):
            return failure
        index = self.index(deadline)
        if index is None:
            return super().explained(deadline, call, failure)
        entries = [entry for entry in index if entry["name"] == call.model]
        if call.version:
            entries = [entry for entry in entries if entry.get("version") in (call.version, None)]
        states = [entry.get("state") for entry in entries]
        if "READY" in states:
            return failure
        if "LOADING" in states:
            text = f"model {call.model!r} is loading: {failure}"
            return TargetUnavailable(text, may_retry=True, status=failure.status)
        if entries:
            reasons = sorted({entry.get("reason") or "no reason given" for entry in entries})
            reason = " ".join("; ".join(reasons).split())[:MAX_REASON_CHARACTERS]
            text = f"model {call.model!r} is not loaded ({reason}): {failure}"
        elif failure.status == 400:
            return failure
        else:
            text = f"model {call.model!r} is not one of {listed(index)}: {failure}"
        if isinstance(failure, TargetUnavailable):
            return TargetUnavailable(text, status=failure.status)
        return TargetRefused(text, failure.status)

    def index(self, deadline):
        """What the server says of every model in its repositories; None if it does not say."""
        try:
            index = self.target.request(deadline, "POST", self.api_path + "/repository/index", {})
        except TargetError:
            return None
        entries = index if isinstance(index, list) else []
        entries = [entry for entry in entries if isinstance(entry, dict) and "name" in entry]
        return entries or None


def listed(index):
    """The names that a user can choose from."""
    names = sorted({str(entry["name"]) for entry in index})
    more = [f"{len(names) - MAX_LISTED_MODELS} more"] if len(names) > MAX_LISTED_MODELS else []
    return ", ".join([repr(name) for name in names[:MAX_LISTED_MODELS]] + more)


forward = Triton(os.environ)
