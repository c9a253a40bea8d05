"""Names that say secret: which keys, variables and flags hold what must not be written down."""

import re
from functools import lru_cache

__all__ = ["field_says_secret", "flag_says_secret", "variable_says_secret"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET = frozenset(
    [
        "apikey",
        "accesskey",
        "auth",
        "authkey",
        "authorization",
        "bearer",
        "bindpw",
        "cookie",
        "credential",
        "credentials",
        "creds",
        "joinkey",
        "jwt",
        "masterauth",
        "otp",
        "pass",
        "passcode",
        "passphrase",
        "passwd",
        "password",
        "passwords",
        "privatekey",
        "psk",
        "pw",
        "pwd",
        "requirepass",
        "rootpw",
        "secret",
        "secretkey",
        "secrets",
        "signature",
        "sessionid",
        "token",
        "tokens",
    ]
)
_KEY = frozenset(("key", "keys"))
_ABOUT = frozenset(
    [
        "checksum",
        "count",
        "digest",
        "dir",
        "directory",
        "enabled",
        "endpoint",
        "expiration",
        "expiry",
        "file",
        "files",
        "hash",
        "id_type",
        "kind",
        "len",
        "length",
        "limit",
        "mode",
        "name",
        "names",
        "namespace",
        "parallelism",
        "path",
        "paths",
        "ref",
        "refs",
        "seconds",
        "size",
        "tokenizer",
        "ttl",
        "type",
        "uri",
        "url",
        "version",
    ]
)
"""A name that ends (or, for checksums, begins) so speaks of a secret without holding it."""
_COUNTED = frozenset(("token", "tokens", "key", "keys", "pass", "auth", "signature"))
"""Words that are also counted, numbered and switched: `n_tokens = 512` is no secret."""
_GLUED = re.compile(
    r"\w*(?:password|passwd|passphrase|apikey|(?:secret|signing|encryption|private|account|storage|master)key)"
    r"|secretkey\w*|\w*(?:auth|access|api|k3s|hf|identity|refresh|session|registry|bearer|join|user|bot)token",
    re.IGNORECASE,
)
"""Words that names glue to another one, as `PGPASSWORD` does."""
_SWITCH = re.compile(r"true|false|yes|no|on|off|none|null|", re.IGNORECASE)
_PLAIN_VALUE = re.compile(r"[-+]?[0-9][0-9._]*(%|ms|s|m|h|[KMGT]i?B?)?", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"<redacted:|[<$%]|\{\{|\*+$|\[REDACTED\]", re.IGNORECASE)


@lru_cache(maxsize=10_000)  # a recording repeats its names thousands of times
def _sense(name: str) -> tuple[bool, frozenset[str], int]:
    """Whether the name says secret whatever its value, its words that may also be counted, its words."""
    words = tuple(word.lower() for word in _WORD.findall(name))
    if not words or words[-1] in _ABOUT or words[0] in _ABOUT:
        return False, frozenset(), 0
    strong = (_SECRET.intersection(words) - _COUNTED) or any(_GLUED.fullmatch(word) for word in words)
    return bool(strong), _COUNTED.intersection(words), len(words)


def _says_secret(name: str, value: str, *, lone_key: bool) -> bool:
    strong, counted, words = _sense(name)
    if counted <= _KEY and words == 1 and not lone_key:
        counted = frozenset()
    if not strong and not counted:
        return False
    if _PLACEHOLDER.match(value) or _SWITCH.fullmatch(value):
        return False
    return strong or not _PLAIN_VALUE.fullmatch(value)


def variable_says_secret(name: str, value: str) -> bool:
    """Whether an environment variable `name` holds a secret in `value`."""
    return _says_secret(name, value, lone_key=True)


def field_says_secret(name: str, value: str) -> bool:
    """Whether a field of an object does; one merely called `key` does not (tolerations have it)."""
    return _says_secret(name, value, lone_key=False)


def flag_says_secret(argument: str, value: str) -> bool:
    """Whether `value` is the secret of a command line's `--token`, given as an argument of its own."""
    return argument.startswith("-") and "=" not in argument and _says_secret(argument, value, lone_key=False)
