"""Third-party adapters: seen without being imported, and imported only as approved."""

import json
import os
import stat
import sys
import threading

import pytest

from operable.host.start import adapters
from operable.host.start.choices import adapter_named
from operable.kernel.errors import Fail
from tests.requirement import requirement

CODE = """
import os
os.environ["EVIL_RAN"] = "yes"
from operable.host.arm import Arm
ARM = Arm(name="evil", title="Evil", connect=object)
"""


@pytest.fixture(autouse=True)
def _clean(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EVIL_RAN", raising=False)
    yield
    os.environ.pop("EVIL_RAN", None)
    for name in [name for name in sys.modules if name.startswith("evil_adapter")]:
        del sys.modules[name]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed distributions, on the path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def install(
    site, name="evil-adapter", version="1.0", code=CODE, adapter="@vendor/evil", value="evil_adapter.arm:ARM"
):
    package = site / "evil_adapter"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "arm.py").write_text(code)
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[operable.host.arms]\n{adapter} = {value}\n")
    files = [
        "evil_adapter/__init__.py",
        "evil_adapter/arm.py",
        f"{info.name}/METADATA",
        f"{info.name}/entry_points.txt",
        f"{info.name}/RECORD",
    ]
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    return package / "arm.py"


def refusal(adapter="@vendor/evil"):
    with pytest.raises(Fail) as caught:
        adapter_named(adapter)
    assert "EVIL_RAN" not in os.environ
    return caught.value


@requirement("aip45:security:adapters-pinned")
def test_an_adapter_that_was_not_approved_is_refused_and_not_imported(site):
    install(site)
    failure = refusal()

    assert (failure.category, failure.code) == ("authz", "ADAPTER_NOT_APPROVED")
    assert failure.details["distribution"] == "evil-adapter"
    assert adapters.available() == ["@vendor/evil"]


def test_looking_at_an_adapter_does_not_import_it(site):
    install(site)
    pin = adapters.pin_of("@vendor/evil")

    assert (pin.adapter, pin.distribution, pin.version) == ("@vendor/evil", "evil-adapter", "1.0")
    assert "EVIL_RAN" not in os.environ
    assert "evil_adapter" not in sys.modules


@requirement("aip45:conformance:adapter-interface")
def test_an_approved_adapter_is_the_arm_of_its_manifests(site):
    install(site)
    adapters.approve(adapters.pin_of("@vendor/evil"))

    assert adapter_named("@vendor/evil").name == "evil"


@requirement("aip45:security:adapters-pinned")
def test_the_same_version_with_other_code_is_not_what_was_approved(site):
    code = install(site)
    adapters.approve(adapters.pin_of("@vendor/evil"))
    code.write_text(CODE + "# one byte more\n")
    failure = refusal()

    assert failure.code == "ADAPTER_CHANGED"
    assert failure.details["approved_version"] == "1.0"


def test_a_revoked_approval_is_none(site):
    install(site)
    adapters.approve(adapters.pin_of("@vendor/evil"))
    assert list(adapters.approved()) == ["@vendor/evil"]

    assert adapters.revoke("@vendor/evil")
    assert not adapters.revoke("@vendor/evil")
    assert refusal().code == "ADAPTER_NOT_APPROVED"


def test_a_module_that_another_place_would_provide_is_not_pinnable(site, tmp_path, monkeypatch):
    install(site)
    shadow = tmp_path / "shadow" / "evil_adapter"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("")
    (shadow / "arm.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path / "shadow"))

    assert refusal().code == "ADAPTER_NOT_PINNABLE"


def test_a_module_that_the_distribution_does_not_have_is_not_pinnable(site):
    install(site, value="json:loads")

    assert refusal().code == "ADAPTER_NOT_PINNABLE"


def test_a_file_that_is_gone_cannot_be_pinned(site):
    install(site)
    (site / "evil_adapter-1.0.dist-info" / "METADATA").chmod(0o644)
    with open(site / "evil_adapter-1.0.dist-info" / "RECORD", "a", encoding="utf-8") as record:
        record.write("evil_adapter/gone.py,,\n")

    assert refusal().code == "ADAPTER_NOT_PINNABLE"


def test_two_distributions_with_one_adapter_are_refused(site):
    install(site)
    install(site, name="other-adapter")

    assert refusal().code == "ADAPTER_AMBIGUOUS"


def test_something_that_is_no_arm_is_refused(site):
    install(site, code="ARM = 7\n")
    adapters.approve(adapters.pin_of("@vendor/evil"))
    with pytest.raises(Fail) as caught:
        adapter_named("@vendor/evil")

    assert caught.value.code == "ADAPTER_INVALID"


def test_an_adapter_that_nobody_has_is_refused_with_the_ones_that_were_perhaps_meant(site):
    install(site)
    failure = refusal("operable/json-strem")
    other = refusal("@vendor/evill")

    assert failure.code == other.code == "UNKNOWN_ADAPTER"
    assert "operable/json-stream" in str(failure.hint)
    assert "@vendor/evil" in str(other.hint)
    with pytest.raises(Fail) as caught:
        adapters.pin_of("@vendor/none")
    assert caught.value.code == "UNKNOWN_ADAPTER"


@requirement("aip45:conformance:adapter-interface")
@pytest.mark.parametrize(
    "adapter, arm",
    [
        ("@agentproto/adapter-gemini-cli", "gemini-stream-json"),
        ("@agentproto/adapter-claude-code", "claude-stream-json"),
        ("@agentproto/adapter-codex", "codex-app-server"),
        ("operable/print", "print"),
        ("operable/json-stream", "json-stream"),
    ],
)
def test_names_of_known_adapters_mean_arms_of_ours(adapter, arm):
    assert adapter_named(adapter).name == arm


def test_approvals_are_private_and_a_broken_list_approves_nothing(site, tmp_path):
    install(site)
    adapters.approve(adapters.pin_of("@vendor/evil"))
    path = tmp_path / "home" / "state" / "agents" / "adapters.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(json.loads(path.read_text())) == ["@vendor/evil"]

    path.write_text("{")
    assert refusal().code == "ADAPTER_APPROVALS_UNREADABLE"


def test_many_who_approve_at_once_lose_nothing():
    pins = [adapters.Pin(f"a{number}", "d", "1", "sha256:x") for number in range(20)]
    threads = [threading.Thread(target=adapters.approve, args=(pin,)) for pin in pins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=200)

    assert sorted(adapters.approved()) == sorted(pin.adapter for pin in pins)
