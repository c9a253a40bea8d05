import gzip
import io
import json
import os
import threading
from pathlib import Path

import pytest
from edge_llm_tests.errors import EvidenceError
from edge_llm_tests.evidence import Recording
from edge_llm_tests.reads import ApiRead, UnseenError, see
from edge_llm_tests.testing import answer, command, content, kubernetes_list, recording_of


def test_a_saved_recording_loads_the_same(tmp_path: Path) -> None:
    file = tmp_path / "box.json"
    recording = Recording(
        {"command:df -Pk": command("x")},
        "2026-06-15T12:00:00Z",
        "cpu",
        "default",
        simulated=True,
        redactions=2,
    )
    recording.save(file)
    assert Recording.load(file) == recording
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text())["target"] == {"context": "default", "profile": "cpu"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a complete JSON document"),
        ('{"schema": "edge.evidence/v1", "reads": {', "not a complete JSON document"),
        ("[]", "no evidence recording"),
        ('{"schema": "edge.evidence/v2", "reads": {}}', "edge.evidence/v2"),
        ('{"schema": "edge.evidence/v1"}', "`reads` is missing"),
        ('{"schema": "edge.evidence/v1", "reads": []}', "`reads` is missing"),
    ],
)
def test_what_is_no_recording_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(EvidenceError, match=said) as caught:
        Recording.load(file)
    assert str(file) in caught.value.message
    assert "edge evidence record" in caught.value.next_step


@pytest.mark.parametrize(
    ("content", "said", "step"),
    [
        (gzip.compress(b"{}", mtime=0), "compressed with gzip", "gunzip"),
        (b"\x28\xb5\x2f\xfd0", "compressed with zstd", "unzstd"),
        (b"PK\x03\x04", "a ZIP archive", "take the recording out"),
        ("{}".encode("utf-16"), "UTF-16", "UTF-8"),
        (b" \n", "it is empty", "edge evidence record"),
        (b"\0" * 9000, "null bytes", "edge evidence record"),
        (b'{"a": NaN}', "not a complete JSON document", "edge evidence record"),
    ],
)
def test_what_is_no_json_is_named_by_its_kind(tmp_path: Path, content: bytes, said: str, step: str) -> None:
    file = tmp_path / "other"
    file.write_bytes(content)
    with pytest.raises(EvidenceError) as caught:
        Recording.load(file)
    assert said in caught.value.message
    assert step in caught.value.next_step


def test_a_device_and_a_file_beyond_all_size_are_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EvidenceError, match="null bytes"):
        Recording.load(Path("/dev/zero"))
    monkeypatch.setattr("edge_llm_tests.evidence_file._SIZE_LIMIT_BYTES", 16)
    (tmp_path / "large").write_text('{"schema": "edge.evidence/v1", "reads": {}}')
    with pytest.raises(EvidenceError, match="larger than"):
        Recording.load(tmp_path / "large")


def test_a_byte_order_mark_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "marked").write_text('{"schema": "edge.evidence/v1", "reads": {}}', encoding="utf-8-sig")
    assert Recording.load(tmp_path / "marked").reads == {}


def test_a_dash_is_the_standard_stream(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    Recording(context="box \u2713").save(Path("-"))
    written = io.TextIOWrapper(io.BytesIO(capsysbinary.readouterr().out))
    monkeypatch.setattr("sys.stdin", written)
    assert Recording.load(Path("-")).context == "box \u2713"
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(EvidenceError, match="standard input is closed"):
        Recording.load(Path("-"))


@pytest.mark.parametrize(
    ("status", "reason"),
    [(429, "Unavailable"), (302, "Malformed"), (307, "Malformed"), (503, "Unavailable"), (404, None)],
)
def test_what_is_no_answer_of_the_api_shows_nothing(status: int, reason: str | None) -> None:
    problem = ApiRead("api:/version", status, "said", None).problem
    assert (problem and problem.reason) == reason


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="No such file"):
        Recording.load(tmp_path / "absent.json")


