"""Patterns of secrets and addresses in text, each with the kind that takes its place."""

import re
from functools import lru_cache

from edge_llm_tests.covering import START, WORD, Cover, Rule, after, covered_value, marked, rule, value_of
from edge_llm_tests.credential_patterns import CREDENTIAL_RULES
from edge_llm_tests.prompt_patterns import PROMPT_RULES
from edge_llm_tests.secret_names import field_says_secret, flag_says_secret, variable_says_secret
from edge_llm_tests.secret_shapes import SHAPE_RULES

__all__ = ["redact_text"]

_NAME = (
    # a name begins at a word; after a line break inside a quoted text; after a change of colour
    r"(?:(?<![\w.-])(?!(?<=\\)[nrt])|(?<=\\[nrt])|(?<=[0-9;\[]m))(?![0-9][0-9;]*m)"
    r"(?P<name>-{0,2}[\w.-]{0,60}(?:pass|pwd|pw|token|secret|credential|creds|key|auth|jwt|"
    r"psk|cookie|signature|sessionid|otp)[\w.-]{0,60})"
)
_NAMES = 'pass pwd pw= pw: pw" token secret cred key auth jwt psk cookie signature sessionid otp= otp: otp"'
_GAP = r"(?:(?:\x1b|\\x1b|\\u001b|\\033)\[[0-9;]*m|[ \t\xa0])*"  # logs in colour
_SEP = rf"(?P<sep>{_GAP}(?:=>|:=|->|[=:]){_GAP}(?:[&!][\w!-]*[ \t]+)?)"  # YAML has anchors and tags
_LOOKS_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w+/=.~-]{12,}")
_STRONG = re.compile(r"passw|passphrase|(api|access|secret|private)[_.-]?key|credential", re.IGNORECASE)
_PASSWORD = re.compile(r"passw|passphrase|pwd|(?<![a-z])pass(?![a-z])", re.IGNORECASE)
_NEXT_FIELD = re.compile(r"[ \t]+(?:[\w.-]+=|#)")
_ITEMS = r"\[[ \t]*(?P<items>[\"'][^\]\n]*)\]?"
_ITEM = re.compile(r"[\"']([^\"'\n]*)[\"']")


def _named(match: "re.Match[str]") -> str | None:
    if match["items"] is not None:
        return _list(match)
    name, value = match["name"], value_of(match)
    if name == "PASS" and ":" in match["sep"]:
        return None  # the verdict of a test
    if name.lower().endswith("authorization") or not field_says_secret(name.lstrip("-"), value):
        return None
    if match["closed"] and match["word"]:
        return None  # `"creds" : secret "x" not found`: JSON would quote the value
    prose = ":" in match["sep"] and not match["closed"] and match["line"] is None
    quoted = match["quote"] and match["sep"] == ":"  # as Go prints a struct
    # "failed to fetch token: dial tcp" is no secret, "password: hunter2" is
    if prose and not quoted and not _STRONG.search(name) and not _LOOKS_RANDOM.fullmatch(value):
        return None
    return covered_value(match, "secret")


def _line(match: "re.Match[str]") -> str | None:
    """A password with spaces that nobody quoted, alone on its line: it ends where the next field begins."""
    name, given = match["name"], match["given"]
    if not _PASSWORD.search(name) or name.lower() == "pass" or not field_says_secret(name, given):
        return None
    following = _NEXT_FIELD.search(given)
    return match["kept"] + marked("secret") + (given[following.start() :] if following else "")


def _block(match: "re.Match[str]") -> str | None:
    """What YAML has on the lines after a name: a text, or a list of texts; not an object."""
    lines = match["block"].strip()
    mapping = match["style"] is None and re.search(r"^[ \t-]*[\w./\"'-]+:(?:\s|$)", lines, re.MULTILINE)
    if mapping or not field_says_secret(match["name"], lines.splitlines()[0] if lines else ""):
        return None
    return f"{match['kept']}{marked('secret')}\n"


