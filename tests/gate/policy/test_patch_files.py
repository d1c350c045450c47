"""Which files a patch names, and that the lines of its hunks neither name files nor hide them."""

import pytest

from operable.gate.policy.patch_files import patched

HEAD = "--- a/src/x\n+++ b/src/x\n"
MORE = "--- a/secret\n+++ b/secret\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    "text, named",
    [
        (HEAD + "@@ -1 +1 @@\n-a\n+b\n", {"src/x"}),
        ("--- /dev/null\n+++ b/new\t2020-01-01\n@@ -0,0 +1 @@\n+x", {"new"}),
        ("diff --git a/x b/x\nold mode 1\nnew mode 2\n", {"x"}),
        ("diff --git a/my file b/my file\ndeleted file mode 1\n", {"my file"}),
        ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", {"x", "y"}),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", {"x", "y"}),
        ('--- "a/\\303\\244"\n+++ "b/\\303\\244"\n@@ -1 +1 @@\n-a\n+b\n', {"ä"}),
        ("*** old\n--- new\n***************\n", {"old", "new"}),
        (
            "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n*** Delete File: d\n",
            {"a", "b", "c", "d"},
        ),
        ("*** Begin Patch\r\n*** Add File: a\r\n+x\r\n", {"a"}),
        ("*** Begin Patch\n*** Add File: a\n+x\n  *** Add File: b\n+x\n", {"a", "b"}),
        ("some text\nand more", set()),
    ],
)
def test_a_patch_names_its_files_at_their_heads(text, named):
    assert set(patched(text)) == named


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "@@ -1,2 +1,2 @@\n--- secret\n+++ secret\n a\n",
        HEAD + "@@ -1,2 +1,2 @@\n rename to secret\n-*** Add File: secret\n+diff --git a/secret b/secret\n",
        "*** Begin Patch\n*** Update File: src/x\n@@\n--- secret\n+++ secret\n a\n *** Add File: secret\n",
    ],
)
def test_content_names_no_file(text):
    assert set(patched(text)) == {"src/x"}


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "@@ -1 +1 @@\n-a\n+b\n" + MORE,
        HEAD + "@@ -1 +1 @@\n-a\n+b\n--- a/secret\n+++ b/secret\n",
        HEAD + "@@ -1,99 +1,99 @@\n-a\n+b\n" + MORE,
        HEAD + "@@ -1,2 +1,2 @@\n a\n" + MORE,
        HEAD + "@@\n-a\n+b\n" + MORE,
        "*** Update File: src/x\n@@\n-a\n+b\n" + MORE,
        HEAD + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n" + MORE,
    ],
)
def test_no_hunk_hides_the_file_after_it(text):
    assert set(patched(text)) == {"src/x", "secret"}
