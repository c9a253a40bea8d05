"""The images of a manifest: of pods of any kind, and of what operators are told to run."""

from edge_cli.manifest_images import manifest_images

PODS = """
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      initContainers: [{image: quay.io/a/init:1}]
      containers:
        - image: docker.io/b/c:v2@sha256:%s
          args: ["--prometheus-config-reloader=quay.io/d/reloader:v0.9", "--thanos-image=quay.io/t/t:1"]
        - image: quay.io/a/init:1
---
---
kind: ConfigMap
data: {note: "docker.io/not/an-image:1"}
""" % ("a" * 64)
POLICY = """
kind: ClusterPolicy
spec:
  toolkit: {enabled: true, repository: nvcr.io/nvidia/k8s, image: container-toolkit, version: v1}
  driver: {enabled: false, repository: nvcr.io/nvidia, image: driver, version: "1"}
  vgpuManager: {repository: "", image: vgpu-manager, version: ""}
  sandboxWorkloads: {enabled: false}
  sandboxDevicePlugin: {repository: nvcr.io/nvidia, image: kubevirt, version: v1}
"""


def test_images_of_pods_each_once() -> None:
    digest = "a" * 64
    assert manifest_images(PODS) == (
        "quay.io/a/init:1",
        f"docker.io/b/c:v2@sha256:{digest}",
        "quay.io/d/reloader:v0.9",
    )


def test_images_that_an_operator_is_told_to_run() -> None:
    assert manifest_images(POLICY) == ("nvcr.io/nvidia/k8s/container-toolkit:v1",)
    of_virtual_machines = POLICY.replace(
        "sandboxWorkloads: {enabled: false}", "sandboxWorkloads: {enabled: true}"
    )
    assert "nvcr.io/nvidia/kubevirt:v1" in manifest_images(of_virtual_machines)


def test_nothing_has_no_images() -> None:
    assert manifest_images("") == ()
