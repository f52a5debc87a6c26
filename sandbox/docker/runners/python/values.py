"""Values as JSON."""
import json

from broker_functions import MEDIA

MEDIA_MARK = b'"ref":"r_'  # in every answer with an image, a sound or a file
MAX_MEDIA_BYTES, MAX_MEDIA_DEPTH = 256 << 10, 8  # of an answer


class Media(dict):
    """Represents an image, a sound or a file in an answer."""

    missed = False  # whether a program looked for the bytes and went on

    def __missing__(self, key):
        error = KeyError(key)
        if key in MEDIA["bytes"]:
            error.hint = MEDIA["hint"]
        raise error

    def __getattr__(self, name):
        error = AttributeError("a dict has no attribute %r: write x[%r]" % (name, name))
        if name in MEDIA["bytes"]:
            error.hint = MEDIA["hint"]
        raise error

    def get(self, key, default=None):
        if key in MEDIA["bytes"]:
            Media.missed = True
        return super().get(key, default)


def with_media(value, depth=0):
    """Makes Media of the dicts in an answer that represent images, sounds and files."""
    if depth > MAX_MEDIA_DEPTH:
        return value
    if isinstance(value, list):
        return [with_media(v, depth + 1) for v in value]
    if isinstance(value, dict):
        if "size" in value and str(value.get("ref")).startswith("r_") and all(k in MEDIA["fields"] for k in value):
            return Media(value)
        return {k: with_media(v, depth + 1) for k, v in value.items()}
    return value


def size(n):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit:
            return ("%.1f" % (n / unit)).removesuffix(".0") + " " + name
    return "%d bytes" % n


def plain(value):
    """Converts a value that JSON cannot represent to one that it can."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, BaseException):
        fields = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        return {"name": type(value).__name__, "message": str(value), **fields}
    if "__dataclass_fields__" in dir(type(value)):
        return {name: getattr(value, name) for name in type(value).__dataclass_fields__}
    for method, arguments in (("isoformat", ()), ("to_dict", ("records",)), ("to_dict", ()), ("tolist", ()), ("item", ())):
        if callable(getattr(value, method, None)) and not isinstance(value, type):
            try:
                return getattr(value, method)(*arguments)
            except TypeError:
                continue
    module, name = type(value).__module__, type(value).__name__
    if (module, name) == ("decimal", "Decimal"):
        if not value.is_finite():
            return str(value)
        if value == value.to_integral_value() and value.adjusted() < 1000:
            return int(value)
        return float(value) if type(value)(repr(float(value))) == value else str(value)
    if hasattr(value, "value") and hasattr(value, "name"):
        return value.value  # a member of an enumeration
    if hasattr(value, "__iter__"):
        return list(value)
    if (module, name) == ("re", "Pattern"):
        return value.pattern
    if type(value).__repr__ is object.__repr__ and getattr(value, "__dict__", None):
        return {k: v for k, v in vars(value).items() if not k.startswith("_")}
    return str(value)


def finite(value):
    """Replaces the numbers that JSON cannot represent by null."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return value


def encode(value):
    def dumps(value, ascii):
        return json.dumps(value, ensure_ascii=ascii, allow_nan=False, default=plain, separators=(",", ":"))

    try:
        text = dumps(value, False)
    except ValueError as e:
        if "ircular" in str(e):
            raise
        text = dumps(finite(json.loads(json.dumps(value, default=plain))), False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return dumps(json.loads(text), True).encode()


def identifier(name):
    """The name of a file or folder in an import."""
    return "".join(c if c.isalnum() else "_" for c in name)
