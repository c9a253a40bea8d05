"""Hosts by ssh, for real: an sshd on loopback, in a mount namespace with users and programs of its own.

The card and sudo there are SIMULATED; the server, its keys, its users and the connection are real.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from edge_llm_tests.errors import EdgeError, ExitCode, TargetUnreachableError, UnauthorisedError, UsageError
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer
from edge_llm_tests.profile import Profile
from edge_llm_tests.readers import HostReader, Target, collect
from edge_llm_tests.readers import host as host_module
from edge_llm_tests.readers.host import COMMANDS, FILES, GLOBS
from edge_llm_tests.readers.hosts import _names, connected_hosts
from edge_llm_tests.readers.ssh import SshHost
from edge_llm_tests.readers.ssh_backend import SshAccess, parse_address, run_by_ssh
from edge_llm_tests.readers.ssh_fault import ssh_fault
from edge_llm_tests.reads import UnseenError

SSHD = "/usr/sbin/sshd"
GUEST = "edge-guest"
ROOTS_FILE = "/etc/rancher/k3s/config.yaml"
NVIDIA_SMI = "#!/bin/sh\necho '<nvidia_smi_log>SIMULATED 100 % busy</nvidia_smi_log>'\n"
SUDO = """#!/bin/sh
# SIMULATED sudo without a password: root is played by a copy of the one file that it may read
[ "$1" = -n ] || exit 1
shift
case "$*" in
-l) echo '(root) NOPASSWD: cat' ;;
"cat -- {secret}") cat {copy} ;;
*) echo "sudo: a password is required" >&2; exit 1 ;;
esac
"""
NO_SUDO = "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"
ENTER = """set -e
mount --make-rprivate /
mount --bind {box}/etc /etc
mount --bind {box}/sbin /usr/local/sbin
exec {sshd} -D -e -f {box}/sshd_config
"""


@dataclass
class Server:
    """An sshd: where its namespace can be entered, and what a client needs."""

    folder: Path
    port: int
    pid: int

    def address(self, user: str = GUEST) -> str:
        return f"ssh://{user}@127.0.0.1:{self.port}"

    def config(self, *, key: str = "client", known: str | None = None) -> Path:
        """A configuration of ssh for this server, and none of the user's own."""
        hosts = self.folder / f"known-{key}-{known is None}"
        text = (self.folder / "host.pub").read_text() if known is None else known
        hosts.write_text(f"[127.0.0.1]:{self.port} {text}" if text else "")
        path = self.folder / f"config-{key}-{hosts.name}"
        path.write_text(f"IdentityFile {self.folder}/{key}\nIdentitiesOnly yes\nUserKnownHostsFile {hosts}\n")
        return path

    def host(self, user: str = GUEST, *, sudo: bool = False, config: Path | None = None) -> SshHost:
        return SshHost(self.address(user), SshAccess(config or self.config(), sudo=sudo))

    def program(self, name: str, text: str) -> None:
        """Put a program where the host finds it first."""
        path = self.folder / "sbin" / name
        path.write_text(text)
        path.chmod(0o755)

    @property
    def local(self) -> HostReader:
        """The same host, entered through its namespace."""
        return HostReader(("nsenter", "-t", str(self.pid), "-m"), Path(f"/proc/{self.pid}/root"))


def _key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path], check=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if os.geteuid() != 0 or not Path(SSHD).exists():
        pytest.fail("needs root and sshd (apt-get install openssh-server)")
    folder = Path(tempfile.mkdtemp(prefix="edge-sshd-"))  # pytest's own folders are closed to other users
    folder.chmod(0o755)
    for name in ("host", "client", "stranger"):
        _key(folder / name)
    shutil.copytree(
        "/etc", folder / "etc", symlinks=True, ignore=shutil.ignore_patterns("ssl", "alternatives")
    )
    home = folder / "home"
    home.mkdir()
    for name, line in {
        "passwd": f"{GUEST}:x:54321:54321::{home}:/bin/sh\n",
        "group": f"{GUEST}:x:54321:\n",
        "shadow": f"{GUEST}:*:19000:0:99999:7:::\n",
    }.items():
        with (folder / "etc" / name).open("a") as stream:
            stream.write(line)
    secret = folder / f"{ROOTS_FILE}".lstrip("/")
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("cluster-init: true\n")
    secret.chmod(0o600)
    (folder / "copy").write_text("cluster-init: true\n")
    (folder / "sbin").mkdir()
    (folder / "authorized_keys").write_text((folder / "client.pub").read_text())
    Path("/run/sshd").mkdir(exist_ok=True)  # as its own start script does
    port = _free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"StrictModes no\nAuthorizedKeysFile {folder}/authorized_keys\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nLogLevel ERROR\n"
    )
    script = ENTER.format(box=folder, sshd=SSHD)
    with (folder / "sshd.log").open("w") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script], stderr=log, start_new_session=True
        )
    found = Server(folder, port, process.pid)
    found.program("nvidia-smi", NVIDIA_SMI)
    found.program("sudo", NO_SUDO)
    _wait_for(port, folder)
    yield found
    process.terminate()
    process.wait(timeout=10)
    shutil.rmtree(folder)


