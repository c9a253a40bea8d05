"""The chart store: the real helm pulls from a repository on loopback; what is not as locked is refused."""

import hashlib
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from edge_cli.chart_store import ChartStore, DigestError, file_digest
from edge_cli.lock import Lock, LockedChart
from edge_llm_tests.errors import EdgeError, UsageError
from edge_llm_tests.layer import UpstreamChart


@pytest.fixture(scope="module")
def helm(real_helm: Path) -> Path:
    return real_helm


@pytest.fixture(scope="module")
def packaged(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packaged chart."""
    folder = tmp_path_factory.mktemp("chart")
    (folder / "small" / "templates").mkdir(parents=True)
    (folder / "small" / "Chart.yaml").write_text("apiVersion: v2\nname: small\nversion: 1.2.3\n")
    (folder / "small" / "templates" / "map.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: small}\n"
    )
    subprocess.run([helm, "package", folder / "small", "-d", folder], check=True, capture_output=True)
    return folder / "small-1.2.3.tgz"


@pytest.fixture
def repository(helm: Path, packaged: Path, tmp_path: Path) -> Iterator[UpstreamChart]:
    """A chart repository on loopback that has it."""
    served = tmp_path / "served"
    served.mkdir()
    shutil.copy(packaged, served)
    subprocess.run([helm, "repo", "index", served], check=True, capture_output=True)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield UpstreamChart("small", f"http://127.0.0.1:{server.server_address[1]}", "1.2.3")
    server.shutdown()
    server.server_close()


def lock_of(chart: UpstreamChart, digest: str) -> Lock:
    return Lock(charts={chart.name: LockedChart(chart.repository, chart.version, digest)})


def test_a_chart_is_pulled_once_and_held_to_its_digest(
    helm: Path, repository: UpstreamChart, packaged: Path, tmp_path: Path
) -> None:
    store = ChartStore(helm, lock_of(repository, file_digest(packaged)), cache=tmp_path / "cache")
    path = store.locate(repository)
    assert path.read_bytes() == packaged.read_bytes()
    assert sorted(each.name for each in (tmp_path / "cache").iterdir()) == [path.name]
    nowhere = ChartStore(Path("/nowhere/helm"), store.lock, cache=store.cache)
    assert nowhere.locate(repository) == path, "the second time nothing is pulled"


def test_a_chart_that_is_not_as_locked_is_refused(
    helm: Path, repository: UpstreamChart, tmp_path: Path
) -> None:
    store = ChartStore(helm, lock_of(repository, f"sha256:{'0' * 64}"), cache=tmp_path / "cache")
    with pytest.raises(DigestError) as raised:
        store.locate(repository)
    assert f"sha256:{'0' * 64}" in raised.value.message
    assert "edge lock" in raised.value.next_step


def test_offline_only_what_a_bundle_brought_is_found(
    helm: Path, repository: UpstreamChart, packaged: Path, tmp_path: Path
) -> None:
    empty = ChartStore(helm, offline=True, cache=tmp_path / "cache")
    with pytest.raises(UsageError, match=r"small 1\.2\.3") as raised:
        empty.locate(repository)
    assert "edge bundle load" in raised.value.next_step
    brought = ChartStore(helm, brought={("small", "1.2.3"): packaged}, offline=True)
    assert brought.locate(repository) == packaged


def test_a_repository_that_does_not_answer_is_an_error_that_names_the_chart(
    helm: Path, tmp_path: Path
) -> None:
    chart = UpstreamChart("small", "http://127.0.0.1:1", "1.2.3")
    with pytest.raises(EdgeError, match=r"small 1\.2\.3") as raised:
        ChartStore(helm, cache=tmp_path / "cache").locate(chart)
    assert raised.value.exit_code == 6
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_version_that_is_not_there_is_an_error(
    helm: Path, repository: UpstreamChart, tmp_path: Path
) -> None:
    chart = UpstreamChart("small", repository.repository, "9.9.9")
    with pytest.raises(EdgeError, match=r"9\.9\.9"):
        ChartStore(helm, cache=tmp_path / "cache").locate(chart)


def test_the_digest_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc" * 1_000_000)
    assert file_digest(tmp_path / "f") == f"sha256:{hashlib.sha256(b'abc' * 1_000_000).hexdigest()}"
