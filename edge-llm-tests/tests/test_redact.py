"""Redaction covers every kind of secret in every kind of read, and nothing that contracts need."""

import base64
import json
import time
from typing import Any

import pytest
from edge_llm_tests import Recording
from edge_llm_tests.redact import redact, redact_quotable, redact_text, redact_value
from hypothesis import given, settings
from hypothesis import strategies as st

JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IkNhbmFyeSJ9.eyJpc3MiOiJrdWJlcm5ldGVzL2NhbmFyeSJ9.c2lnbmF0dXJlLWNhbmFyeQ"
PEM = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEICanaryCanary\n-----END EC PRIVATE KEY-----"
K3S = "K10" + "c0ffee12" * 8 + "::server:canarypassword"
BASIC = base64.b64encode(b"admin:canary-basic").decode()

CANARIES: dict[str, tuple[str, str]] = {
    # kind of secret: (a text that holds it, the part that must be gone)
    "jwt": (f"loaded {JWT} from disk", "c2lnbmF0dXJlLWNhbmFyeQ"),
    "jwt cut off": (f"loaded {JWT[:60]}", "eyJhbGciOiJSUzI1"),
    "k3s server token": (f"node-token is {K3S}", "canarypassword"),
    "k3s short token": ("K10" + "ab12cd34" * 8 + "::canary-short", "canary-short"),
    "k3s token without its head": ("34ab12cd34::server:canarytail", "canarytail"),
    "bootstrap token": ("joined with canary.0123456789abcdef ok", "0123456789abcdef"),
    "bearer header": ("> Authorization: Bearer canaryopaque", "canaryopaque"),
    "bearer in prose": ("sent bearer CANARY0123456789 upstream", "CANARY0123456789"),
    "basic header": (f"Authorization: Basic {BASIC}", BASIC),
    "basic in curl": (f"curl -H 'authorization: basic {BASIC}' https://registry", BASIC),
    "digest header": ("Authorization: Digest-canary=0123456789", "canary=0123456789"),
    "url credentials": ("proxy http://canaryuser:canarypass@proxy.local:3128", "canarypass"),
    "url token": ("git clone https://canary-token@git.local/x.git", "canary-token"),
    "url with @": ("postgres://canary:p@canary@db/k3s", "p@canary"),
    "url query": ("GET /v1?access_token=canary123&x=1", "canary123"),
    "env text": ("starting with HF_TOKEN=canary-hf WEBUI=1", "canary-hf"),
    "env quoted": ('export DB_PASSWORD="canary pass word"', "canary pass word"),
    "env cut off": ('API_KEY="canary cut', "canary cut"),
    "yaml line": ("cluster-init: true\ntoken: canaryyaml\n", "canaryyaml"),
    "yaml list": ("- agent-token: 'canary agent'", "canary agent"),
    "json text": ('{"x": {"api_key": "canaryjson"}} trailing', "canaryjson"),
    "json in json": (r'body="{\"client_secret\":\"canary\\nescaped\"}"', "escaped"),
    "flag": ("k3s server --token=canaryflag --disable traefik", "canaryflag"),
    "password in prose": ("login with password: canary2", "canary2"),
    "huggingface": ("using hf_CanaryCanaryCanaryCanary", "hf_Canary"),
    "github": ("ghp_CanaryCanaryCanaryCanary12", "ghp_Canary"),
    "private key": (f"wrote {PEM} to disk", "MHcCAQEEICanaryCanary"),
    "private key escaped": (json.dumps(PEM), "MHcCAQEEICanaryCanary"),
    "private key cut off": (PEM[:45], "MHcC"),
    "private key base64": (
        "client-key-data: " + base64.b64encode(PEM.encode()).decode(),
        base64.b64encode(PEM.encode()).decode()[40:],
    ),
    "private key base64 alone": (base64.b64encode(PEM.encode()).decode(), "k1IY0NBUUVFSUNhbmFyeU"),
    "e-mail": ("cert-manager account canary.person+k3s@mail.example.org registered", "canary.person"),
    "prompt logfmt": ('msg="chat request" images=0 prompt="tell \\"canary\\" a secret" format=""', "canary"),
    "prompt bare": ("prompt: canary tell me\nnext line", "canary tell me"),
    "prompt json": ('{"model":"m","prompt":"canary prompt","stream":false}', "canary prompt"),
    "chat json": ('POST {"messages":[{"role":"user","content":"canary chat"}]}', "canary chat"),
    "chat json reversed": ('x {"content":"canary chat","role":"user"}', "canary chat"),
    "chat escaped": (r"body={\"role\":\"user\",\"content\":\"canary \\\"quoted\\\" chat\"}", "canary"),
    "completion": ('{"completion":"canary answer"}', "canary answer"),
    "chat parts": ('x {"content":[{"type":"text","text":"canary part"}],"role":"user"}', "canary part"),
    "chat in Go": ('msg="chat" messages="[{Role:user Content:canary hello}]"', "canary hello"),
    "flag apart": ("k3s agent --server https://x:6443 --token canaryflag -v 1", "canaryflag"),
    "flag quoted": ("helm registry login --password 'canary3' x", "canary3"),
    "short flag": ("docker login -u me -p canary4 registry.local", "canary4"),
    "curl user": ("curl -sf -u admin:canary5 https://x", "canary5"),
    "proxy without scheme": ("HTTPS_PROXY=me:canary6@proxy:3128", "canary6"),
    "env glued": ("PGPASSWORD=canary7 psql", "canary7"),
    "env object in text": ('kubelet: {"env":[{"name":"DB_PASS","value":"canary8"}]}', "canary8"),
    "env object in yaml": ("- name: DB_PASS\n  value: canary9\n", "canary9"),
    "element": ("<password>canary10</password>", "canary10"),
    "bearer escaped": ("authorization=Bearer%20canary11opaque", "canary11"),
    "web hook": ("https://hooks.slack.com/services/T0000/B0000/canary12", "canary12"),
    "bot": ("https://api.telegram.org/bot123456789:AAcanary13canary13canary/sendMessage", "canary13"),
    "docker hub": ("dckr_pat_canary14canary14canary", "canary14"),
    "flag quoted twice": ('app --password "canary a canary b" --port 1', "canary"),
    "flag for redis": ("redis-server --requirepass canary15", "canary15"),
    "option for redis": ("redis-cli -h db -a canary16 ping", "canary16"),
    "option for mysql": ("mysql -u root -pcanary17 db", "canary17"),
    "option for ssh": ("sshpass -p canary18 ssh box", "canary18"),
    "option for openssl": ("openssl rsa -passin pass:canary19", "canary19"),
    "env short": ("MYSQL_PASS=canary20 BIND_PW=canary21 SMTP_OTP=canary22", "canary"),
    "yaml with spaces": ("user: me\npassword: canary horse canary\nhost: h\n", "canary"),
    "ini with spaces": ("passphrase = canary horse canary\n", "canary"),
    "env with spaces": ("DB_PASSWORD=canary horse canary\nA=1", "canary"),
    "yaml block": ("token: |\n  canary23\n  canary24\nserver: https://x", "canary"),
    "yaml folded block": ("password: >-\n    canary25\nserver: x", "canary"),
    "yaml list under a name": ("api-tokens:\n  - canary26\n  - canary27\nother: 1", "canary"),
    "yaml next line": ("password:\n  canary28\nserver: x", "canary"),
    "yaml anchor": ("password: &pw canary29", "canary29"),
    "yaml tag": ("password: !!str canary30", "canary30"),
    "toml list": ('x-api-key = ["canary31", "canary32"]', "canary"),
    "json list": ('POST {"tokens":["canary33a","canary34b"]} done', "canary"),
    "go struct": ('&Config{Token:"canary35", Host:"h"}', "canary35"),
    "hash rocket": (':password=>"canary36"', "canary36"),
    "in colour": ("\x1b[36mtoken=\x1b[0mcanary37", "canary37"),
    "spoken password": ("the password is canary38!", "canary38"),
    "spoken password quoted": ("failed for user 'sa' with password 'canary39'", "canary39"),
    "spoken token": ("generated token canary0123456789abcdef", "canary0123456789"),
    "netrc": ("machine h\n login u\n password canary40\n", "canary40"),
    "cookie": ("Cookie: session=canary41; csrftoken=canary42", "canary"),
    "set cookie": ("< set-cookie: sid=canary43; Path=/; HttpOnly", "canary43"),
    "short bearer header": ("Authorization: Bearer canary", "canary"),
    "digest fields": ('Authorization: Digest username="u", nonce="n", response="canary44"', "canary44"),
    "signature version 4": (
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIA/x, SignedHeaders=host, Signature=canary45",
        "canary45",
    ),
    "smtp": ("AUTH PLAIN AHVzZXIAY2FuYXJ5NDY=", "AHVzZXIAY2FuYXJ5NDY"),
    "signed url": ("https://x.blob.core.windows.net/c?sv=2020&sig=canary47abc%3D", "canary47"),
    "url password with a slash": ("http://user:canary/canary@host:80/x", "canary"),
    "url password with a hash": ("postgres://u:p#canary48@host/db", "canary48"),
    "url encoded": ("next=http%3A%2F%2Fuser%3Acanary49%40host%2Fx", "canary49"),
    "database without scheme": ("canaryuser:canary50@tcp(db:3306)/x", "canary50"),
    "e-mail encoded": ("user=canary.person%40example.org", "canary.person"),
    "e-mail of another script": ("canary.person@exämple.org", "canary.person"),
    "aws temporary": ("ASIACANARYCANARY1234", "CANARYCANARY"),
    "vault": ("using hvs.canaryabcdefghijk1234567890", "canaryabc"),
    "google": ("ya29.canaryabcdefghijklmnopqrstuvwxyz", "canaryabc"),
    "groq": ("gsk_canaryabcdefghijklmnop", "canaryabc"),
    "discord": ("https://discord.com/api/webhooks/123456789/canaryabcdefghij", "canaryabc"),
    "crypt": ("admin:$2y$10$canarycanarycanarycanarycanarycanarycanarycanary123", "canary"),
    "private key without its head": (f"{'canary' * 9}\n{'A' * 40}\n-----END PRIVATE KEY-----", "canary"),
    "pgp key": (
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\ncanary\n-----END PGP PRIVATE KEY BLOCK-----",
        "canary",
    ),
    "kubeconfig base64": (
        base64.b64encode(b"apiVersion: v1\nusers:\n- user:\n    token: canary\n").decode(),
        "YXBpVmVyc2lvbjogdjEKdXNlcnM6",
    ),
    "element key": ("<apiKey>canary51</apiKey>", "canary51"),
    "embedding": ('POST {"model":"m","input":"canary words"}', "canary words"),
    "embedding list": ('POST {"input":["canary one","canary two"],"model":"m"}', "canary"),
    "embedding logfmt": ('msg="embed request" input="canary words"', "canary words"),
    "chat stream": ('data: {"choices":[{"delta":{"content":"canary"}}]}', "canary"),
    "thinking": ('x {"role":"assistant","thinking":"canary"}', "canary"),
    "response json": ('{"model":"m","response":"canary answer","done":true}', "canary answer"),
}

