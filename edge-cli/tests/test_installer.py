"""The installer says to Helm and to the API server exactly what was asked, and no more."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from edge_cli.chart_store import ChartStore
from edge_cli.fingerprint import fingerprint, fingerprint_of
from edge_cli.helm_error import HelmError
from edge_cli.installer import Installer
from edge_cli.revision import Installed, Revision
from edge_llm_tests.errors import TargetUnreachableError, UnauthorisedError, UsageError
from edge_llm_tests.layer import Release, UpstreamChart
from edge_llm_tests.readers.wire import Origin
from msgspec.structs import replace

FAKE_HELM = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    given = sys.stdin.read() if "-" in sys.argv else ""
    calls.write(json.dumps([sys.argv[1:], given]) + "\\n")
answer = json.loads((here / "answers.json").read_text()).get(sys.argv[1], dict())
sys.stdout.write(answer.get("out", ""))
sys.stderr.write(answer.get("err", ""))
sys.exit(answer.get("rc", 0))
"""


class FakeHelm:
    """A program that notes how it was called and says what it was told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "helm"
        self.path.write_text(FAKE_HELM.format(python=sys.executable))
        self.path.chmod(0o755)
        self.answers: dict[str, dict[str, Any]] = {"version": {"out": "v4.3.2"}}

    def says(self, verb: str, out: Any = "", err: str = "", rc: int = 0) -> None:
        text = out if isinstance(out, str) else json.dumps(out)
        self.answers[verb] = {"out": text, "err": err, "rc": rc}
        self.save()

    def save(self) -> None:
        (self.folder / "answers.json").write_text(json.dumps(self.answers))

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line)[0] for line in (self.folder / "calls").read_text().splitlines()]

    @property
    def stdin(self) -> str:
        return str(json.loads((self.folder / "calls").read_text().splitlines()[-1])[1])


class FakeApi:
    """An HTTP server with canned answers, that notes what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                self.rfile.read(size)
                fake.headers = dict(self.headers)
                fake.asked.append((self.command, self.path))
                status, body = fake.answers.get(
                    f"{self.command} {self.path}", (404, {"message": "not found"})
                )
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - the server's names

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def helm(tmp_path: Path) -> FakeHelm:
    fake = FakeHelm(tmp_path)
    fake.save()
    return fake


@pytest.fixture
def api() -> Iterator[FakeApi]:
    fake = FakeApi()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


@pytest.fixture
def installer(helm: FakeHelm, api: FakeApi) -> Installer:
    origin = Origin(api.url, headers={"Authorization": "Bearer secret"})
    return Installer(origin, helm.path, Path("/etc/kube.conf"), "ctx")


@pytest.fixture
def release(tmp_path: Path) -> Release:
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("name: demo")
    return Release("demo", "space", "gpu", chart, {"list": [1], "password": "hunter2"})


def option(call: list[str], name: str) -> str:
    return call[call.index(name) + 1]


def deployed(installer: Installer, release: Release) -> Revision:
    return asyncio.run(installer.apply(release))


def test_apply_upgrades_or_installs_and_does_not_wait(
    installer: Installer, helm: FakeHelm, api: FakeApi, release: Release
) -> None:
    api.answers["GET /api/v1/namespaces/space"] = (200, {})
    helm.says("upgrade", {"version": 3, "info": {"status": "deployed"}})
    assert deployed(installer, release) == Revision(3, "deployed")
    call = helm.calls[-1]
    assert call[:3] == ["upgrade", "demo", str(release.chart)]
    assert option(call, "--namespace") == "space"
    assert option(call, "--labels") == "edge-layer=gpu"
    assert fingerprint_of(option(call, "--description")) == fingerprint(release)
    assert option(call, "--kubeconfig") == "/etc/kube.conf"
    assert option(call, "--kube-context") == "ctx"
    assert {"--install", "--server-side=true", "--force-conflicts"} <= set(call)
    assert "--wait" not in call
    assert "--create-namespace" not in call


def test_values_go_to_helm_as_they_are_and_never_through_its_arguments(
    installer: Installer, helm: FakeHelm, api: FakeApi, release: Release
) -> None:
    api.answers["GET /api/v1/namespaces/space"] = (200, {})
    helm.says("upgrade", {"version": 1, "info": {"status": "deployed"}})
    deployed(installer, release)
    assert json.loads(helm.stdin) == {"list": [1], "password": "hunter2"}
    assert "hunter2" not in " ".join(helm.calls[-1])


