"""`adapters.kaito_openai.forward`: OpenAI's API, as KAITO, vLLM, NIM and many others serve it.

    payload with    is sent to
    messages        /v1/chat/completions
    prompt          /v1/completions
    input           /v1/embeddings

The answer's body is the result. A message has one result, so streaming is turned off: `stream`
and `stream_options` are left out of the request.

    ASYA_TARGET_MODEL      discovered   model for payloads that name none; discovered is the only
                                        base model of /v1/models, and asked again when the target
                                        no longer knows it
    ASYA_TARGET_API_PATH   /v1          what stands before these paths, unless the address already
                                        ends with it; KServe's servers have /openai/v1

Address, credentials, timeout and retries: `_client`. Members of the payload: `_adapter`.
"""

import os

from adapters._adapter import Adapter, require_object
from adapters.errors import InvalidAnswer, InvalidPayload, TargetRefused

PATHS = {"messages": "/chat/completions", "prompt": "/completions", "input": "/embeddings"}


class OpenAI(Adapter):
    """Keeps the discovered model between messages."""

    def __init__(self, environ):
        super().__init__(environ)
        api_path = self.settings.path("ASYA_TARGET_API_PATH", "/v1").rstrip("/")
        self.api_path = "" if self.target.base_path.endswith(api_path) else api_path
        self.model = self.settings.text("ASYA_TARGET_MODEL")
        self.discovered = None

    def prepare(self, request, payload):
        request = require_object(request)
        found = [key for key in PATHS if key in request]
        if len(found) != 1:
            which = " and ".join(map(repr, found)) if found else "none of them"
            raise InvalidPayload(
                f"the request has {which}: expected exactly one of 'messages', 'prompt' and 'input'"
            )
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
        answer = self.target.request(deadline, "POST", self.api_path + path, request)
        if not isinstance(answer, dict):
            raise InvalidAnswer(f"the answer to {path} is not an object: is this OpenAI's API?")
        return answer

    def discover(self, deadline):
        """The only model that is not derived from another one, as LoRA adapters are."""
        path = self.api_path + "/models"
        answer = self.target.request(deadline, "GET", path)
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