HARMLESS = (
    "sha256:c0ffee12c0ffee12c0ffee12c0ffee12c0ffee12c0ffee12c0ffee12c0ffee12",
    "docker.io/ollama/ollama:0.33.0@sha256:" + "ab12cd34" * 8,
    "docker-pullable://busybox@sha256:" + "ab12cd34" * 8,
    "fe80::1c2d:3e4f:5a6b:7c8d%eth0 fd00:abcd::1 2001:db8::ff00:42:8329",
    "GPU-8b6f1d2e-42aa-b1c3-9d7f-0123456789ab",
    "0000:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [10de:2684] (rev a1)",
    "NVRM: API mismatch: the client has the version 570.124.04, but",
    "integrity: Loaded X.509 cert 'Build time autogenerated kernel key: 3b5d0f1e2d3c4b5a6978'",
    "module verification failed: signature and/or required key missing - tainting kernel",
    "nvidia-persistenced@0.service loaded active running",
    "system:serviceaccount:gpu-operator:edge-contract-reader",
    "print_info: EOS token        = 151645 '<|im_end|>'",
    "llama_context: n_tokens = 2048, n_batch=512, token_type=1",
    'msg="completion request" images=0 prompt=2034 format=""',
    "prompt eval time =     412.33 ms /    26 tokens",
    'MountVolume.SetUp failed for volume "creds" : secret "registry" not found',
    "failed to fetch token: dial tcp 10.43.0.1:443: connect: refused",
    "invalid bearer authentication, use basic authentication; Basic abcde1234",
    "OLLAMA_KEEP_ALIVE=-1 OLLAMA_KV_CACHE_TYPE=q8_0 TOKENIZERS_PARALLELISM=false MAX_TOKENS=4096",
    "--service-account-key-file=/var/lib/k3s/key.pem --token-file=/etc/k3s/token secrets-encryption: true",
    "--authorization-mode=Webhook",
    "docker run --user 1000:1000 -p 80:80 --token-file /etc/k3s/token --secret-name tls",
    "--tls-private-key-file /var/lib/k3s/key.pem --service-account-issuer https://kubernetes.default.svc",
    "- name: OLLAMA_HOST\n  value: 0.0.0.0:11434\n",
    "robot 2026061512: 12 x; pulling ghcr.io/team/app:1.0@sha256:" + "ab12cd34" * 8,
    "K3S_TOKEN=******** and HF_TOKEN=$HF_TOKEN or token=<token>",
    "I0615 12:00:00 controller.go:116] requeue key=gpu-operator/nvidia-device-plugin",
    "device nvidia.com/gpu: 1, qwen2.5:7b, v1.35.5+k3s1, 570.124.06",
    "unauthorized: incorrect username or password",
    "Error: failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized",
    "serving.running: pass, gpu.api: pass=3 fail=0",
    "PASS: 12 of 12; bypass: none; compass=north",
    "GPU 00000000:01:00.0 power 320 W, pwr_draw: 12.5 W, clocks_event_reasons_hw_slowdown",
    "GET /api/v1/query?query=DCGM_FI_DEV_GPU_UTIL&code=500",
    "rewrite ^/(.*)$ /$1$2 last; replacement: $1:$2",
    '"embedding": [0.123456789012, -0.98765432101], "input": 12, "model": "nomic-embed-text:v1.5"',
    "MIG-5c2e1f30-9d1b-5e6a-8f3c-0123456789ab MIG 1g.10gb Device 0",
    "token_embd.weight 151936 x 3584; n_vocab = 151936; special_eos_id = 151645",
    "https://registry.local:5000/v2/team/app/manifests/sha256:" + "ab12cd34" * 8,
    "docker://registry.local:5000/team/app:1.0@sha256:" + "ab12cd34" * 8,
    "secrets:\n- name: registry\nimagePullSecrets:\n- name: pull",
    "auth:\n  type: none\n  username: edge",
    "-----BEGIN CERTIFICATE-----\nMIIBdzCCAR2gAwIBAgIBADAKBggqhkjO\n-----END CERTIFICATE-----",
    "cookieSecure: true, cookie: none",
)

