"""Whether the cluster's DNS has an endpoint that is ready."""

from edge_llm_tests import Recording, Result, failed, passed, unknown
from edge_llm_tests.objects import endpoint_slices, services

__all__ = ["dns_fault"]

_NAMES = ("kube-dns", "coredns", "rke2-coredns-rke2-coredns")
_DNS_PORT = 53


def dns_fault(recording: Recording) -> Result:
    """What the Service of the cluster's DNS and its endpoints say."""
    found = [
        each
        for each in recording.view(services).value
        if each.namespace == "kube-system"
        and (each.name in _NAMES or each.labels.get("k8s-app") == "kube-dns")
        and any(number == _DNS_PORT for number, _ in each.ports)
    ]
    if not found:
        return unknown("NoClusterDns", "there is no DNS Service in kube-system, so names may not resolve")
    ready = sum(
        len(each.ready)
        for each in recording.view(endpoint_slices).value
        if each.namespace == "kube-system" and each.service == found[0].name
    )
    if not ready:
        return failed(
            "DnsDown",
            f"Service {found[0].path} has no endpoint that is ready: no name resolves in the cluster",
        )
    return passed(f"Service {found[0].path} has {ready} endpoints")
