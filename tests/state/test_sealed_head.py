"""Heads of sealed logs: read exactly, and signed where the operator gave a key."""

import os
import signal
import subprocess
import sys
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from operable.state.sealed_end import DamagedError
from operable.state.sealed_head import (
    Head,
    UnreadableHeadError,
    load_public_key,
    load_signer,
    parse_head,
    read_head,
    write_head,
)
from operable.state.sealed_record import RecordPosition
from operable.state.sealed_settings import DAMAGED, KEY, SettingError, operator_log
from tests.state.formats import FORMATS, codes, judged, log, record

PEM, SSH = serialization.Encoding.PEM, serialization.Encoding.OpenSSH
PLAIN = serialization.NoEncryption()


def key_files(folder, key=None):
    key = key or ed25519.Ed25519PrivateKey.generate()
    private, public = folder / "key", folder / "key.pub"
    private.write_bytes(key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, PLAIN))
    public.write_bytes(key.public_key().public_bytes(SSH, serialization.PublicFormat.OpenSSH))
    return str(private), str(public)


@pytest.mark.parametrize("hash_", ["a" * 64, "sha256:" + "b" * 64])
@pytest.mark.parametrize("numbers", [(), (3,), (3, 7, 11)])
def test_a_head_is_read_as_it_was_written(tmp_path, hash_, numbers):
    path = str(tmp_path / "log")
    written = write_head(path, Head(12, hash_), numbers, None)

    assert read_head(path) == written
    assert (written.head, written.open) == (Head(12, hash_), numbers)
    assert parse_head(str(written.head)) == written.head


@pytest.mark.parametrize(
    "text",
    ["", "1", "1 abc\n", f"1 {'a' * 64}", f"1 {'a' * 64}\nopen x\n", f"1 {'a' * 64}\nmore\n", "\x80\n"],
)
def test_what_is_not_a_head_is_not_taken_for_one(tmp_path, text):
    (tmp_path / "log.head").write_bytes(text.encode("latin-1"))

    with pytest.raises(UnreadableHeadError):
        read_head(str(tmp_path / "log"))


@pytest.mark.parametrize("form", FORMATS)
def test_a_signed_head_is_believed_only_under_its_key_and_only_unchanged(tmp_path, form):
    private, public = key_files(tmp_path)
    path = tmp_path / "log"
    signed = log(path, form, signer=load_signer(private))
    signed.append(record(0))
    signed.begin(record(1))
    key = load_public_key(public)
    assert (codes(path, form, public_key=key), load_public_key(private)) == ([], key)

    (tmp_path / "other").mkdir()
    assert codes(path, form, public_key=load_public_key(key_files(tmp_path / "other")[1])) == ["unsigned"]
    head = tmp_path / "log.head"
    good = head.read_text()
    for forged in (good.replace("open 2\n", ""), "\n".join([*good.splitlines()[:-1], ""])):
        head.write_text(forged)
        assert codes(path, form, public_key=key) == ["unsigned"]
    head.write_text(good)
    assert judged(path, form, public_key=key).ok


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("forged", ["line", "line and head", "line and announcement"])
def test_what_somebody_without_the_key_adds_is_never_signed_as_ours(tmp_path, form, forged):
    private, public = key_files(tmp_path)
    path, signer = tmp_path / "log", load_signer(private)
    log(path, form, signer=signer).append(record(0))
    key, head = load_public_key(public), tmp_path / "log.head"
    old = head.read_bytes()
    log(path, form).append(record("forged"))  # as any other program can make it
    if forged == "line and announcement":
        head.rename(tmp_path / "log.head.new")
    if forged != "line and head":
        head.write_bytes(old)

    found = codes(path, form, public_key=key)
    assert {"line and head": "unsigned"}.get(forged, "tampered") in found
    log(path, form, signer=signer).append(record(1))
    log(path, form, signer=signer).append(record(2))
    assert "damaged" in codes(path, form, public_key=key)


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_crash_left_is_taken_over_under_the_key_that_announced_it(tmp_path, form):
    private, public = key_files(tmp_path)
    path, signer = tmp_path / "log", load_signer(private)
    log(path, form, signer=signer).append(record(0))
    key, head = load_public_key(public), tmp_path / "log.head"
    old = head.read_bytes()
    log(path, form, signer=signer).append(record(1))
    head.rename(tmp_path / "log.head.new")
    head.write_bytes(old)

    assert codes(path, form, public_key=key) == []
    log(path, form, signer=signer).append(record(2))
    assert judged(path, form, public_key=key).records == 4  # and the one that says that the log is signed
    assert codes(path, form, public_key=key) == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_key_for_a_log_that_never_was_signed_signs_it_from_now_on_and_names_the_past(tmp_path, form):
    private, public = key_files(tmp_path)
    path, signer, key = tmp_path / "log", load_signer(private), load_public_key(public)
    for number in range(3):
        log(path, form).append(record(number))
    assert codes(path, form, public_key=key) == ["unsigned"]  # as long as nothing is signed

    log(path, form, signer=signer).append(record(3))
    log(path, form, signer=signer).append(record(4))

    found = judged(path, form, public_key=key)
    assert (found.ok, found.records, found.signed_from, found.unsigned) == (True, 6, 3, 3)
    made = operator_log(str(path), FORMATS[form](), environment={KEY: private, DAMAGED: "refuse"})
    made.append(record(5))
    assert judged(path, form, public_key=key).ok