STRUCTURES: dict[str, tuple[Any, str]] = {
    "env list": ({"env": [{"name": "WEBUI_SECRET_KEY", "value": "canary-env"}]}, "canary-env"),
    "env lone key": ({"env": [{"name": "KEY", "value": "canary-env"}]}, "canary-env"),
    "args pair": ({"args": ["server", "--token", "canary-arg", "--debug"]}, "canary-arg"),
    "args joined": ({"args": ["--password=canary-arg"]}, "canary-arg"),
    "last applied": (
        {
            "metadata": {
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
                        {"spec": {"env": [{"name": "HF_TOKEN", "value": "canary-annotation"}]}}
                    )
                    + "\n"
                }
            }
        },
        "canary-annotation",
    ),
    "field": ({"spec": {"password": "canary-field"}}, "canary-field"),
    "docker auth": ({"auths": {"registry": {"auth": "canaryauth=="}}}, "canaryauth"),
    "kubeconfig user": ({"users": [{"name": "a", "user": {"token": "canary-user"}}]}, "canary-user"),
    "show system": ({"modelfile": "FROM x\nSYSTEM canary one\n", "system": "canary one"}, "canary"),
    "show modelfile": ({"modelfile": 'FROM x\nMESSAGE user canary\nSYSTEM """canary\ntwo"""'}, "canary"),
    "chat": ({"messages": [{"role": "user", "content": "canary chat"}]}, "canary chat"),
    "generate": ({"model": "m", "response": "canary reply", "done": True}, "canary reply"),
    "secret object": (
        {"kind": "Secret", "data": {"a": "canaryA=="}, "stringData": {"b": "canary"}},
        "canary",
    ),
    "list of secrets": ({"passwords": ["canary", "canary 2"]}, "canary"),
    "embedding": ({"model": "m", "input": ["canary", "canary 2"]}, "canary"),
    "rerank": ({"model": "m", "query": "canary", "documents": ["canary 2"]}, "canary"),
    "instructions": ({"model": "m", "instructions": "canary", "suffix": "canary"}, "canary"),
    "stream": ({"choices": [{"delta": {"content": "canary"}}]}, "canary"),
    "thinking": ({"role": "assistant", "thinking": "canary", "reasoning_content": "canary"}, "canary"),
    "tool called": ({"function": {"name": "f", "arguments": {"q": "canary"}}}, "canary"),
    "tool called in text": ({"function": {"name": "f", "arguments": '{"q": "canary"}'}}, "canary"),
    "key": ({"Bearer CANARY0123456789": 1}, "CANARY0123456789"),
}

