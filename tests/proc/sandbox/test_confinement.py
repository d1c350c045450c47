"""What a confined process may see and do, as values."""

import subprocess
import sys

from operable.proc.sandbox.confinement import Confinement, Item


def test_a_confinement_shows_no_secret():
    shown = repr(Confinement("/work", contents={"/run/key": b"hunter2"}, credential="hunter3"))

    assert "cwd='/work'" in shown
    assert "hunter" not in shown


def test_confinements_share_nothing_that_one_of_them_was_given():
    Confinement("/a", writable={"/a": "/b"})

    assert Confinement("/c").writable == {}


def test_a_line_of_a_report_has_its_fields_by_name():
    assert Item("files", "all", "refused", "nothing").as_dict() == {
        "item": "files",
        "wanted": "all",
        "outcome": "refused",
        "mechanism": "nothing",
    }


def test_an_enclosure_is_made_without_what_reads_source_code():
    program = (
        "import sys, operable.proc.sandbox.enclosure, operable.proc.sandboxes.bubblewrap\n"
        "print(sorted({'ast', 'dataclasses', 'inspect', 'subprocess', 'tokenize'} & set(sys.modules)))\n"
    )

    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, timeout=200, check=True)

    assert done.stdout == b"[]\n"