@pytest.mark.parametrize("form", FORMATS)
def test_a_log_that_is_signed_from_its_beginning_has_no_unsigned_past(tmp_path, form):
    private, public = key_files(tmp_path)
    log(tmp_path / "log", form, signer=load_signer(private)).append(record(0))

    found = judged(tmp_path / "log", form, public_key=load_public_key(public))

    assert (found.ok, found.records, found.signed_from, found.unsigned) == (True, 2, 0, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_refusing_changed_logs_does_not_refuse_one_that_is_signed_for_the_first_time(tmp_path, form):
    private, public = key_files(tmp_path)
    log(tmp_path / "log", form).append(record(0))
    made = operator_log(str(tmp_path / "log"), FORMATS[form](), environment={KEY: private, DAMAGED: "refuse"})

    made.append(record(1))

    assert judged(tmp_path / "log", form, public_key=load_public_key(public)).unsigned == 1


@pytest.mark.parametrize("adopted", [False, True])
@pytest.mark.parametrize("form", FORMATS)
def test_taking_the_key_away_is_an_alarm_with_and_without_the_key(tmp_path, form, adopted):
    private, public = key_files(tmp_path)
    path, signer, key = tmp_path / "log", load_signer(private), load_public_key(public)
    if adopted:
        log(path, form).append(record(0))
    log(path, form, signer=signer).append(record(1))
    with pytest.raises(DamagedError, match="was not given the operator's key"):
        log(path, form, refuses_damage=True).append(record(2))

    log(path, form).append(record(2))

    assert {"damaged", "unsigned"} <= set(codes(path, form))
    assert {"damaged", "unsigned"} <= set(codes(path, form, public_key=key))
    log(path, form, signer=signer).append(record(3))  # it comes back
    assert "damaged" in codes(path, form, public_key=key)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("stripped", ["the signature", "the signature and the mark"])
def test_a_head_without_its_signature_is_damage_and_never_the_first_signing(tmp_path, form, stripped):
    private, public = key_files(tmp_path)
    path, signer = tmp_path / "log", load_signer(private)
    log(path, form, signer=signer).append(record(0))
    head = tmp_path / "log.head"
    lines = head.read_text().splitlines()[:-1]
    head.write_text("".join(f"{line}\n" for line in lines if stripped == "the signature" or line != "signed"))

    assert "unsigned" in codes(path, form)
    log(path, form, signer=signer).append(record(1))
    assert "damaged" in codes(path, form, public_key=load_public_key(public))


@pytest.mark.parametrize("form", FORMATS)
def test_an_unsigned_past_that_was_changed_is_damage_when_the_key_comes(tmp_path, form):
    private, _ = key_files(tmp_path)
    path = tmp_path / "log"
    for number in range(3):
        log(path, form).append(record(number))
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first.replace(b"test", b"tess").replace(b"e0", b"e9"), *rest]))

    log(path, form, signer=load_signer(private)).append(record(3))

    assert "damaged" in codes(path, form)


