"""Patterns of secrets, addresses and prompts in text, each with the kind that takes its place."""

import base64
import binascii
import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from edge_llm_tests.secret_names import field_says_secret, flag_says_secret, variable_says_secret

__all__ = ["redact_modelfile", "redact_text"]

_Cover = Callable[["re.Match[str]"], str | None]
"""The text that takes the place of a match, or None where the match is harmless after all."""

_START = r"(?:\b|(?<=\\[nrt]))"  # of a word; in a quoted text a line break is a backslash and a letter
_VALUE = (
    # quoted, perhaps inside a quoted text (then the quote has backslashes); quoted and cut off; or one word
    r"(?:(?P<quote>\\{0,6}[\"'])(?P<inner>[^\n]*?)(?<!\\)(?P=quote)|(?P<cut>\\{0,6}[\"'])(?P<rest>[^\n]+)|%s)"
)
_WORD = _VALUE % r"(?P<word>[^\s,;&\"'}\])\\]+)"
_LINE = _VALUE % r"(?P<word>[^\s\"'][^\n]*)"
_NAME = (
    r"(?<![\w.-])(?P<name>-{0,2}[\w.-]{0,60}(?:passw|passphrase|pwd|token|secret|credential|creds|key|auth|jwt|"
    r"psk|cookie|signature|sessionid)[\w.-]{0,60})"
)
_LOOKS_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w+/=.~-]{12,}")
_COUNTS = re.compile(r"[0-9.]+(?:$|\s+\w+=)")  # `prompt=2034 format=""` says how long the prompt was
_WORD_LIMIT = 20  # characters: no word that follows "bearer" in prose is as long
_STRONG = re.compile(r"passw|passphrase|(api|access|secret|private)[_.-]?key|credential", re.IGNORECASE)


def _marked(kind: str) -> str:
    return f"<redacted:{kind}>"


def _whole(kind: str) -> Callable[["re.Match[str]"], str]:
    return lambda _match: _marked(kind)


def _after(kind: str) -> Callable[["re.Match[str]"], str]:
    """Keep the group `kept`, cover the rest."""
    return lambda match: match["kept"] + _marked(kind)


