import pytest

from operable.kernel.errors import Fail
from operable.proc.confine import Confinement, refuse, sandbox
from operable.proc.spawn import prepare

CLOUDS = ("blaxel", "daytona", "e2b", "modal")


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("prefix", ["", "mastra-"])
def test_a_cloud_provider_is_known_and_refused_with_what_to_install(name, prefix, monkeypatch):
    monkeypatch.setattr("operable.proc.remote.find_spec", lambda _: None)
    cloud = sandbox(prefix + name)

    with pytest.raises(Fail) as caught:
        cloud.wrap(prepare(["true"]), Confinement(cwd="/"))

    assert cloud.name == name
    assert caught.value.code == "SANDBOX_UNAVAILABLE"
    assert f"pip install {name}" in caught.value.message


@pytest.mark.parametrize("name", CLOUDS)
def test_with_its_sdk_it_still_refuses_and_says_that_the_bridge_is_missing(name, monkeypatch):
    monkeypatch.setattr("operable.proc.remote.find_spec", lambda _: object())
    cloud = sandbox(name)

    with pytest.raises(Fail, match="no bridge"):
        cloud.wrap(prepare(["true"]), Confinement(cwd="/"))
    with pytest.raises(Fail, match="no bridge") as caught:
        refuse(name, cloud.enforce(Confinement(cwd="/")))
    assert caught.value.code == "SANDBOX_CANNOT_ENFORCE"
