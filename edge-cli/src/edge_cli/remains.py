"""Remains: what a removal leaves in the cluster because Helm never deletes it, named and left alone.

A webhook whose service is gone refuses or delays what others do in the cluster; a CustomResourceDefinition
takes its objects with it when it goes. Neither is ours to delete unasked.
"""

import http.client
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from edge_llm_tests.errors import UnauthorisedError

from edge_cli.answer import Answer
from edge_cli.revision import Installed

__all__ = ["Remain", "remains"]

_WEBHOOKS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_BROUGHT = {
    "gpu-operator": ("nvidia.com", "nfd.k8s-sigs.io"),
    "nvidia-device-plugin": ("nfd.k8s-sigs.io",),
    "kube-prometheus-stack": ("monitoring.coreos.com",),
}
"""Charts that bring CustomResourceDefinitions in their `crds/` folder, to the API groups of those."""
_LOOKS, _PAUSE_S = 10, 0.3
_RELEASE_NAME = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"


class Remain(msgspec.Struct, frozen=True):
    """One object that stays.

    Attributes:
        kind: As kubectl spells it.
        name: Its name.
        why: What it does there, or what would go with it.
    """

    kind: str
    name: str
    why: str


def remains(
    send: Callable[[str, str], Answer], removed: Sequence[Installed], namespaces: Sequence[str]
) -> tuple[Remain, ...]:
    """Webhooks and API services without their service, definitions of the removed charts; reads only.

    What may not be read is not named: the removal itself is done.
    """

    def allowed(verb: str, path: str) -> Answer:
        try:
            return send(verb, path)
        except UnauthorisedError as error:
            return Answer(http.client.FORBIDDEN, {"message": str(error)}, datetime.now(UTC))

    return tuple(_found(allowed, removed, namespaces))


def _found(
    send: Callable[[str, str], Answer], removed: Sequence[Installed], namespaces: Sequence[str]
) -> Iterator[Remain]:
    for kind in _WEBHOOKS:
        yield from _webhooks(send, kind, namespaces)
    yield from _api_services(send, namespaces)
    yield from _definitions(send, removed)


def _items(answer: Answer) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; none where it may not, or cannot, be read."""
    items = answer.body.get("items") if answer.ok else None
    yield from (item for item in items or () if isinstance(item, Mapping))


def _webhooks(send: Callable[[str, str], Answer], kind: str, namespaces: Sequence[str]) -> Iterator[Remain]:
    for item in _items(send("GET", f"{_ADMISSION}/{kind}")):
        for hook in item.get("webhooks") or ():
            service = (hook.get("clientConfig") or {}).get("service") or {}
            if service.get("namespace") in namespaces and _is_gone(send, service):
                refuses = hook.get("failurePolicy", "Fail") == "Fail"
                effect = "what it is asked about is refused" if refuses else "it is asked in vain"
                gone = f"its service {service['namespace']}/{service.get('name')} is gone"
                yield Remain(kind.removesuffix("s"), _name(item), f"{gone}, and {effect}")
                break


def _api_services(send: Callable[[str, str], Answer], namespaces: Sequence[str]) -> Iterator[Remain]:
    for item in _items(send("GET", _API_SERVICES)):
        service = (item.get("spec") or {}).get("service") or {}
        if service.get("namespace") in namespaces and _is_gone(send, service):
            where = f"{service['namespace']}/{service.get('name')}"
            yield Remain("apiservice", _name(item), f"its service {where} is gone, and discovery fails on it")


def _is_gone(send: Callable[[str, str], Answer], service: Mapping[str, Any]) -> bool:
    path = f"/api/v1/namespaces/{service['namespace']}/services/{service.get('name')}"
    return send("GET", path).status == http.client.NOT_FOUND


def _definitions(send: Callable[[str, str], Answer], removed: Sequence[Installed]) -> Iterator[Remain]:
    groups = {
        group
        for release in removed
        for chart, brought in _BROUGHT.items()
        if release.chart.startswith(f"{chart}-")
        for group in brought
    }
    ours = {(release.name, release.namespace) for release in removed}
    for item in _items(send("GET", _CRDS)):
        spec = item.get("spec") or {}
        noted = item["metadata"].get("annotations") or {}
        if spec.get("group") in groups or (noted.get(_RELEASE_NAME), noted.get(_RELEASE_NAMESPACE)) in ours:
            yield Remain("crd", _name(item), _with_it(send, spec))


def _with_it(send: Callable[[str, str], Answer], spec: Mapping[str, Any]) -> str:
    """How many objects would go with a definition."""
    version = next((each["name"] for each in spec.get("versions") or () if each.get("storage")), "v1")
    path = f"/apis/{spec.get('group')}/{version}/{(spec.get('names') or {}).get('plural')}"
    listed = send("GET", path)
    for _ in range(_LOOKS):
        if listed.status != http.client.TOO_MANY_REQUESTS:
            break
        time.sleep(_PAUSE_S)  # nobody asked for this kind before: the API server opens its store
        listed = send("GET", path)
    if not listed.ok:
        return "its objects cannot be counted"
    count = sum(1 for _ in _items(listed))
    return f"{count} objects of it would go with it" if count else "there is no object of it"


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])
