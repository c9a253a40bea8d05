"""A kubeconfig's current context as an origin to ask, or a pod's ServiceAccount token.

Certificates and tokens are read here, without the `kubernetes` package (0.4 s of import); a kubeconfig that
needs a credential plugin, or an identity provider, is resolved by that package.
"""

import base64
import binascii
import logging
import os
import ssl
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from edge_llm_tests.errors import UsageError
from edge_llm_tests.readers.wire import Origin
from edge_llm_tests.yamldoc import YamlError, load_yaml

__all__ = ["in_cluster_origin", "kubeconfig_path", "load_kubeconfig"]

_DEFAULT_PATHS = ("~/.kube/config", "/etc/rancher/k3s/k3s.yaml")
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SIZE_LIMIT_BYTES = 16 * 1024 * 1024  # no kubeconfig is as large; a device would fill the memory
_PLUGIN_DEADLINE_S = 60.0  # time to sign in somewhere; kubectl would wait for ever
_NEXT = "give --kubeconfig FILE, or set KUBECONFIG"


def kubeconfig_path(given: str | None) -> Path:
    """The kubeconfig to use: given, else $KUBECONFIG, else the user's, else k3s's.

    Raises:
        UsageError: There is none.
    """
    if given:
        return Path(given).expanduser()
    from_env = [each for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    if from_env:
        return Path(from_env[0]).expanduser()
    for candidate in _DEFAULT_PATHS:
        path = Path(candidate).expanduser()
        if path.exists():
            return path
    raise UsageError(f"no kubeconfig: neither $KUBECONFIG nor {' nor '.join(_DEFAULT_PATHS)} is there", _NEXT)


def load_kubeconfig(path: Path, context: str | None) -> tuple[str, Origin]:
    """Name of the context, and its API server with the user's credentials.

    Raises:
        UsageError: The file is missing, unreadable, or lacks what the context names.
    """
    raw = _parse(path)
    name = context or _text(raw, path, "current-context")
    chosen = _named(raw, path, "contexts", name, "context")
    cluster = _named(raw, path, "clusters", _text(chosen, path, "cluster"), "cluster")
    user = _named(raw, path, "users", _text(chosen, path, "user"), "user")
    server = _text(cluster, path, "server")
    if not _is_address(server):
        raise UsageError(
            f"kubeconfig {path}: server {server!r} of context {name!r} is no http(s) address", _NEXT
        )
    if {"exec", "auth-provider"} & set(user):
        return name, _by_package(path, name, user)
    headers = _headers(user, path)
    tls = _tls(cluster, user, path) if server.startswith("https://") else None
    return name, Origin(server, tls, headers)


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is none
        return False


def in_cluster_origin() -> Origin:
    """The API server as a pod sees it, with the pod's ServiceAccount token.

    Raises:
        UsageError: This is no pod, or the token is not mounted.
    """
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise UsageError("--in-cluster: KUBERNETES_SERVICE_HOST is not set, this is no pod", _NEXT)
    try:
        token = (_SERVICE_ACCOUNT / "token").read_text().strip()
        tls = ssl.create_default_context(cafile=str(_SERVICE_ACCOUNT / "ca.crt"))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"--in-cluster: the ServiceAccount token cannot be read: {error}",
            "mount it (automountServiceAccountToken)",
        ) from None
    host = f"[{host}]" if ":" in host else host
    return Origin(f"https://{host}:{port}", tls, {"Authorization": f"Bearer {token}"})


