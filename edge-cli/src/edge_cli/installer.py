"""The installer: the only module in the repository that changes a cluster.

Helm releases go through pyhelm3's `Command`, which runs the `helm` program; namespaces, volume claims and
the lease go straight to the API server. When to act is decided by `climb`, on what the contracts say.

pyhelm3's `Client` is not used: it starts `helm` in its constructor, merges lists of values instead of
replacing them, and its `ensure_release` uninstalls a pending release without a word.
"""

import asyncio
import http.client
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from edge_llm_tests.errors import TargetUnreachableError, UnauthorisedError
from edge_llm_tests.layer import Release
from edge_llm_tests.readers.wire import Origin

from edge_cli.answer import Answer, all_going, answered, is_going
from edge_cli.chart_store import ChartStore
from edge_cli.fingerprint import described, fingerprint
from edge_cli.helm_error import HelmError, UnknownKindError, helm_error
from edge_cli.inhabitants import inhabitants, is_protected
from edge_cli.rendering import release_manifest
from edge_cli.revision import Installed, Revision

__all__ = ["Installer"]

LAYER_LABEL = "edge-layer"  # on Helm's own record of the release: `edge down` finds what `edge up` made
_MADE_BY_US = {"app.kubernetes.io/managed-by": "edge", "app.kubernetes.io/part-of": "edge"}
_ANY_STATUS = ("--deployed", "--failed", "--pending", "--superseded", "--uninstalling")
_UPGRADE = ("--install", "--output", "json", "--values", "-")
_HISTORY_MAX = 10
_OPERATION_LIMIT = "5m"  # one Helm call: hooks at most, for contracts do the waiting
_WRITE_DEADLINE_S = 10.0
_GOING_S = 60.0  # for pods with their grace period, and for a namespace that is being deleted
_PAUSE_S = 0.3
_HELM_WITH_SERVER_SIDE_APPLY = 4


