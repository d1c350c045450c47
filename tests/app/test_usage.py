"""How commands are used, by the text of an APP.md."""

from operable.app.usage import usages
from tests.app.making import made, package_at

BODY = """# App

| command | does |
|---|---|
| `list [--status open\\|done]` | shows |
| `item add NAME` | adds |

`list` is short. ``get`` too.

```sh
python3 app/widget.py get ID --long  # see `item`
# list [--in-a-comment and longer than the other one is]
```

`item` alone; `remove` and `remove LONG`
""".replace("LONG", "x" * 400)


def test_the_longest_line_that_shows_a_command_counts(tmp_path):
    package = package_at(made(tmp_path / "one", body=BODY))
    assert usages(package) == {
        "list": "list [--in-a-comment and longer than the other one is]",
        "item add": "item add NAME",
        "get": "get ID --long  # see `item`",
        "item": "item",
        "remove": "remove",
    }


def test_the_bars_of_a_table_are_as_they_are_typed(tmp_path):
    package = package_at(made(tmp_path / "one", body="| `list [--status open\\|done]` | shows |"))
    assert usages(package) == {"list": "list [--status open|done]"}


def test_a_text_without_code_shows_nothing(tmp_path):
    assert usages(package_at(made(tmp_path / "one", body="Use list.\n"))) == {}
