"""`adapters.kaito_openai.forward`: OpenAI's API, as KAITO, vLLM, NIM and many others serve it.

    payload with    is sent to
    messages        /v1/chat/completions
    prompt          /v1/completions
    input           /v1/embeddings

The answer's body is the result. With `"stream": true` in the request the target streams, and each
part of its answer becomes a frame.

    ASYA_TARGET_MODEL      discovered   model for payloads that name none; discovered is the only
                                        base model of /v1/models, asked again when the target no
                                        longer knows it. A target without /v1/models gets no model
    ASYA_TARGET_STREAM     frames       `fly`: parts go to the gateway (`FLY`), and the assembled
                                        answer is the one frame; `off`: `stream` and
                                        `stream_options` are left out of the request
    ASYA_TARGET_API_PATH   /v1          what stands before these paths, unless the address already
                                        ends with it; KServe's servers have /openai/v1

Address, credentials, timeout and retries: `_client`. Members of the payload: `_adapter`.
"""

import os

from adapters._adapter import Adapter, require_object
from adapters._openai_stream import Assembly
from adapters.errors import InvalidAnswer, InvalidPayload, TargetRefused

PATHS = {"messages": "/chat/completions", "prompt": "/completions", "input": "/embeddings"}
FRAMES, FLY, OFF = STREAM_MODES = ("frames", "fly", "off")
NOT_SERVED = (404, 405, 501)


class OpenAI(Adapter):
    """Keeps the discovered model between messages."""

    def __init__(self, environ):
        super().__init__(environ)
        api_path = self.settings.path("ASYA_TARGET_API_PATH", "/v1").rstrip("/")
        self.api_path = "" if self.target.base_path.endswith(api_path) else api_path
        self.model = self.settings.text("ASYA_TARGET_MODEL")
        self.discovered = None
        self.stream_mode = self.settings.choice("ASYA_TARGET_STREAM", FRAMES, STREAM_MODES)

    def ready_request(self):
        """Any answer shows that the model is loaded: these servers listen only then."""
        return self.target.base_path + self.api_path + "/models", True

    def prepare(self, request, payload):
        request = require_object(request)
        found = [key for key in PATHS if key in request]
        if len(found) != 1:
            which = " and ".join(map(repr, found)) if found else "none of them"
            raise InvalidPayload(
                f"the request has {which}: expected exactly one of 'messages', 'prompt' and 'input'"
            )
        if not request.get("stream") or self.stream_mode == OFF or "input" in request:
            request.pop("stream", None)
            request.pop("stream_options", None)
        if not request.get("model"):
            request.pop("model", None)
            if self.model:
                request["model"] = self.model
        return PATHS[found[0]], request

    def exchange(self, deadline, call):
        path, request = call
        if "model" in request:
            return self.ask(deadline, path, request)
        known = self.discovered
        if known is None:
            self.discovered = self.discover(deadline)
        if self.discovered == "":
            return self.ask(deadline, path, request)
        try:
            return self.ask(deadline, path, dict(request, model=self.discovered))
        except TargetRefused as refusal:
            if known is None or refusal.status != 404:
                raise
            # The target may serve another model since the last message.
            self.discovered = self.discover(deadline)
            if self.discovered == known:
                raise
        return self.ask(deadline, path, dict(request, model=self.discovered))

    def ask(self, deadline, path, request):
        try:
            if request.get("stream"):
                return self.target.request_events(deadline, self.api_path + path, request)
            answer = self.target.request(deadline, "POST", self.api_path + path, request)
        except TargetRefused as refusal:
            if refusal.status in NOT_SERVED and "messages" not in request:
                hint = "some servers, such as KAITO's runtime 'transformers', take 'messages' only"
                raise TargetRefused(f"{refusal} ({hint})", refusal.status) from refusal
            raise
        if not isinstance(answer, dict):
            raise InvalidAnswer(f"the answer to {path} is not an object: is this OpenAI's API?")
        return answer

    def stream(self, answers, payload):
        """The parts of a streamed answer as frames, or as events for the gateway with one frame
        at the end."""
        if self.stream_mode == FRAMES:
            yield from super().stream(answers, payload)
            return
        whole = Assembly()
        for part in self.parts(answers):
            whole.add(part)
            yield "FLY", part
        yield self.result(whole.result(), payload)

    def discover(self, deadline):
        """The only model that is not derived from another one, as LoRA adapters are; empty for a
        target that does not list any, such as KAITO's runtime `transformers`."""
        path = self.api_path + "/models"
        try:
            answer = self.target.request(deadline, "GET", path)
        except TargetRefused as refusal:
            if refusal.status in NOT_SERVED:
                return ""
            raise
        try:
            models = [entry["id"] for entry in answer["data"] if not entry.get("parent")]
            models = sorted(set(models))
        except (TypeError, KeyError, AttributeError):
            raise InvalidAnswer(f"the answer to {path} is not a list of models") from None
        if len(models) != 1:
            listed = ", ".join(map(repr, models)) if models else "none"
            raise InvalidPayload(
                f"the request names no model and the target serves {listed}:"
                " write 'model' in the request or set ASYA_TARGET_MODEL"
            )
        return models[0]


forward = OpenAI(os.environ)
