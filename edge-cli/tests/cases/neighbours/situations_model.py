"""Neighbours of the rungs model and profile: what Ollama has, loads and keeps, and where it runs."""
# ruff: noqa: E501 - what events, logs and kernels say stays one line, as it comes

import copy

from box import DMESG, MIB, NODES, PODS, SMI, Box, situation

OPERATOR, LIGHT, DUAL, A100, CPU = (
    "rtx-4090-k3s",
    "rtx-4090-light-k3s",
    "dual-4090-k3s",
    "a100-k3s",
    "cpu-k3s",
)
DRIVER = "reinstall the driver | install the driver"
BELOW = f"{DRIVER} | restart the device plugin | reinstall the device plugin | runtimeclass"
TAGS = "http:ollama:/api/tags"
PS = "http:ollama:/api/ps"
ERROR = 'time=2026-06-15T11:58:20.001Z level=ERROR source=sched.go:520 msg="error loading llama server" error="{}"'
REQUEST = '[GIN] 2026/06/15 - 11:{} | {} |  3.112371221s |      10.42.0.21 | POST     "/api/chat"'


def _fails_to_load(box: Box, *said: str) -> None:
    box.unloaded()
    box.logs("ollama", *said, REQUEST.format("58:20", 500))


@situation(
    OPERATOR,
    "The engine is older than the architecture of the model",
    "model",
    says="engine | upgrade | version",
    never=BELOW,
)
def unknown_architecture(box: Box) -> None:
    _fails_to_load(
        box,
        "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'qwen4'",
        ERROR.format("unable to load model: /root/.ollama/models/blobs/sha256-2bada8a7"),
    )


@situation(
    OPERATOR,
    "A pull answers 412: the model wants a newer Ollama",
    "model",
    says="newer | engine | upgrade",
    never=BELOW,
)
def pull_412(box: Box) -> None:
    box.unloaded()
    box.reads[TAGS]["body"]["models"].pop(0)
    box.reads["http:ollama:/api/show qwen2.5:7b"] = {
        "status": 404,
        "body": {"error": "model 'qwen2.5:7b' not found"},
        "error": None,
    }
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=ERROR source=images.go:900 msg="pull model manifest: 412: The model you are attempting to pull requires a newer version of Ollama."',
    )


@situation(
    LIGHT, "Not enough system memory by Ollama's account", "model", "serving", says="memory", never=BELOW
)
def system_memory(box: Box) -> None:
    _fails_to_load(
        box,
        'time=2026-06-15T11:58:19.001Z level=WARN source=server.go:170 msg="model request too large for system" requested="5.9 GiB" available="3.1 GiB"',
        ERROR.format("model requires more system memory (5.9 GiB) than is available (3.1 GiB)"),
    )


@situation(
    OPERATOR,
    "Loading from a slow network volume takes longer than the load timeout",
    "model",
    says="timeout | load",
    never=BELOW,
)
def load_timeout(box: Box) -> None:
    _fails_to_load(box, ERROR.format("timed out waiting for llama-server to start: progress 0.43"))


@situation(OPERATOR, "A blob of the model is cut off", "model", says="damaged | bring | corrupt", never=BELOW)
def blob_cut(box: Box) -> None:
    _fails_to_load(
        box,
        "gguf_init_from_file_impl: failed to read tensor data",
        ERROR.format(
            "unable to load model: tensor 'blk.20.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete"
        ),
    )


@situation(
    OPERATOR,
    "The volume of the models is full in the middle of a pull",
    "model",
    "host",
    says="space | volume",
    never=BELOW,
)
def no_space_for_model(box: Box) -> None:
    box.unloaded()
    box.reads[TAGS]["body"]["models"].pop(0)
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=INFO source=download.go:295 msg="2bada8a74506 part 11 attempt 0 failed: write /root/.ollama/models/blobs/sha256-2bada8-partial: no space left on device, retrying in 1s"',
    )


