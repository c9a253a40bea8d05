import json
import subprocess
import sys
from typing import Any

import pytest
from k3s_nvidia_edge.sandbox import network
from k3s_nvidia_edge.sandbox.errors import AddressTakenError, BusyError

OURS = {"ifname": "sandbox0", "ifalias": "edge sandbox /var/state"}
ELSE = {"ifname": "eth0"}
DEFAULT = {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"}


def test_an_ordinary_host_has_nothing_in_the_way() -> None:
    corporate = {"dst": "10.0.0.0/8", "dev": "tun0"}  # wider than ours: ours wins for our ranges only
    seen = network.conflicts([ELSE], [DEFAULT, corporate, {"dst": "192.0.2.0/24", "dev": "eth0"}])
    assert seen == network.Seen(link=False, owner=None, leftovers=(), foreign=())
    network.refuse_foreign(seen)


@pytest.mark.parametrize("destination", ["10.244.0.0/16", "10.244.3.0/24", "10.96.0.1", "10.199.0.0/30"])
def test_somebody_elses_route_into_our_ranges_is_refused_by_name(destination: str) -> None:
    seen = network.conflicts([ELSE], [{"dst": destination, "dev": "cni0"}])
    with pytest.raises(AddressTakenError, match=f"{destination} dev cni0"):
        network.refuse_foreign(seen)


def test_our_own_leftovers_are_no_conflict() -> None:
    routes: list[dict[str, Any]] = [
        {"type": "unreachable", "dst": "10.244.0.0/16", "protocol": "199", "metric": 9999},
        {"dst": "10.96.0.0/16", "gateway": "10.199.0.2", "dev": "sandbox0"},
    ]
    seen = network.conflicts([ELSE], routes)
    assert seen.leftovers == ("10.244.0.0/16", "10.96.0.0/16")
    assert seen.foreign == ()


def test_the_interface_says_whose_it_is() -> None:
    seen = network.conflicts([OURS], [])
    assert network.owned_by(seen, "/var/state")
    assert not network.owned_by(seen, "/var/other")
    network.refuse_foreign(seen)


def test_a_state_directory_longer_than_an_alias_is_still_recognised() -> None:
    owner = "/" + "x" * 400
    alias = ("edge sandbox " + owner)[:255]
    assert network.owned_by(network.conflicts([{"ifname": "sandbox0", "ifalias": alias}], []), owner)


def test_an_interface_of_our_name_that_is_not_ours_is_refused() -> None:
    with pytest.raises(AddressTakenError, match="ip link del sandbox0"):
        network.refuse_foreign(network.conflicts([{"ifname": "sandbox0"}], []))


def test_only_one_holds_the_machine_lock() -> None:
    holder = (
        "from k3s_nvidia_edge.sandbox import network\n"
        "with network.machine_lock():\n    print('held', flush=True)\n    input()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with (
        pytest.raises(BusyError, match="another `edge sandbox` command"),
        network.machine_lock(patience_s=0.2),
    ):
        pass
    child.communicate("\n")
    with network.machine_lock(patience_s=0.2):
        pass


def test_a_killed_holder_holds_nothing() -> None:
    holder = "from k3s_nvidia_edge.sandbox import network\nwith network.machine_lock():\n    input()\n"
    child = subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE)
    child.kill()
    child.communicate()
    with network.machine_lock(patience_s=0.2):
        pass


def test_look_reads_this_machine() -> None:
    seen = network.look()
    names = {one["ifname"] for one in json.loads(subprocess.check_output(["ip", "-json", "link", "show"]))}
    assert seen.link == ("sandbox0" in names)
