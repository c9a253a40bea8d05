"""The `edge` command: its commands by name, loaded when they are used, and the boundary where errors end."""

import errno
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import msgspec
import typer
from edge_llm_tests.errors import EdgeError, ExitCode, UsageError
from typer.core import TyperGroup

from edge_cli.settings import load_settings
from edge_cli.terminal import Color, choosing_color, open_streams, paint, printable

__all__ = ["COMMANDS", "main", "run"]


class Entry(msgspec.Struct, frozen=True):
    """A command: where its function or `Typer` stands, and its line in the overview."""

    target: str
    help: str


COMMANDS: dict[str, Entry] = {
    "up": Entry("edge_cli.commands.up:up", "Install the platform layer by layer, each behind its gate."),
    "diagnose": Entry("edge_cli.commands.diagnose:diagnose", "Name the one thing to fix, and who fixes it."),
    "status": Entry(
        "edge_cli.commands.status:status", "Show each layer in a line: gate, contracts, workloads."
    ),
    "plan": Entry("edge_cli.commands.plan:plan", "Show what `edge up` would change."),
    "down": Entry("edge_cli.commands.down:down", "Remove what `edge up` installed, top layer first."),
    "explain": Entry("edge_cli.commands.explain:explain", "Print a contract or reason: promise, remedies."),
    "evidence": Entry("edge_cli.commands.evidence:evidence", "Record, show, compare and redact evidence."),
    "profile": Entry("edge_cli.commands.profile:profile", "List, show, check and propose profiles."),
    "lock": Entry("edge_cli.commands.lock:lock", "Renew the lock file: charts and images by digest."),
    "bundle": Entry(
        "edge_cli.commands.bundle:bundle",
        "Everything that an installation needs in one archive, for boxes without a network.",
    ),
    "node": Entry("edge_cli.commands.node:node", "Install, show and remove k3s on this host."),
    "sandbox": Entry(
        "edge_cli.commands.sandbox:sandbox",
        "A disposable real cluster of one node on this machine, with a SIMULATED card.",
    ),
}
"""Every command in the order of the overview; nothing is imported before it is used."""

_GARBAGE_THRESHOLD = 50_000  # most runs end before there is garbage to collect; looking for it costs 20 ms
_GLOBAL_FLAGS = ("--timings",)
_GLOBAL_OPTIONS = ("--color",)
TRACEBACK = "EDGE_TRACEBACK"
_CANNOT_WRITE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
_SAID_LIMIT = 300  # characters of an unforeseen error: some quote the whole text that they broke on


class LazyGroup(TyperGroup):
    """A group that imports a command's module when the command is used, and not for the overview."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        """Names in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - typer's signature
        """The command, imported now."""
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        """The overview."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` begin with; an unknown one names the nearest."""
        if args[0] not in COMMANDS:
            from difflib import get_close_matches  # noqa: PLC0415 - only a misspelt command needs it

            near = get_close_matches(args[0], COMMANDS, n=1)
            raise UsageError(
                f"no such command `{args[0]}`",
                f"did you mean `edge {near[0]}`?" if near else "see `edge --help`",
            )
        return super().resolve_command(ctx, args)


