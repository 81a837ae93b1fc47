"""What all adapters do around their own protocol: which part of the payload is the request, where
the answer goes, and whether the target is ready.

    ASYA_TARGET_REQUEST_KEY   the whole payload   member of the payload that is the request
    ASYA_TARGET_RESULT_KEY    the whole payload   member of the payload that becomes the answer;
                                                  the other members go on to the next actor
    ASYA_TARGET_READINESS     the protocol's      path that the target answers by success when it is
                                                  ready; `tcp`: it takes connections; `none`: it is
                                                  not asked
"""

import collections.abc

from adapters._client import Target
from adapters._settings import Settings
from adapters.errors import InvalidPayload, TargetFailed, TargetUnavailable


class Adapter:
    """A handler. A protocol says how a request becomes a call (`prepare`, before anything is
    sent) and how one try of the call goes (`exchange`)."""

    def __init__(self, environ):
        self.settings = Settings(environ)
        self.target = Target(self.settings)
        self.request_key = self.settings.text("ASYA_TARGET_REQUEST_KEY")
        self.result_key = self.settings.text("ASYA_TARGET_RESULT_KEY")
        readiness = self.settings.text("ASYA_TARGET_READINESS")
        if readiness in ("", "tcp", "none"):
            self.readiness = readiness
        else:
            self.readiness = self.settings.path("ASYA_TARGET_READINESS", "")

    def __call__(self, payload):
        keys = [key for key in (self.request_key, self.result_key) if key]
        if keys and not isinstance(payload, dict):
            raise InvalidPayload(
                f"the payload is {kind(payload)}: expected an object, because"
                f" {keys[0]!r} is configured as one of its members"
            )
        if self.request_key and self.request_key not in payload:
            raise InvalidPayload(
                f"the payload has no {self.request_key!r}, which is configured"
                " as the request (ASYA_TARGET_REQUEST_KEY)"
            )
        request = payload[self.request_key] if self.request_key else payload
        call = self.prepare(request, payload)
        answer = self.target.persist(lambda deadline: self.exchange(deadline, call))
        if isinstance(answer, collections.abc.Iterator):
            return self.stream(answer, payload)
        return self.result(answer, payload)

    def result(self, answer, payload):
        """The payload for the next actor."""
        if self.result_key:
            return dict(payload, **{self.result_key: answer})
        # None would mean that the message ends here.
        return {} if answer is None else answer

    def stream(self, answers, payload):
        """A frame for each part of a streamed answer."""
        for answer in self.parts(answers):
            yield self.result(answer, payload)

    def parts(self, answers):
        """The same parts; a failure while the process ends gives the message back."""
        try:
            yield from answers
        except (TargetFailed, TargetUnavailable) as error:
            self.target.give_back_if_stopping(error)
            raise

    def asya_check_ready(self):
        """Called by the runtime, whose readiness follows the target's."""
        if self.readiness == "none":
            return
        path, any_answer = self.ready_request()
        if self.readiness:
            path, any_answer = None if self.readiness == "tcp" else self.readiness, False
        self.target.probe(path, any_answer)

    def asya_stop(self):
        """Called by the runtime when the process is to end: nothing is tried again."""
        self.target.stopping.set()

    def ready_request(self):
        """Path that is asked whether the target is ready, None for a connection alone, and whether
        any answer but a server's error will do."""
        return None, False

    def prepare(self, request, payload):
        """The call that a request, a part of the payload or all of it, stands for; raises
        InvalidPayload."""
        raise NotImplementedError

    def exchange(self, deadline, call):
        """The answer to a call, an iterator if it is streamed; raises a TargetError."""
        raise NotImplementedError


def kind(value):
    """What JSON calls the type of a value."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


def require_object(request):
    """The request as a new object that may be changed."""
    if not isinstance(request, dict):
        raise InvalidPayload(f"the request is {kind(request)}: expected an object")
    return dict(request)
