"""The host's promises, in the order of the ladder."""

from edge_llm_tests import Contract

from k3s_nvidia_edge.host.contracts import card, driver, machine

__all__ = ["CONTRACTS"]

CONTRACTS: tuple[Contract, ...] = (
    machine.memory_available,
    machine.file_watches,
    machine.disks_writable,
    machine.connections,
    driver.card_on_bus,
    driver.driver_loaded,
    driver.driver_answers,
    driver.cards_complete,
    card.card_healthy,
    card.device_nodes,
    card.fabric,
    card.vgpu_licence,
    driver.driver_fit,
    card.not_throttled,
    driver.driver_current,
    machine.memory_headroom,
    machine.disk_space,
    machine.inotify_instances,
    machine.clock,
    card.link_width,
    card.power_limit,
    card.inforom,
)
