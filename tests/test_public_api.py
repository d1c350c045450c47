"""What a package says it exports is what can be imported from it, once each and in order."""

import importlib
import pkgutil

import pytest

import operable

PACKAGES = [
    "operable",
    *(module.name for module in pkgutil.iter_modules(operable.__path__, "operable.") if module.ispkg),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_exported_names_exist_and_are_sorted(package):
    module = importlib.import_module(package)
    exported = list(getattr(module, "__all__", []))

    assert exported == sorted(set(exported))
    assert [name for name in exported if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_exported_name_is_private(package):
    exported = getattr(importlib.import_module(package), "__all__", [])

    assert [name for name in exported if name.startswith("_")] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_exported_name_is_that_of_a_submodule(package):
    """Importing the submodule would put it in the place of what is exported: which one a caller gets would depend on the order."""
    module = importlib.import_module(package)
    submodules = {found.name for found in pkgutil.iter_modules(module.__path__)}

    assert submodules & set(getattr(module, "__all__", [])) == set()
