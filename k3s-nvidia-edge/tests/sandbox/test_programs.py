import configparser
import shlex
from pathlib import Path

from k3s_nvidia_edge.sandbox import configuration, programs
from k3s_nvidia_edge.sandbox.configuration import Choices
from k3s_nvidia_edge.sandbox.layout import Layout
from k3s_nvidia_edge.sandbox.programs import BINARIES, COMPONENTS, Program

LAYOUT = Layout(Path("/state"))


def parsed(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";", "#"), strict=True)
    parser.read_string(text)
    return parser


def supervisord(*, network_policy: bool) -> configparser.RawConfigParser:
    choices = Choices(
        may_raise_limits=False, network_policy=network_policy, images={"pause": "p:1", "coredns": "c:1"}
    )
    return parsed(configuration.render(LAYOUT, choices)[LAYOUT.config / "supervisord.conf"])


def test_every_component_is_supervised_from_the_built_binaries() -> None:
    conf = supervisord(network_policy=False)
    for name in COMPONENTS:
        program = shlex.split(conf[f"program:{name}"]["command"])[0]
        assert Path(program).name in BINARIES
        assert program.startswith("/opt/edge/bin/")
        assert conf[f"program:{name}"]["autorestart"] == "true"
    assert "program:kube-router" not in conf


def test_network_policy_brings_its_controller() -> None:
    assert "program:kube-router" in supervisord(network_policy=True)


def test_the_nodes_own_programs_end_when_they_are_done() -> None:
    conf = supervisord(network_policy=False)
    for name in ("images", "addons"):
        assert conf[f"program:{name}"]["autorestart"] == "unexpected"
        assert conf[f"program:{name}"]["command"].endswith(f'"k3s_nvidia_edge.sandbox.inside.{name}"')


def test_awkward_words_survive_the_supervisors_reading() -> None:
    words = ("/bin/x", "a b", 'say "hi"', "back\\slash", "50%")
    command = parsed(programs.sections([Program("x", words)]))["program:x"]["command"]
    assert tuple(shlex.split(command % {})) == words
