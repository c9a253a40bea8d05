"""Secrets that show what they are by their shape alone: keys, tokens with a prefix, hashes of passwords."""

import base64
import re

from edge_llm_tests.covering import START, Rule, after, marked, rule, whole

__all__ = ["SHAPE_RULES"]

_END = r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_HOLDS_SECRETS = re.compile(rb"token|password|PRIVATE KEY|key-data|secret", re.IGNORECASE)
_PREFIXED = (
    r"hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl(?:pat|rt|dt|ptt|soat|cbt)-[\w-]{16,}"
    r"|nvapi-[\w-]{20,}|sk-[\w-]{20,}|[sr]k_(?:live|test)_\w{10,}|xox[abeprs]-[\w-]{10,}|xapp-[\w-]{10,}"
    r"|A[KS]IA[0-9A-Z]{16}|dckr_[a-z]{3}_[\w-]{20,}|tskey-[\w-]{16,}|AIza[\w-]{35}|ya29\.[\w-]{20,}"
    r"|GOCSPX-[\w-]{20,}|pypi-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|hv[brs]\.[\w-]{20,}|do[opr]_v1_[0-9a-f]{40,}"
    r"|r8_\w{30,}|gl(?:sa|c)_[\w=+/]{20,}|gsk_\w{20,}|xai-\w{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|ATATT[\w=-]{20,}"
)
_PREFIXES = (
    "hf_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glrt- gldt- glptt- glsoat- glcbt- nvapi- sk- k_live_ "
    "k_test_ xox xapp- akia asia dckr_ tskey- aiza ya29. gocspx- pypi- npm_ hvb. hvr. hvs. _v1_ r8_ glsa_ "
    "glc_ gsk_ xai- sg. atatt"
)


def _decoded(text: str) -> bytes:
    return base64.b64decode(text[: len(text) // 4 * 4])


def _base64_key(match: "re.Match[str]") -> str | None:
    return marked("private-key") if b"PRIVATE KEY" in _decoded(match[0]) else None


def _base64_kubeconfig(match: "re.Match[str]") -> str | None:
    return marked("kubeconfig") if _HOLDS_SECRETS.search(_decoded(match[0])) else None


def _telegram(match: "re.Match[str]") -> str | None:
    mixed = any(map(str.isalpha, match[0].partition(":")[2]))
    return match["kept"] + marked("api-key") if mixed else None


SHAPE_RULES: tuple[Rule, ...] = (
    rule(
        "-----begin",
        rf"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:{_END}|\Z)",
        whole("private-key"),
        re.DOTALL,
    ),
    rule(  # the last lines of a log may begin within a key
        "-----end",
        rf"(?:(?m:^)|(?<=\\n))(?:[A-Za-z0-9+/=]{{16,}}(?:\\n|\s){{1,4}}){{1,99}}(?={_END})",
        whole("private-key"),
    ),
    rule(
        "private-lines:",
        r"(?P<kept>Private-Lines:[^\n]*\n)(?:[A-Za-z0-9+/=]+(?:\n|\Z))+",
        after("private-key"),
    ),
    rule("ls0tls1crudjti", r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{8,}={0,2}", _base64_key),
    rule(  # apiVersion, kind: Config, clusters: how a kubeconfig begins
        "yxbpvmvyc2lvbj a2luzdogq29uzmln y2x1c3rlcnm6",
        r"(?:YXBpVmVyc2lvbj|a2luZDogQ29uZmln|Y2x1c3RlcnM6)[A-Za-z0-9+/]{8,}={0,2}",
        _base64_kubeconfig,
    ),
    rule("eyj", START + r"eyJ[\w-]{10,}(?:\.[\w-]*){0,2}", whole("jwt")),
    rule(
        "k10 ::",  # a quotation may have lost the head
        rf"{START}(?:K10[0-9a-f]{{16,}}(?:::[^\s\"'\\,]+)?|[0-9a-f]{{8,}}::(?:[a-z]+:)?[^\s\"'\\,<]+)",
        whole("k3s-token"),
    ),
    rule(_PREFIXES, rf"{START}(?:{_PREFIXED})", whole("api-key")),
    rule(
        "hooks.slack.com/ /api/webhooks/ /webhookb2/",
        r"(?P<kept>hooks\.slack\.com/services/|/api/webhooks/[0-9]+/|/webhookb2/)[\w/@-]{10,}",
        after("api-key"),
    ),
    rule("bot telegram", START + r"(?P<kept>(?:bot)?)[0-9]{8,12}:[\w-]{20,}", _telegram),
    rule(  # crypt(3): bcrypt, SHA-512 and their like
        "$1$ $2 $5$ $6$ $y$ $apr1$ $argon2",
        r"\$(?:2[abxy]|[156y]|apr1|argon2\w+)\$(?:[\w=,.-]+\$)*[./\w+]{16,}",
        whole("password-hash"),
    ),
)