def test_helm_3_is_not_given_what_it_does_not_know(
    installer: Installer, helm: FakeHelm, api: FakeApi, release: Release
) -> None:
    api.answers["GET /api/v1/namespaces/space"] = (200, {})
    helm.says("version", "v3.21.4")
    helm.says("upgrade", {"version": 1, "info": {"status": "deployed"}})
    deployed(installer, release)
    assert not {"--server-side=true", "--force-conflicts"} & set(helm.calls[-1])


def test_what_helm_says_before_its_json_is_passed_over(
    installer: Installer, helm: FakeHelm, api: FakeApi, release: Release
) -> None:
    api.answers["GET /api/v1/namespaces/space"] = (200, {})
    helm.says("upgrade", 'Pulled: somewhere\n{"version": 2, "info": {"status": "deployed"}}')
    assert deployed(installer, release).number == 2


def test_an_answer_that_is_no_json_is_an_error(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    helm.says("history", "something else")
    with pytest.raises(HelmError, match="not JSON"):
        asyncio.run(installer.revision(release))


def test_a_failure_is_one_line_without_the_kubeconfig(
    installer: Installer,
    helm: FakeHelm,
    api: FakeApi,
    release: Release,
    capfd: pytest.CaptureFixture[str],
) -> None:
    api.answers["GET /api/v1/namespaces/space"] = (200, {})
    helm.says("upgrade", err="level=WARN x\nError: boom\n", rc=1)
    with pytest.raises(HelmError, match="release demo in namespace space failed: boom") as raised:
        deployed(installer, release)
    out, err = capfd.readouterr()
    assert "kube.conf" not in str(raised.value) + out + err


def test_the_namespace_is_made_and_marked_as_ours(
    installer: Installer, helm: FakeHelm, api: FakeApi, release: Release
) -> None:
    api.answers["POST /api/v1/namespaces"] = (201, {})
    helm.says("upgrade", {"version": 1, "info": {"status": "deployed"}})
    deployed(installer, release)
    assert api.asked == [("GET", "/api/v1/namespaces/space"), ("POST", "/api/v1/namespaces")]
    assert api.headers["Authorization"] == "Bearer secret"


def test_a_namespace_that_appears_meanwhile_is_no_error(installer: Installer, api: FakeApi) -> None:
    api.answers["POST /api/v1/namespaces"] = (409, {})
    installer.ensure_namespace("space")


def test_a_namespace_that_is_being_deleted_is_waited_for(
    installer: Installer, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = {"metadata": {"deletionTimestamp": "2026-11-30T12:00:00Z"}}
    api.answers["GET /api/v1/namespaces/space"] = (200, going)
    api.answers["POST /api/v1/namespaces"] = (201, {})
    monkeypatch.setattr("time.sleep", lambda _seconds: api.answers.pop("GET /api/v1/namespaces/space"))
    installer.ensure_namespace("space")
    assert [verb for verb, _ in api.asked] == ["GET", "GET", "POST"]


def test_a_namespace_that_cannot_be_made_is_named(installer: Installer, api: FakeApi) -> None:
    api.answers["POST /api/v1/namespaces"] = (422, {"message": "too long"})
    with pytest.raises(HelmError, match="namespace space cannot be made: too long"):
        installer.ensure_namespace("space")


def test_the_latest_revision(installer: Installer, helm: FakeHelm, release: Release) -> None:
    helm.says("history", [{"revision": 4, "status": "pending-upgrade", "description": "Preparing upgrade"}])
    assert asyncio.run(installer.revision(release)) == Revision(4, "pending-upgrade", "Preparing upgrade")
    assert option(helm.calls[-1], "--max") == "1"


def test_a_release_that_is_not_there_has_no_revision(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    helm.says("history", err="Error: release: not found", rc=1)
    assert asyncio.run(installer.revision(release)) is None


def test_a_history_that_cannot_be_read_is_not_taken_for_none(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    helm.says("history", err="Error: boom", rc=1)
    with pytest.raises(HelmError):
        asyncio.run(installer.revision(release))


def test_an_install_that_never_ended_is_removed(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    assert "removed" in asyncio.run(installer.recover(release, Revision(1, "pending-install")))
    assert [call[0] for call in helm.calls] == ["uninstall"]


def test_an_upgrade_that_never_ended_goes_back(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    statuses = ["superseded", "deployed", "failed", "pending-upgrade"]
    helm.says("history", [{"revision": n, "status": status} for n, status in enumerate(statuses, 1)])
    assert "revision 2" in asyncio.run(installer.recover(release, Revision(4, "pending-upgrade")))
    assert helm.calls[-1][:3] == ["rollback", "demo", "2"]


def _history(*statuses: str) -> list[dict[str, Any]]:
    return [
        {"revision": number, "status": status, "description": f"edge: of {number}"}
        for number, status in enumerate(statuses, 1)
    ]


def test_an_upgrade_is_undone_to_the_last_good_revision_with_what_that_was_made_from(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    helm.says("history", _history("superseded", "failed", "deployed"))
    made = asyncio.run(installer.roll_back(release, 3))
    undone = next(call for call in helm.calls if call[0] == "rollback")
    assert undone[:3] == ["rollback", "demo", "1"]
    assert option(undone, "--description") == "edge: of 1"
    assert made.number == 3, "the fake's history does not grow: it is asked anew"


def test_without_a_good_revision_before_there_is_nothing_to_go_back_to(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    helm.says("history", _history("failed", "deployed"))
    with pytest.raises(HelmError, match="no revision before 2") as raised:
        asyncio.run(installer.roll_back(release, 2))
    assert "helm history demo" in raised.value.next_step
    assert [call[0] for call in helm.calls] == ["history"]


def test_a_chart_of_others_is_installed_from_its_file_and_known_by_its_version(
    helm: FakeHelm, api: FakeApi, release: Release, tmp_path: Path
) -> None:
    packaged = tmp_path / "stack-1.2.3.tgz"
    packaged.write_bytes(b"chart")
    chart = UpstreamChart("stack", "https://charts.example.org", "1.2.3")
    charts = ChartStore(helm.path, brought={("stack", "1.2.3"): packaged}, offline=True)
    installer = Installer(Origin(api.url), helm.path, Path("/etc/kube.conf"), charts=charts)
    api.answers["GET /api/v1/namespaces/space"] = (200, {"metadata": {}})
    helm.says("upgrade", {"version": 1, "info": {"status": "deployed"}})
    theirs = replace(release, chart=chart)
    asyncio.run(installer.apply(theirs))
    call = next(call for call in helm.calls if call[0] == "upgrade")
    assert call[2] == str(packaged)
    assert fingerprint_of(option(call, "--description")) == fingerprint(theirs)
    newer = replace(theirs, chart=UpstreamChart("stack", chart.repository, "1.2.4"))
    assert fingerprint(newer) != fingerprint(theirs)
    with pytest.raises(UsageError, match=r"stack 1\.2\.4"):
        asyncio.run(installer.apply(newer))


def test_kinds_that_a_release_brings_are_planned_before_they_are_there(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    """Helm asks the API server, which does not know them yet; then Helm alone says what it would make."""
    helm.says("template", "kind: ServiceMonitor\n")
    helm.says("upgrade", err='Error: no matches for kind "ServiceMonitor" in version "v1"', rc=1)
    assert asyncio.run(installer.rendered(release)) == "kind: ServiceMonitor\n"
    assert [call[0] for call in helm.calls] == ["upgrade", "template"]
    assert "--kubeconfig" not in helm.calls[-1]
    helm.says("upgrade", err="Error: something else", rc=1)
    with pytest.raises(HelmError, match="something else"):
        asyncio.run(installer.rendered(release))


def test_an_uninstall_that_never_ended_is_finished(
    installer: Installer, helm: FakeHelm, release: Release
) -> None:
    helm.says("history", [{"revision": 1, "status": "superseded"}, {"revision": 2, "status": "uninstalling"}])
    asyncio.run(installer.recover(release, Revision(2, "uninstalling")))
    assert helm.calls[-1][0] == "uninstall"


def test_what_edge_up_made_is_found_by_its_label(installer: Installer, helm: FakeHelm) -> None:
    entry = {"name": "a", "namespace": "n", "status": "pending-install", "chart": "a-1", "revision": "1"}
    helm.says("list", [entry])
    assert asyncio.run(installer.installed(layer="gpu")) == (Installed("a", "n", "pending-install", "a-1"),)
    assert option(helm.calls[-1], "--selector") == "edge-layer=gpu"
    assert {"--all-namespaces", "--pending", "--failed", "--uninstalling"} <= set(helm.calls[-1])


NAMESPACE = "/api/v1/namespaces/space"
OURS = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "edge"}}}


def emptied(api: FakeApi, helm: FakeHelm, **items: list[Any]) -> None:
    api.answers[f"GET {NAMESPACE}"] = (200, OURS)
    api.answers[f"DELETE {NAMESPACE}"] = (200, {})
    helm.says("list", [])
    for kind in ("persistentvolumeclaims", "pods", "services"):
        api.answers[f"GET {NAMESPACE}/{kind}"] = (200, {"items": items.get(kind, [])})


def test_an_empty_namespace_of_ours_goes(installer: Installer, api: FakeApi, helm: FakeHelm) -> None:
    emptied(api, helm)
    assert asyncio.run(installer.remove_namespace("space")) == ""
    assert ("DELETE", NAMESPACE) in api.asked


def test_pods_that_are_ending_are_waited_for(
    installer: Installer, api: FakeApi, helm: FakeHelm, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied(api, helm, pods=[{"metadata": {"deletionTimestamp": "2026-11-30T12:00:00Z"}}])
    pause = asyncio.sleep

    async def ended(_seconds: float) -> None:
        api.answers[f"GET {NAMESPACE}/pods"] = (200, {"items": []})
        await pause(0)

    monkeypatch.setattr(asyncio, "sleep", ended)
    assert asyncio.run(installer.remove_namespace("space")) == ""


@pytest.mark.parametrize("kind", ["persistentvolumeclaims", "pods", "services"])
def test_a_namespace_with_something_in_it_stays(
    installer: Installer, api: FakeApi, helm: FakeHelm, kind: str
) -> None:
    emptied(api, helm, **{kind: [{}]})
    assert kind in asyncio.run(installer.remove_namespace("space"))
    assert ("DELETE", NAMESPACE) not in api.asked


def test_a_namespace_whose_content_cannot_be_seen_stays(
    installer: Installer, api: FakeApi, helm: FakeHelm
) -> None:
    emptied(api, helm)
    api.answers[f"GET {NAMESPACE}/pods"] = (500, {})
    assert asyncio.run(installer.remove_namespace("space"))
    assert ("DELETE", NAMESPACE) not in api.asked


def test_a_namespace_with_another_release_stays(installer: Installer, api: FakeApi, helm: FakeHelm) -> None:
    emptied(api, helm)
    helm.says("list", [{"name": "other", "namespace": "space", "status": "deployed", "chart": "x"}])
    assert "other" in asyncio.run(installer.remove_namespace("space"))
    assert ("DELETE", NAMESPACE) not in api.asked


@pytest.mark.parametrize("labels", [{}, {"app.kubernetes.io/managed-by": "Helm"}])
def test_a_namespace_that_is_not_ours_stays(
    installer: Installer, api: FakeApi, helm: FakeHelm, labels: dict[str, str]
) -> None:
    emptied(api, helm)
    api.answers[f"GET {NAMESPACE}"] = (200, {"metadata": {"labels": labels}})
    assert "not made by" in asyncio.run(installer.remove_namespace("space"))
    assert ("DELETE", NAMESPACE) not in api.asked


NO_RECORDS = "?fieldSelector=type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token"
CONFIG_MAPS = f"GET {NAMESPACE}/configmaps"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{NAMESPACE}/configmaps", "settings-of-mine"),
        (f"{NAMESPACE}/secrets{NO_RECORDS}", "api-key"),
        ("/apis/apps/v1/namespaces/space/deployments", "scaled-to-zero"),
        ("/apis/batch/v1/namespaces/space/cronjobs", "nightly"),
        ("/apis/networking.k8s.io/v1/namespaces/space/ingresses", "door"),
    ],
)
def test_a_namespace_that_somebody_put_something_in_stays_and_it_is_named(
    installer: Installer, api: FakeApi, helm: FakeHelm, path: str, name: str
) -> None:
    emptied(api, helm)
    api.answers[f"GET {path}"] = (200, {"items": [{"metadata": {"name": name}}]})
    assert name in asyncio.run(installer.remove_namespace("space"))
    assert ("DELETE", NAMESPACE) not in api.asked


def test_what_comes_with_a_namespace_or_goes_with_another_object_is_nobody_s(
    installer: Installer, api: FakeApi, helm: FakeHelm
) -> None:
    emptied(api, helm)
    there = [
        {"metadata": {"name": "kube-root-ca.crt"}},
        {"metadata": {"name": "a", "ownerReferences": [{"kind": "Deployment"}]}},
        {"metadata": {"name": "b", "deletionTimestamp": "2026-11-30T12:00:00Z"}},
    ]
    api.answers[CONFIG_MAPS] = (200, {"items": there})
    assert asyncio.run(installer.remove_namespace("space")) == ""


def test_many_are_named_in_part_and_what_cannot_be_seen_is_something(
    installer: Installer, api: FakeApi, helm: FakeHelm
) -> None:
    emptied(api, helm)
    api.answers[CONFIG_MAPS] = (200, {"items": [{"metadata": {"name": f"c{number}"}} for number in range(5)]})
    assert (
        asyncio.run(installer.remove_namespace("space"))
        == "there are configmaps in it: c0, c1, c2 and 2 more"
    )
    api.answers[CONFIG_MAPS] = (403, {})
    assert asyncio.run(installer.remove_namespace("space")) == "its configmaps may not be seen"
    api.answers[CONFIG_MAPS] = (500, {})
    assert asyncio.run(installer.remove_namespace("space")) == "its configmaps cannot be seen"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease", "kube-flannel"])
def test_a_protected_namespace_stays_whatever_its_labels_say(
    installer: Installer, api: FakeApi, helm: FakeHelm, name: str
) -> None:
    api.answers[f"GET /api/v1/namespaces/{name}"] = (200, OURS)
    assert asyncio.run(installer.remove_namespace(name))
    assert [verb for verb, _ in api.asked] == ["GET"]


def test_the_volume_claims_of_our_releases_alone(installer: Installer, api: FakeApi) -> None:
    def claim(name: str, labels: dict[str, str], annotations: dict[str, str]) -> dict[str, Any]:
        return {"metadata": {"name": name, "labels": labels, "annotations": annotations}}

    items = [
        claim("annotated", {}, {"meta.helm.sh/release-name": "demo"}),
        claim("labelled", {"app.kubernetes.io/instance": "demo"}, {}),
        claim("of-a-chart-of-ours", {"app.kubernetes.io/part-of": "edge"}, {}),
        claim("foreign", {"app.kubernetes.io/instance": "other"}, {"meta.helm.sh/release-name": "other"}),
        {"metadata": {"name": "bare"}},
    ]
    api.answers[f"GET {NAMESPACE}/persistentvolumeclaims"] = (200, {"items": items})
    assert installer.claims("space", frozenset({"demo"})) == ("annotated", "labelled", "of-a-chart-of-ours")


def test_a_claim_that_cannot_be_deleted_is_named(installer: Installer, api: FakeApi) -> None:
    installer.delete_claim("space", "gone-already")
    api.answers[f"DELETE {NAMESPACE}/persistentvolumeclaims/data"] = (409, {"message": "no"})
    with pytest.raises(HelmError, match="space/data cannot be deleted: no"):
        installer.delete_claim("space", "data")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_names_what_was_refused(installer: Installer, api: FakeApi, status: int) -> None:
    api.answers["GET /api/v1/namespaces/space"] = (status, {"message": "you may not"})
    with pytest.raises(UnauthorisedError, match=r"GET /api/v1/namespaces/space.*you may not") as raised:
        installer.ensure_namespace("space")
    assert "secret" not in str(raised.value)


def test_a_server_that_is_not_there_is_named(installer: Installer, api: FakeApi) -> None:
    api.server.shutdown()
    api.server.server_close()
    with pytest.raises(TargetUnreachableError, match=api.url):
        installer.ensure_namespace("space")


def test_an_answer_that_is_no_json_is_kept_as_a_message(installer: Installer, api: FakeApi) -> None:
    api.answers["GET /x"] = (502, b"<html>bad gateway</html>")
    assert installer.send("GET", "/x").message == "<html>bad gateway</html>"
    api.answers["GET /x"] = (200, b"[]")
    assert installer.send("GET", "/x").body == {}


def test_an_interrupted_helm_is_told_to_end(installer: Installer, helm: FakeHelm, release: Release) -> None:
    waits = "sleep 30 >/dev/null 2>&1 & wait $!"
    helm.path.write_text(f"#!/bin/sh\ntrap 'echo ended > $0.ended; kill $!; exit 1' TERM\n{waits}\n")

    async def run() -> None:
        task = asyncio.create_task(installer.uninstall(release.name, release.namespace))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert helm.path.with_name("helm.ended").read_text() == "ended\n"
