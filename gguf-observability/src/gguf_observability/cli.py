"""`gguf-observe`: where a model's memory goes, predicted from its file and observed where it is served."""

import sys
from importlib import import_module
from types import SimpleNamespace

TYPE_CHECKING = False  # what typing has, without the 6 ms of importing it
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

__all__ = ["main"]

_COMMANDS = {
    "inspect": "what a file holds",
    "scan": "every file below folders, a line each",
    "estimate": "the memory that it takes when it is served",
    "fit": "the largest context, most layers and best cache type that fit a card",
    "compare": "two files side by side",
    "profile": "a served model: predicted, claimed by Ollama, measured on the card",
    "check": "the contracts of a served model, for CI",
}
_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run one command; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _inspected(given) or _parsed(given)
    command = import_module(f"gguf_observability.commands.{options.command}")
    try:
        return int(command.run(options))
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    except getattr(command, "ERRORS", ()) as error:
        return _refuse(f"{error.message}; {error.next_step}", int(error.exit_code))
    except OSError as error:
        return _refuse(f"{error.filename or ''}: {error.strerror or error}", _FAILED)
    except ValueError as error:
        return _refuse(str(error), _USAGE)


def _inspected(given: list[str]) -> "SimpleNamespace | None":
    """The options of a plain `inspect FILE`, without a parser: importing one takes longer than the file."""
    flags = {each for each in given[1:] if each.startswith("-")}
    files = [each for each in given[1:] if not each.startswith("-")]
    if given[:1] != ["inspect"] or len(files) != 1 or not flags <= {"--json", "--tensors"}:
        return None
    tensors, as_json = "--tensors" in flags, "--json" in flags
    return SimpleNamespace(command="inspect", file=files[0], tensors=tensors, json=as_json)


def _parsed(given: list[str]) -> "Namespace":
    import argparse  # noqa: PLC0415 - see above

    parser = argparse.ArgumentParser(prog="gguf-observe", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, purpose in _COMMANDS.items():
        sub = commands.add_parser(name, help=purpose, description=purpose)
        if name in given:  # the others are imported by nobody: they would double the start
            import_module(f"gguf_observability.commands.{name}").add(sub)
    return parser.parse_args(given)


def _refuse(message: str, code: int) -> int:
    from gguf_observability.terminal import printable, say  # noqa: PLC0415 - only when something is wrong

    say(f"gguf-observe: {printable(message, 1000)}", to=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
