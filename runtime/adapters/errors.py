"""What an adapter raises. The names are part of the interface: `resiliency` rules and
`nonRetryableErrors` match them, in full (`adapters.errors.TargetRefused`) or by a base class.

Every text is one line and holds neither credentials nor the payload.
"""


class InvalidSetting(ValueError):
    """An environment variable is missing or wrong; raised at start, never for a message."""


class TargetError(Exception):
    """Base of all errors of a call.

    `asya_give_back` says whether the message is returned to the queue instead of failing: nothing
    is wrong with it, the target or this pod is ending, or the target cannot be reached.
    """

    asya_give_back = False


class InvalidPayload(TargetError, ValueError):
    """The payload cannot be made into a request; trying again gives the same."""


class TargetRefused(TargetError):
    """The target says that the request is wrong (a redirect or 4xx); trying again gives the same.

    `status` is the HTTP status.
    """

    def __init__(self, text, status=None):
        super().__init__(text)
        self.status = status


class TargetUnavailable(TargetError):
    """The target cannot answer now: no connection, 429, 502, 503, 504, or it broke off.

    `may_retry` says whether the target has not begun to work on the request, so that the adapter
    may send it again by itself; `retry_after` is how long it asks to be left alone, in seconds.
    """

    def __init__(self, text, may_retry=False, retry_after=0.0, status=None):
        super().__init__(text)
        self.may_retry = may_retry
        self.retry_after = retry_after
        self.status = status


class TargetTimeout(TargetError, TimeoutError):
    """The target took the request and did not answer in time."""


class TargetFailed(TargetError):
    """The target failed while it worked on the request (500 and other 5xx)."""


class InvalidAnswer(TargetError):
    """The target answered something that is not what its protocol says."""