class Installer:
    """What may be done to one cluster with one user's credentials."""

    def __init__(
        self,
        origin: Origin,
        helm: Path,
        kubeconfig: Path,
        context: str | None = None,
        charts: ChartStore | None = None,
    ) -> None:
        self._origin = origin
        self._helm = helm
        self._charts = charts or ChartStore(helm)
        self._kubeconfig = kubeconfig
        self._context = context
        self._helm_major = 0

    async def revision(self, release: Release) -> Revision | None:
        """The latest revision of the release; None if it is not installed."""
        return next(iter(await self._history(release, 1)), None)

    async def apply(self, release: Release) -> Revision:
        """Install or upgrade, without waiting for readiness; fields that others have changed are set back.

        Raises:
            EdgeError: Helm failed; the message names the release and what Helm said.
        """
        await asyncio.to_thread(self.ensure_namespace, release.namespace)
        options: list[Any] = ["--timeout", _OPERATION_LIMIT, "--history-max", _HISTORY_MAX]
        options += ["--labels", f"{LAYER_LABEL}={release.layer}", "--description"]
        options += [described(release, fingerprint(release))]
        if await self._major() >= _HELM_WITH_SERVER_SIDE_APPLY:
            options += ["--server-side=true", "--force-conflicts"]
        document = await self._upgraded(release, options)
        return Revision(int(document["version"]), str(document["info"]["status"]))

    async def recover(self, release: Release, revision: Revision) -> str:
        """Bring a pending release to where it can be upgraded; what was done, in words.

        An install that never ended has nothing to go back to and is removed; an upgrade or a rollback goes
        back to the last revision that was deployed.
        """
        history = () if revision.status == "pending-install" else await self._history(release, 256)
        good = _last_good(history, revision.number)
        if revision.status == "uninstalling" or good is None:
            await self.uninstall(release.name, release.namespace)
            return "removed what an unfinished operation had left"
        await self._roll_back(release, good)
        return f"rolled back to revision {good.number}"

    async def roll_back(self, release: Release, below: int) -> Revision:
        """The release as it last worked before revision `below`, without waiting for readiness.

        Raises:
            EdgeError: There is nothing to go back to, or Helm failed.
        """
        good = _last_good(await self._history(release, 256), below)
        if good is None:
            lost = f"there is no revision before {below} that was deployed"
            raise helm_error("rollback", release.name, release.namespace, lost)
        await self._roll_back(release, good)
        return (await self._history(release, 1))[-1]

    async def _roll_back(self, release: Release, revision: Revision) -> None:
        """What the revision carries as its description goes along: the next `edge up` knows its content."""
        argv: list[Any] = ["rollback", release.name, revision.number, "--namespace", release.namespace]
        argv += ["--timeout", _OPERATION_LIMIT, "--history-max", _HISTORY_MAX]
        if await self._major() >= _HELM_WITH_SERVER_SIDE_APPLY:
            argv += ["--server-side=true", "--force-conflicts"]
            argv += ["--description", revision.description] if revision.description else []
        await self._run((release.name, release.namespace), argv)

    async def uninstall(self, name: str, namespace: str) -> None:
        """Remove the release and wait until its objects are gone; what its chart marks `keep` stays."""
        argv = ["uninstall", name, "--namespace", namespace, "--ignore-not-found", "--wait", "--timeout"]
        await self._run((name, namespace), [*argv, _OPERATION_LIMIT])

    async def installed(self, *, layer: str = "", namespace: str = "") -> tuple[Installed, ...]:
        """The releases that `edge up` made for a layer, or all releases of a namespace."""
        place = ["--namespace", namespace] if namespace else ["--all-namespaces"]
        chosen = ["--selector", f"{LAYER_LABEL}={layer}"] if layer else []
        listed = await self._asked(("", ""), ["list", *place, *chosen, *_ANY_STATUS, "--output", "json"])
        return tuple(
            Installed(each["name"], each["namespace"], each["status"], each["chart"]) for each in listed
        )

    async def manifest(self, release: Release) -> str:
        """What the latest revision of the release made; empty if it is not installed."""
        argv = ["get", "manifest", release.name, "--namespace", release.namespace]
        try:
            return (await self._run((release.name, release.namespace), argv)).decode()
        except HelmError as error:
            if "release: not found" in error.message:
                return ""
            raise

    async def rendered(self, release: Release) -> str:
        """What `apply` would make, as the API server says; Helm alone for kinds that come with a release."""
        try:
            return str((await self._upgraded(release, ["--dry-run=server"]))["manifest"])
        except UnknownKindError:
            return await asyncio.to_thread(release_manifest, release, self._charts)

    async def _upgraded(self, release: Release, options: list[Any]) -> Any:
        where = (release.name, release.namespace)
        async with self._charts.opened(release) as folder:
            argv = ["upgrade", release.name, folder, *_UPGRADE, "--namespace", release.namespace, *options]
            return await self._asked(where, argv, json.dumps(dict(release.values)).encode())

    async def _history(self, release: Release, limit: int) -> tuple[Revision, ...]:
        argv = ["history", release.name, "--namespace", release.namespace, "--output", "json", "--max", limit]
        try:
            listed = await self._asked((release.name, release.namespace), argv)
        except HelmError as error:
            if "release: not found" in error.message:
                return ()
            raise
        return tuple(
            Revision(int(each["revision"]), str(each["status"]), str(each.get("description", "")))
            for each in listed
        )

    async def _major(self) -> int:
        if not self._helm_major:
            version = await self._run(("", ""), ["version", "--template", "{{ .Version }}"])
            self._helm_major = int(version.decode().strip().removeprefix("v").partition(".")[0] or 0)
        return self._helm_major

    async def _asked(self, where: tuple[str, str], argv: list[Any], stdin: bytes | None = None) -> Any:
        written = await self._run(where, argv, stdin)
        start = min((place for place in (written.find(b"{"), written.find(b"[")) if place >= 0), default=0)
        try:
            return json.loads(written[start:])  # helm may say which chart it pulled before its JSON
        except ValueError:
            raise helm_error(argv[0], *where, f"its answer is not JSON: {written[:80]!r}") from None

    async def _run(self, where: tuple[str, str], argv: list[Any], stdin: bytes | None = None) -> bytes:
        import pyhelm3  # noqa: PLC0415, TID251 - Helm is driven here alone; 0.3 s that a diagnosis must not pay

        # it would log each failure with the kubeconfig's path; the error says it better
        logging.getLogger("pyhelm3.command").disabled = True
        # its shell becomes helm: it ends the shell alone when cancelled
        command = pyhelm3.Command(executable="exec", kubeconfig=self._kubeconfig, kubecontext=self._context)
        try:
            return bytes(await command.run([self._helm, *argv], stdin))
        except pyhelm3.Error as error:
            raise helm_error(argv[0], *where, error.stderr.decode("utf-8", "replace")) from None

    def ensure_namespace(self, name: str) -> None:
        """Create the namespace, marked as ours, unless it is there."""
        found = self.send("GET", f"/api/v1/namespaces/{name}")
        until_s = time.monotonic() + _GOING_S
        while found.ok and is_going(found.body) and time.monotonic() < until_s:
            time.sleep(_PAUSE_S)
            found = self.send("GET", f"/api/v1/namespaces/{name}")
        if found.ok:
            return
        metadata = {"name": name, "labels": _MADE_BY_US}
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        made = self.send("POST", "/api/v1/namespaces", document)
        if not made.ok and made.status != http.client.CONFLICT:
            raise HelmError(
                f"namespace {name} cannot be made: {made.message}", "see `kubectl get namespaces`"
            )

    async def remove_namespace(self, name: str) -> str:
        """Delete a namespace that `edge up` made and nothing lives in any more; empty, or why it stays."""
        path = f"/api/v1/namespaces/{name}"
        found = await asyncio.to_thread(self.send, "GET", path)
        labels = found.body.get("metadata", {}).get("labels", {})
        if not found.ok:
            return ""
        if is_protected(name) or labels.get("app.kubernetes.io/managed-by") != "edge":
            return "it was not made by `edge up`"
        until_s = time.monotonic() + _GOING_S
        for kind in ("pods", "persistentvolumeclaims", "services"):
            listed = await asyncio.to_thread(self.send, "GET", f"{path}/{kind}")
            while all_going(listed) and time.monotonic() < until_s:
                await asyncio.sleep(_PAUSE_S)
                listed = await asyncio.to_thread(self.send, "GET", f"{path}/{kind}")
            if not listed.ok or listed.body.get("items"):
                return f"there are {kind} in it"
        if others := await self.installed(namespace=name):
            return f"release {others[0].name} is in it"
        if what := await asyncio.to_thread(inhabitants, self.send, name):
            return what
        deleted = await asyncio.to_thread(self.send, "DELETE", path)
        return "" if deleted.ok else deleted.message

    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that `edge up` made."""
        listed = self.send("GET", "/api/v1/namespaces?labelSelector=app.kubernetes.io/managed-by=edge")
        return tuple(str(item["metadata"]["name"]) for item in listed.body.get("items", []))

    def claims(self, namespace: str, releases: frozenset[str]) -> tuple[str, ...]:
        """Names of the volume claims in the namespace that are of these releases, or of a chart of ours."""
        listed = self.send("GET", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")
        found = [
            (item["metadata"], item["metadata"].get("labels", {})) for item in listed.body.get("items", [])
        ]
        return tuple(
            str(metadata["name"])
            for metadata, labels in found
            if metadata.get("annotations", {}).get("meta.helm.sh/release-name") in releases
            or labels.get("app.kubernetes.io/instance") in releases
            or labels.get("app.kubernetes.io/part-of") == "edge"
        )

    def delete_claim(self, namespace: str, name: str) -> None:
        """Delete a volume claim, and with it the data in its volume."""
        deleted = self.send("DELETE", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
        if not deleted.ok and deleted.status != http.client.NOT_FOUND:
            raise HelmError(
                f"volume claim {namespace}/{name} cannot be deleted: {deleted.message}",
                f"see `kubectl -n {namespace} describe pvc {name}`",
            )

    def send(self, verb: str, path: str, document: Mapping[str, Any] | None = None) -> Answer:
        """One request to the API server as the user.

        Raises:
            TargetUnreachableError: It did not answer.
            UnauthorisedError: It refused the credentials, or the act to them.
        """
        headers = {"Accept": "application/json", "User-Agent": "edge-installer", **self._origin.headers}
        body = None
        if document is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(document).encode()
        try:
            with self._origin.connection(_WRITE_DEADLINE_S) as (connection, _reused):
                connection.close()  # a fresh one each time: an idle one may be dead, and a write is sent once
                target = urlsplit(self._origin.url).path.rstrip("/") + path
                connection.request(verb, target, body=body, headers=headers)
                response = connection.getresponse()
                answer = answered(response)
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise TargetUnreachableError(
                f"{self._origin.url} does not answer: {str(error) or type(error).__name__}",
                "check that the cluster runs and the kubeconfig points to it",
            ) from None
        if answer.status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            raise UnauthorisedError(
                f"{self._origin.url} refused {verb} {path} ({answer.status}): {answer.message}",
                "use a kubeconfig that may administer the cluster (--kubeconfig, --context)",
            )
        return answer


def _last_good(history: tuple[Revision, ...], below: int) -> Revision | None:
    good = [each for each in history if each.number < below and each.status in ("deployed", "superseded")]
    return good[-1] if good else None
