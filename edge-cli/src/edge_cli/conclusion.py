"""A conclusion: what an ascent came to, as a report, an exit code, and what the user does next."""

from functools import cached_property
from pathlib import Path

import msgspec
from edge_llm_tests.errors import ExitCode
from edge_llm_tests.layer import Layer, ServiceAddress
from edge_llm_tests.profile import Profile
from edge_llm_tests.reads import UnseenError

from edge_cli.ascent import Ascent, End, Return
from edge_cli.report import Report, report
from edge_cli.tree import load_tree
from edge_cli.verdict import refusal

__all__ = ["Conclusion"]

_ENGINE = "ollama"  # name of the service that answers prompts


class Conclusion(msgspec.Struct, frozen=True, dict=True):
    """What an ascent came to.

    Attributes:
        ascent: The ascent.
        layers: The layers that it was to climb.
        profile: What they promise.
        kubeconfig: The user's way into the cluster.
        sandbox: Whether the cluster is the sandbox.
        back: The return to what was before an upgrade, where there was one.
    """

    ascent: Ascent
    layers: tuple[Layer, ...]
    profile: Profile
    kubeconfig: Path
    sandbox: bool = False
    back: Return | None = None

    @property
    def holds(self) -> bool:
        """Whether it went all the way."""
        return self.ascent.end is End.HOLDS

    @cached_property
    def report(self) -> Report:
        """The verdict on the last look, over the layers that were reached.

        What was not installed yet is no fault; but where a fault has its cause above, all layers are shown.
        """
        recording, tree = self.ascent.look.recording, load_tree()
        if self.ascent.layer is None:
            return report(self.layers, self.profile, recording, tree)
        reached = self.layers[: self.layers.index(self.ascent.layer) + 1]
        whole = report(self.layers, self.profile, recording, tree)
        cause = whole.verdict.route
        if cause is not None and cause.finding.layer not in reached:
            return whole
        return report(reached, self.profile, recording, tree)

    @cached_property
    def report_after_return(self) -> Report | None:
        """The verdict on the layers as they are after a rollback, judged by the same profile."""
        if self.back is None or self.ascent.layer is None:
            return None
        reached = self.layers[: self.layers.index(self.ascent.layer) + 1]
        return report(reached, self.profile, self.back.look.recording, load_tree())

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of `edge up`: a rollback does not make the upgrade a success."""
        if self.holds:
            return ExitCode.OK
        refused = refusal(self.ascent.look.recording)
        if refused is not None:
            return refused.code
        return ExitCode.TIMEOUT if self.ascent.end is End.TIMED_OUT else ExitCode.CONTRACT

    @property
    def next_commands(self) -> tuple[tuple[str, str], ...]:
        """What to try next: what for, and the command."""
        commands = [("use kubectl and helm on it", f"export KUBECONFIG={self.kubeconfig}")]
        if (prompt := self._prompt()) is not None:
            commands.append(("ask the model something", prompt))
        where = "" if self.sandbox else f" --kubeconfig {self.kubeconfig}"
        named = "" if self.sandbox else f" --profile {self.profile.name}"
        commands.append(("check it again at any time", f"edge diagnose{where}{named}"))
        if self.sandbox:
            if (engine := self._engine()) is not None:
                scale = f"kubectl -n {engine.namespace} scale deployment {engine.name} --replicas=0"
                commands += [
                    (
                        "break something, and be told whose fault it is",
                        f"edge sandbox shell -- {scale}; edge diagnose",
                    ),
                    ("heal it", "edge up --sandbox"),
                ]
            commands.append(("stop it; `edge up --sandbox` starts it again", "edge sandbox down"))
        else:
            commands.append(("remove it, volumes kept", f"edge down{where}"))
        return tuple(commands)

    def _prompt(self) -> str | None:
        """A completion with the model that is loaded, over the network."""
        recording = self.ascent.look.recording
        address = self._engine()
        if address is None or not address.cluster_ip:
            return None
        try:
            models = recording.http(_ENGINE, "/api/ps").document.get("models")
        except UnseenError:
            return None
        names = [each.get("name") for each in models or () if isinstance(each, dict)]
        if not names:
            return None
        ask = f'{{"model": "{names[0]}", "prompt": "Why is the sky blue?", "stream": false}}'
        return f"curl -s http://{address.cluster_ip}:{address.port}/api/generate -d '{ask}'"

    def _engine(self) -> ServiceAddress | None:
        """The Service of the engine; in our own charts its Deployment has the same name."""
        found: dict[str, ServiceAddress] = {}
        for layer in self.layers:
            found |= layer.services(self.profile.specs[layer.name], self.ascent.look.recording)
        return found.get(_ENGINE)
