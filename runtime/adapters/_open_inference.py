"""The Open Inference Protocol v2 over HTTP, as KServe, MLServer and Triton speak it."""

import re
import urllib.parse

from adapters import _tensors
from adapters._adapter import Adapter, require_object
from adapters.errors import InvalidAnswer, InvalidPayload, TargetError, TargetRefused
from adapters.errors import TargetUnavailable


class Call:
    """One inference: the model's path, the request, and whether to answer with plain lists."""

    def __init__(self, model, version, request, plain):
        self.model = model
        self.version = version
        self.request = request
        self.plain = plain

    @property
    def path(self):
        path = "/models/" + urllib.parse.quote(self.model, safe="")
        if self.version:
            path += "/versions/" + urllib.parse.quote(self.version, safe="")
        return path


class OpenInference(Adapter):
    """Inference on one server."""

    def __init__(self, environ):
        super().__init__(environ)
        api_path = self.settings.path("ASYA_TARGET_API_PATH", "/v2").rstrip("/")
        self.api_path = "" if self.target.base_path.endswith(api_path) else api_path
        self.model = self.settings.text("ASYA_TARGET_MODEL")
        self.version = self.settings.text("ASYA_TARGET_MODEL_VERSION")
        self.model_headers = self.settings.header_names("ASYA_TARGET_MODEL_HEADERS")

    def ready_request(self):
        return self.target.base_path + self.api_path + "/health/ready", False

    def prepare(self, request, payload):
        request = require_object(request)
        model = name_in(request, "model_name", self.model)
        version = name_in(request, "model_version", self.version)
        if not model:
            raise InvalidPayload(
                "the request names no model: write 'model_name' in it or set ASYA_TARGET_MODEL"
            )
        if self.model_headers and not re.fullmatch("[!-~]+", model):
            raise InvalidPayload(
                f"the model {model!r} cannot be sent as a header: ASYA_TARGET_MODEL_HEADERS needs"
                " printable ASCII characters"
            )
        if not request:
            raise InvalidPayload("the request has no inputs")
        plain = not is_full(request)
        if plain:
            inputs = [_tensors.tensor(name, request[name]) for name in request]
            return Call(model, version, {"inputs": inputs}, plain)
        refuse_binary(request)
        request["inputs"] = [_tensors.tensor(entry["name"], entry) for entry in request["inputs"]]
        return Call(model, version, request, plain)

    def exchange(self, deadline, call):
        path = self.api_path + call.path + "/infer"
        try:
            headers = {name: call.model for name in self.model_headers}
            answer = self.target.request(deadline, "POST", path, call.request, headers=headers)
        except (TargetRefused, TargetUnavailable) as failure:
            explained = self.explained(deadline, call, failure)
            if explained is failure:
                raise
            raise explained from failure
        if not isinstance(answer, dict) or not isinstance(answer.get("outputs"), list):
            raise InvalidAnswer(f"the answer to {path} has no list of outputs")
        outputs = [_tensors.nested(output) for output in answer["outputs"]]
        return dict(outputs) if call.plain else answer

    def explained(self, deadline, call, failure):
        """The failure as it is, or as what it means: MLServer answers 400 and others 404 while
        they load a model, and that is not an error of the request."""
        if isinstance(failure, TargetRefused) and failure.status in (400, 404):
            if self.is_loading(deadline, call):
                text = f"the model is not ready: {failure}"
                return TargetUnavailable(text, may_retry=True, status=failure.status)
        return failure

    def is_loading(self, deadline, call):
        """Neither this model nor the server as a whole is ready. Of a model that is not there
        the server says that it is ready itself."""
        return not self.is_ready(deadline, call.path + "/ready") and not self.is_ready(
            deadline, "/health/ready"
        )

    def is_ready(self, deadline, path):
        try:
            answer = self.target.request(deadline, "GET", self.api_path + path)
        except TargetError:
            return False
        # Most say it by the status alone, some by `{"ready": false}` with status 200.
        return not (isinstance(answer, dict) and answer.get("ready") is False)


def name_in(request, key, default):
    """Takes a name out of the request."""
    value = request.pop(key, None)
    if value is None or value == "":
        return default
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value in (".", ".."):
        raise InvalidPayload(f"{key!r} is not the name of a model or version")
    return str(value)


def is_full(request):
    """Whether it is the protocol's own request, and not a map of names to values."""
    inputs = request.get("inputs")
    return (
        isinstance(inputs, list)
        and bool(inputs)
        and all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in inputs)
    )


def refuse_binary(request):
    """A message is JSON: tensors behind the JSON, as the binary extension sends them, are not."""
    outputs = request.get("outputs") or []
    owners = [("binary_data_output", request)]
    owners += [("binary_data_size", entry) for entry in request["inputs"]]
    owners += [("binary_data", entry) for entry in outputs if isinstance(entry, dict)]
    for key, owner in owners:
        parameters = owner.get("parameters")
        if isinstance(parameters, dict) and parameters.get(key):
            raise InvalidPayload(f"{key!r} asks for binary tensors: tensors must be JSON here")
