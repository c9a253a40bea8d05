"""Patterns of what users and models said, in logs and in bodies of requests that stand inside a text."""

import re

from edge_llm_tests.covering import LINE, WORD, Rule, after, covered_value, marked, rule, value_of

__all__ = ["PROMPT_RULES", "redact_modelfile"]

_COUNTS = re.compile(r"[0-9.]+(?:$|\s+\w+=)")  # `prompt=2034 format=""` says how long the prompt was
_MODEL = re.compile(r"[\"']model\\*[\"'][ \t]*:")
_CONTENT = r"[\"'](?:content|thinking|reasoning(?:_content)?)\\*[\"'][ \t]*:[ \t]*"
_INPUT = r"[\"'](?:input|suffix|instructions)\\*[\"'][ \t]*:[ \t]*"
_LIST = r"(?P<list>\[[ \t]*\\*[\"'][^\]\n]*\]?)"
_NEAR = 2000  # characters: as far as a field may stand from the one that tells what it is


def _prompt(match: "re.Match[str]") -> str | None:
    value = value_of(match).strip()
    if not value or value.startswith("<redacted:") or _COUNTS.match(value):
        return None
    return covered_value(match, "prompt")


def _line_near(match: "re.Match[str]") -> str:
    before = match.string[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
    return before + match.string[match.end() : match.end() + _NEAR].partition("\n")[0]


def _input(match: "re.Match[str]") -> str | None:
    """What an embedding or a completion was asked about: a text, or a list of texts, beside a model."""
    if not _MODEL.search(_line_near(match)):
        return None
    return f'{match["kept"]}["{marked("prompt")}"]' if match["list"] is not None else _prompt(match)


def _embedded(match: "re.Match[str]") -> str | None:
    return _prompt(match) if "embed" in _line_near(match).lower() else None


PROMPT_RULES: tuple[Rule, ...] = (
    rule(
        "prompt completion",
        rf"(?P<kept>\b(?:[a-z]+_)?(?:prompt|completion)\\*[\"']?[ \t]*[=:][ \t]*){LINE}",
        _prompt,
        re.IGNORECASE,
    ),
    rule("content thinking reasoning", rf"(?P<kept>\brole\b[^\n]{{0,80}}?{_CONTENT}){WORD}", _prompt),
    rule("content thinking reasoning", rf"(?P<kept>{_CONTENT}){WORD}(?=[^\n{{}}]*\brole\b)", _prompt),
    rule("delta", rf"(?P<kept>[\"']delta\\*[\"'][ \t]*:[ \t]*{{[^\n{{}}]{{0,80}}?{_CONTENT}){WORD}", _prompt),
    rule("input suffix instructions", rf"(?P<kept>{_INPUT})(?:{_LIST}|{WORD})", _input),
    rule("input=", rf"(?P<kept>\binput=){WORD}", _embedded),
    rule(
        "text",
        r"(?P<kept>[\"']type\\*[\"'][ \t]*:[ \t]*\\*[\"'](?:input_|output_)?text\\*[\"'][^\n{}]{0,20}"
        rf"[\"']text\\*[\"'][ \t]*:[ \t]*){WORD}",
        _prompt,
    ),
    rule("content:", r"(?P<kept>\brole:\w+ content:)[^\n}]+", after("prompt"), re.IGNORECASE),
    rule("response", rf"(?P<kept>[\"']response\\*[\"'][ \t]*:[ \t]*){WORD}(?=[^\n]*\bdone\b)", _prompt),
)

_MODELFILE = re.compile(
    r"^(?P<kept>(?:SYSTEM|MESSAGE[ \t]+(?:user|assistant|system))[ \t]+)(?!<redacted:)"
    r'(?:"""[\s\S]*?"""|[^\n]+)',
    re.MULTILINE | re.IGNORECASE,
)


def redact_modelfile(text: str) -> tuple[str, int]:
    """A Modelfile without its system prompt and example messages, and how many there were."""
    return _MODELFILE.subn(lambda match: match["kept"] + marked("prompt"), text)
