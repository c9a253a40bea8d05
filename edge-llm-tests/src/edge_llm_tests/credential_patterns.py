"""Patterns of credentials as they travel: in headers of HTTP, and in URLs."""

import base64
import binascii
import re

from edge_llm_tests.covering import START, Rule, after, marked, rule

__all__ = ["CREDENTIAL_RULES"]

_WORD_LIMIT = 20  # characters: no word that follows "bearer" in prose is as long
_SHORT_LIMIT = 8  # characters: no bearer token in prose is shorter
_EMPTY = re.compile(r"<redacted:|true\b|false\b|none\b|null\b|\d+\b", re.IGNORECASE)


def _basic(match: "re.Match[str]") -> str | None:
    padded = match["given"] + "=" * (-len(match["given"]) % 4)
    try:
        pair = base64.b64decode(padded, validate=True)
    except binascii.Error:
        return None
    return match["kept"] + marked("basic") if b":" in pair else None


def _bearer(match: "re.Match[str]") -> str | None:
    given = match["given"]
    prose = len(given) < _SHORT_LIMIT or (given.isalpha() and len(given) < _WORD_LIMIT)
    return None if prose and not match["header"] else match["kept"] + marked("bearer")


def _authorization(match: "re.Match[str]") -> str | None:
    return None if match["given"].isalpha() else match["kept"] + marked("authorization")


def _cookie(match: "re.Match[str]") -> str | None:
    return None if _EMPTY.match(match["given"]) else match["kept"] + marked("secret")


def _user_option(match: "re.Match[str]") -> str | None:
    user, _, group = match["given"].partition(":")
    return None if user.isdigit() and group.isdigit() else match["kept"] + marked("basic")


CREDENTIAL_RULES: tuple[Rule, ...] = (
    rule(
        "://",
        r"(?P<kept>\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[^\s/\"'<>?#\\]+(?=@(?!sha256:))",
        after("url-credentials"),
    ),
    rule(  # a password with a slash or a hash that nobody encoded; digits and a slash are a port and a path
        "://",
        r"(?P<kept>\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[\w.%+~-]*:(?!\d{1,5}[/?#\s])[^\s\"'<>@\\]*"
        r"(?=@(?!sha256:)[\w-])",
        after("url-credentials"),
    ),
    rule(
        "%3a%2f%2f",
        r"(?P<kept>%3A%2F%2F)(?:[^\s%&\"'<>]|%(?!40|2F))+(?=%40)",
        after("url-credentials"),
        re.IGNORECASE,
    ),
    rule(  # the same without a scheme, as proxies and databases are often given: user:password@proxy:3128
        "@",
        r"(?P<kept>(?:^|[\s=\"'(,;]|(?<=\\[nrt])))[\w.%+-]+:[^\s/\"'<>@:]{3,}"
        r"(?=@(?!sha256:)(?:(?:tcp|unix)\(|[\w.-]+(?::\d+)?(?:[/\s\"',;)]|$)))",
        after("url-credentials"),
        re.MULTILINE,
    ),
    rule(
        "pass= pw= auth= sig= key= code= samlresponse=",
        r"(?P<kept>[?&](?:pass|pw|auth|samlresponse)=)(?!<redacted:)[^&\s\"'<>\\]+"
        r"|(?P<long>[?&](?:sig|key|code)=)(?!<redacted:)[^&\s\"'<>\\]{8,}",
        lambda match: (match["kept"] or match["long"]) + marked("secret"),
        re.IGNORECASE,
    ),
    rule(
        "bearer",
        r"(?P<kept>(?P<header>authorization\\*[\"']?\s*[:=]\s*\\*[\"']?)?bearer(?:\s|%20)+)(?P<given>[\w.~+/-]+=*)",
        _bearer,
        re.IGNORECASE,
    ),
    rule("basic", START + r"(?P<kept>basic\s+)(?P<given>[A-Za-z0-9+/]{6,}={0,2})", _basic, re.IGNORECASE),
    rule(
        "digest aws4-hmac-",
        r"(?P<kept>authorization\\*[\"']?\s*[:=]\s*\\*[\"']?(?:digest|aws4-hmac-sha256)[ \t])[^\n]+",
        after("authorization"),
        re.IGNORECASE,
    ),
    rule(
        "authorization",
        r"(?P<kept>authorization\\*[\"']?\s*[:=]\s*\\*[\"']?(?!bearer\b|basic\b|digest <|aws4-hmac-sha256 <)"
        r"(?:[a-z]+[ \t]+)?)(?P<given>[^\s\"'\\<,]{8,})",
        _authorization,
        re.IGNORECASE,
    ),
    rule(
        "cookie",
        START + r"(?P<kept>(?:set-)?cookie\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?)(?P<given>[^\n\"'\\]+)",
        _cookie,
        re.IGNORECASE,
    ),
    rule("auth", START + r"(?P<kept>AUTH[ ]+(?:PLAIN|LOGIN)[ ]+)[A-Za-z0-9+/]{8,}=*", after("basic")),
    rule(
        "-u --user",
        r"(?P<kept>(?<![\w-])(?:-u|--user|--proxy-user)[ =]\\*[\"']?)(?P<given>[^\s:\"'=<]+:[^\s\"'<]+)",
        _user_option,
    ),
)