@situation(
    OPERATOR,
    "The name of the model registry does not resolve in the pod",
    "model",
    "gpu",
    says="registry | reach | resolve",
    never=f"{DRIVER} | restart the device plugin",
)
def registry_dns(box: Box) -> None:
    box.unloaded()
    box.reads[TAGS]["body"]["models"] = []
    box.logs(
        "ollama",
        'time=2026-06-15T11:50:00.000Z level=ERROR source=images.go:900 msg="pull model manifest: Get \\"https://registry.ollama.ai/v2/library/qwen2.5/manifests/7b\\": dial tcp: lookup registry.ollama.ai on 10.43.0.10:53: server misbehaving"',
        '[GIN] 2026/06/15 - 11:50:00 | 200 |  10.1123712s |      10.42.0.61 | POST     "/api/pull"',
    )


@situation(OPERATOR, "Somebody made another model of the promised name", "model", says="digest", never=BELOW)
def other_digest(box: Box) -> None:
    for read in (TAGS, PS):
        box.reads[read]["body"]["models"][0]["digest"] = "ff" * 32


@situation(
    OPERATOR,
    "The model was pulled anew while the old weights stay loaded",
    "model",
    says="digest | load",
    never=f"{BELOW} | ollama pull",
)
def old_weights_loaded(box: Box) -> None:
    box.reads[PS]["body"]["models"][0]["digest"] = "ab" * 32


@situation(OPERATOR, "The promised model is loaded beside an embedding model, both to stay")
def two_loaded(box: Box) -> None:
    other = copy.deepcopy(box.reads[PS]["body"]["models"][0])
    other |= {
        "name": "nomic-embed-text:latest",
        "model": "nomic-embed-text:latest",
        "digest": box.reads[TAGS]["body"]["models"][1]["digest"],
        "size": 600 * MIB,
        "size_vram": 600 * MIB,
        "context_length": 2048,
    }
    box.reads[PS]["body"]["models"].append(other)
    box.process(48999, "/usr/lib/ollama/llama-server", 600)


@situation(
    OPERATOR,
    "Somebody's chat with another model pushed the promised one out",
    "model",
    "profile",
    says="loaded | resident",
    never=f"{BELOW} | ollama pull",
)
def pushed_out(box: Box) -> None:
    model = box.reads[PS]["body"]["models"][0]
    model |= {
        "name": "llama3.2:3b",
        "model": "llama3.2:3b",
        "digest": "cd" * 32,
        "expires_at": "2026-06-15T12:04:00Z",
    }


@situation(OPERATOR, "The model is addressed by its full registry name")
def full_name(box: Box) -> None:
    for read in (TAGS, PS):
        for model in box.reads[read]["body"]["models"]:
            model["name"] = model["model"] = f"registry.ollama.ai/library/{model['name']}"


@situation(OPERATOR, "A failed load of another model, a minute ago; the promised one is loaded and answers")
def other_model_failed(box: Box) -> None:
    box.logs(
        "ollama",
        'llama_model_load: error loading model: unknown model architecture: "qwen4"',
        ERROR.format("unable to load model: /root/.ollama/models/blobs/sha256-ffff"),
        REQUEST.format("58:20", 500),
        REQUEST.format("59:20", 200),
    )


@situation(
    OPERATOR,
    "The engine's memory is on the card, and what `ollama ps` says is not to be read",
    "model",
    "serving",
    outcome="unknown",
    says="ps",
    never=f"{BELOW} | ollama pull",
)
def ps_unread(box: Box) -> None:
    box.reads[PS] = {"status": 200, "body": "", "error": None}


@situation(
    OPERATOR,
    "Ollama's log may not be read; everything else is well",
    outcome="unknown",
    says="403 | forbidden",
    never=BELOW,
)
def log_forbidden(box: Box) -> None:
    box.refuse(box.log_key(box.pods("ollama")[0]))


@situation(
    OPERATOR,
    "`ollama ps` claims the card, the card is empty: the container lost it",
    "profile",
    "gpu",
    "serving",
    says="claim | card | memory",
    never=f"{DRIVER} | ollama pull | smaller model",
)
def claims_and_is_not(box: Box) -> None:
    box.empty_card()


