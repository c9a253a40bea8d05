"""Neighbours: what the engine says of itself, its card and its model."""
# ruff: noqa: E501 - what logs say stays one line, as it comes

from box import Box, situation

OPERATOR, LIGHT, A100, CPU = "rtx-4090-k3s", "rtx-4090-light-k3s", "a100-k3s", "cpu-k3s"
DRIVER = "reinstall the driver | install the driver"
PLUGIN = "restart the device plugin | reinstall the device plugin"


def _on_cpu(box: Box, *lines: str) -> None:
    box.logs(
        "ollama",
        'time=2026-06-15T11:40:00.000Z level=INFO source=runner.go:66 msg="discovering available GPUs..."',
        *lines,
        'time=2026-06-15T11:40:02.000Z level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu',
    )
    box.loaded(size_vram=0)


@situation(
    OPERATOR,
    "The engine finds no compatible GPU: its CUDA libraries want a newer driver than 550",
    "host",
    "profile",
    says="driver",
    never="num_ctx | ollama pull",
)
def no_compatible_gpu(box: Box) -> None:
    _on_cpu(
        box,
        'time=2026-06-15T11:40:01.000Z level=WARN source=runner.go:485 msg="CUDA driver version is insufficient for CUDA runtime version"',
        'time=2026-06-15T11:40:01.500Z level=INFO source=gpu.go:392 msg="no compatible GPUs were discovered"',
    )


@situation(
    LIGHT,
    "The engine was started before its card was given to it: no GPU found at its start, the container has one now",
    "profile",
    "serving",
    says="restart | no gpu | library=cpu",
    never=f"{DRIVER} | num_ctx",
)
def started_without_card(box: Box) -> None:
    _on_cpu(box)


@situation(
    OPERATOR,
    "CUDA kernels of the engine do not know this generation of cards",
    "model",
    says="kernel image",
    never=f"{PLUGIN} | num_ctx",
)
def no_kernel_image(box: Box) -> None:
    box.unloaded()
    box.logs(
        "ollama",
        "ggml_cuda_compute_forward: RMS_NORM failed",
        "CUDA error: no kernel image is available for execution on the device",
        'time=2026-06-15T11:50:00.000Z level=ERROR source=sched.go:470 msg="error loading llama server" error="llama runner process has terminated: CUDA error"',
    )


@situation(
    OPERATOR,
    "cuBLAS cannot be made: the card's memory is gone to the cache of a long context",
    "profile",
    says="memory",
    never=f"{DRIVER} | {PLUGIN}",
)
def cublas_alloc(box: Box) -> None:
    box.unloaded()
    box.logs(
        "ollama",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED",
        "  current device: 0, in function cublas_handle at ggml-cuda/common.cuh:1070",
        'time=2026-06-15T11:50:00.000Z level=ERROR source=sched.go:470 msg="error loading llama server" error="llama runner process has terminated: exit status 2"',
    )


@situation(
    OPERATOR,
    "An illegal memory access in the engine, request upon request; the card says nothing",
    "model",
    "profile",
    says="illegal memory access | crash | http 500 | engine",
    never=f"{DRIVER} | {PLUGIN} | replace the card",
)
def illegal_access(box: Box) -> None:
    box.unloaded()
    box.logs(
        "ollama",
        "CUDA error: an illegal memory access was encountered",
        "  current device: 0, in function ggml_backend_cuda_synchronize at ggml-cuda.cu:2750",
        'time=2026-06-15T11:55:00.000Z level=ERROR source=server.go:1450 msg="llama runner terminated" error="exit status 2"',
        *(
            f'[GIN] 2026/06/15 - 11:5{n}:30 | 500 |   812.1ms |      10.42.0.1 | POST     "/api/chat"'
            for n in range(5, 10)
        ),
    )