KEPT_STRUCTURES = (
    {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
    {"valueFrom": {"secretKeyRef": {"name": "webui", "key": "token"}}},
    {"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]},
    {
        "volumes": [
            {"secret": {"secretName": "tls"}},
            {"projected": {"sources": [{"serviceAccountToken": {}}]}},
        ]
    },
    {"annotations": {"checksum/secret": "ab12cd34" * 8, "k3s.io/node-env": '{"K3S_TOKEN":"********"}'}},
    {"kind": "ConfigMap", "data": {"a": "b"}},
    {"model_info": {"tokenizer.ggml.tokens": ["<s>", "the", "a1"], "tokenizer.ggml.merges": ["a b"]}},
    {"model": "nomic-embed-text:v1.5", "embeddings": [[0.1, -0.2]], "input": 5},
    {"verbs": ["get", "list"], "resources": ["secrets", "tokens"], "args": ["serve", "--verbose"]},
    {"automountServiceAccountToken": False, "tokenExpirationSeconds": 3600},
    {"model_info": {"tokenizer.ggml.bos_token_id": 151643, "tokenizer.ggml.model": "gpt2"}},
    {
        "env": [
            {"name": "OLLAMA_HOST", "value": "0.0.0.0:11434"},
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        ]
    },
)


def kinds_of_read(text: str) -> dict[str, Any]:
    """The text planted in every kind of read."""
    return {
        "command:dmesg --time-format iso": {"rc": 0, "stdout": text, "stderr": text, "error": None},
        "file:/etc/rancher/k3s/config.yaml": {"text": text, "mtime": None, "error": None},
        "glob:/run/nvidia/validations/*": {"paths": [text]},
        "api:/api/v1/events": {
            "status": 200,
            "body": {
                "kind": "EventList",
                "items": [{"message": text, "metadata": {"annotations": {"a": text}}}],
            },
            "error": None,
        },
        "api:/api/v1/namespaces/llm/pods/o/log?container=o&tailLines=200": {
            "status": 200,
            "body": f"line one\n{text}\nline three",
            "error": None,
        },
        "http:ollama:/api/tags": {"status": 200, "body": {"models": [{"name": text}]}, "error": None},
        "http:open-webui:/health": {"status": 500, "body": text, "error": None},
    }


@pytest.mark.parametrize("name", CANARIES)
def test_a_secret_is_gone_from_every_kind_of_read(name: str) -> None:
    text, secret = CANARIES[name]
    assert secret in text
    recording = redact(Recording(reads=kinds_of_read(text), context=text, profile="rtx-4090", redactions=5))
    for key, read in recording.reads.items():
        assert secret not in json.dumps(read), key
        assert "<redacted:" in json.dumps(read), key
    assert secret not in recording.context
    assert recording.redactions >= 5 + 9
    assert recording.profile == "rtx-4090"


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_secret_is_gone_from_a_structure(name: str) -> None:
    value, secret = STRUCTURES[name]
    covered, count = redact_value(value)
    assert secret not in json.dumps(covered)
    assert count >= 1
    assert redact_value(covered) == (covered, 0)


@pytest.mark.parametrize("value", KEPT_STRUCTURES, ids=lambda value: next(iter(value)))
def test_a_structure_without_secrets_is_kept(value: Any) -> None:
    assert redact_value(value) == (value, 0)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_contracts_need_is_kept(text: str) -> None:
    assert redact_text(text) == (text, 0)


@pytest.mark.parametrize("name", CANARIES)
def test_redaction_is_idempotent_and_names_a_kind(name: str) -> None:
    once, count = redact_text(CANARIES[name][0])
    assert count >= 1
    assert redact_text(once) == (once, 0)


@pytest.mark.parametrize("name", [name for name in CANARIES if "yaml" not in name and name != "prompt bare"])
def test_a_secret_is_gone_from_a_quotation(name: str) -> None:
    text, secret = CANARIES[name]
    covered, count = redact_text(repr(f"2026-06-15T12:00:00Z\n{text}"))
    assert secret not in covered
    assert count >= 1


def test_the_text_around_a_secret_stays() -> None:
    assert redact_text("GET /v1?token=abc-1&x=1") == ("GET /v1?token=<redacted:secret>&x=1", 1)
    assert redact_text('a TOKEN="x y", b=1') == ('a TOKEN="<redacted:secret>", b=1', 1)
    assert redact_text("http://u:p@host:3128/x") == ("http://<redacted:url-credentials>@host:3128/x", 1)
    assert redact_text("Authorization: Bearer abc") == ("Authorization: Bearer <redacted:bearer>", 1)
    assert redact_text("a bearer abc of news") == ("a bearer abc of news", 0)
    assert redact_text("password: a b # note\nb: 1") == ("password: <redacted:secret> # note\nb: 1", 1)
    assert redact_text("PASSWORD=a b user=me") == ("PASSWORD=<redacted:secret> user=me", 1)
    assert redact_text("token: |\n  a1\nb: 1") == ("token: <redacted:secret>\nb: 1", 1)
    assert redact_text('tokens = ["a1", "b2"]\nb = 1') == ('tokens = ["<redacted:secret>"]\nb = 1', 1)
    assert redact_text('"input":["a"],"model":"m"') == ('"input":["<redacted:prompt>"],"model":"m"', 1)


SIZE = 100_000
TRYING = {
    # what a pattern could try to match in very many ways
    "one word": "a" * SIZE,
    "names": "token" * (SIZE // 5),
    "names and signs": "token=" * (SIZE // 6),
    "inputs": '"model":"' + '"input":"' * (SIZE // 9),
    "lists": 'token:["' * (SIZE // 8),
    "embedded": "embed " * (SIZE // 6) + "input=",
    "space": "password:" + " " * SIZE + "\nx: y",
    "lines": "password:\n" + " \n" * (SIZE // 2) + "x: y",
    "certificate": "\n".join(["A" * 64] * (SIZE // 65)) + "\n-----END CERTIFICATE-----",
    "addresses": "x://a:" * (SIZE // 6),
    "encoded": "%3A%2F%2F" * (SIZE // 9),
    "backslashes": 'token="' + "\\" * SIZE,
    "mail": "a@" * (SIZE // 2),
    "crypt": "$6$" + "a$" * (SIZE // 2),
}


@pytest.mark.parametrize("name", TRYING)
def test_no_text_takes_long(name: str) -> None:
    started = time.process_time()
    redact_text(TRYING[name])
    assert time.process_time() - started < 2.0


def test_an_object_too_deep_is_not_kept() -> None:
    value: Any = "canary"
    for _ in range(400):
        value = [value]
    covered, count = redact_value(value)
    assert count == 1
    assert "canary" not in json.dumps(covered)
    assert "<redacted:too-deep>" in json.dumps(covered)


def test_a_text_that_only_looks_like_json_is_kept() -> None:
    assert redact_text('{"unfinished": ') == ('{"unfinished": ', 0)
    assert redact_value('{"a": 1}') == ('{"a": 1}', 0)
    assert redact_value("[1, 2") == ("[1, 2", 0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("name", "value", "key", "token", "env", "content", "role", "a")), inner
        )
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(json_values)
def test_any_value_keeps_its_shape(value: Any) -> None:
    covered, count = redact_value(value)
    assert type(covered) is type(value)
    if count == 0:
        assert covered == value
    assert redact_value(covered) == (covered, 0)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(CANARIES)), st.text(max_size=30), st.text(max_size=30))
def test_a_secret_is_gone_whatever_lines_stand_around_it(name: str, before: str, after: str) -> None:
    text, secret = CANARIES[name]
    covered, _ = redact_text(f"{before}\n{text}\n{after}")
    assert secret not in covered.removeprefix(before).removesuffix(after)


def test_what_a_judge_may_quote_is_covered_before_it_is_quoted() -> None:
    secret = "HF_TOKEN=canary-one"  # noqa: S105 - a canary
    state = {"terminated": {"message": secret}}
    pod = {
        "metadata": {"annotations": {"a": secret}},
        "status": {
            "message": secret,
            "conditions": [{"message": secret}],
            "containerStatuses": [{"lastState": state}],
        },
    }
    reads = {
        **{key: kinds_of_read(secret)[key] for key in list(kinds_of_read(secret))[:3]},
        "api:/log?": {"status": 200, "body": secret, "error": None},
        "http:ollama:/api/ps": {"status": 200, "body": {"models": [{"expires_at": secret}]}, "error": None},
        "api:/api/v1/pods": {"status": 200, "body": {"kind": "PodList", "items": [pod, 7]}, "error": None},
        "api:/api/v1/events": {
            "status": 200,
            "body": {"kind": "EventList", "items": [{"note": secret}]},
            "error": None,
        },
    }
    covered = redact_quotable(Recording(reads=reads)).reads
    assert json.dumps(covered).count("canary-one") == 1
    assert covered["api:/api/v1/pods"]["body"]["items"][0]["metadata"] == pod["metadata"]


@pytest.mark.parametrize("body", [{"kind": "NodeList", "items": []}, {"kind": "PodList", "items": 7}, {}, []])
def test_what_no_judge_quotes_is_left_for_the_writer_to_cover(body: Any) -> None:
    reads = {"api:/x": {"status": 200, "body": body, "error": None}, "file:/x": "damaged"}
    assert redact_quotable(Recording(reads=reads)).reads == reads