@pytest.mark.parametrize("form", FORMATS)
def test_a_crash_in_the_first_signed_write_is_not_damage(tmp_path, form):
    private, public = key_files(tmp_path)
    path, signer = tmp_path / "log", load_signer(private)
    log(path, form).append(record(0))
    head = tmp_path / "log.head"
    old = head.read_bytes()
    log(path, form, signer=signer).append(record(1))
    head.rename(tmp_path / "log.head.new")
    head.write_bytes(old)

    log(path, form, signer=signer).append(record(2))

    found = judged(path, form, public_key=load_public_key(public))
    assert (found.ok, found.records, found.unsigned) == (True, 4, 1)


KILLED = """
import os, sys
from operable.state.sealed_settings import operator_log
from tests.state.formats import FORMATS, record
os.replace = lambda *names: os.kill(os.getpid(), 9)
operator_log(sys.argv[1], FORMATS[sys.argv[2]]()).append(record("killed"))
"""


@pytest.mark.parametrize("form", FORMATS)
def test_a_kill_in_the_first_signed_write_is_not_an_alarm_of_anybody(tmp_path, form):
    """The case of the red team: `verify` and `refuse` took it for a signature that was taken away."""
    private, public = key_files(tmp_path)
    path, environment = tmp_path / "log", {KEY: private, DAMAGED: "refuse"}
    for number in range(3):
        log(path, form).append(record(number))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), form],
        env={**os.environ, KEY: private},
        timeout=100,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL

    assert codes(path, form) == []
    assert codes(path, form, public_key=load_public_key(public)) == []
    operator_log(str(path), FORMATS[form](), environment=environment).append(record(4))
    found = judged(path, form, public_key=load_public_key(public))
    assert (found.ok, found.records, found.signed_from, found.unsigned) == (True, 6, 3, 3)


@pytest.mark.parametrize("form", FORMATS)
def test_a_crash_before_the_record_of_signing_leaves_it_to_the_next_write(tmp_path, form):
    """The notice of the restart stands before it: a crash may leave that one alone."""
    private, public = key_files(tmp_path)
    path, signer = tmp_path / "log", load_signer(private)
    log(path, form, signer=signer, earlier=lambda: {"reason": "there were sessions"}).append(record(0))
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    (tmp_path / "log.head").rename(tmp_path / "log.head.new")
    write_head(str(path), Head(-1, FORMATS[form].genesis), (), signer)

    log(path, form, signer=signer).append(record(1))

    found = judged(path, form, public_key=load_public_key(public))
    assert ([each.code for each in found.problems], found.signed_from) == (["truncated"], 1)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("adopted", [False, True])
