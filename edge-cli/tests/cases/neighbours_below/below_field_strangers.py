"""Reports of the field: what pods of somebody else's ask for in vain, and break no promise with."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

from below import LIGHT, waits
from box import Box, situation


def stranger(
    box: Box,
    said: str,
    *,
    event: str = "FailedCreatePodSandBox",
    state: str = "ContainerCreating",
    runtime: str = "",
    image: str = "ghcr.io/x/y:z",
) -> None:
    """A pod of somebody else's that does not start, in the words of the kubelet."""
    pod = box.clone_pod("open-webui", "strng")
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "shop", "uid": "5", "controller": True}
    pod["metadata"] |= {
        "name": "shop-0",
        "namespace": "shop",
        "labels": {"app": "shop"},
        "ownerReferences": [owner],
    }
    pod["spec"]["containers"][0] |= {"name": "shop", "image": image}
    if runtime:
        pod["spec"]["runtimeClassName"] = runtime
    pod["status"]["phase"] = "Pending"
    told = "" if state == "ContainerCreating" else said
    pod["status"]["containerStatuses"][0] |= {"name": "shop", "ready": False, "state": waits(state, told)}
    for each in pod["status"]["conditions"]:
        if each["type"] in ("Ready", "ContainersReady"):
            each["status"] = "False"
    box.event("Pod", "shop", "shop-0", event, said)


@situation(LIGHT, "A stranger's pod asks for a runtime that k3s has a class of and this node has not")
def strangers_spin(box: Box) -> None:
    stranger(
        box,
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "spin" is configured',
        runtime="spin",
    )


@situation(LIGHT, "A stranger's pod asks for another vendor's device by CDI, and nobody describes it")
def strangers_amd_cdi(box: Box) -> None:
    stranger(
        box,
        "Error: failed to create containerd container: CDI device injection failed: unresolvable CDI devices amd.com/gpu=0",
        event="Failed",
        state="CreateContainerError",
    )


@situation(LIGHT, "A stranger's pod has a mount that is not there")
def strangers_mount(box: Box) -> None:
    stranger(
        box,
        'MountVolume.SetUp failed for volume "x" : hostPath type check failed: /data/x is not a directory',
        event="FailedMount",
    )


@situation(LIGHT, "A stranger's command is not found in its image")
def strangers_command(box: Box) -> None:
    stranger(
        box,
        'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "shopd": executable file not found in $PATH',
        event="Failed",
        state="RunContainerError",
    )


@situation(LIGHT, "A stranger's pod waits for a seccomp profile of its own")
def strangers_seccomp(box: Box) -> None:
    stranger(
        box,
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to generate seccomp spec opts: cannot load seccomp profile "/var/lib/kubelet/seccomp/x.json": open: no such file or directory',
    )


@situation(LIGHT, "A stranger's Kata pod does not start: its hypervisor has no /dev/kvm")
def strangers_kata(box: Box) -> None:
    stranger(
        box,
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox: failed to create containerd task: failed to create shim task: failed to launch qemu: exit status 1, error messages from qemu log: Could not access KVM kernel module: No such file or directory",
        runtime="kata-qemu",
    )


@situation(LIGHT, "A stranger's registry has a certificate that nobody knows")
def strangers_pull(box: Box) -> None:
    stranger(
        box,
        'Failed to pull image "reg.example/x:1": failed to resolve reference: tls: failed to verify certificate: x509: certificate signed by unknown authority; context deadline exceeded',
        event="Failed",
        state="ImagePullBackOff",
    )


@situation(LIGHT, "A stranger's image asks for a newer CUDA than the driver has")
def strangers_cuda(box: Box) -> None:
    stranger(
        box,
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.2, please update your driver to a newer version, or use an earlier cuda container: unknown",
        event="Failed",
        state="RunContainerError",
        runtime="nvidia",
        image="nvcr.io/nvidia/pytorch:26.05-py3",
    )
