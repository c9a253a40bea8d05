import datetime as dt
import xml.etree.ElementTree as ET

import pytest
from k3s_nvidia_edge.sandbox.simulation import (
    DRIVER_VERSION,
    GPU_UUID,
    NEWER_DRIVER_VERSION,
    Driver,
    World,
    world,
)

START = dt.datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=dt.UTC)
LATER = START + dt.timedelta(hours=1)


def shown(driver: Driver) -> World:
    return world(driver, START, LATER)


def test_the_healthy_card_parses_and_says_that_it_is_simulated() -> None:
    log = ET.fromstring(shown(Driver.OK).answers["nvidia-smi-q-x"].out)  # noqa: S314 - the package's own text
    assert log.findtext("driver_version") == DRIVER_VERSION
    assert log.findtext("attached_gpus") == "1"
    (gpu,) = log.findall("gpu")
    assert gpu.findtext("uuid") == GPU_UUID
    assert "SIMULATED" in (gpu.findtext("product_name") or "")
    total, reserved, used, free = (
        int((gpu.findtext(f"fb_memory_usage/{name}") or "").removesuffix(" MiB"))
        for name in ("total", "reserved", "used", "free")
    )
    assert total == reserved + used + free


def test_everything_that_is_said_in_health_agrees() -> None:
    healthy = shown(Driver.OK)
    assert healthy.loaded_version is not None
    assert f"  {DRIVER_VERSION}  " in healthy.loaded_version
    assert healthy.answers["modinfo"].out == f"{DRIVER_VERSION}\n"
    assert f"  {DRIVER_VERSION}  " in healthy.answers["dmesg"].out
    assert "Kernel driver in use: nvidia" in healthy.answers["lspci"].out
    assert GPU_UUID in healthy.answers["nvidia-smi-L"].out
    assert "nvidia 1" in healthy.modules
    assert "nvidia0" in healthy.devices
    assert all("SIMULATED" in healthy.answers[key].out for key in healthy.answers if key != "modinfo")


@pytest.mark.parametrize(
    ("driver", "rc", "text"),
    [
        (
            Driver.VERSION_MISMATCH,
            "18",
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.211\n",
        ),
        (Driver.NO_DEVICES, "6", "No devices were found\n"),
        (Driver.NOT_LOADED, "9", "couldn't communicate with the NVIDIA driver"),
        (Driver.NO_CARD, "9", "couldn't communicate with the NVIDIA driver"),
        (Driver.HANG, "hang", ""),
    ],
)
def test_a_failing_driver_fails_in_every_form_of_nvidia_smi(driver: Driver, rc: str, text: str) -> None:
    for key in ("nvidia-smi", "nvidia-smi-q-x", "nvidia-smi-L"):
        answer = shown(driver).answers[key]
        assert answer.rc == rc
        assert text in answer.out
        assert answer.err == ""


def test_a_mismatch_shows_both_versions_in_their_places() -> None:
    mismatch = shown(Driver.VERSION_MISMATCH)
    assert mismatch.loaded_version is not None
    assert DRIVER_VERSION in mismatch.loaded_version
    assert mismatch.answers["modinfo"].out == f"{NEWER_DRIVER_VERSION}\n"
    dmesg = mismatch.answers["dmesg"].out
    first = f"NVRM: API mismatch: the client has the version {NEWER_DRIVER_VERSION}, but"
    assert f"2026-01-02T04:04:05,000600+00:00 {first}\n" in dmesg
    assert f"NVRM: this kernel module has the version {DRIVER_VERSION}.  Please\n" in dmesg


@pytest.mark.parametrize("driver", [Driver.NOT_LOADED, Driver.NOT_INSTALLED, Driver.NO_CARD])
def test_without_a_module_nothing_of_it_is_there(driver: Driver) -> None:
    bare = shown(driver)
    assert bare.loaded_version is None
    assert bare.modules == ""
    assert bare.devices == ()
    assert "driver in use" not in bare.answers["lspci"].out
    assert "NVRM" not in bare.answers["dmesg"].out


def test_not_installed_and_no_card_are_told_apart() -> None:
    absent = shown(Driver.NOT_INSTALLED)
    assert not absent.has_nvidia_smi
    assert absent.answers["modinfo"].rc == "1"
    assert absent.answers["modinfo"].err == "modinfo: ERROR: Module nvidia not found.\n"
    assert absent.answers["lspci"].out != ""
    assert shown(Driver.NO_CARD).answers["lspci"].out == ""
    assert shown(Driver.NO_CARD).has_nvidia_smi


def test_every_kernel_line_is_dated_or_continued() -> None:
    for driver in Driver:
        for line in shown(driver).answers["dmesg"].out.splitlines():
            stamp, _, text = line.partition(" ")
            assert text
            assert not stamp or dt.datetime.fromisoformat(stamp.replace(",", ".")).tzinfo is not None