def _command(name: str) -> Any:
    module_name, _, attribute = COMMANDS[name].target.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise UsageError(
            f"`edge {name}` is not part of this installation", "install edge-cli whole"
        ) from None
    found = getattr(module, attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name)(found)
        found = single
    command: Any = typer.main.get_command(found)
    command.name = name
    return command


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version  # noqa: PLC0415 - 20 ms that other commands do not pay

        sys.stdout.write(f"edge {version('edge-cli')}\n")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup,
    invoke_without_command=True,
    rich_markup_mode=None,  # rich would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def edge(
    context: typer.Context,
    color: Annotated[Color | None, typer.Option(help="Colour the output; NO_COLOR is heeded.")] = None,
    timings: Annotated[bool, typer.Option("--timings", help="Say where the time went, on stderr.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A private LLM on an NVIDIA edge box: install it, know that it works, and when not, what to fix and who.

    --color and --timings may stand anywhere. Settings: $XDG_CONFIG_HOME/edge/config.yaml, EDGE_*, flags.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _globals_first(args: Sequence[str]) -> tuple[list[str], Color | None, bool]:
    """The arguments with the options of every command moved to the front, and what they say."""
    given, rest = list(args), []
    first: list[str] = []
    color: str | None = None
    while given:
        arg = given.pop(0)
        name, equals, value = arg.partition("=")
        if arg == "--":
            rest += [arg, *given]
            break
        if arg in _GLOBAL_FLAGS:
            first.append(arg)
        elif name in _GLOBAL_OPTIONS and (equals or given):
            color = value if equals else given.pop(0)
            first.append(f"{name}={color}")
        else:
            rest.append(arg)
    known = Color(color) if color in tuple(Color) else None
    return first + rest, known, "--timings" in first


def run(args: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    arguments, color, timings = _globals_first(args)
    code = _bounded(arguments, color)
    if timings:
        from edge_cli.timings import report_timings  # noqa: PLC0415 - asked for by a flag

        report_timings()
    return code


def _bounded(args: list[str], color: Color | None) -> int:
    """The boundary: whatever goes wrong inside ends here, as one line and an exit code."""
    try:
        with choosing_color(color or Color(load_settings().color or Color.AUTO)):
            code = typer.main.get_command(app).main(args, prog_name="edge", standalone_mode=False)
            sys.stdout.flush()
    except EdgeError as error:
        return _say(error.message, error.next_step, error.exit_code)
    except KeyboardInterrupt:
        return _say("interrupted", "", ExitCode.INTERRUPTED)
    except typer.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            return _say("interrupted", "", ExitCode.INTERRUPTED)
        return _say("stopped", "nothing was changed", ExitCode.FAULT)
    except BrokenPipeError:
        # the reader of our output is gone (`edge ... | head`); nothing is left to tell it
        _silence()
        return ExitCode.FAULT
    except OSError as error:
        if error.filename is not None and error.errno is not None:
            _traceback(error)
            return _say(
                f"{error.filename}: {error.strerror}",
                "put that right, and run the same again",
                ExitCode.FAULT,
            )
        if error.errno not in _CANNOT_WRITE:
            return _fault(error)
        _silence()
        return _say(
            f"the output cannot be written: {error.strerror}",
            "free space, or send it elsewhere",
            ExitCode.FAULT,
        )
    except Exception as error:  # noqa: BLE001 - the boundary: no traceback reaches a user unasked
        return _usage(error) if hasattr(error, "format_message") else _fault(error)
    if code == ExitCode.INTERRUPTED:  # typer makes it of Ctrl-C
        return _say("interrupted", "", ExitCode.INTERRUPTED)
    return code if isinstance(code, int) else ExitCode.OK


def _silence() -> None:
    """Let standard output lead nowhere: what is still buffered would fail once more at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Any) -> int:
    """The command line's own errors: an unknown option, a missing argument."""
    said: str = error.format_message()
    if "\n" in said:  # a group without a command: its help
        sys.stderr.write(said.rstrip() + "\n")
        return ExitCode.USAGE
    context = getattr(error, "ctx", None)
    return _say(
        said.rstrip("."), f"see `{context.command_path if context else 'edge'} --help`", ExitCode.USAGE
    )


def _traceback(error: Exception) -> None:
    if os.environ.get(TRACEBACK):
        import traceback  # noqa: PLC0415 - asked for by a variable

        traceback.print_exception(error)


def _fault(error: Exception) -> int:
    _traceback(error)
    place = ""
    if error.__traceback__ is not None:
        frame = error.__traceback__
        while frame.tb_next is not None:
            frame = frame.tb_next
        place = f" at {frame.tb_frame.f_globals.get('__name__', '?')}:{frame.tb_lineno}"
    return _say(
        f"internal fault: {repr(error)[:_SAID_LIMIT]}{place}",
        f"set {TRACEBACK}=1 for the traceback, and report it",
        ExitCode.FAULT,
    )


def _say(message: str, next_step: str, code: ExitCode) -> int:
    """One line on standard error."""
    color = paint(sys.stderr)
    step = f" ({printable(next_step)})" if next_step else ""
    sys.stderr.write(f"{color('edge:', 'red', 'bold')} {printable(message)}{step}\n")
    return code


def main() -> NoReturn:
    """The entry point of the command."""
    gc.set_threshold(_GARBAGE_THRESHOLD)
    open_streams()
    sys.exit(run(sys.argv[1:]))