def _base64_key(match: "re.Match[str]") -> str | None:
    head = match[0][: len(match[0]) // 4 * 4]
    return _marked("private-key") if b"PRIVATE KEY" in base64.b64decode(head) else None


def _basic(match: "re.Match[str]") -> str | None:
    padded = match["given"] + "=" * (-len(match["given"]) % 4)
    try:
        pair = base64.b64decode(padded, validate=True)
    except binascii.Error:
        return None
    return match["kept"] + _marked("basic") if b":" in pair else None


def _bearer(match: "re.Match[str]") -> str | None:
    plain_word = match["given"].isalpha() and len(match["given"]) < _WORD_LIMIT
    return None if plain_word and not match["header"] else match["kept"] + _marked("bearer")


def _authorization(match: "re.Match[str]") -> str | None:
    return None if match["given"].isalpha() else match["kept"] + _marked("authorization")


def _value(match: "re.Match[str]") -> str:
    return match["inner"] or match["rest"] or match["word"] or ""


def _covered_value(match: "re.Match[str]", kind: str) -> str:
    opening, closing = match["quote"] or match["cut"] or "", match["quote"] or ""
    return match["kept"] + opening + _marked(kind) + closing


def _named(match: "re.Match[str]") -> str | None:
    name, value = match["name"], _value(match)
    if name.lower().endswith("authorization") or not field_says_secret(name.lstrip("-"), value):
        return None
    if match["closed"] and match["word"]:
        return None  # `"creds" : secret "x" not found`: JSON would quote the value
    prose = ":" in match["sep"] and not match["closed"] and match["line"] is None
    # "failed to fetch token: dial tcp" is no secret, "password: hunter2" is
    if prose and not _STRONG.search(name) and not _LOOKS_RANDOM.fullmatch(value):
        return None
    return _covered_value(match, "secret")


def _flag(match: "re.Match[str]") -> str | None:
    """The secret of `--token SECRET` in a command line that is one text."""
    given = match["given"].lstrip("\\\"'")
    return match["kept"] + _marked("secret") if flag_says_secret(match["name"], given) else None


def _variable(match: "re.Match[str]") -> str | None:
    """The value of an environment variable that stands as an object inside a text."""
    value = _value(match)
    secret = bool(value) and variable_says_secret(match["name"], value)
    return _covered_value(match, "env") if secret else None


def _user_option(match: "re.Match[str]") -> str | None:
    user, _, group = match["given"].partition(":")
    return None if user.isdigit() and group.isdigit() else match["kept"] + _marked("basic")


def _telegram(match: "re.Match[str]") -> str | None:
    mixed = any(map(str.isalpha, match[0].partition(":")[2]))
    return match["kept"] + _marked("api-key") if mixed else None


def _prompt(match: "re.Match[str]") -> str | None:
    value = _value(match).strip()
    if not value or value.startswith("<redacted:") or _COUNTS.match(value):
        return None
    return _covered_value(match, "prompt")


def _bootstrap(match: "re.Match[str]") -> str | None:
    tail = match[0].partition(".")[2]
    has_letter, has_digit = any(map(str.isalpha, match[0])), any(map(str.isdigit, tail))
    return _marked("bootstrap-token") if has_letter and has_digit else None


def _email(match: "re.Match[str]") -> str | None:
    # systemd writes instances of a unit as name@instance.service
    units = ("service", "socket", "target", "timer", "mount", "slice", "scope", "device", "path", "swap")
    return None if match["tld"].lower() in units else _marked("email")


class _Rule(msgspec.Struct, frozen=True):
    """A pattern that is tried where one of `needles` stands in the lower-cased text: most texts have none.

    It is compiled when it is first tried: all of them would cost a process 10 ms.
    """

    needles: tuple[str, ...]
    expression: str
    cover: _Cover
    flags: int

    @property
    def pattern(self) -> "re.Pattern[str]":
        """The compiled pattern; `re` keeps it."""
        return re.compile(self.expression, self.flags)


def _rule(needles: str, pattern: str, cover: _Cover, flags: int = 0) -> _Rule:
    return _Rule(tuple(needles.split()), pattern, cover, flags)


_RULES: tuple[_Rule, ...] = (
    _rule(
        "-----begin",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
        _whole("private-key"),
        re.DOTALL,
    ),
    _rule("ls0tls1crudjti", r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{8,}={0,2}", _base64_key),
    _rule("eyj", _START + r"eyJ[\w-]{10,}(?:\.[\w-]*){0,2}", _whole("jwt")),
    _rule(
        "k10 ::",  # a quotation may have lost the head
        rf"{_START}(?:K10[0-9a-f]{{16,}}(?:::[^\s\"'\\,]+)?|[0-9a-f]{{8,}}::(?:[a-z]+:)?[^\s\"'\\,<]+)",
        _whole("k3s-token"),
    ),
    _rule(
        "://",
        r"(?P<kept>\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[^\s/\"'<>?#\\]+(?=@(?!sha256:))",
        _after("url-credentials"),
    ),
    _rule(  # the same without a scheme, as proxies are often given: user:password@proxy:3128
        "@",
        r"(?P<kept>(?:^|[\s=\"'(,;]))[\w.%+-]+:[^\s/\"'<>@:]{3,}(?=@(?!sha256:)[\w.-]+(?::\d+)?(?:[/\s\"',;)]|$))",
        _after("url-credentials"),
        re.MULTILINE,
    ),
    _rule(
        "bearer",
        r"(?P<kept>(?P<header>authorization\\*[\"']?\s*[:=]\s*\\*[\"']?)?bearer(?:\s|%20)+)(?P<given>[\w.~+/-]{8,}=*)",
        _bearer,
        re.IGNORECASE,
    ),
    _rule("basic", _START + r"(?P<kept>basic\s+)(?P<given>[A-Za-z0-9+/]{6,}={0,2})", _basic, re.IGNORECASE),
    _rule(
        "authorization",
        r"(?P<kept>authorization\\*[\"']?\s*[:=]\s*\\*[\"']?(?!bearer\b|basic\b)(?:[a-z]+[ \t]+)?)"
        r"(?P<given>[^\s\"'\\<,]{8,})",
        _authorization,
        re.IGNORECASE,
    ),
    _rule(
        "hf_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- nvapi- sk- xox akia dckr_pat_ tskey- aiza pypi-",
        _START + r"(?:hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
        r"|nvapi-[\w-]{20,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|dckr_pat_[\w-]{20,}"
        r"|tskey-[\w-]{16,}|AIza[\w-]{35}|pypi-[\w-]{16,})",
        _whole("api-key"),
    ),
    _rule("</", r"(?P<kept><\w*(?:password|token|secret)>)[^<\n]+", _after("secret"), re.IGNORECASE),
    _rule("hooks.slack", r"(?P<kept>hooks\.slack\.com/services/)[\w/-]{10,}", _after("api-key")),
    _rule("bot telegram", _START + r"(?P<kept>(?:bot)?)[0-9]{8,12}:[\w-]{20,}", _telegram),
    _rule(
        "-u --user",
        r"(?P<kept>(?<![\w-])(?:-u|--user|--proxy-user)[ =]\\*[\"']?)(?P<given>[^\s:\"'=<]+:[^\s\"'<]+)",
        _user_option,
    ),
    _rule(
        "login", r"(?P<kept>\blogin\b[^\n]{0,120}?\s-p[ =]?\\*[\"']?)[^\s\"'<-][^\s\"'<]*", _after("secret")
    ),
    _rule(
        "passw passphrase token secret key credential",
        r"(?P<kept>(?<![\w-])(?P<name>--?[a-z][\w-]*)[ \t]+)(?P<given>\\*[\"']?[^\s\"'<-][^\s\"'<]*)",
        _flag,
    ),
    _rule(
        "value",
        r"(?P<kept>\bname\\*[\"']?:[ \t]*\\*[\"']?(?P<name>[A-Za-z_][\w.-]*)\\*[\"']?(?:,|\s|\\n)*"
        r"\\*[\"']?value\\*[\"']?:[ \t]*)" + _WORD,
        _variable,
    ),
    _rule(
        "passw passphrase pwd token secret cred key auth jwt psk cookie signature sessionid",
        rf"(?P<kept>(?P<line>(?m:^)[ \t]*(?:-[ \t]+)?)?{_NAME}(?P<closed>\\{{0,6}}[\"'])?"
        rf"(?P<sep>[ \t]*[=:][ \t]*)){_WORD}",
        _named,
        re.IGNORECASE,
    ),
    _rule(
        "prompt completion",
        rf"(?P<kept>\b(?:[a-z]+_)?(?:prompt|completion)\\*[\"']?[ \t]*[=:][ \t]*){_LINE}",
        _prompt,
        re.IGNORECASE,
    ),
    _rule("content", rf"(?P<kept>\brole\b[^\n]{{0,80}}?[\"']content\\*[\"'][ \t]*:[ \t]*){_WORD}", _prompt),
    _rule("content", rf"(?P<kept>[\"']content\\*[\"'][ \t]*:[ \t]*){_WORD}(?=[^\n{{}}]*\brole\b)", _prompt),
    _rule(
        "text",
        r"(?P<kept>[\"']type\\*[\"'][ \t]*:[ \t]*\\*[\"'](?:input_|output_)?text\\*[\"'][^\n{}]{0,20}"
        rf"[\"']text\\*[\"'][ \t]*:[ \t]*){_WORD}",
        _prompt,
    ),
    _rule("content:", r"(?P<kept>\brole:\w+ content:)[^\n}]+", _after("prompt"), re.IGNORECASE),
    _rule("response", rf"(?P<kept>[\"']response\\*[\"'][ \t]*:[ \t]*){_WORD}(?=[^\n]*\bdone\b)", _prompt),
    _rule(".", r"(?:(?<![\w.@/:-])|(?<=\\[nrt]))[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.@:-])", _bootstrap),
    _rule("@", r"(?<![\w.%+-])[\w.%+-]+@(?:[A-Za-z0-9-]+\.)+(?P<tld>[A-Za-z]{2,24})\b", _email),
)

_SHORT = 100  # characters: names, labels and images, which a recording repeats thousands of times
_BOOTSTRAP_TAIL = re.compile(r"\.[a-z0-9]{16}(?![a-z0-9])")

_MODELFILE = re.compile(
    r"^(?P<kept>(?:SYSTEM|MESSAGE[ \t]+(?:user|assistant|system))[ \t]+)(?!<redacted:)"
    r'(?:"""[\s\S]*?"""|[^\n]+)',
    re.MULTILINE | re.IGNORECASE,
)


def redact_modelfile(text: str) -> tuple[str, int]:
    """A Modelfile without its system prompt and example messages, and how many there were."""
    return _MODELFILE.subn(_after("prompt"), text)


def redact_text(text: str) -> tuple[str, int]:
    """The text with each secret as `<redacted:kind>`, and how many there were."""
    return _redact_short(text) if len(text) < _SHORT else _redact_any(text)


def _redact_any(text: str) -> tuple[str, int]:
    lowered = text.lower()
    count = 0
    for rule in _RULES:
        if not any(needle in lowered for needle in rule.needles):
            continue
        if rule.cover is _bootstrap and not _BOOTSTRAP_TAIL.search(text):
            continue

        def covered(match: "re.Match[str]", cover: _Cover = rule.cover) -> str:
            nonlocal count
            replacement = cover(match)
            if replacement is None or replacement == match[0]:
                return match[0]
            count += 1
            return replacement

        text = rule.pattern.sub(covered, text)
    return text, count


_redact_short = lru_cache(maxsize=20_000)(_redact_any)