@situation(
    OPERATOR,
    "The GPU discovery of the engine timed out at its start: on the CPU though the GPU is there",
    "profile",
    "serving",
    says="gpu | cpu",
    never=f"{DRIVER} | smaller model | num_ctx | ollama pull | restart the device plugin",
)
def discovery_timed_out(box: Box) -> None:
    key = box.log_key(box.pods("ollama")[0])
    lines = [
        line
        for line in box.reads[key]["body"].splitlines()
        if not any(
            word in line for word in ("inference compute", "CUDA", "offload", "llama runner started", "GIN")
        )
    ]
    box.logs(
        "ollama",
        *lines,
        'time=2026-06-01T09:02:51.504Z level=INFO source=runner.go:464 msg="failure during GPU discovery" OLLAMA_LIBRARY_PATH="[/usr/lib/ollama /usr/lib/ollama/cuda_v13]" error="failed to finish discovery before timeout"',
        'time=2026-06-01T09:02:52.120Z level=INFO source=types.go:60 msg="inference compute" id=cpu library=cpu compute="" name=cpu description=cpu libdirs=ollama driver="" pci_id="" type="" total="62.7 GiB" available="58.8 GiB"',
        "load_tensors:   CPU_Mapped model buffer size =  4460.45 MiB",
        'time=2026-06-15T08:11:04.220Z level=INFO source=llama_server.go:610 msg="llama runner started in 4.02 seconds"',
        REQUEST.format("59:41", 200),
        replace=True,
    )
    box.loaded(size_vram=0)
    box.empty_card()


@situation(
    OPERATOR,
    "The model's own parameter num_gpu keeps half of its layers off the card",
    "profile",
    says="num_gpu",
    never=f"{BELOW} | ollama pull",
)
def num_gpu(box: Box) -> None:
    box.reads["http:ollama:/api/show qwen2.5:7b"]["body"]["parameters"] = "num_gpu                        14"
    box.loaded(size_vram=2967458816)


@situation(
    OPERATOR,
    "A game server of the desktop user holds most of the card",
    "profile",
    says="process | memory | held",
    never=f"{BELOW} | ollama pull",
)
def game_holds_card(box: Box) -> None:
    box.loaded(size_vram=2967458816)
    box.process(9911, "/opt/game/server", 20800)


@situation(
    OPERATOR,
    "A leftover engine from before the restart still holds the card",
    "profile",
    says="engine | memory | process",
    never=f"{BELOW} | ollama pull",
)
def leftover_engine(box: Box) -> None:
    box.process(31002, "/usr/lib/ollama/llama-server", 5659)


@situation(OPERATOR, "The desktop takes a few hundred MiB of the card")
def desktop(box: Box) -> None:
    box.process(2201, "/usr/lib/xorg/Xorg", 310)
    box.process(2304, "/usr/bin/gnome-shell", 120)


@situation(
    CPU,
    "The CPU box was given a larger model by its user; the promised one is present, nothing promised is broken",
)
def cpu_other_loaded(box: Box) -> None:
    model = box.reads[PS]["body"]["models"][0]
    model |= {"name": "qwen2.5:3b", "model": "qwen2.5:3b", "digest": "aa" * 32}
    listed = copy.deepcopy(box.reads[TAGS]["body"]["models"][0])
    listed |= {"name": "qwen2.5:3b", "model": "qwen2.5:3b", "digest": "aa" * 32}
    box.reads[TAGS]["body"]["models"].append(listed)


@situation(OPERATOR, "The context of the model is longer than promised")
def longer_context(box: Box) -> None:
    box.loaded(context_length=32768, size=7600 * MIB, size_vram=7600 * MIB)


@situation(
    OPERATOR,
    "The server's context is 4096 because the upgrade dropped the value",
    "profile",
    says="context | 4096",
    never=f"{BELOW} | ollama pull",
)
def server_context(box: Box) -> None:
    box.env("ollama", OLLAMA_CONTEXT_LENGTH="4096")
    key = box.log_key(box.pods("ollama")[0])
    box.reads[key]["body"] = box.reads[key]["body"].replace(
        "OLLAMA_CONTEXT_LENGTH:8192", "OLLAMA_CONTEXT_LENGTH:4096"
    )
    box.loaded(context_length=4096)


@situation(OPERATOR, "One 503 among a hundred answered requests")
def one_refusal(box: Box) -> None:
    box.logs("ollama", *(REQUEST.format(f"5{n % 10}:{n % 60:02}", 503 if n == 7 else 200) for n in range(40)))


