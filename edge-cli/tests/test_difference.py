"""The difference of two manifests names each object that changes, and hides what is secret."""

import json
from typing import Any

import pytest
from edge_cli.difference import Change, Kind, difference

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n{}\n-----END PRIVATE KEY-----\n"


def manifest(*documents: dict[str, Any]) -> str:
    return "\n---\n".join(json.dumps(document) for document in documents)


def thing(kind: str, name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"kind": kind, "metadata": metadata | more.pop("metadata", {}), **more}


def test_nothing_changes_where_only_the_order_and_the_comments_do() -> None:
    one, two = thing("Service", "a", spec={"x": 1, "y": 2}), thing("Service", "b")
    before = f"# Source: here\n{manifest(one, two)}"
    after = f"---\n{manifest(two, {'spec': {'y': 2, 'x': 1}, **one})}\n---\n"
    assert difference(before, after, "space") == ()


def test_an_install_adds_everything() -> None:
    after = manifest(thing("Service", "a"), thing("ClusterRole", "b", namespace="elsewhere"))
    assert difference("", after, "space") == (
        Change(Kind.ADD, "ClusterRole/b in elsewhere"),
        Change(Kind.ADD, "Service/a"),
    )


def test_the_release_namespace_is_the_same_written_or_not() -> None:
    assert difference(manifest(thing("Service", "a")), manifest(thing("Service", "a", "space")), "space") != (
        Change(Kind.ADD, "Service/a"),
        Change(Kind.REMOVE, "Service/a"),
    )


def test_what_goes_is_removed_unless_it_is_kept() -> None:
    kept = {"annotations": {"helm.sh/resource-policy": "keep"}}
    before = manifest(thing("Service", "a"), thing("PersistentVolumeClaim", "data", metadata=kept))
    assert difference(before, "", "space") == (
        Change(Kind.KEEP, "PersistentVolumeClaim/data"),
        Change(Kind.REMOVE, "Service/a"),
    )


def test_a_change_shows_its_lines() -> None:
    before = manifest(thing("Deployment", "a", spec={"replicas": 1}))
    after = manifest(thing("Deployment", "a", spec={"replicas": 2}))
    (change,) = difference(before, after, "space")
    assert change.kind is Kind.CHANGE
    assert "-  replicas: 1" in change.lines
    assert "+  replicas: 2" in change.lines


def test_a_secret_shows_that_it_changes_and_not_what_it_holds() -> None:
    before = manifest(thing("Secret", "s", data={"same": "c2FtZQ==", "other": "b2xk"}))
    after = manifest(thing("Secret", "s", data={"same": "c2FtZQ==", "other": "bmV3", "more": "bW9yZQ=="}))
    (change,) = difference(before, after, "space")
    text = "\n".join(change.lines)
    assert "+  other: <hidden, another value>" in text
    assert "+  more: <hidden>" in text
    assert not any(secret in text for secret in ("c2FtZQ==", "b2xk", "bmV3", "bW9yZQ=="))


def test_a_secret_text_is_hidden_as_well() -> None:
    before = manifest(thing("Secret", "s", stringData={"a": "old-text"}))
    (change,) = difference(before, manifest(thing("Secret", "s", stringData=None)), "space")
    assert "old-text" not in "\n".join(change.lines)


def test_what_looks_like_a_secret_elsewhere_is_hidden() -> None:
    def with_url(password: str) -> str:
        return manifest(thing("ConfigMap", "c", data={"url": f"https://user:{password}@host/path"}))

    (change,) = difference(with_url("hunter2"), with_url("hunter3"), "space")
    assert "hunter" not in "\n".join(change.lines)


def container(**more: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "c", **more}]}}}


@pytest.mark.parametrize(
    "holder",
    [
        lambda s: thing("Deployment", "d", spec=container(env=[{"name": "OPENAI_API_KEY", "value": s}])),
        lambda s: thing("Deployment", "d", spec=container(args=["--password", s])),
        lambda s: thing("Deployment", "d", spec=container(args=[f"--api-key={s}"])),
        lambda s: thing("ConfigMap", "c", data={"app.ini": f"[db]\n\ndb_password: {s}\nport: 1\n"}),
        lambda s: thing("ConfigMap", "c", data={"app.json": json.dumps({"admin": {"password": s}})}),
        lambda s: thing("ConfigMap", "c", data={"key": PEM.format(s)}),
        lambda s: thing("Prometheus", "p", spec={"remoteWrite": [{"bearerToken": s}]}),
        lambda s: thing("Grafana", "g", spec={"password": int.from_bytes(s.encode()[:6])}),
        lambda s: {"kind": "List", "metadata": {"name": "l"}, "items": [thing("Secret", "s", data={"x": s})]},
        lambda s: thing(
            "Secret",
            "s",
            metadata={"annotations": {"kubectl.kubernetes.io/last-applied-configuration": f'{{"x":"{s}"}}'}},
        ),
        lambda s: thing("Secret", "s", data=s),
    ],
)
def test_a_secret_is_hidden_wherever_it_stands_and_its_change_is_told(holder: Any) -> None:
    secrets = ("0ldS3cr3tV4lu3xyz", "n3wS3cr3tV4lu3xyz")
    (change,) = difference(*(manifest(holder(secret)) for secret in secrets), "space")
    text = "\n".join(change.lines)
    for secret in secrets:
        assert secret not in text
        assert str(int.from_bytes(secret.encode()[:6])) not in text
    assert "redacted" in text or "another value" in text


def test_a_variable_that_is_put_before_a_secret_changes_no_secret() -> None:
    token, other = ({"name": name, "value": f"s3cr3tV4lu3{name}"} for name in ("API_TOKEN", "A_TOKEN"))
    before = manifest(thing("Deployment", "d", spec=container(env=[token])))
    after = manifest(thing("Deployment", "d", spec=container(env=[other, token])))
    (change,) = difference(before, after, "space")
    assert "another value" not in "\n".join(change.lines)
    assert "A_TOKEN" in "\n".join(change.lines)


def test_documents_that_are_no_objects_are_passed_over() -> None:
    assert difference("--- []\n--- text\n---\n", "", "space") == ()
