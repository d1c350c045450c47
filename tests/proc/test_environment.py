from base64 import b64encode

import pytest

from operable.kernel.errors import Fail
from operable.proc.environment import credential_files, environment, loads_code, secret_values

AMBIENT = {
    "PATH": "/bin",
    "HOME": "/home/ann",
    "LC_ALL": "C",
    "LC_CTYPE": "UTF-8",
    "AWS_SECRET_ACCESS_KEY": "s3cret",
    "OUTLINE_DB": "notes.db",
    "OUTLINE_TOKEN": "t",
    "LD_PRELOAD": "evil.so",
    "PYTHONPATH": "/elsewhere",
}


def test_only_the_listed_variables_pass():
    assert environment(source=AMBIENT) == {
        "PATH": "/bin",
        "HOME": "/home/ann",
        "LC_ALL": "C",
        "LC_CTYPE": "UTF-8",
    }


def test_the_caller_adds_and_overrides():
    made = environment({"HOME": "/tmp", "X": "1"}, source=AMBIENT)
    assert made["HOME"] == "/tmp"
    assert made["X"] == "1"


def test_further_names_and_prefixes_are_inherited_when_named():
    assert "OUTLINE_DB" in environment(inherit=["OUTLINE_DB"], source=AMBIENT)
    made = environment(inherit=["OUTLINE_*", "ABSENT"], source=AMBIENT)
    assert made["OUTLINE_TOKEN"] == "t"
    assert "ABSENT" not in made
    assert "LD_PRELOAD" not in made


@pytest.mark.parametrize(
    ("name", "value"), [("", "x"), ("A=B", "x"), ("A", "x\0y"), ("A\0", "x"), ("A", "\ud800")]
)
def test_an_impossible_variable_is_a_usage_error(name, value):
    with pytest.raises(Fail) as caught:
        environment({name: value}, source={})
    assert (caught.value.category, caught.value.code) == ("usage", "ENVIRONMENT_INVALID")


def test_the_secrets_of_every_file_of_a_list_are_known(tmp_path):
    (tmp_path / "one").write_text("token: zEbra-nine-1\n")
    (tmp_path / "two").write_text("token: |\n  zEbra-nine-2\n")
    listed = f"{tmp_path}/one:{tmp_path}/missing:{tmp_path}/two"

    assert secret_values({"KUBECONFIG": listed}) == ["zEbra-nine-1", "zEbra-nine-2"]
    assert credential_files({"KUBECONFIG": listed, "HOME": str(tmp_path)}) == [
        f"{tmp_path}/one",
        f"{tmp_path}/two",
    ]


def test_a_secret_with_a_slash_is_not_taken_for_a_list_of_paths():
    assert secret_values({"SHOP_TOKEN": "/:/abc-Zebra-nine"}) == ["/:/abc-Zebra-nine"]


def test_the_secrets_of_a_file_in_a_variable_are_known():
    login = b64encode(b"ada:Zebra-nine").decode()

    found = secret_values({"DOCKER_AUTH_CONFIG": f'{{"auths": {{"a.example": {{"auth": "{login}"}}}}}}'})

    assert {login, "Zebra-nine"} <= set(found)


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "GIT_SSH_COMMAND", "EDITOR", "BASH_ENV"]
)
def test_variables_that_make_programs_load_code_are_known(name):
    assert loads_code(name)
    assert not loads_code(f"MY_{name}")