@pytest.mark.parametrize("claim", ["nothing", "the head's signature", "another key", "nonsense"])
def test_an_announcement_without_the_logs_signature_is_forged_also_for_who_has_no_key(
    tmp_path, form, adopted, claim
):
    (tmp_path / "other").mkdir()
    path, signer = tmp_path / "log", load_signer(key_files(tmp_path)[0])
    if adopted:
        log(path, form).append(record(0))
    log(path, form, signer=signer).append(record(1))
    stated, codec = read_head(str(path)), FORMATS[form]()
    assert stated is not None
    last = codec.read(path.read_bytes().splitlines(keepends=True)[-1])
    place = RecordPosition(last.head.seq + 1, last.head.hash, time.time(), last.at)
    line, sealed, _ = codec.seal(record("forged"), place)
    with path.open("ab") as file:
        file.write(line)
    body = f"{place.seq} {sealed}\nsigned\n"
    signature = {
        "nothing": "",
        "the head's signature": f"{stated.signature}\n",
        "another key": load_signer(key_files(tmp_path / "other")[0])(body.encode()) + "\n",
        "nonsense": "ed25519 x y\n",
    }[claim]
    (tmp_path / "log.head.new").write_text(body + signature)

    assert codes(path, form) == ["tampered"]
    log(path, form, signer=signer).append(record(2))
    assert "damaged" in codes(path, form)


@pytest.mark.parametrize("form", FORMATS)
def test_a_head_that_another_key_signed_is_seen_by_who_has_no_key(tmp_path, form):
    (tmp_path / "other").mkdir()
    path, signer = tmp_path / "log", load_signer(key_files(tmp_path)[0])
    log(path, form, signer=signer).append(record(0))
    stated = read_head(str(path))
    assert stated is not None
    other = load_signer(key_files(tmp_path / "other")[0])

    write_head(str(path), stated.head, stated.open, other, is_marked=True)

    assert codes(path, form) == ["unsigned"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_log_of_another_name_under_the_same_key_does_not_pass_for_this_one(tmp_path, form):
    """The case of the red team: the log and the head of another workspace verified in the place of this one."""
    private, public = key_files(tmp_path)
    signer, key = load_signer(private), load_public_key(public)
    paths = {name: tmp_path / name / "log" for name in ("mine", "other")}
    for name, path in paths.items():
        log(path, form, signer=signer, name=name).append(record(name))
        assert codes(path, form, public_key=key, name=name) == []
    for file in paths["other"].parent.iterdir():
        (paths["mine"].parent / file.name).write_bytes(file.read_bytes())

    assert codes(paths["mine"], form, public_key=key, name="mine") == ["tampered"]
    assert codes(paths["mine"], form, name="mine") == ["tampered"]  # also without the key
    assert codes(paths["mine"], form, public_key=key) == []  # by who does not know what log it should be
    with pytest.raises(DamagedError, match="another log"):
        operator_log(
            str(paths["mine"]), FORMATS[form](), environment={KEY: private, DAMAGED: "refuse"}, name="mine"
        )
    with pytest.raises(DamagedError, match="another log"):
        log(paths["mine"], form, signer=signer, name="mine", refuses_damage=True).append(record(1))
    log(paths["mine"], form, signer=signer, name="mine").append(record(1))
    assert codes(paths["mine"], form, public_key=key, name="mine") == ["damaged"]


@pytest.mark.parametrize("form", FORMATS)
def test_the_name_in_a_signed_head_cannot_be_changed_or_left_out(tmp_path, form):
    private, public = key_files(tmp_path)
    path, key = tmp_path / "log", load_public_key(public)
    log(path, form, signer=load_signer(private), name="other").append(record(0))
    head = tmp_path / "log.head"
    lines = head.read_text().splitlines(keepends=True)
    (at,) = [number for number, line in enumerate(lines) if line.startswith("log ")]

    for forged in ("", f"log {'0' * 64}\n"):
        head.write_text("".join([*lines[:at], forged, *lines[at + 1 :]]))
        assert "unsigned" in codes(path, form, public_key=key, name="mine")


@pytest.mark.parametrize("form", FORMATS)
def test_a_signed_log_without_a_name_is_believed_and_gets_its_name_with_the_next_record(tmp_path, form):
    private, public = key_files(tmp_path)
    path, signer, key = tmp_path / "log", load_signer(private), load_public_key(public)
    log(path, form, signer=signer).append(record(0))  # as versions before wrote it
    assert codes(path, form, public_key=key, name="mine") == []

    log(path, form, signer=signer, name="mine").append(record(1))

    assert codes(path, form, public_key=key, name="mine") == []
    assert codes(path, form, public_key=key, name="other") == ["tampered"]


def test_a_new_history_does_not_have_the_signature(tmp_path):
    private, public = key_files(tmp_path)
    log(tmp_path / "log", signer=load_signer(private)).append(record(0))
    for path in tmp_path.glob("log*"):
        path.unlink()
    log(tmp_path / "log").append(record(0))

    assert codes(tmp_path / "log") == []
    assert codes(tmp_path / "log", public_key=load_public_key(public)) == ["unsigned"]


def test_a_key_that_cannot_be_used_is_said_and_nothing_is_written_unsigned(tmp_path):
    other = ec.generate_private_key(ec.SECP256R1())
    paths = [*key_files(tmp_path, other), str(tmp_path / "missing"), str(tmp_path / "text")]
    (tmp_path / "text").write_text("nonsense")
    for path in paths:
        with pytest.raises(ValueError, match=r"key|cannot be read"):
            load_public_key(path)
        with pytest.raises(SettingError, match=r"key|cannot be read"):
            operator_log(str(tmp_path / "log"), FORMATS["agents"](), environment={"OPERABLE_AUDIT_KEY": path})
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    "name, value",
    [("OPERABLE_AUDIT_KEEP", "x"), ("OPERABLE_AUDIT_KEEP", "-1"), ("OPERABLE_AUDIT_DAMAGED", "no")],
)
def test_a_setting_that_cannot_be_followed_is_an_error_of_every_write(tmp_path, name, value):
    with pytest.raises(SettingError, match=name):
        operator_log(str(tmp_path / "log"), FORMATS["agents"](), environment={name: value})


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("has_key", [False, True])
def test_an_operator_who_refuses_damage_is_told_of_a_change_anywhere_in_the_log(tmp_path, form, has_key):
    path = tmp_path / "log"
    environment = {"OPERABLE_AUDIT_DAMAGED": "refuse"}
    if has_key:
        environment["OPERABLE_AUDIT_KEY"] = key_files(tmp_path)[0]
    for number in range(5):
        operator_log(str(path), FORMATS[form](), environment=environment).append(record(number))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines).replace(b'"e1"', b'"e9"'))
    assert path.read_bytes() != b"".join(lines)

    with pytest.raises(DamagedError):
        operator_log(str(path), FORMATS[form](), environment=environment)
    path.write_bytes(b"".join(lines))
    operator_log(str(path), FORMATS[form](), environment=environment).append(record(5))