def _list(match: "re.Match[str]") -> str | None:
    """The secrets of a list in JSON or TOML."""
    if not any(field_says_secret(match["name"], each) for each in _ITEM.findall(match["items"])):
        return None
    return f'{match["kept"]}["{marked("secret")}"]'


def _flag(match: "re.Match[str]") -> str | None:
    """The secret of `--token SECRET` in a command line that is one text."""
    given = value_of(match)
    return covered_value(match, "secret") if given and flag_says_secret(match["name"], given) else None


def _variable(match: "re.Match[str]") -> str | None:
    """The value of an environment variable that stands as an object inside a text."""
    value = value_of(match)
    secret = bool(value) and variable_says_secret(match["name"], value)
    return covered_value(match, "env") if secret else None


def _spoken(match: "re.Match[str]") -> str | None:
    """A secret in a sentence, if it does not look like a word of it."""
    given = match["given"]
    if given.startswith("<redacted:") or not _LOOKS_RANDOM.fullmatch(given):
        return None
    return match["kept"] + marked("secret")


def _said_password(match: "re.Match[str]") -> str | None:
    given = match["given"]
    return None if given.isalpha() or given.startswith("<") else match["kept"] + marked("secret")


def _bootstrap(match: "re.Match[str]") -> str | None:
    tail = match[0].partition(".")[2]
    has_letter, has_digit = any(map(str.isalpha, match[0])), any(map(str.isdigit, tail))
    return marked("bootstrap-token") if has_letter and has_digit else None


def _email(match: "re.Match[str]") -> str | None:
    # systemd writes instances of a unit as name@instance.service
    units = ("service", "socket", "target", "timer", "mount", "slice", "scope", "device", "path", "swap")
    return None if match["tld"].lower() in units else marked("email")


