"""`adapters.http.forward`: any HTTP server that takes and gives JSON.

    ASYA_TARGET_METHOD     POST   GET, POST, PUT, PATCH or DELETE; the request is the body of
                                  POST, PUT and PATCH, the others have none
    ASYA_TARGET_API_PATH   none   path, and query after `?`, behind the address; `{key}` stands
                                  for a text, number or boolean of the payload, percent-encoded
    ASYA_TARGET_HEADERS    {}     JSON object of more headers; errors show no value

The answer's body is the result, `{}` where it has none. A message fills in the path's
placeholders and the body and nothing else: it cannot choose address, method or headers.

Address, credentials, timeout and retries: `_client`. Members of the payload: `_adapter`.
"""

import json
import os
import re
import urllib.parse

from adapters._adapter import Adapter, kind
from adapters.errors import InvalidPayload, InvalidSetting

WITH_BODY = ("POST", "PUT", "PATCH")
METHODS = WITH_BODY + ("GET", "DELETE")
# Servers and proxies resolve these, some of them also where they are percent-encoded.
DOT_SEGMENT = re.compile(r"(^|[/\\])\.\.?([/\\]|$)")
PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_-]+)\}")


class Http(Adapter):
    """Sends one kind of request."""

    def __init__(self, environ):
        super().__init__(environ)
        self.method = self.settings.text("ASYA_TARGET_METHOD", "POST").upper()
        if self.method not in METHODS:
            listed = ", ".join(METHODS)
            raise InvalidSetting(f"ASYA_TARGET_METHOD is {self.method!r}: expected one of {listed}")
        self.template = self.settings.path("ASYA_TARGET_API_PATH", "")
        if re.search("[{}]", PLACEHOLDER.sub("", self.template)):
            raise InvalidSetting(
                f"ASYA_TARGET_API_PATH is {self.template!r}: braces stand around the name of a"
                " member of the payload, as in '/items/{id}'"
            )
        self.target.add_secret_headers(self.settings.headers("ASYA_TARGET_HEADERS"))

    def prepare(self, request, payload):
        path = PLACEHOLDER.sub(lambda match: self.encoded(payload, match.group(1)), self.template)
        if DOT_SEGMENT.search(urllib.parse.unquote(path.split("?")[0])):
            raise InvalidPayload(
                f"the values for {self.template!r} make a path with a '.' or '..' segment"
            )
        return path, request if self.method in WITH_BODY else None

    def encoded(self, payload, key):
        value = payload.get(key) if isinstance(payload, dict) else None
        if isinstance(value, (bool, int, float)):
            value = json.dumps(value)
        if not isinstance(value, str) or not value:
            found = "an empty text" if value == "" else kind(value)
            raise InvalidPayload(
                f"{key!r} is {found}: {self.template!r} needs a text, a number or a boolean"
            )
        return urllib.parse.quote(value, safe="")

    def exchange(self, deadline, call):
        path, body = call
        return self.target.request(deadline, self.method, path, body, shown_path=self.template)


forward = Http(os.environ)