def _parse(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(_SIZE_LIMIT_BYTES + 1)
        if len(content) > _SIZE_LIMIT_BYTES:
            raise UsageError(f"kubeconfig {path}: larger than {_SIZE_LIMIT_BYTES >> 20} MiB", _NEXT)
        raw = load_yaml(content)
    except OSError as error:
        raise UsageError(f"kubeconfig {path}: {error.strerror}", _NEXT) from None
    except YamlError as error:
        raise UsageError(f"kubeconfig {path}: {error}", _NEXT) from None
    if not isinstance(raw, Mapping):
        raise UsageError(f"kubeconfig {path}: empty, or not a mapping", _NEXT)
    return raw


def _text(raw: Mapping[str, Any], path: Path, key: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value:
        raise UsageError(f"kubeconfig {path}: `{key}` is missing", _NEXT)
    return value


def _named(raw: Mapping[str, Any], path: Path, section: str, name: str, key: str) -> Mapping[str, Any]:
    entries = raw.get(section)
    entries = entries if isinstance(entries, list) else []
    names = [each.get("name") for each in entries if isinstance(each, Mapping)]
    for each in entries:
        if isinstance(each, Mapping) and each.get("name") == name and isinstance(each.get(key), Mapping):
            return dict(each[key])
    known = ", ".join(str(each) for each in names) or "none"
    raise UsageError(
        f"kubeconfig {path}: no {key} named {name!r} (there: {known})", "choose one with --context"
    )


def _headers(user: Mapping[str, Any], path: Path) -> dict[str, str]:
    token = user.get("token")
    if isinstance(user.get("tokenFile"), str):
        try:
            token = (path.parent / user["tokenFile"]).read_text("utf-8", "replace")
        except OSError as error:
            raise UsageError(
                f"kubeconfig {path}: tokenFile {user['tokenFile']}: {error.strerror}", _NEXT
            ) from None
    if isinstance(token, str) and (token := token.strip()):
        return {"Authorization": _header(f"Bearer {token}", path)}
    if isinstance(user.get("username"), str) and isinstance(user.get("password"), str):
        pair = base64.b64encode(f"{user['username']}:{user['password']}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    return {}


def _header(value: str, path: Path) -> str:
    """The value of a header; what cannot be one would be quoted by the error of whoever sends it."""
    if not (value.isascii() and value.isprintable()):
        raise UsageError(
            f"kubeconfig {path}: the token holds a line break or another character that no token has", _NEXT
        )
    return value


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], path: Path) -> ssl.SSLContext:
    try:
        authority = _material(cluster, "certificate-authority", path)
        tls = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
        if cluster.get("insecure-skip-tls-verify") is True:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        certificate, key = _material(user, "client-certificate", path), _material(user, "client-key", path)
        if certificate and key:
            with tempfile.NamedTemporaryFile() as bundle:  # OpenSSL reads a chain from files alone; mode 0600
                bundle.write(certificate + b"\n" + key)
                bundle.flush()
                tls.load_cert_chain(bundle.name)
    except (ssl.SSLError, ValueError, binascii.Error) as error:
        raise UsageError(f"kubeconfig {path}: a certificate or key cannot be used: {error}", _NEXT) from None
    return tls


def _material(section: Mapping[str, Any], name: str, path: Path) -> bytes | None:
    if isinstance(data := section.get(f"{name}-data"), str):
        return base64.b64decode(data, validate=True)
    if isinstance(file := section.get(name), str):
        try:
            return (path.parent / file).read_bytes()
        except OSError as error:
            raise UsageError(f"kubeconfig {path}: {name} {file}: {error.strerror}", _NEXT) from None
    return None


def _by_package(path: Path, context: str, user: Mapping[str, Any]) -> Origin:
    try:
        from kubernetes import client, config  # noqa: PLC0415, TID251 - 0.4 s; only credential plugins need it
    except ImportError:
        raise UsageError(
            f"kubeconfig {path}: context {context!r} needs a credential plugin",
            "install edge-llm-tests[kubernetes]",
        ) from None
    settings = client.Configuration()
    logging.disable(logging.ERROR)  # it logs a plugin that fails to the root logger, and goes on without
    faults: list[Exception] = []

    def load() -> None:
        try:
            config.load_kube_config(str(path), context=context, client_configuration=settings)  # type: ignore[no-untyped-call]  # the package has no types here
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to
            faults.append(error)

    loading = threading.Thread(target=load, daemon=True)
    loading.start()
    loading.join(_PLUGIN_DEADLINE_S)
    logging.disable(logging.NOTSET)
    if loading.is_alive():
        raise UsageError(
            f"kubeconfig {path}: the credential plugin of context {context!r} has not ended in"
            f" {_PLUGIN_DEADLINE_S:.0f} s",
            "run it by hand to see what it waits for, or give another --kubeconfig or --context",
        )
    if faults:
        raise UsageError(f"kubeconfig {path}: context {context!r}: {faults[0]}", _NEXT)
    tls = ssl.create_default_context(cafile=settings.ssl_ca_cert or None)
    if not settings.verify_ssl:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if settings.cert_file and settings.key_file:
        tls.load_cert_chain(settings.cert_file, settings.key_file)
    token = settings.get_api_key_with_prefix("authorization")
    if not token and not settings.cert_file and "exec" in user:
        plugin = user["exec"].get("command") if isinstance(user["exec"], Mapping) else None
        raise UsageError(
            f"kubeconfig {path}: the credential plugin {plugin or '(no command)'} of context {context!r} gave"
            " no credentials",
            "run it by hand to see why, or give another --kubeconfig or --context",
        )
    return Origin(str(settings.host), tls, {"Authorization": _header(token, path)} if token else {})
