import pytest

from operable.kernel.errors import Fail
from operable.proc.environment import environment

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
