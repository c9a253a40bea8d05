"""Reports of the field on models: pulled, kept, loaded, and where they run."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from box import MIB, PODS, SMI, Box, situation

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin | runtimeclass"
TAGS, PS = "http:ollama:/api/tags", "http:ollama:/api/ps"
FAILED = 'time=2026-06-15T11:58:20.001Z level=ERROR source=sched.go:520 msg="error loading llama server" error="{}"'
ASKED = '[GIN] 2026/06/15 - 11:{} | {} |  1.820491216s |      10.42.0.21 | POST     "/api/{}"'
BLOB = "/root/.ollama/models/blobs/sha256-2bada8a7450677000f678be90653b85d364de7db25eb5ea54136ada5f3933730"


def not_loading(box: Box, *said: str) -> None:
    """The model does not load, and every request says so."""
    box.unloaded()
    box.logs("ollama", *said, ASKED.format("58:20", 500, "chat"), ASKED.format("59:10", 500, "chat"))


def absent(box: Box, *models: str) -> None:
    """Models that were never brought."""
    box.unloaded()
    box.reads[TAGS]["body"]["models"] = [
        each for each in box.reads[TAGS]["body"]["models"] if each["name"] not in models
    ]
    for model in models:
        key = f"http:ollama:/api/show {model}"
        box.reads[key] = {"status": 404, "body": {"error": f"model '{model}' not found"}, "error": None}


def pull_job(box: Box, said: str, *, phase: str = "Failed") -> None:
    """A Job that pulls the chat model, and how its pod ended."""
    model = "qwen2.5:0.5b" if box.whole["target"]["profile"] == "cpu" else "qwen2.5:7b"
    pod = copy.deepcopy(box.pods("ollama")[0])
    pod["metadata"] |= {
        "name": "ollama-pull-x7k2p",
        "uid": "00000000-0000-4000-8000-0000000000a1",
        "creationTimestamp": "2026-06-15T11:40:00Z",
        "labels": {"app.kubernetes.io/name": "ollama-pull"},
        "ownerReferences": [{"kind": "Job", "name": "ollama-pull", "controller": True}],
    }
    pod["spec"]["containers"][0] |= {
        "name": "pull",
        "ports": [],
        "resources": {},
        "command": ["ollama", "pull", model],
    }
    pod["spec"].pop("runtimeClassName", None)
    pod["status"] |= {"phase": phase, "conditions": []}
    pod["status"]["containerStatuses"][0] |= {
        "name": "pull",
        "ready": False,
        "state": {
            "terminated": {
                "reason": "Error" if phase == "Failed" else "Completed",
                "exitCode": int(phase == "Failed"),
                "message": said,
                "startedAt": "2026-06-15T11:40:05Z",
                "finishedAt": "2026-06-15T11:42:00Z",
            }
        },
    }
    box.items(PODS).append(pod)


def on_card(box: Box, share: float) -> None:
    """So much of the promised model on the card."""
    size = box.reads[PS]["body"]["models"][0]["size"]
    box.loaded(size_vram=int(size * share))


# ollama/ollama#644, #10977
@situation(
    CPU,
    "The processor lacks AVX: the engine ends over an illegal instruction",
    "model",
    "serving",
    says="instruction | processor | cpu",
    never=f"{BELOW} | nvidia | ollama pull | memory limit",
)
def illegal_instruction(box: Box) -> None:
    not_loading(
        box,
        "SIGILL: illegal instruction",
        'time=2026-06-15T11:58:20.000Z level=ERROR source=server.go:302 msg="llama runner terminated" error="signal: illegal instruction (core dumped)"',
        FAILED.format("llama runner process has terminated: signal: illegal instruction (core dumped)"),
    )


# ollama/ollama#6966, #9529
@situation(
    OPERATOR,
    "An old engine counts one tensor less than the model has",
    "model",
    says="engine | newer | version",
    never=f"{BELOW} | smaller model",
)
def tensors_counted(box: Box) -> None:
    not_loading(
        box,
        "llama_model_load: error loading model: done_getting_tensors: wrong number of tensors; expected 292, got 291",
        FAILED.format(
            "llama runner process has terminated: error loading model: done_getting_tensors: wrong number of tensors; expected 292, got 291"
        ),
    )


# ollama/ollama#11714
@situation(
    A100,
    "The engine does not know the type of a tensor",
    "model",
    says="engine | newer | version | format",
    never=f"{BELOW} | smaller model",
)
def tensor_type_unknown(box: Box) -> None:
    not_loading(
        box,
        "gguf_init_from_file_impl: tensor 'blk.0.ffn_down_exps.weight' has invalid ggml type 39 (NONE)",
        "gguf_init_from_file_impl: failed to read tensor info",
        f"llama_model_load: error loading model: llama_model_loader: failed to load model from {BLOB}",
        "llama_model_load_from_file_impl: failed to load model",
        FAILED.format(f"unable to load model: {BLOB}"),
    )


# ollama/ollama#15043, ggml-org/llama.cpp#28524
@situation(
    OPERATOR,
    "A quantised cache without flash attention: no context can be made",
    "model",
    "profile",
    says="flash | cache",
    never=f"{BELOW} | ollama pull | ollama rm | smaller model",
)
def quantised_cache_without_flash(box: Box) -> None:
    box.env("ollama", OLLAMA_FLASH_ATTENTION="0", OLLAMA_KV_CACHE_TYPE="q8_0")
    not_loading(
        box,
        "llama_init_from_model: V cache quantization requires flash_attn",
        "failed to initialize the context: quantized V cache was requested, but this requires Flash Attention",
        "panic: unable to create llama context",
        FAILED.format("llama runner process has terminated: exit status 2"),
    )


# ollama/ollama#8533
@situation(
    CPU,
    "The way to the model registry is closed: the pull times out",
    "model",
    says="registry | network | reach",
    never=f"{BELOW} | nvidia | disk",
)
def pull_times_out(box: Box) -> None:
    absent(box, "qwen2.5:0.5b", "nomic-embed-text:latest")
    pull_job(
        box,
        'Error: pull model manifest: Get "https://registry.ollama.ai/v2/library/qwen2.5/manifests/0.5b": dial tcp 172.67.182.229:443: i/o timeout',
    )


# ollama/ollama#12435
@situation(
    OPERATOR,
    "Something on the way resets every connection to the model registry",
    "model",
    says="registry | network | proxy",
    never=f"{BELOW} | disk",
)
def pull_reset(box: Box) -> None:
    absent(box, "qwen2.5:7b", "nomic-embed-text:latest")
    box.logs(
        "ollama",
        'time=2026-06-15T11:53:40.430Z level=INFO source=images.go:755 msg="request failed: Get \\"https://registry.ollama.ai/v2/library/qwen2.5/manifests/7b\\": read tcp 10.42.0.20:52712->104.21.75.227:443: read: connection reset by peer"',
        '[GIN] 2026/06/15 - 11:53:40 | 200 |   229.75199ms |      10.42.0.21 | POST     "/api/pull"',
    )


# ollama/ollama#8167, #1036
@situation(
    LIGHT,
    "The parts of the model break off one after the other until the pull gives up",
    "model",
    says="registry | network | pull",
    never=BELOW,
)
def pull_gives_up(box: Box) -> None:
    absent(box, "qwen2.5:7b")
    box.logs(
        "ollama",
        'time=2026-06-15T11:44:00.000Z level=INFO source=download.go:177 msg="downloading 2bada8a74506 in 16 292 MB part(s)"',
        'time=2026-06-15T11:46:20.000Z level=INFO source=download.go:295 msg="2bada8a74506 part 5 attempt 0 failed: unexpected EOF, retrying in 1s"',
        'time=2026-06-15T11:49:10.000Z level=INFO source=download.go:295 msg="2bada8a74506 part 5 attempt 5 failed: unexpected EOF, retrying in 32s"',
    )
    pull_job(box, "Error: max retries exceeded: EOF")


@situation(
    CPU,
    "The store is an emptyDir: with the pod of before its models are gone",
    "model",
    says="volume | persist | emptydir | pull",
    never=f"{BELOW} | nvidia",
)
def store_went_with_the_pod(box: Box) -> None:
    absent(box, "qwen2.5:0.5b", "nomic-embed-text:latest")
    for spec in box.templates("ollama"):
        spec["volumes"] = [{"name": "ollama-data", "emptyDir": {}}]
    box.logs(
        "ollama",
        "Couldn't find '/root/.ollama/id_ed25519'. Generating new private key.",
        "Your new public key is: ",
        'time=2026-06-15T08:02:21.502Z level=INFO source=images.go:493 msg="total blobs: 0"',
        'time=2026-06-15T08:02:21.503Z level=INFO source=routes.go:1895 msg="Listening on [::]:11434 (version 0.33.0)"',
        replace=True,
    )


@situation(
    OPERATOR,
    "OLLAMA_MODELS points beside the volume that has the models",
    "model",
    says="ollama_models | volume | pull",
    never=BELOW,
)
def store_elsewhere(box: Box) -> None:
    absent(box, "qwen2.5:7b", "nomic-embed-text:latest")
    box.env("ollama", OLLAMA_MODELS="/models")
    pod = box.pods("ollama")[0]
    key = box.log_key(pod)
    text = box.reads[key]["body"].replace("OLLAMA_MODELS:/root/.ollama/models", "OLLAMA_MODELS:/models")
    box.reads[key]["body"] = (
        "\n".join(text.replace("total blobs: 9", "total blobs: 0").splitlines()[:6]) + "\n"
    )


@situation(
    OPERATOR,
    "A power cut left the model's manifest empty: Ollama passes it by",
    "model",
    says="manifest | pull",
    never=BELOW,
)
def manifest_empty(box: Box) -> None:
    absent(box, "qwen2.5:7b")
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:21.502Z level=WARN source=manifest.go:160 msg="bad manifest" name=registry.ollama.ai/library/qwen2.5:7b error="unexpected end of JSON input"',
    )


@situation(
    OPERATOR,
    "The embedding model pushes the chat model out: there is room for one by the setting",
    "model",
    "profile",
    says="nomic-embed-text | max_loaded | another model",
    never=f"{BELOW} | ollama pull | smaller model",
)
def embedding_pushes_out(box: Box) -> None:
    chat = box.reads[PS]["body"]["models"][0]
    tags = box.reads[TAGS]["body"]["models"][1]
    box.reads[PS]["body"]["models"] = [
        chat
        | {
            "name": tags["name"],
            "model": tags["model"],
            "digest": tags["digest"],
            "details": tags["details"],
            "size": 572 * MIB,
            "size_vram": 572 * MIB,
            "context_length": 2048,
        }
    ]
    box.card_used(600)
    for at in ("11:51:00", "11:53:00", "11:55:00", "11:57:00", "11:59:00"):
        box.logs(
            "ollama",
            f'time=2026-06-15T{at}.220Z level=INFO source=llama_server.go:610 msg="llama runner started in 2.41 seconds"',
            f'[GIN] 2026/06/15 - {at} | 200 |  3.112371221s |      10.42.0.21 | POST     "/api/{"embed" if at[4] in "159" else "chat"}"',
        )


@situation(
    OPERATOR,
    "The disk under the models gives read errors: the model does not load",
    "host",
    "model",
    says="disk | i/o | read",
    never="install the driver | restart the device plugin | ollama pull",
)
def disk_reads_fail(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:58:19,900000+00:00 critical medium error, dev nvme0n1, sector 812345600 op 0x0:(READ) flags 0x80700 phys_seg 4 prio class 2",
        "2026-06-15T11:58:19,900100+00:00 Buffer I/O error on dev dm-0, logical block 101543200, async page read",
    )
    not_loading(box, FAILED.format(f"read {BLOB}: input/output error"))


@situation(
    LIGHT,
    "The kernel made the disk read-only after an error: nothing can be written any more",
    "host",
    "model",
    says="read-only | file system | filesystem",
    never="install the driver | restart the device plugin | ollama pull",
)
def disk_read_only(box: Box) -> None:
    box.kernel(
        "2026-06-15T11:40:10,100000+00:00 EXT4-fs error (device dm-0): ext4_journal_check_start:84: comm ollama: Detected aborted journal",
        "2026-06-15T11:40:10,100200+00:00 EXT4-fs (dm-0): Remounting filesystem read-only",
    )
    absent(box, "nomic-embed-text:latest")
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=ERROR source=images.go:900 msg="open /root/.ollama/models/blobs/sha256-970aa74c0a90ef7482477cf803618e776e173c007bf957f635f1015bfcfef0e6-partial: read-only file system"',
    )


# ollama/ollama#8447
@situation(
    OPERATOR,
    "OLLAMA_GPU_OVERHEAD keeps the engine off most of an empty card",
    "profile",
    says="overhead",
    never=f"{BELOW} | smaller model | another process",
)
def gpu_overhead(box: Box) -> None:
    box.env("ollama", OLLAMA_GPU_OVERHEAD="22032385536")
    on_card(box, 0.41)
    box.logs(
        "ollama",
        "load_tensors: offloading 12 repeating layers to GPU",
        "load_tensors: offloaded 12/29 layers to GPU",
    )


@situation(
    OPERATOR,
    "The model's own file sets a context that is half of what is promised",
    "profile",
    says="num_ctx | parameter | context",
    never=f"{BELOW} | ollama_num_parallel",
)
def context_in_model_file(box: Box) -> None:
    box.loaded(context_length=4096)
    show = box.reads["http:ollama:/api/show qwen2.5:7b"]["body"]
    show |= {
        "parameters": "num_ctx                        4096",
        "modelfile": "FROM qwen2.5:7b\nPARAMETER num_ctx 4096\n",
    }


@situation(
    A100,
    "A second, larger model was loaded first: the promised one has to share with the CPU",
    "profile",
    "model",
    says="llama3.3 | another model | other model",
    never=f"{BELOW} | num_gpu",
)
def larger_model_first(box: Box) -> None:
    box.env("ollama", OLLAMA_MAX_LOADED_MODELS="3")
    out = box.reads[SMI]["stdout"]
    whole = int(out.split("<fb_memory_usage>")[1].split("<total>")[1].split()[0])
    other = copy.deepcopy(box.reads[PS]["body"]["models"][0])
    tag = copy.deepcopy(box.reads[TAGS]["body"]["models"][0])
    for each in (other, tag):
        each |= {
            "name": "llama3.3:70b",
            "model": "llama3.3:70b",
            "digest": "a6eb4748fd2990ad2952b2335a95a7f952d1a06119a0aa6a2df6cd052a93a3fa",
        }
    big = (whole - 2600) * MIB
    other |= {"size": big, "size_vram": big}
    tag["size"] = int(big * 0.9)
    box.reads[TAGS]["body"]["models"].append(tag)
    on_card(box, 0.3)
    box.reads[PS]["body"]["models"].append(other)
    box.card_used(whole - 700)
    box.logs("ollama", "load_tensors: offloaded 8/29 layers to GPU")


@situation(
    LIGHT,
    "The machine slept: since it woke up CUDA knows no card, and the engine is on the CPU",
    "host",
    "serving",
    "gpu",
    says="suspend | sleep | uvm | cuda",
    never="ollama pull | smaller model | runtimeclass",
)
def woke_up_without_cuda(box: Box) -> None:
    box.kernel(
        "2026-06-15T07:00:01,000000+00:00 PM: suspend entry (deep)",
        "2026-06-15T08:00:01,000000+00:00 PM: suspend exit",
    )
    box.loaded(size_vram=0)
    box.empty_card()
    box.logs(
        "ollama",
        "ggml_cuda_init: failed to initialize CUDA: unknown error",
        "load_tensors: offloaded 0/29 layers to GPU",
        'time=2026-06-15T08:11:04.220Z level=INFO source=llama_server.go:610 msg="llama runner started in 2.41 seconds"',
    )


# ollama/ollama#7765
@situation(
    OPERATOR,
    "The container lost its card after a daemon reload; the next load went to the CPU",
    "gpu",
    "serving",
    says="lost | container | device",
    never=f"{DRIVER} | ollama pull | smaller model",
)
def next_load_without_card(box: Box) -> None:
    box.loaded(size_vram=0)
    box.empty_card()
    box.logs(
        "ollama",
        "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected",
        "load_tensors: offloading 28 repeating layers to GPU",
        "load_tensors:          CPU model buffer size =  4460.45 MiB",
        'time=2026-06-15T11:11:04.220Z level=INFO source=llama_server.go:610 msg="llama runner started in 2.41 seconds"',
    )


@situation(
    OPERATOR, "The engine asks for a quantised cache, is refused it, and does without: all is on the card"
)
def cache_stays_unquantised(box: Box) -> None:
    box.env("ollama", OLLAMA_FLASH_ATTENTION="0", OLLAMA_KV_CACHE_TYPE="q8_0")
    box.logs(
        "ollama",
        'time=2026-06-15T08:11:01.220Z level=WARN source=server.go:223 msg="quantized kv cache requested but flash attention disabled" type=q8_0',
    )


@situation(OPERATOR, "The engine uses the card by Vulkan: it is on the card all the same")
def by_vulkan(box: Box) -> None:
    key = box.log_key(box.pods("ollama")[0])
    text = (
        box.reads[key]["body"].replace("library=CUDA", "library=Vulkan").replace("name=CUDA0", "name=Vulkan0")
    )
    text = text.replace(
        "loaded CUDA backend from /usr/lib/ollama/cuda_v12/libggml-cuda.so",
        "loaded Vulkan backend from /usr/lib/ollama/vulkan/libggml-vulkan.so",
    )
    box.reads[key]["body"] = text.replace("CUDA0 ", "Vulkan0 ")


@situation(A100, "Four requests at once by the setting, and room for all of them")
def four_slots_fit(box: Box) -> None:
    box.env("ollama", OLLAMA_NUM_PARALLEL="4")
    size = box.reads[PS]["body"]["models"][0]["size"] + 3 * 448 * MIB
    box.loaded(size=size, size_vram=size)


@situation(
    CPU,
    "The disk turned full in the middle of a pull, by the kernel's own word in the Job",
    "model",
    "serving",
    "host",
    says="space | full",
    never=f"{BELOW} | nvidia",
)
def job_without_space(box: Box) -> None:
    absent(box, "qwen2.5:0.5b")
    pull_job(box, f"Error: write {BLOB}-partial: no space left on device")
