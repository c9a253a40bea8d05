"""The cluster's keys and certificates, and one kubeconfig for each identity.

Certificate authorities and the service account key are made once for a state directory; everything signed by
them is made anew at each start, so nothing ever expires in use.
"""

import base64
import datetime as dt
import ipaddress
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from k3s_nvidia_edge.sandbox.addresses import API_SERVICE_IP, API_URL, NODE_IP, NODE_NAME
from k3s_nvidia_edge.sandbox.layout import Layout

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

__all__ = ["TOOL_USER", "issue"]

# the sandbox itself: readiness polls and add-ons; the audit policy leaves its reads out
TOOL_USER: Final = "system:sandbox"

_CA_DAYS: Final = 3650
_LEAF_DAYS: Final = 365
_CLOCK_SLACK: Final = dt.timedelta(hours=1)
_API_NAMES: Final = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
    NODE_NAME,
)
# kubeconfig, user, group
_IDENTITIES: Final = (
    ("admin", "kubernetes-admin", "system:masters"),
    ("tool", TOOL_USER, "system:masters"),
    ("controller-manager", "system:kube-controller-manager", None),
    ("scheduler", "system:kube-scheduler", None),
    ("kube-proxy", "system:kube-proxy", None),
    ("kube-router", "system:kube-router", None),
    ("kubelet", f"system:node:{NODE_NAME}", "system:nodes"),
)


class _Authority(msgspec.Struct, frozen=True):
    key: "ec.EllipticCurvePrivateKey"
    certificate: "x509.Certificate"


class _Leaf(msgspec.Struct, frozen=True):
    key_pem: bytes
    certificate_pem: bytes


def issue(layout: Layout) -> None:
    """Make what is missing of the authorities, and everything that they sign."""
    pki = layout.pki
    cluster = _authority(pki, "ca", "sandbox-ca")
    front = _authority(pki, "front-proxy-ca", "sandbox-front-proxy-ca")
    _service_account_key(pki)
    server = _leaf(
        cluster, "kube-apiserver", names=_API_NAMES, ips=(NODE_IP, API_SERVICE_IP, "127.0.0.1"), client=False
    )
    _save(pki, "apiserver", server)
    _save(pki, "apiserver-kubelet-client", _leaf(cluster, "kube-apiserver-kubelet-client", "system:masters"))
    _save(pki, "front-proxy-client", _leaf(front, "front-proxy-client"))
    ips = (NODE_IP, "127.0.0.1")
    _save(
        pki,
        "kubelet",
        _leaf(cluster, f"system:node:{NODE_NAME}", "system:nodes", names=(NODE_NAME,), ips=ips),
    )
    authority = (pki / "ca.crt").read_bytes()
    for file_name, user, group in _IDENTITIES:
        leaf = _leaf(cluster, user, group)
        _write_private(layout.kubeconfigs / f"{file_name}.conf", _kubeconfig(user, leaf, authority).encode())
        if user == TOOL_USER:
            _save(pki, "tool", leaf)


def _kubeconfig(user: str, leaf: _Leaf, authority: bytes) -> str:
    """A kubeconfig with everything in it; JSON, which every YAML reader takes."""

    def encoded(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    name = "sandbox"
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [
                {
                    "name": name,
                    "cluster": {"server": API_URL, "certificate-authority-data": encoded(authority)},
                }
            ],
            "users": [
                {
                    "name": user,
                    "user": {
                        "client-certificate-data": encoded(leaf.certificate_pem),
                        "client-key-data": encoded(leaf.key_pem),
                    },
                }
            ],
            "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        },
        indent=1,
    )


def _write_private(path: Path, content: bytes) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.touch(mode=0o600)
    fresh.write_bytes(content)
    fresh.replace(path)


def _save(pki: Path, name: str, leaf: _Leaf) -> None:
    _write_private(pki / f"{name}.key", leaf.key_pem)
    _write_private(pki / f"{name}.crt", leaf.certificate_pem)


def _pem(key: "ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey") -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - only `up` pays for it

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(common: str, organization: str | None = None) -> "x509.Name":
    from cryptography import x509  # noqa: PLC0415 - only `up` pays for cryptography
    from cryptography.x509.oid import NameOID  # noqa: PLC0415 - same

    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization is not None:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _key_usage(*, authority: bool) -> "x509.KeyUsage":
    from cryptography import x509  # noqa: PLC0415 - only `up` pays for cryptography

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _authority(pki: Path, file_name: str, common_name: str) -> _Authority:
    """The authority kept in the state directory, or a new one."""
    from cryptography import x509  # noqa: PLC0415 - only `up` pays for cryptography
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - same
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - same

    key_file, certificate_file = pki / f"{file_name}.key", pki / f"{file_name}.crt"
    if key_file.exists() and certificate_file.exists():
        kept = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
        if isinstance(kept, ec.EllipticCurvePrivateKey):
            return _Authority(kept, x509.load_pem_x509_certificate(certificate_file.read_bytes()))
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    name = _name(common_name)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(now + dt.timedelta(days=_CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _save(pki, file_name, _Leaf(_pem(key), certificate.public_bytes(serialization.Encoding.PEM)))
    return _Authority(key, certificate)


def _leaf(
    authority: _Authority,
    common_name: str,
    organization: str | None = None,
    *,
    names: Sequence[str] = (),
    ips: Sequence[str] = (),
    client: bool = True,
) -> _Leaf:
    """A certificate for a client, or for a server where it has names or addresses."""
    from cryptography import x509  # noqa: PLC0415 - only `up` pays for cryptography
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - same
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - same
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415 - same

    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    alternatives = [
        *(x509.DNSName(name) for name in names),
        *(x509.IPAddress(ipaddress.ip_address(one)) for one in ips),
    ]
    usages = [ExtendedKeyUsageOID.SERVER_AUTH] if alternatives else []
    if client:
        usages.append(ExtendedKeyUsageOID.CLIENT_AUTH)
    issuer = authority.key.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(common_name, organization))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(now + dt.timedelta(days=_LEAF_DAYS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
    )
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    certificate = builder.sign(authority.key, hashes.SHA256())
    return _Leaf(_pem(key), certificate.public_bytes(serialization.Encoding.PEM))


def _service_account_key(pki: Path) -> None:
    """The key pair that signs service account tokens."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - only `up` pays for it
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415 - same

    if (pki / "sa.key").exists() and (pki / "sa.pub").exists():
        return
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _write_private(pki / "sa.key", _pem(key))
    (pki / "sa.pub").write_bytes(public)