@situation(
    OPERATOR,
    "Every answer is a 500: the engine crashes in the middle of a request",
    "profile",
    "model",
    "host",
    says="500 | crash | engine",
    never=f"{DRIVER} | ollama pull | runtimeclass",
)
def engine_crashes(box: Box) -> None:
    for n in range(8):
        box.logs(
            "ollama",
            "CUDA error: an illegal memory access was encountered",
            REQUEST.format(f"5{n % 10}:2{n}", 500),
        )


@situation(OPERATOR, "Clients went away: their 499 are no failure of the server")
def clients_gone(box: Box) -> None:
    box.logs("ollama", *(REQUEST.format(f"5{n % 10}:2{n}", 499) for n in range(8)))


@situation(
    OPERATOR,
    "An Xid of the card at the time of the failing requests: the card, not the model",
    "host",
    says="xid | bus | card",
    never="ollama pull | smaller model | num_ctx | restart the device plugin",
)
def xid_behind_failure(box: Box) -> None:
    _fails_to_load(
        box, "CUDA error: unspecified launch failure", ERROR.format("llama-server process exited: CUDA error")
    )
    box.kernel(
        "2026-06-15T11:57:02,101010+00:00 NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "2026-06-15T11:57:02,101011+00:00 NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.",
    )
    box.reads[SMI] = {
        "rc": 15,
        "stdout": "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n",
        "stderr": "",
        "error": None,
        "took_s": 2.0,
    }


@situation(
    OPERATOR,
    "nvidia-uvm is not loaded: the engine finds no GPU, nvidia-smi is well",
    "host",
    says="uvm",
    never="runtimeclass | smaller model | ollama pull | num_ctx",
)
def uvm_missing(box: Box) -> None:
    box.reads["glob:/dev/nvidia*"]["paths"] = [
        each for each in box.reads["glob:/dev/nvidia*"]["paths"] if "uvm" not in each
    ]
    modules = box.reads["file:/proc/modules"]
    modules["text"] = (
        "\n".join(line for line in modules["text"].splitlines() if not line.startswith("nvidia_uvm")) + "\n"
    )
    discovery_timed_out(box)


@situation(
    OPERATOR,
    "The kernel killed the engine at the container's limit; the container lives, the model is gone",
    "serving",
    says="oom | memory | kill",
    never=f"{DRIVER} | free vram | num_gpu",
)
def engine_killed_in_container(box: Box) -> None:
    uid = box.pods("ollama")[0]["metadata"]["uid"]
    _fails_to_load(box, ERROR.format("llama-server process no longer running: signal: killed"))
    box.kernel(
        f"2026-06-15T11:58:19,100000+00:00 oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/kubepods/burstable/pod{uid},task_memcg=/kubepods/burstable/pod{uid}/x,task=llama-server,pid=50100,uid=0",
        "2026-06-15T11:58:19,100100+00:00 Memory cgroup out of memory: Killed process 50100 (llama-server) total-vm:40000000kB, anon-rss:25000000kB",
    )


@situation(
    OPERATOR,
    "The host ran out of memory and killed the engine: no limit was reached",
    "host",
    "model",
    says="memory | kill",
    never=f"{DRIVER} | smaller quant | restart the device plugin",
)
def host_out_of_memory(box: Box) -> None:
    _fails_to_load(box, ERROR.format("llama-server process no longer running: signal: killed"))
    box.kernel(
        "2026-06-15T11:58:19,100000+00:00 oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=x,mems_allowed=0,global_oom,task_memcg=/kubepods/x,task=llama-server,pid=50100,uid=0",
        "2026-06-15T11:58:19,100100+00:00 Out of memory: Killed process 50100 (llama-server) total-vm:40000000kB, anon-rss:5000000kB",
    )
    meminfo = box.reads["file:/proc/meminfo"]
    meminfo["text"] = meminfo["text"].replace("MemAvailable:   47347378 kB", "MemAvailable:     310000 kB")


@situation(
    A100,
    "The model is swapped with another one again and again: room for one only",
    "profile",
    says="reload | swap | turn",
    never=f"{BELOW} | ollama pull",
)
def swapping(box: Box) -> None:
    for n in range(8):
        blob = "aaaa" if n % 2 else "bbbb"
        box.logs(
            "ollama",
            f'time=2026-06-15T11:5{n}:01.000Z level=INFO source=server.go:438 msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model /root/.ollama/models/blobs/sha256-{blob} --ctx-size 8192 --port 40000"',
            f'time=2026-06-15T11:5{n}:04.000Z level=INFO source=llama_server.go:610 msg="llama runner started in 2.41 seconds"',
        )