def test_a_read_that_was_not_made_is_unseen() -> None:
    with pytest.raises(UnseenError) as caught:
        recording_of({}).command("df -Pk")
    assert (caught.value.reason, caught.value.key) == ("NotObserved", "command:df -Pk")


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (answer(None, status=None, error="unreachable"), "Unreachable"),
        (answer(None, status=None, error="timeout"), "TimedOut"),
        (answer(None, status=None, error="tls"), "NotTrusted"),
        (answer(None, status=None, error="dns"), "NameNotResolved"),
        (answer(None, status=None, error="?"), "Malformed"),
        (answer({"message": "Unauthorized"}, status=401), "Unauthorised"),
        (answer({"message": "no"}, status=403), "Forbidden"),
        (answer("no endpoints", status=503), "Unavailable"),
        (answer({}, status=404), "Unavailable"),
        (answer(None, status=None), "Malformed"),
        (answer(""), "Malformed"),
        (answer("<html>sign in</html>"), "Malformed"),
        (answer("plain"), "Malformed"),
        (answer([]), "Malformed"),
        (answer({"kind": "Status"}), "Malformed"),
        (answer({"kind": "PodList", "items": [7]}), "Malformed"),
        (answer({"kind": "PodList", "items": {}}), "Malformed"),
        (answer({}, status=True), "Malformed"),
        ("text", "Malformed"),
    ],
)
def test_a_list_that_was_not_seen_says_why(read: object, reason: str) -> None:
    recording = recording_of({"api:/api/v1/pods": read})
    sight = see(lambda: recording.api("/api/v1/pods").items)
    assert sight.unseen is not None
    assert sight.unseen.reason == reason
    assert "/api/v1/pods" in sight.unseen.message


def test_a_list_kept_as_text_is_parsed() -> None:
    recording = recording_of({"api:/api/v1/pods": answer('{"kind": "PodList", "items": []}')})
    assert recording.api("/api/v1/pods").items == ()
    assert recording_of({"api:/x": kubernetes_list({"a": 1})}).api("/x").items == ({"a": 1},)


def test_commands_and_files_say_what_kept_them() -> None:
    recording = recording_of(
        {
            "command:a": command(error="not-found"),
            "command:b": command("boom", rc=9),
            "command:c": {"rc": 0},
            "file:/x": content(None, error="permission-denied"),
            "file:/y": {},
            "glob:/z*": {"paths": [1]},
        }
    )
    for look, reason in (
        (lambda: recording.command("a").output, "Unavailable"),
        (lambda: recording.command("b").output, "Unavailable"),
        (lambda: recording.command("c").output, "Malformed"),
        (lambda: recording.file("/x").content, "PermissionDenied"),
        (lambda: recording.file("/y").content, "Malformed"),
        (lambda: recording.glob("/z*"), "Malformed"),
    ):
        unseen = see(look).unseen
        assert unseen is not None
        assert unseen.reason == reason


def test_logs_are_text() -> None:
    key = "api:/api/v1/namespaces/n/pods/p/log?container=c&tailLines=200"
    assert recording_of({key: answer("line")}).log("n", "p", "c") == "line"
    previous = recording_of({f"{key}&previous=true": answer({"not": "text"})})
    unseen = see(lambda: previous.log("n", "p", "c", previous=True)).unseen
    assert unseen is not None
    assert unseen.reason == "Malformed"


def test_now_is_the_time_of_the_recording() -> None:
    assert recording_of({}, recorded_at="2026-06-15T12:00:00Z").now.isoformat() == "2026-06-15T12:00:00+00:00"
    assert recording_of({}, recorded_at="yesterday").now.year == 1970
    assert recording_of({}, recorded_at="2026-06-15T12:00:00").now.tzinfo is not None


def test_a_view_is_made_once() -> None:
    made = []

    def observer(recording: Recording) -> int:
        made.append(recording)
        return 7

    recording = recording_of({})
    assert recording.view(observer).value + recording.view(observer).value == 14
    assert len(made) == 1


def test_what_is_no_file_is_written_to_and_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reading = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reading.start()
    Recording(context="through a pipe").save(tmp_path / "pipe")
    reading.join(10)
    assert b"through a pipe" in got[0]
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(EvidenceError, match="No space left"):
        Recording().save(Path("/dev/full"))
    assert Path("/dev/full").is_char_device()
    with pytest.raises(EvidenceError, match="Is a directory"):
        Recording().save(tmp_path)


def test_a_link_stays_a_link_and_what_is_there_already_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    (tmp_path / "other").write_text("kept")
    (tmp_path / ".real.json.partial").symlink_to(tmp_path / "other")
    Recording(context="box").save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert Recording.load(tmp_path / "real.json").context == "box"
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "other").read_text() == "kept"


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(EvidenceError, match="No space left"):
        Recording().save(tmp_path / "box.json")
    assert list(tmp_path.iterdir()) == []
