"""Settings from environment variables. An empty value means that the variable is not set.

No error shows the value of a variable that may hold a credential.
"""

import ipaddress
import json
import re
import urllib.parse

from adapters.errors import InvalidSetting

# Go's `time.ParseDuration`, without the sign.
UNIT_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "\u00b5s": 1e-6,
    "\u03bcs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
DURATION_PART = re.compile(
    r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", re.ASCII
)

# Names of the pod itself. `localhost` also has subdomains.
LOOPBACK_NAMES = ("ip6-localhost", "ip6-loopback", "localhost", "localhost.localdomain")
IPV4_PARTS = (("0x([0-9a-f]+)", 16), ("0([0-7]+)", 8), ("(0|[1-9][0-9]*)", 10))

AUTHORITY = r"""(\[[^\]]*\]|[^:\[\]\\<>"]*)(:[0-9]*)?"""
HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"


class Settings:
    """Typed access to an environment."""

    def __init__(self, environ):
        self.environ = environ

    def text(self, name, default=""):
        """The value without the white space around it."""
        return self.environ.get(name, "").strip() or default

    def secret(self, name):
        """A text that can stand in an HTTP header and is never shown."""
        value = self.text(name)
        if not is_header_value(value):
            raise InvalidSetting(
                f"{name} cannot be sent: it holds a character that is not printable ASCII"
            )
        return value

    def seconds(self, name, default):
        """A Go duration such as `90s` or `1h30m`, or whole seconds; above zero."""
        text = self.text(name)
        if not text:
            return default
        seconds = parse_duration(text)
        if not seconds:
            raise InvalidSetting(
                f"{name} is {text!r}: expected a duration above zero such as '90s', '5m' or '300'"
            )
        return seconds

    def count(self, name, default):
        """A whole number, zero or more."""
        text = self.text(name)
        if not text:
            return default
        if not re.fullmatch("[0-9]{1,15}", text):
            raise InvalidSetting(f"{name} is {text!r}: expected a whole number, zero or more")
        return int(text)

    def url(self, name):
        """An `http` or `https` address without credentials, query and fragment, split in parts."""
        text = self.text(name)
        if not text:
            raise InvalidSetting(
                f"{name} is not set: say where the target listens, for example 'http://phi-3:80'"
            )
        try:
            url = urllib.parse.urlsplit(text)
            port = url.port
            host = url.hostname or ""
            host.encode("idna")
            if "[" in url.netloc:
                ipaddress.IPv6Address(host.split("%")[0])
            if not re.fullmatch(AUTHORITY, url.netloc.rpartition("@")[2]):
                raise ValueError
        except ValueError:
            raise InvalidSetting(
                f"{name} is not an address: its host or port is malformed"
            ) from None
        if "@" in url.netloc:
            raise InvalidSetting(f"{name} holds credentials: write them in ASYA_TARGET_TOKEN")
        if "?" in text or "#" in text:
            raise InvalidSetting(f"{name} must end with its path: no '?' and no '#'")
        if url.scheme not in ("http", "https") or not url.hostname or port == 0:
            hint = "" if "://" in text else f", write 'http://{text}'"
            raise InvalidSetting(
                f"{name} is {text!r}: expected 'http://host:port' or 'https://host:port'{hint}"
            )
        if self.text("ASYA_BINDING_STRATEGY") == "Adapter" and is_loopback(url.hostname):
            raise InvalidSetting(
                f"{name} is {text!r}: with binding strategy Adapter the target is in another pod:"
                " name its Service"
            )
        if not re.fullmatch("[!-~]*", text):
            raise InvalidSetting(f"{name} is {text!r}: percent-encode what is not printable ASCII")
        return url

    def choice(self, name, default, choices):
        """One of several words."""
        text = self.text(name, default)
        if text not in choices:
            raise InvalidSetting(f"{name} is {text!r}: expected one of {', '.join(choices)}")
        return text

    def header_names(self, name):
        """Names of headers, joined by `,`."""
        names = [part.strip() for part in self.text(name).split(",") if part.strip()]
        for header in names:
            if not re.fullmatch(HEADER_NAME, header):
                raise InvalidSetting(f"{name} names {header!r}, which is no header")
        return names

    def path(self, name, default):
        """A path that begins with `/`, as it is written."""
        text = self.text(name, default)
        if not re.fullmatch("(/[!-~]*)?", text) or "#" in text:
            raise InvalidSetting(f"{name} is {text!r}: expected a path that begins with '/'")
        return text

    def headers(self, name):
        """A JSON object of header names and texts; values are never shown."""
        text = self.text(name)
        try:
            headers = json.loads(text) if text else {}
        except ValueError:
            headers = None
        if not isinstance(headers, dict):
            raise InvalidSetting(f"{name} is not a JSON object of header names and texts")
        for header, value in headers.items():
            if not re.fullmatch(HEADER_NAME, header):
                raise InvalidSetting(f"{name} names {header!r}, which is no header")
            if header.lower() in ("host", "content-length", "transfer-encoding", "connection"):
                raise InvalidSetting(
                    f"{name} must not set {header!r}: it belongs to the connection"
                )
            if not isinstance(value, str) or not is_header_value(value):
                raise InvalidSetting(
                    f"{name}: {header!r} is not a text of printable ASCII characters"
                )
        return headers


def is_loopback(host):
    """Whether a host is the pod itself, in any notation that resolvers accept.

    `asya lint` has the same rule: crates/actor/src/binding/target_url.rs. Both are tested with
    runtime/tests/target_urls.json.
    """
    host = host.lower().rstrip(".")
    if host in LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    number = ipv4(host)
    if number is None:
        try:
            address = ipaddress.IPv6Address(host.split("%")[0])
        except ValueError:
            return False
        if address.ipv4_mapped is None:
            return address.is_loopback or address.is_unspecified
        number = int(address.ipv4_mapped)
    return number == 0 or number >> 24 == 127


def ipv4(text):
    """The number of an IPv4 address, as inet_aton(3) reads it, such as `127.1`; None if it is none.

    There may be fewer than four parts, the last of which fills the rest, and parts may be octal or
    hexadecimal.
    """
    *first, last = [ipv4_part(part) for part in text.split(".")]
    if last is None or len(first) > 3 or any(part is None or part > 255 for part in first):
        return None
    if last >> (32 - 8 * len(first)):
        return None
    return last | sum(part << (24 - 8 * index) for index, part in enumerate(first))


def ipv4_part(text):
    """A number in C's notation; None if it is none."""
    for pattern, base in IPV4_PARTS:
        match = re.fullmatch(pattern, text)
        if match:
            return int(match.group(1), base)
    return None


def is_header_value(text):
    """Nothing that could end the header and begin another."""
    return re.fullmatch("[ -~]*", text) is not None


def parse_duration(text):
    """Seconds of a Go duration or of a whole number of seconds; None if it is neither."""
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    parts = DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * UNIT_SECONDS[unit] for number, unit in parts)