_RULES: tuple[Rule, ...] = (
    *SHAPE_RULES,
    *CREDENTIAL_RULES,
    rule(
        "password passwd pwd token secret apikey api_key accesskey access_key privatekey private_key",
        r"(?P<kept><\w*(?:password|passwd|pwd|token|secret|(?:api|access|private)_?key)>)[^<\n]+",
        after("secret"),
        re.IGNORECASE,
    ),
    rule(
        "login sshpass mysql mariadb",
        rf"(?P<kept>{START}(?:login|sshpass|(?:mysql|mariadb)\w*)\b[^\n]{{0,120}}?\s-p[ =]?\\*[\"']?)"
        r"[^\s\"'<-][^\s\"'<]*",
        after("secret"),
    ),
    rule(
        "redis-cli",
        rf"(?P<kept>{START}redis-cli\b[^\n]{{0,120}}?\s-a[ =]?\\*[\"']?)[^\s\"'<-][^\s\"'<]*",
        after("secret"),
    ),
    rule("pass:", r"(?P<kept>(?<![\w-])-pass(?:in|out)?\s+pass:)[^\s\"'<]+", after("secret")),
    rule("password", r"(?P<kept>\blogin\s+\S+\s+password\s+)[^\s<]+", after("secret")),  # .netrc
    rule(
        _NAMES,
        r"(?P<kept>(?<![\w-])(?P<name>--?[a-z][\w-]*)[ \t]+)"
        r"(?:(?P<quote>\\{0,6}[\"'])(?P<inner>[^\n]*?)(?<!\\)(?P=quote)"
        r"|(?P<cut>\\{0,6}[\"'])(?P<rest>[^\n]+)|(?P<word>[^\s\"'<-][^\s\"'<]*))",
        _flag,
    ),
    rule(
        "value",
        r"(?P<kept>\bname\\*[\"']?:[ \t]*\\*[\"']?(?P<name>[A-Za-z_][\w.-]*)\\*[\"']?(?:,|\s|\\n)*"
        r"\\*[\"']?value\\*[\"']?:[ \t]*)" + WORD,
        _variable,
    ),
    rule(
        _NAMES,
        rf"(?P<kept>(?m:^)(?P<indent>[ \t]*)(?:-[ \t]+)?{_NAME}[\"']?[ \t]*:[ \t]*)"
        r"(?:(?P<style>[|>][-+0-9]{0,2})[ \t]*)?\n"
        r"(?P<block>(?:(?P=indent)(?:[ \t]+|-[ \t])[^\n]*(?:\n|\Z)|[ \t]*\n)+)",
        _block,
        re.IGNORECASE,
    ),
    rule(
        "pass pwd",
        rf"(?P<kept>(?:(?m:^)[ \t]*|(?<=\\n)[ ]*)(?:-[ \t]+)?{_NAME}(?::[ \t]+|[ \t]*=[ \t]*))"
        r"(?P<given>(?![\s\"'<#{[|>&!\\])(?:(?!\\[nrt\"])[^\n\"'])*[^\s\"'\\])",
        _line,
        re.IGNORECASE,
    ),
    rule(
        _NAMES,
        rf"(?P<kept>(?P<line>(?m:^)[ \t]*(?:-[ \t]+)?)?{_NAME}(?P<closed>\\{{0,6}}[\"'])?{_SEP})"
        rf"(?:{_ITEMS}|{WORD})",
        _named,
        re.IGNORECASE,
    ),
    rule(
        "password passphrase",
        r"(?P<kept>\b(?:password|passphrase)[ ]+[\"'“‘])(?!<redacted:)[^\"'”’\n]+",  # noqa: RUF001 - as editors set quotes
        after("secret"),
        re.IGNORECASE,
    ),
    rule(
        "password passphrase",
        r"(?P<kept>\b(?:password|passphrase)[ ]+is:?[ ]+)(?P<given>[^\s\"',;]+)",
        _said_password,
        re.IGNORECASE,
    ),
    rule(
        "token key",
        r"(?P<kept>\b(?:token|(?:api|access|secret)[ -]?key)(?:[ ]+is|[ ]+provided)?:?[ ]+[\"']?)"
        r"(?P<given>[\w+/=.~-]{16,})",
        _spoken,
        re.IGNORECASE,
    ),
    *PROMPT_RULES,
    rule(".", r"(?:(?<![\w.@/:-])|(?<=\\[nrt]))[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.@:-])", _bootstrap),
    rule(
        "@ %40",
        r"(?<![\w.%+-])[\w.%+-]+(?:@|%40)(?:[\w-]+\.)+(?P<tld>[^\W\d_]{2,24})\b",
        _email,
        re.IGNORECASE,
    ),
)

_NEEDLES = tuple((needle, number) for number, each in enumerate(_RULES) for needle in each.needles)
_SHORT = 100  # characters: names, labels and images, which a recording repeats thousands of times
_BOOTSTRAP_TAIL = re.compile(r"\.[a-z0-9]{16}(?![a-z0-9])")


def redact_text(text: str) -> tuple[str, int]:
    """The text with each secret as `<redacted:kind>`, and how many there were."""
    return _redact_short(text) if len(text) < _SHORT else _redact_any(text)


def _redact_any(text: str) -> tuple[str, int]:
    lowered = text.lower()
    count = 0
    for number in sorted({number for needle, number in _NEEDLES if needle in lowered}):
        each = _RULES[number]
        if each.cover is _bootstrap and not _BOOTSTRAP_TAIL.search(text):
            continue

        def covered(match: "re.Match[str]", cover: Cover = each.cover) -> str:
            nonlocal count
            replacement = cover(match)
            if replacement is None or replacement == match[0]:
                return match[0]
            count += 1
            return replacement

        text = each.phrase.sub(covered, text)
    return text, count


_redact_short = lru_cache(maxsize=20_000)(_redact_any)