@situation(
    OPERATOR,
    "A model that was imported for another template answers nonsense to nobody: the log warns, all promises hold",
)
def harmless_warnings(box: Box) -> None:
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=WARN source=types.go:800 msg="invalid option provided" option=tfs_z',
        'time=2026-06-15T11:50:01.000Z level=WARN source=runner.go:150 msg="truncating input prompt" limit=8192 prompt=9311 keep=4 new=8192',
    )


@situation(
    CPU,
    "A pull was cut in the middle and is never taken up again",
    "model",
    says="not present | absent | pull",
    never=DRIVER,
)
def half_pulled(box: Box) -> None:
    box.reads["http:ollama:/api/tags"]["body"]["models"] = [
        each
        for each in box.reads["http:ollama:/api/tags"]["body"]["models"]
        if not each["name"].startswith("qwen")
    ]
    box.logs(
        "ollama",
        'time=2026-06-15T10:50:00.000Z level=INFO source=download.go:180 msg="downloading 2bada8a74506 in 16 part(s)"',
        'time=2026-06-15T10:58:00.000Z level=INFO source=download.go:374 msg="2bada8a74506 part 3 stalled; retrying. If this persists, press ctrl-c to exit, then run pull to find a faster connection."',
        '[GIN] 2026/06/15 - 10:58:30 | 200 |   8m12s |      10.42.0.1 | POST     "/api/pull"',
    )


@situation(
    OPERATOR,
    "The model was unloaded after five minutes: a client's own keep_alive of the last request",
    "model",
    says="keep_alive | keep-alive",
    never=f"{DRIVER} | ollama pull",
)
def client_keep_alive(box: Box) -> None:
    box.loaded(expires_at="2026-06-15T12:04:20Z")


@situation(
    OPERATOR,
    "After a restart nobody asked for the model yet: it was never loaded",
    "model",
    says="not loaded | load",
    never=f"{DRIVER} | ollama pull",
)
def never_loaded(box: Box) -> None:
    box.unloaded()
    pod = box.pods("ollama")[0]
    pod["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": "2026-06-15T10:00:00Z"}}
    box.logs(
        "ollama",
        'time=2026-06-15T10:00:01.000Z level=INFO source=routes.go:1528 msg="Listening on [::]:11434 (version 0.33.0)"',
        'time=2026-06-15T10:00:03.000Z level=INFO source=types.go:60 msg="inference compute" id=GPU-3f0f5f2e library=CUDA compute=8.9 name=CUDA0 description="NVIDIA GeForce RTX 4090"',
        replace=True,
    )


@situation(
    A100,
    "Ollama was told a host of its own: it listens on another port than its Service and probes ask",
    "serving",
    says="port | probe",
    never=f"{DRIVER} | ollama pull",
)
def other_port(box: Box) -> None:
    box.env("ollama", OLLAMA_HOST="0.0.0.0:8080")
    pod = box.pods("ollama")[0]
    name = pod["metadata"]["name"]
    box.state(
        "ollama",
        {"running": {"startedAt": "2026-06-15T11:57:00Z"}},
        last={"terminated": {"reason": "Error", "exitCode": 2, "finishedAt": "2026-06-15T11:56:58Z"}},
        restarts=14,
    )
    box.event(
        "Pod",
        "llm",
        name,
        "Unhealthy",
        'Liveness probe failed: Get "http://10.42.0.20:11434/": dial tcp 10.42.0.20:11434: connect: connection refused',
    )
    box.event("Pod", "llm", name, "Killing", "Container ollama failed liveness probe, will be restarted")


@situation(
    OPERATOR,
    "An exec probe of a program that the image lacks: never ready",
    "serving",
    says="probe | not ready",
    never=f"{DRIVER} | ollama pull",
)
def probe_program_missing(box: Box) -> None:
    box.state("ollama", {"running": {"startedAt": "2026-06-15T11:00:00Z"}})
    box.event(
        "Pod",
        "llm",
        box.pods("ollama")[0]["metadata"]["name"],
        "Unhealthy",
        'Readiness probe errored: rpc error: code = Unknown desc = failed to exec in container: exec: "curl": executable file not found in $PATH',
    )