def test_settings_reach_the_log(tmp_path):
    made = operator_log(
        str(tmp_path / "log"),
        FORMATS["agents"](),
        environment={"OPERABLE_AUDIT_KEEP": "3", "OPERABLE_AUDIT_DAMAGED": "refuse"},
    )
    assert (made.keep, made.refuses_damage, made.signer) == (3, True, None)


@pytest.mark.parametrize("program", ["flow", "host"])
def test_both_audits_sign_their_heads_with_the_operators_key(tmp_path, program):
    private, public = key_files(tmp_path)
    text = {
        "flow": "from operable.flow.audit.log import append\nappend(sys.argv[1], {'execution_id': 'e'})\n",
        "host": "from operable.gate.audit.chain import Audit\n"
        "Audit(sys.argv[1], actor='a').record('x', subject={'kind': 'test'})\n",
    }[program]
    path = tmp_path / "log"
    subprocess.run(
        [sys.executable, "-c", "import sys\n" + text, str(path)],
        env={**os.environ, "OPERABLE_AUDIT_KEY": private},
        timeout=100,
        check=True,
    )

    form = {"flow": "executions", "host": "agents"}[program]
    assert codes(path, form, public_key=load_public_key(public)) == []
    with path.open("ab") as file:
        file.write(b"")
    assert codes(path, form, public_key=b"\0" * 32) == ["unsigned"]
