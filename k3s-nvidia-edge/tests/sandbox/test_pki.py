import base64
import json
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from k3s_nvidia_edge.sandbox import pki
from k3s_nvidia_edge.sandbox.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.pki.mkdir()
    layout.kubeconfigs.mkdir()
    pki.issue(layout)
    return layout


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_the_cluster_authority_signed_them(layout: Layout) -> None:
    authority = certificate(layout.pki / "ca.crt")
    for name in ("apiserver", "apiserver-kubelet-client", "kubelet", "tool"):
        certificate(layout.pki / f"{name}.crt").verify_directly_issued_by(authority)
    certificate(layout.pki / "front-proxy-client.crt").verify_directly_issued_by(
        certificate(layout.pki / "front-proxy-ca.crt")
    )


def test_the_api_server_answers_for_its_names_and_addresses(layout: Layout) -> None:
    names = certificate(layout.pki / "apiserver.crt").extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert set(map(str, names.value.get_values_for_type(x509.IPAddress))) == {
        "10.199.0.2",
        "10.96.0.1",
        "127.0.0.1",
    }
    assert "kubernetes.default.svc" in names.value.get_values_for_type(x509.DNSName)


def test_kubeconfigs_are_complete_and_private(layout: Layout) -> None:
    for path in layout.kubeconfigs.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
        content = json.loads(path.read_text())
        user = content["users"][0]["user"]
        subject = x509.load_pem_x509_certificate(base64.b64decode(user["client-certificate-data"])).subject
        assert (
            subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value == content["users"][0]["name"]
        )
        assert content["clusters"][0]["cluster"]["server"] == "https://10.199.0.2:6443"
    assert (layout.pki / "ca.key").stat().st_mode & 0o077 == 0


def test_a_second_start_keeps_authorities_and_renews_the_rest(layout: Layout) -> None:
    kept = {
        name: (layout.pki / name).read_bytes()
        for name in ("ca.crt", "ca.key", "front-proxy-ca.crt", "sa.key", "sa.pub")
    }
    before = certificate(layout.pki / "apiserver.crt")
    pki.issue(layout)
    assert {name: (layout.pki / name).read_bytes() for name in kept} == kept
    after = certificate(layout.pki / "apiserver.crt")
    assert after.serial_number != before.serial_number
    after.verify_directly_issued_by(certificate(layout.pki / "ca.crt"))
    assert isinstance(after.public_key(), ec.EllipticCurvePublicKey)
