"""Cards as nvidia-smi tells them, and Xids as the kernel log does."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from edge_llm_tests import Recording
from edge_llm_tests.fields import MalformedError
from edge_llm_tests.readers import HostReader
from edge_llm_tests.reads import UnseenError
from edge_llm_tests.testing import command
from llm_observability_stack.exporter.gpu_source import gpu_families, gpu_source
from llm_observability_stack.exporter.kernel_log_source import kernel_log_source, xid_families
from prometheus_client.core import Metric

BASES = Path(__file__).parents[2] / "edge-cli/tests/cases/base"
SMI = "command:nvidia-smi -q -x"
DMESG = "command:dmesg --time-format iso"
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


def report(base: str) -> str:
    text: str = json.loads((BASES / f"{base}.json").read_text())["reads"][SMI]["stdout"]
    return text


def values(families: tuple[Metric, ...]) -> dict[str, dict[tuple[str, ...], float]]:
    return {
        each.name: {tuple(sample.labels.values()): sample.value for sample in each.samples}
        for each in families
    }


def told(text: str, **more: Any) -> dict[str, dict[tuple[str, ...], float]]:
    return values(gpu_families(Recording(reads={SMI: command(text, **more)})))


A100 = "GPU-8a4c1b70-52d1-4be3-8f0e-6b5a49382716"


def test_a_card_in_base_units() -> None:
    found = told(report("a100-k3s"))
    assert found["edge_gpu_info"] == {(A100, "0", "NVIDIA A100-PCIE-40GB", "580.126.20"): 1.0}
    assert found["edge_gpu_memory_total_bytes"] == {(A100,): 40960 * 1048576.0}
    assert found["edge_gpu_memory_used_bytes"] == {(A100,): 5663 * 1048576.0}
    assert found["edge_gpu_utilization_ratio"] == {(A100,): 0.0}
    assert found["edge_gpu_temperature_celsius"] == {(A100,): 34.0}
    assert found["edge_gpu_power_watts"] == {(A100,): 36.12}
    assert found["edge_gpu_power_limit_watts"] == {(A100,): 250.0}
    assert found["edge_gpu_clock_hertz"] == {
        (A100, "graphics"): 1.41e9,
        (A100, "sm"): 1.41e9,
        (A100, "memory"): 1.215e9,
    }
    assert found["edge_gpu_pcie_link_width"] == {(A100,): 16.0}
    assert found["edge_gpu_pcie_replays"] == {(A100,): 0.0}
    assert found["edge_gpu_row_remap_pending"] == {(A100,): 0.0}
    assert found["edge_gpu_row_remap_failed"] == {(A100,): 0.0}
    assert found["edge_gpu_remapped_rows"] == {(A100, "correctable"): 0.0, (A100, "uncorrectable"): 0.0}
    assert found["edge_gpu_ecc_uncorrectable_errors"] == {(A100, "volatile"): 0.0, (A100, "aggregate"): 0.0}
    assert set(found["edge_gpu_slowdown_active"].values()) == {0.0}


def test_two_cards_have_series_of_their_own() -> None:
    assert len(told(report("dual-4090-k3s"))["edge_gpu_info"]) == 2


def test_what_went_wrong_with_a_card() -> None:
    text = report("a100-k3s")
    for old, new in (
        ("<dram_uncorrectable>0<", "<dram_uncorrectable>3<"),
        ("<sram_uncorrectable_parity>0<", "<sram_uncorrectable_parity>1<"),
        ("<remapped_row_pending>No<", "<remapped_row_pending>Yes<"),
        ("<remapped_row_failure>No<", "<remapped_row_failure>Yes<"),
        ("<replay_counter>0<", "<replay_counter>17<"),
        ("hw_thermal_slowdown>Not Active<", "hw_thermal_slowdown>Active<"),
    ):
        text = text.replace(old, new)
    found = told(text)
    assert found["edge_gpu_ecc_uncorrectable_errors"][A100, "volatile"] == 4.0
    assert found["edge_gpu_row_remap_pending"] == {(A100,): 1.0}
    assert found["edge_gpu_row_remap_failed"] == {(A100,): 1.0}
    assert found["edge_gpu_pcie_replays"] == {(A100,): 17.0}
    assert found["edge_gpu_slowdown_active"][A100, "hardware_thermal"] == 1.0
    assert found["edge_gpu_slowdown_active"][A100, "power_cap"] == 0.0


@pytest.mark.parametrize(
    "odd",
    ["N/A", "Not Supported", "[Not Supported]", "ERR!", "Unknown Error", "", "Insufficient Permissions"],
)
def test_what_a_board_does_not_have_has_no_series(odd: str) -> None:
    text = report("a100-k3s").replace("<gpu_temp>34 C<", f"<gpu_temp>{odd}<").replace("40960 MiB", odd)
    found = told(text)
    assert found["edge_gpu_temperature_celsius"] == {}
    assert found["edge_gpu_memory_total_bytes"] == {}
    assert found["edge_gpu_info"]


def test_older_drivers_name_power_and_throttling_otherwise() -> None:
    text = (
        report("a100-k3s")
        .replace("gpu_power_readings", "power_readings")
        .replace("instant_power_draw", "power_draw")
    )
    text = text.replace("clocks_event_reason", "clocks_throttle_reason")
    found = told(text.replace("sw_power_cap>Not Active<", "sw_power_cap>Active<"))
    assert found["edge_gpu_power_watts"] == {(A100,): 36.12}
    assert found["edge_gpu_slowdown_active"][A100, "power_cap"] == 1.0


def test_a_card_without_ecc_claims_none() -> None:
    assert told(report("rtx-4090-k3s"))["edge_gpu_ecc_uncorrectable_errors"] == {}
    assert told("<nvidia_smi_log><gpu id='0'/></nvidia_smi_log>")["edge_gpu_ecc_uncorrectable_errors"] == {}
    assert told("<nvidia_smi_log><gpu id='0'/></nvidia_smi_log>")["edge_gpu_power_watts"] == {}


def test_a_card_of_before_ampere_counts_double_bit_errors_and_pages() -> None:
    def memories(each: int, total: int | str) -> str:
        return f"<device_memory>{each}</device_memory><l1_cache>N/A</l1_cache><total>{total}</total>"

    found = told(
        "<nvidia_smi_log><gpu id='00000000:3B:00.0'><uuid>GPU-1</uuid><ecc_errors>"
        f"<volatile><single_bit>{memories(9, 9)}</single_bit>"
        f"<double_bit>{memories(2, 2)}</double_bit></volatile>"
        f"<aggregate><double_bit>{memories(3, 'N/A')}</double_bit></aggregate></ecc_errors>"
        "<retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>"
        "<remapped_rows>N/A</remapped_rows>"
        "<power_readings><power_draw>31.5 W</power_draw><power_limit>250.00 W</power_limit></power_readings>"
        "</gpu></nvidia_smi_log>"
    )
    assert found["edge_gpu_ecc_uncorrectable_errors"] == {("GPU-1", "volatile"): 2.0}
    assert found["edge_gpu_row_remap_pending"] == {("GPU-1",): 1.0}
    assert found["edge_gpu_row_remap_failed"] == {}
    assert found["edge_gpu_power_limit_watts"] == {("GPU-1",): 250.0}


def test_cards_that_cannot_be_read_are_told_apart_by_their_address() -> None:
    cards = "".join(
        f"<gpu id='{address}'><uuid>{uuid}</uuid>"
        f"<temperature><gpu_temp>{temperature}</gpu_temp></temperature></gpu>"
        for address, uuid, temperature in (
            ("00000000:01:00.0", "GPU-1", "40 C"),
            ("00000000:C1:00.0", "[Unknown Error]", "41 C"),
            ("00000000:C2:00.0", "[Unknown Error]", "[Unknown Error]"),
            ("", "N/A", "42 C"),
            ("00000000:C3:00.0", "GPU-1", "43 C"),
        )
    )
    found = told(f"<nvidia_smi_log>{cards}</nvidia_smi_log>")
    assert found["edge_gpu_temperature_celsius"] == {
        ("GPU-1",): 40.0,
        ("00000000:c1:00.0",): 41.0,
        ("gpu3",): 42.0,
        ("GPU-1#4",): 43.0,
    }
    assert len(found["edge_gpu_info"]) == 5


@pytest.mark.parametrize(
    "odd", ["36,12 W", "9" * 400 + " W", "nan W", "inf", "1e3 W", "0x10", "36.12 mW", "[N/A]"]
)
def test_a_number_of_another_kind_is_none(odd: str) -> None:
    text = report("a100-k3s").replace("36.12 W", odd)
    assert told(text)["edge_gpu_power_watts"] == {}


def test_mig_moves_utilisation_away_and_leaves_the_card() -> None:
    text = report("a100-k3s").replace("<gpu_util>0 %<", "<gpu_util>N/A<")
    slices = (
        "<mig_devices><mig_device><index>0</index><fb_memory_usage><total>4864 MiB</total></fb_memory_usage>"
        "<ecc_error_count><volatile_count><sram_uncorrectable>5</sram_uncorrectable></volatile_count>"
        "</ecc_error_count></mig_device></mig_devices></gpu>"
    )
    found = told(text.replace("</gpu>", slices))
    assert found["edge_gpu_utilization_ratio"] == {}
    assert found["edge_gpu_memory_total_bytes"] == {(A100,): 40960 * 1048576.0}
    assert found["edge_gpu_ecc_uncorrectable_errors"][A100, "volatile"] == 0.0


def test_a_corrupted_inforom_leaves_the_rest_standing() -> None:
    assert told(report("a100-k3s"), rc=14)["edge_gpu_info"]


def test_one_lost_card_leaves_what_is_said_of_the_other() -> None:
    said = "Unable to determine the device handle for GPU0000:02:00.0: GPU is lost.\n"
    text = said + report("rtx-4090-k3s") + said
    assert len(told(text, rc=15)["edge_gpu_temperature_celsius"]) == 1


@pytest.mark.parametrize(
    "read",
    [
        command("Failed to initialize NVML: Driver/library version mismatch", rc=18),
        command(error="timeout"),
        command(error="not-found"),
        command(error="permission-denied"),
    ],
)
def test_no_answer_is_no_card(read: dict[str, Any]) -> None:
    with pytest.raises(UnseenError):
        gpu_families(Recording(reads={SMI: read}))


@pytest.mark.parametrize(
    "text", ["", "NVIDIA-SMI has failed", "<nvidia_smi_log><gpu>", "<nvidia_smi_log></nvidia_smi_log>"]
)
def test_a_damaged_report_is_no_card(text: str) -> None:
    with pytest.raises(MalformedError):
        gpu_families(Recording(reads={SMI: command(text)}))


def test_entities_are_not_expanded() -> None:
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><nvidia_smi_log><gpu id="0"><uuid>&a;</uuid></gpu></nvidia_smi_log>'
    )
    with pytest.raises(MalformedError):
        gpu_families(Recording(reads={SMI: command(bomb)}))


XIDS = """\
2026-06-15T09:00:00,110023+00:00 NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', GPU has fallen off the bus.
2026-06-15T11:10:00,110023+00:00 NVRM: Xid (PCI:0000:01:00): 62, pid='<unknown>', name=<unknown>, 2a3b
2026-06-15T11:40:00,110023+00:00 NVRM: Xid (PCI:0000:01:00): 62, pid='<unknown>', name=<unknown>, 2a3b
2026-06-15T13:41:00,110023+02:00 NVRM: Xid (PCI:0000:C1:00): 31, pid=4711, name=python3, Ch 00000008
2026-06-15T11:50:00,110023+00:00 nvidia-nvlink: Nvlink Core is being initialized
yesterday NVRM: Xid (PCI:0000:01:00): 48, no time that can be told
"""


def test_xids_of_the_last_hour_are_counted_by_card_and_code() -> None:
    found = values(xid_families(Recording(reads={DMESG: command(XIDS)}), NOW))
    assert found == {"edge_gpu_xid_errors": {("0000:01:00", "62"): 2.0, ("0000:c1:00", "31"): 1.0}}


def test_a_time_without_a_zone_is_utc() -> None:
    line = "2026-06-15T11:40:00,1 NVRM: Xid (PCI:0000:01:00): 62, x\n"
    assert values(xid_families(Recording(reads={DMESG: command(line)}), NOW))["edge_gpu_xid_errors"]


def test_a_kernel_log_that_may_not_be_read_says_nothing_of_xids() -> None:
    with pytest.raises(UnseenError):
        xid_families(Recording(reads={DMESG: command("dmesg: read kernel buffer failed", rc=1)}), NOW)


class FakeHost(HostReader):
    """A host whose commands say what they are told to."""

    def command(self, line: str, deadline_s: float) -> dict[str, Any]:  # noqa: ARG002 - signature of a host
        return command({"nvidia-smi -q -x": report("a100-k3s"), "dmesg --time-format iso": ""}[line])


def test_both_sources_ask_the_host() -> None:
    gpu, log = gpu_source(30.0, FakeHost()), kernel_log_source(30.0, FakeHost())
    assert (gpu.name, gpu.live, log.name, log.live) == ("gpu", True, "kernel-log", False)
    assert values(gpu.collect())["edge_gpu_info"]
    assert values(log.collect()) == {"edge_gpu_xid_errors": {}}