@situation(
    CPU,
    "On a CPU profile a card turned up and Ollama uses it",
    "profile",
    "serving",
    says="gpu | card | cpu",
    never="install the driver | ollama pull",
)
def cpu_profile_on_card(box: Box) -> None:
    box.reads[PS]["body"]["models"][0]["size_vram"] = box.reads[PS]["body"]["models"][0]["size"]


@situation(DUAL, "The model is split over both cards: half of it on each")
def split_over_two(box: Box) -> None:
    box.card_used(2900)
    out = box.reads[SMI]["stdout"]
    first, second = out.index("<fb_memory_usage>"), out.rindex("<fb_memory_usage>")
    used, free = ("<used>2 MiB<", "<free>24120 MiB<")
    tail = out[second:].replace(used, "<used>2900 MiB<", 1).replace(free, "<free>21222 MiB<", 1)
    entry = "<process_info><pid>48212</pid><type>C</type><process_name>/usr/lib/ollama/llama-server</process_name><used_memory>2876 MiB</used_memory></process_info>"
    tail = tail.replace("</processes>", f"{entry}</processes>", 1)
    assert second > first
    box.reads[SMI]["stdout"] = out[:second] + tail


@situation(OPERATOR, "A second node without a GPU joined; nothing is different")
def second_node(box: Box) -> None:
    node = copy.deepcopy(box.items(NODES)[0])
    node["metadata"] |= {"name": "edge-2", "uid": "55555555-5555-4555-8555-555555555555"}
    node["metadata"]["labels"] = {
        "kubernetes.io/hostname": "edge-2",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    for part in ("capacity", "allocatable"):
        node["status"][part].pop("nvidia.com/gpu", None)
    node["status"]["addresses"] = [
        {"type": "InternalIP", "address": "192.0.2.11"},
        {"type": "Hostname", "address": "edge-2"},
    ]
    box.items(NODES).append(node)


@situation(
    OPERATOR,
    "The nvidia-smi of the host is not to be read: the card's proof is in Prometheus",
    outcome="unknown",
    says="nvidia-smi | permission | denied",
    never=f"{DRIVER} | ollama pull",
)
def smi_denied(box: Box) -> None:
    box.reads[SMI] = {"rc": None, "stdout": "", "stderr": "", "error": "permission-denied", "took_s": 0.0}


@situation(
    OPERATOR,
    "The kernel log is not to be read (dmesg_restrict); nothing else is amiss",
    outcome="unknown",
    says="dmesg | kernel | permission",
    never=f"{DRIVER} | ollama pull",
)
def dmesg_denied(box: Box) -> None:
    box.reads[DMESG] = {
        "rc": 1,
        "stdout": "",
        "stderr": "dmesg: read kernel buffer failed: Operation not permitted\n",
        "error": None,
        "took_s": 0.0,
    }


@situation(
    OPERATOR,
    "The Job that brings the models runs; the first model has not arrived",
    "model",
    outcome="unknown",
    says="pull | wait | bring",
    never=f"{BELOW} | ollama pull",
)
def still_pulling(box: Box) -> None:
    box.unloaded()
    box.reads[TAGS]["body"]["models"].pop(0)
    job = copy.deepcopy(box.pods("edge-exporter")[0])
    job["metadata"] |= {
        "name": "pull-qwen-abcde",
        "uid": "66666666-6666-4666-8666-666666666666",
        "labels": {"job-name": "pull-qwen"},
        "creationTimestamp": "2026-06-15T11:58:00Z",
    }
    job["metadata"]["ownerReferences"] = [
        {"kind": "Job", "name": "pull-qwen", "uid": "77", "controller": True}
    ]
    job["spec"]["containers"] = [
        {
            "name": "pull",
            "image": "docker.io/ollama/ollama:0.33.0",
            "command": ["ollama", "pull", "qwen2.5:7b"],
            "resources": {},
        }
    ]
    job["status"]["containerStatuses"] = [
        {
            "name": "pull",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-06-15T11:58:10Z"}},
            "lastState": {},
        }
    ]
    box.items(PODS).append(job)