def _wait_for(port: int, folder: Path) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail((folder / "sshd.log").read_text())


@pytest.fixture
def connected(server: Server) -> Iterator[Callable[..., SshHost]]:
    """Connects a host, and closes it after the test."""
    open_: list[SshHost] = []

    def connect(user: str = GUEST, **more: bool) -> SshHost:
        host = server.host(user, **more)
        host.connect()
        open_.append(host)
        return host

    yield connect
    for host in open_:
        host.close()


VOLATILE_FILES = (
    "/proc/uptime",
    "/proc/meminfo",
    "/proc/mounts",  # each mount namespace has its own, and the server may have one
    "/proc/sys/net/netfilter/nf_conntrack_count",
)
VOLATILE = ("df -Pk", "dmesg --time-format iso")


def test_a_host_by_ssh_reads_like_a_local_one(server: Server, connected: Callable[..., SshHost]) -> None:
    remote, local = connected("root"), server.local
    for line in COMMANDS:
        there, here = remote.command(line, 5.0), local.command(line, 5.0)
        assert there.keys() == here.keys()
        assert (there["rc"], there["error"]) == (here["rc"], here["error"]), line
        if line not in VOLATILE and here["error"] is None:
            assert there["stdout"] == here["stdout"], line
    for path in FILES:
        there, here = remote.file(path), local.file(path)
        assert (there["error"], there["mtime"]) == (here["error"], here["mtime"]), path
        if path not in VOLATILE_FILES:
            assert there["text"] == here["text"], path
    for pattern in GLOBS:
        assert remote.glob(pattern) == local.glob(pattern), pattern
    assert remote.command("nvidia-smi -q -x", 5.0)["stdout"].startswith("<nvidia_smi_log>SIMULATED 100 %")


