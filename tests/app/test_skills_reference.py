"""Our judgement of a SKILL.md against that of `skills-ref`, the reference of its standard, case by case.

Where the two differ on purpose, the case says so with the reason, and both verdicts are held.
"""

import json
import subprocess

import pytest

from operable.app.validation import validate
from tests.agents.install import BIN, missing
from tests.app.making import made

pytestmark = pytest.mark.skipif(missing("skills-ref") is not None, reason=str(missing("skills-ref")))

GOOD = "description: What it does and when."
NAMES = {
    **dict.fromkeys(("use", "a", "a1", "a-b-c", "0-9", "x" * 64), True),
    **dict.fromkeys(("Use", "USE", "-use", "use-", "a--b", "a_b", "a.b", "a b", "x" * 65, "a/b", ""), False),
}
# text of the frontmatter -> whether it is sound, for both
FIELDS = {
    GOOD: True,
    f"{GOOD}\nlicense: MIT\ncompatibility: Needs git.\nallowed-tools: Bash Read\nmetadata:\n  author: a\n  version: '1.0'": True,
    f"description: {'x' * 1024}": True,
    f"description: {'x' * 1025}": False,
    f"{GOOD}\ncompatibility: {'x' * 500}": True,
    f"{GOOD}\ncompatibility: {'x' * 501}": False,
    f"{GOOD}\ncompatibility:\n  - a list": False,
    "license: MIT": False,
    "description: ''": False,
    "description: '   '": False,
    "description:": False,
    "description: |\n  Several\n  lines.": True,
    "description: >\n  Folded\n  lines.": True,
    "description: 'a: b'": True,
    "description: a: b": False,
    f"{GOOD}\n{GOOD}": False,
    "description:\n  - a list": False,
    "description:\n  a: mapping": False,
    "description: ünïcödé ✓": True,
    f"{GOOD}\n\tbad: indentation": False,
}
# whole files -> whether they are sound, for both
FILES = {
    "": False,
    "no frontmatter": False,
    "---\nname: use\n": False,
    "---\n- a\n- list\n---\n": False,
    "---\njust text\n---\n": False,
    f"---\nname: use\n{GOOD}\n---\n": True,
    f"---\nname: use\n{GOOD}\n---\n# Title\n\n---\n\nA rule in the text.\n": True,
    f"---\r\nname: use\r\n{GOOD}\r\n---\r\nText.\r\n": True,
    f"\n---\nname: use\n{GOOD}\n---\n": False,
}
# (frontmatter after the name, or the name itself): ours, the reference's, why
DIFFERENT = {
    "an unknown field": (
        "use",
        f"{GOOD}\ncolour: red",
        (True, False, "unknown fields are warnings, as those of APP.md are: a newer standard may have them"),
    ),
    "letters of other scripts": (
        "café",
        GOOD,
        (False, True, "the standard's text allows a-z, 0-9 and hyphens; its reference any letter"),
    ),
    "a description that is a number": (
        "use",
        "description: 42",
        (False, True, "YAML says that it is no text; the reference takes every scalar for one"),
    ),
    "a flow mapping": (
        "use",
        f"{GOOD}\nmetadata: {{author: a}}",
        (True, False, "YAML has them; the reference reads a subset of YAML"),
    ),
}


def cases():
    for name, sound in NAMES.items():
        yield (
            f"name {name[:20]!r} ({len(name)})",
            name,
            f"---\nname: {name}\n{GOOD}\n---\nText.\n",
            (sound, sound),
        )
    for number, (fields, sound) in enumerate(FIELDS.items()):
        yield (
            f"fields {number}: {fields[:40]!r}",
            "use",
            f"---\nname: use\n{fields}\n---\nText.\n",
            (sound, sound),
        )
    for number, (text, sound) in enumerate(FILES.items()):
        yield f"file {number}: {text[:40]!r}", "use", text, (sound, sound)
    yield "another folder", "other", f"---\nname: use\n{GOOD}\n---\n", (False, False)
    for what, (name, fields, (ours, theirs, _)) in DIFFERENT.items():
        yield what, name, f"---\nname: {name}\n{fields}\n---\n", (ours, theirs)


REFERENCE = """
import json, pathlib, sys
from skills_ref import validate
print(json.dumps([validate(pathlib.Path(folder)) for folder in json.load(sys.stdin)]))
"""


def test_every_case_is_judged_as_the_reference_judges_it_or_differs_for_a_reason(tmp_path):
    wanted, folders, ours = [], [], []
    for number, (what, name, text, sound) in enumerate(cases()):
        root = made(tmp_path / f"case-{number}")
        # A folder can hold neither every name nor none: the name in the file is then not that of its folder anyway.
        folder = root / "skills" / (name if name and "/" not in name else "use")
        folder.mkdir(exist_ok=True)
        (folder / "SKILL.md").write_bytes(text.encode())
        wanted.append((what, sound))
        folders.append(str(folder))
        found = validate(str(root))
        ours.append(
            not [
                problem
                for problem in found.problems
                if problem.level == "error" and problem.path == str(folder / "SKILL.md")
            ]
        )
    done = subprocess.run(
        [str(BIN / "skills-ref-python"), "-c", REFERENCE],
        input=json.dumps(folders),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs = [not problems for problems in json.loads(done.stdout)]

    judged = [(what, pair) for (what, _), pair in zip(wanted, zip(ours, theirs, strict=True), strict=True)]
    assert [each for each in judged if each not in wanted] == []
    assert len(judged) > 45
