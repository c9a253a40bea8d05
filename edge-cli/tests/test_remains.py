"""What a removal leaves is named: webhooks and API services without a service, definitions, and no more."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from edge_cli.answer import Answer
from edge_cli.remains import Remain, remains
from edge_cli.revision import Installed
from edge_llm_tests.errors import UnauthorisedError

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
OPERATOR = Installed("gpu-operator", "gpu-operator", "deployed", "gpu-operator-v26.7.0")


class Api:
    """An API server that answers GETs from a table; nothing else is asked of it."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        self.answers: dict[str, Any] = {
            f"{ADMISSION}/validatingwebhookconfigurations": lists.get("validating", []),
            f"{ADMISSION}/mutatingwebhookconfigurations": lists.get("mutating", []),
            CRDS: lists.get("crds", []),
            SERVICES: lists.get("services", []),
        }

    def __call__(self, verb: str, path: str) -> Answer:
        assert verb == "GET"
        now = datetime.now(UTC)
        if path not in self.answers:
            return Answer(404, {}, now)
        found = self.answers[path]
        return Answer(found, {}, now) if isinstance(found, int) else Answer(200, {"items": found}, now)


def webhook(name: str, namespace: str, policy: str = "Fail") -> dict[str, Any]:
    service = {"namespace": namespace, "name": "operator"}
    hook = {"name": "a.b.c", "clientConfig": {"service": service}, "failurePolicy": policy}
    return {"metadata": {"name": name}, "webhooks": [hook, hook]}


def definition(plural: str, group: str, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {
            "group": group,
            "names": {"plural": plural},
            "versions": [{"name": "v1beta1", "storage": False}, {"name": "v1", "storage": True}],
        },
    }


def test_a_webhook_whose_service_is_gone_is_named_once() -> None:
    api = Api(validating=[webhook("prometheus", "llm-observability")])
    assert remains(api, (), ("llm-observability",)) == (
        Remain(
            "validatingwebhookconfiguration",
            "prometheus",
            "its service llm-observability/operator is gone, and what it is asked about is refused",
        ),
    )


def test_a_webhook_that_may_fail_is_asked_in_vain() -> None:
    api = Api(mutating=[webhook("m", "ours", "Ignore")])
    (found,) = remains(api, (), ("ours",))
    assert (found.kind, found.why[-19:]) == ("mutatingwebhookconfiguration", "it is asked in vain")


def test_webhooks_of_others_and_those_whose_service_is_there_are_not() -> None:
    api = Api(validating=[webhook("theirs", "cert-manager"), webhook("alive", "ours")])
    api.answers["/api/v1/namespaces/ours/services/operator"] = []
    assert remains(api, (), ("ours",)) == ()


def test_a_webhook_by_url_has_no_service_to_lose() -> None:
    by_url = {"metadata": {"name": "u"}, "webhooks": [{"clientConfig": {"url": "https://x"}}]}
    assert remains(Api(validating=[by_url, {"metadata": {"name": "empty"}}]), (), ("ours",)) == ()


def test_an_api_service_without_its_service_is_named() -> None:
    items = [
        {"metadata": {"name": "v1.metrics"}, "spec": {"service": {"namespace": "ours", "name": "adapter"}}},
        {"metadata": {"name": "v1."}, "spec": {}},
    ]
    (found,) = remains(Api(services=items), (), ("ours",))
    assert (found.kind, found.name) == ("apiservice", "v1.metrics")


def test_definitions_of_removed_charts_are_named_with_what_would_go_with_them() -> None:
    api = Api(
        crds=[
            definition("clusterpolicies", "nvidia.com"),
            definition("nodefeatures", "nfd.k8s-sigs.io"),
            definition("servicemonitors", "monitoring.coreos.com"),
        ]
    )
    api.answers["/apis/nvidia.com/v1/clusterpolicies"] = [{"metadata": {"name": "cluster-policy"}}]
    api.answers["/apis/nfd.k8s-sigs.io/v1/nodefeatures"] = []
    assert remains(api, (OPERATOR,), ()) == (
        Remain("crd", "clusterpolicies.nvidia.com", "1 objects of it would go with it"),
        Remain("crd", "nodefeatures.nfd.k8s-sigs.io", "there is no object of it"),
    )


def test_a_kind_whose_store_is_just_opened_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api(crds=[definition("clusterpolicies", "nvidia.com")])
    api.answers["/apis/nvidia.com/v1/clusterpolicies"] = 429

    def opened(_seconds: float) -> None:
        api.answers["/apis/nvidia.com/v1/clusterpolicies"] = []

    monkeypatch.setattr("time.sleep", opened)
    (found,) = remains(api, (OPERATOR,), ())
    assert found.why == "there is no object of it"


def test_a_definition_that_a_release_kept_is_known_by_its_annotation() -> None:
    ours = {"meta.helm.sh/release-name": "gpu", "meta.helm.sh/release-namespace": "gpu-operator"}
    api = Api(crds=[definition("models", "edge.example", ours), definition("others", "else.example")])
    (found,) = remains(api, (Installed("gpu", "gpu-operator", "deployed", "k3s-nvidia-edge-0.1.0"),), ())
    assert found == Remain("crd", "models.edge.example", "its objects cannot be counted")


@pytest.mark.parametrize("status", [403, 404, 500])
def test_what_cannot_be_read_is_not_guessed(status: int) -> None:
    api = Api()
    api.answers = dict.fromkeys(api.answers, status)
    assert remains(api, (OPERATOR,), ("ours",)) == ()


def test_what_may_not_be_read_does_not_spoil_a_removal_that_is_done() -> None:
    def refusing(_verb: str, path: str) -> Answer:
        raise UnauthorisedError(f"refused GET {path}", "use another kubeconfig")

    assert remains(refusing, (OPERATOR,), ("ours",)) == ()