def test_globs_expand_there(
    server: Server, connected: Callable[..., SshHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = server.folder / "cdi"
    folder.mkdir()
    for name in ("b.yaml", "a b.yaml", ".hidden.yaml", "c.json"):
        (folder / name).touch()
    patterns = (f"{folder}/*", f"{folder}/*.yaml", "/nowhere/*")
    monkeypatch.setattr(host_module, "GLOBS", patterns)
    remote = connected()
    for pattern in patterns:
        assert remote.glob(pattern) == server.local.glob(pattern)
    assert remote.glob(f"{folder}/*.yaml") == {"paths": [f"{folder}/a b.yaml", f"{folder}/b.yaml"]}


def test_only_what_is_on_the_list_is_read(connected: Callable[..., SshHost]) -> None:
    remote = connected()
    for read in (
        lambda: remote.command("id", 1.0),
        lambda: remote.file("/etc/shadow"),
        lambda: remote.glob("/root/*"),
    ):
        with pytest.raises(ValueError, match="not on the list"):
            read()


def test_without_root_a_file_of_root_s_says_so(connected: Callable[..., SshHost]) -> None:
    assert connected().file(ROOTS_FILE) == {"text": None, "mtime": None, "error": "permission-denied"}


def test_sudo_reads_what_root_alone_may_and_nothing_else(
    server: Server, connected: Callable[..., SshHost]
) -> None:
    server.program("sudo", SUDO.format(secret=ROOTS_FILE, copy=server.folder / "copy"))
    remote = connected(sudo=True)
    server.program("nvidia-smi", "#!/bin/sh\nid -u\n")
    assert remote.file(ROOTS_FILE)["text"] == "cluster-init: true\n"
    assert (
        remote.command("nvidia-smi -q -x", 5.0)["stdout"] == "54321\n"
    )  # what the user may read is not read as root
    server.program("nvidia-smi", "#!/bin/sh\necho 'Permission denied' >&2; exit 4\n")
    refused = remote.command("nvidia-smi -q -x", 5.0)
    assert (refused["rc"], refused["stderr"]) == (4, "Permission denied\n")  # the host's answer, not sudo's
    server.program("nvidia-smi", NVIDIA_SMI)
    server.program("sudo", NO_SUDO)


def _refused(host: SshHost, deadline_s: float = 8.5) -> EdgeError:
    began_s = time.monotonic()
    with pytest.raises(EdgeError) as refused:
        host.connect()
    assert time.monotonic() - began_s < deadline_s
    assert len(str(refused.value).splitlines()) == 1
    assert host.address in refused.value.message
    return refused.value


def test_no_sudo_is_an_error_that_says_so(server: Server) -> None:
    error = _refused(server.host(sudo=True), 3)
    assert isinstance(error, UnauthorisedError)
    assert "no sudo without a password: sudo: a password is required" in error.message
    assert "--sudo" in error.next_step


def test_a_wrong_key(server: Server) -> None:
    error = _refused(server.host(config=server.config(key="stranger")), 3)
    assert error.exit_code is ExitCode.UNAUTHORISED
    assert "it refuses the key" in error.message
    assert f"ssh -p {server.port} {GUEST}@127.0.0.1 true" in error.next_step


def test_a_host_key_that_is_another_one(server: Server) -> None:
    other = (server.folder / "stranger.pub").read_text()
    config = server.config(known=other)
    before = (server.folder / "known-client-False").read_text()
    error = _refused(server.host(config=config), 3)
    assert error.exit_code is ExitCode.UNREACHABLE
    assert "its host key is not the one that is known" in error.message
    assert "fingerprint" in error.next_step
    assert (server.folder / "known-client-False").read_text() == before


def test_a_host_that_is_not_known(server: Server) -> None:
    error = _refused(server.host(config=server.config(known="")), 3)
    assert error.exit_code is ExitCode.UNREACHABLE
    assert "its host key is not known" in error.message
    assert (server.folder / "known-client-False").read_text() == ""  # it is not added


def test_a_port_where_nobody_listens(server: Server) -> None:
    error = _refused(SshHost(f"ssh://127.0.0.1:{_free_port()}", SshAccess(server.config())), 3)
    assert isinstance(error, TargetUnreachableError)
    assert "connection refused" in error.message


def test_a_name_that_nobody_has(server: Server) -> None:
    # `.invalid` never resolves (RFC 2606)
    error = _refused(SshHost("ssh://no-such-box.invalid", SshAccess(server.config())))
    assert isinstance(error, TargetUnreachableError)
    assert "no such host name" in error.message


@contextmanager
def _mute() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken: list[socket.socket] = []
        thread = threading.Thread(target=lambda: taken.append(listening.accept()[0]), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        for each in taken:
            each.close()


def test_a_host_that_takes_the_connection_and_says_nothing(server: Server) -> None:
    with _mute() as port:
        error = _refused(SshHost(f"ssh://127.0.0.1:{port}", SshAccess(server.config())))
    assert isinstance(error, TargetUnreachableError)
    assert "no answer in" in error.message


def test_a_login_that_hangs(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edge_llm_tests.readers.ssh.LOGIN_DEADLINE_S", 1.0)
    keys = server.folder / "authorized_keys"
    before = keys.read_text()
    keys.write_text(f'command="sleep 30" {before}')
    try:
        error = _refused(server.host(), 4)
    finally:
        keys.write_text(before)
    assert isinstance(error, TargetUnreachableError)
    assert "no answer in 1 s" in error.message


def test_a_command_that_hangs_is_ended_here_and_there(
    server: Server, connected: Callable[..., SshHost]
) -> None:
    remote = connected()
    server.program("nvidia-smi", "#!/bin/sh\nexec sleep 54.321\n")
    began_s = time.monotonic()
    entry = remote.command("nvidia-smi -q -x", 2.0)
    assert time.monotonic() - began_s < 3
    assert (entry["rc"], entry["error"]) == (None, "timeout")
    server.program("nvidia-smi", NVIDIA_SMI)
    time.sleep(0.2)
    left = subprocess.run(["pgrep", "-f", "^sleep 54.321"], capture_output=True, text=True, check=False)
    assert left.stdout == ""
    assert remote.command("nvidia-smi -q -x", 5.0)["rc"] == 0  # the connection goes on


def test_an_exit_code_of_255_is_the_program_s(server: Server, connected: Callable[..., SshHost]) -> None:
    server.program("nvidia-smi", "#!/bin/sh\necho 'Failed to initialize NVML: Unknown Error'; exit 255\n")
    entry = connected().command("nvidia-smi -q -x", 5.0)
    assert (entry["rc"], entry["error"]) == (255, None)
    assert entry["stdout"] == "Failed to initialize NVML: Unknown Error\n"
    server.program("nvidia-smi", NVIDIA_SMI)


def test_a_program_that_is_not_there(
    server: Server, connected: Callable[..., SshHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "COMMANDS", ("no-such-program",))
    entry = connected().command("no-such-program", 5.0)
    assert {**entry, "took_s": 0} == {
        "rc": None,
        "stdout": "",
        "stderr": "",
        "error": "not-found",
        "took_s": 0,
    }


def test_all_reads_share_one_connection_and_it_is_closed(server: Server) -> None:
    remote = server.host()
    remote.connect()
    folder = remote._folder
    threads = [threading.Thread(target=remote.glob, args=(GLOBS[0],)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mine = subprocess.run(["pgrep", "-f", f"{folder}/"], capture_output=True, text=True, check=False)
    assert len(mine.stdout.split()) == 1
    remote.close()
    assert not folder.exists()
    for _ in range(20):
        left = subprocess.run(["pgrep", "-f", f"{folder}/"], capture_output=True, text=True, check=False)
        if not left.stdout:
            return
        time.sleep(0.1)
    pytest.fail(f"still there: {left.stdout}")


def test_of_several_hosts_one_that_is_not_there_is_recorded_as_such(server: Server, tmp_path: Path) -> None:
    dead = f"ssh://localhost:{_free_port()}"
    hosts = connected_hosts((server.address(), dead), SshAccess(server.config()))
    (first, reachable), *further = hosts.items()
    reads = ("command:nvidia-smi -q -x", "file:/proc/uptime", "glob:/dev/nvidia*")
    layer = Layer("l", 1, "o", ("l",), type(None), lambda *_: None, (), "p", reads=lambda *_: reads)
    target = Target(host=reachable, host_name=first, nodes=dict(further))
    recording = collect((layer,), Profile("p", specs={"l": None}), target)
    recording.save(tmp_path / "r.json")
    here, there = Recording.load(tmp_path / "r.json").by_node
    assert (here.host, there.host) == ("127.0.0.1", "localhost")
    assert "SIMULATED" in here.command("nvidia-smi -q -x").output
    with pytest.raises(UnseenError, match=r"unreachable: ssh://localhost:\d+: connection refused") as unseen:
        _ = there.command("nvidia-smi -q -x").output
    assert unseen.value.reason == "Unreachable"
    assert there.file("/proc/uptime").error == "unreachable"
    for host in hosts.values():
        if isinstance(host, SshHost):
            host.close()


def test_no_host_at_all_is_the_first_one_s_error(server: Server) -> None:
    dead = [f"ssh://{name}:{_free_port()}" for name in ("127.0.0.1", "localhost")]
    with pytest.raises(TargetUnreachableError, match=r"^ssh://127"):
        connected_hosts(dead, SshAccess(server.config()))


def test_one_name_with_two_ports_is_two_hosts_and_one_address_twice_is_none() -> None:
    assert _names(("ssh://box:22", "ssh://box:23", "ssh://u@other")) == ["box:22", "box:23", "other"]
    with pytest.raises(UsageError, match="box:22 is given 2 times"):
        _names(("ssh://box:22", "ssh://u@box:22"))


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("ssh://box", ("", "box", "")),
        ("ssh://edge@box.example.org:2222", ("edge", "box.example.org", "2222")),
        ("ssh://edge@[fd00::1]:22/", ("edge", "fd00::1", "22")),
        ("ssh://[fe80::1%eth0]", ("", "fe80::1%eth0", "")),
        ("ssh://LAB\\edge@box", ("LAB\\edge", "box", "")),
        ("ssh://edge@lab.example@box", ("edge@lab.example", "box", "")),
        ("ssh://1000.edge+ops-2@10.0.0.7:65535", ("1000.edge+ops-2", "10.0.0.7", "65535")),
    ],
)
def test_addresses(address: str, parts: tuple[str, str, str]) -> None:
    assert parse_address(address) == parts


@pytest.mark.parametrize(
    "address",
    [
        "box",
        "ssh://",
        "ssh://-oProxyCommand=x",
        "ssh://-oProxyCommand=x@box",
        "ssh://u@-oProxyCommand=x",
        "ssh://u@[-oProxyCommand=x]",
        "ssh://box\n",
        "ssh://box -oProxyCommand=x",
        "ssh://box%20-oProxyCommand=x",
        "ssh://$(id)@box",
        "ssh://u@`id`",
        "ssh://u'@box",
        "ssh://box:0",
        "ssh://box:65536",
        "ssh://box:\u0662\u0662",
        "ssh://b\u043ex",
        "ssh://u:secret@box",
        "ssh://a b",
        "ssh://box:port",
        "http://box",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="write it like ssh://user@box"):
        parse_address(address)


@pytest.mark.parametrize(
    ("address", "options", "name"),
    [
        ("ssh://box", [], "box"),
        ("ssh://edge@[fd00::1]:2222", ["User=edge", "Port=2222"], "fd00::1"),
        ("ssh://[::1]", [], "::1"),
        ("ssh://edge@lab.example@[fe80::1%eth0]", ["User=edge@lab.example"], "fe80::1%eth0"),
        ("ssh://LAB\\edge@box:22", ["User=LAB\\edge", "Port=22"], "box"),
    ],
)
def test_the_ssh_program_gets_each_part_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, options: list[str], name: str
) -> None:
    stand_in = tmp_path / "ssh"
    stand_in.write_text('#!/bin/sh\n# SIMULATED ssh\nfor each in "$@"; do printf \'%s\\n\' "$each"; done\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    rc, stdout, _ = run_by_ssh(address, SshAccess(), tmp_path / "socket", "true", 5.0)
    given = stdout.decode().splitlines()
    assert rc == 0
    assert given[-2:] == [name, "true"]
    assert [each for each in given if each.startswith(("User=", "Port="))] == options


@pytest.mark.parametrize(
    ("address", "pasted"),
    [
        ("ssh://box", "`ssh box true`"),
        ("ssh://edge@box:2222", "`ssh -p 2222 edge@box true`"),
        ("ssh://edge@[fd00::1]:22", "`ssh -p 22 edge@fd00::1 true`"),
        ("ssh://[::1]/", "`ssh ::1 true`"),
        ("ssh://LAB\\edge@box", "`ssh 'LAB\\edge@box' true`"),
    ],
)
def test_the_next_step_is_a_command_that_can_be_pasted(address: str, pasted: str) -> None:
    assert pasted in ssh_fault(address, b"edge@box: Permission denied (publickey).").next_step
    assert pasted.replace("ssh", "ssh -v", 1) in ssh_fault(address, b"something else").next_step
    assert pasted in ssh_fault(address, b"", 8.0).next_step


def test_a_host_whose_shell_greets_is_read_without_the_greeting(
    server: Server, connected: Callable[..., SshHost]
) -> None:
    quiet = connected()
    told = {line: quiet.command(line, 5.0) for line in COMMANDS if line not in VOLATILE}
    modules, devices = quiet.file("/proc/modules"), quiet.glob("/dev/nvidia*")
    greeting = server.folder / "home/.ssh/rc"
    greeting.parent.mkdir(exist_ok=True)
    greeting.write_text("echo 'Welcome to this box.'\ndate +%N\n")
    try:
        host = connected()
        for line, entry in told.items():
            came = host.command(line, 5.0)
            assert {**came, "took_s": 0} == {**entry, "took_s": 0}, line
        assert host.file("/proc/modules") == modules
        assert host.file(ROOTS_FILE)["error"] == "permission-denied"
        assert host.glob("/dev/nvidia*") == devices
    finally:
        greeting.unlink()


def test_no_ssh_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="install openssh-client"):
        SshHost("ssh://box").connect()
