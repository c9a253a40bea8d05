"""`python -m k3s_nvidia_edge.sandbox`: the sandbox from a plain terminal, one line a step."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from k3s_nvidia_edge.sandbox import faults, lifecycle
from k3s_nvidia_edge.sandbox.errors import NotReadyError, SandboxError, UnknownFaultError
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.node import find
from k3s_nvidia_edge.sandbox.progress import Progress

__all__ = ["main"]

_FAILED, _USAGE, _TIMED_OUT = 1, 2, 5  # as the edge command's


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m k3s_nvidia_edge.sandbox",
        description="a disposable single-node Kubernetes with a SIMULATED card",
    )
    parser.add_argument(
        "--state-dir", type=Path, help="where it keeps everything (default: $XDG_STATE_HOME/edge/sandbox)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start the node, or find it up")
    up.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS")
    up.add_argument("--image", action="append", default=[], help="also wait until this image is in the node")
    down = commands.add_parser("down", help="stop the node; nothing of it stays but its data")
    down.add_argument("--purge", action="store_true", help="remove its data as well")
    commands.add_parser("status", help="say what it is doing")
    inside = commands.add_parser("exec", help="run a program inside the node (a shell by default)")
    inside.add_argument("argv", nargs=argparse.REMAINDER)
    for name, help_text in (("break", "provoke a simulated fault"), ("heal", "undo a simulated fault")):
        commands.add_parser(name, help=help_text).add_argument(
            "fault", help=f"one of {', '.join(faults.FAULTS)}"
        )
    return parser


def _tell(event: Progress) -> None:
    sys.stderr.write(f"{event.elapsed_s:6.2f} s  {event.step}: {event.message}\n")
    sys.stderr.flush()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is the edge command's."""
    options = _parser().parse_args(argv)
    try:
        return _run(options)
    except SandboxError as error:
        sys.stderr.write(f"error: {error}\n")
        if isinstance(error, NotReadyError):
            return _TIMED_OUT
        return _USAGE if isinstance(error, UnknownFaultError) else _FAILED
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    match options.command:
        case "up":
            from k3s_nvidia_edge.sandbox.build import build  # noqa: PLC0415 - only `up` needs it

            node = lifecycle.up(
                build(), options.state_dir, _tell, timeout_s=options.timeout, wait_for_images=options.image
            )
            _say(f"export KUBECONFIG={node.kubeconfig}")
        case "down":
            lifecycle.down(options.state_dir, purge=options.purge, on_progress=_tell)
        case "status":
            _print_status(lifecycle.status(options.state_dir))
        case "exec":
            words = [word for word in options.argv if word != "--"] or ["bash", "--norc"]
            entered = find(Layout.of(options.state_dir)).enter_argv(words)
            os.execvp(entered[0], entered)  # noqa: S606 - becoming the program is the point
        case "break":
            faults.break_(options.fault, options.state_dir)
        case _:
            faults.heal(options.fault, options.state_dir)
    return 0


def _print_status(status: lifecycle.Status) -> None:
    _say(f"state      {status.state} ({status.state_dir})")
    if status.node is None:
        return
    _say(
        f"node       pid {status.node.init_pid}, {'Ready' if status.ready else 'not Ready'}: {status.message}"
    )
    _say(f"kubeconfig {status.node.kubeconfig}")
    _say(f"add-ons    {'applied' if status.addons_applied else 'not applied yet'}")
    for program in status.programs:
        _say(f"program    {program.name} {program.state}")
    for ref, error in status.images.items():
        _say(f"image      {ref}{': ' + error if error else ''}")
    for name in status.faults:
        _say(f"fault      {name} (simulated)")


if __name__ == "__main__":
    sys.exit(main())
