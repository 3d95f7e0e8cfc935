# SPDX-License-Identifier: ISC
"""keyveto check passes over no private key in silence: in any text it is found, or a problem says where.

Each form writes a key of ssh-keygen or openssl as another program would write it into a text.
"""

import base64
import gzip
import html
import json
import re
import subprocess
import textwrap
import urllib.parse

import pytest
from check_runs import check
from program import equal
from runs import tool
from samples import made, write

REASON = "a private key in a form that keyveto does not read: put it into a file of its own"


@pytest.fixture(scope="module", name="leaked")
def fixture_leaked(tmp_path_factory):
    """{kind: (text, fingerprint)}, and keys with a passphrase, whose public half is told by no form but OpenSSH's."""
    folder, out = tmp_path_factory.mktemp("leaked"), {}
    for kind, words in (("rsa", "-t rsa -m PEM"), ("rsa-openssh", "-t rsa"), ("ed25519", "-t ed25519"),
                        ("rsa-encrypted", "-t rsa -m PEM"), ("ecdsa", "-t ecdsa -m PEM")):
        path = folder / kind
        tool("ssh-keygen", "-q", "-N", "passphrase" if kind == "rsa-encrypted" else "", "-f", path, *words.split())
        printed = subprocess.run(["ssh-keygen", "-lf", f"{path}.pub"], check=True, capture_output=True, text=True)
        out[kind] = path.read_text(encoding="ascii"), printed.stdout.split()[1]
    text = tool("openssl", "genpkey", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:2048", text=True)
    path = write(folder / "pkcs8", text)
    path.chmod(0o600)
    public = write(folder / "pkcs8.pub", tool("ssh-keygen", "-y", "-f", path, text=True))
    printed = subprocess.run(["ssh-keygen", "-lf", public], check=True, capture_output=True, text=True)
    return {**out, "pkcs8": (text, printed.stdout.split()[1])}


def b64(text, width=0):
    word = base64.b64encode(text.encode()).decode()
    return "\n".join(textwrap.wrap(word, width)) if width else word


def each(text, before, after="\n"):
    """Each line of the text with other text around it."""
    return "".join(f"{before(number) if callable(before) else before}{line}{after}"
                   for number, line in enumerate(text.splitlines(), 1))


def with_ends(text, end):
    return text.strip().replace("\n", end) + "\n"


def notebook(text):
    lines = text.splitlines(keepends=True)
    return json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": ["key = '''\n", *lines, "'''"],
                                  "outputs": []}], "nbformat": 4}, indent=1)


def notebook_output(text):
    lines = text.splitlines(keepends=True)
    return json.dumps({"cells": [{"source": ["!cat id_rsa"], "outputs": [
        {"name": "stdout", "output_type": "stream", "text": lines}]}]}, indent=1)


def journal(text):
    some = {"__CURSOR": f"s={'0a' * 16};i=1a2b;b={'1b' * 16};m=5;t=6;x=7", "_BOOT_ID": "2c" * 16,
            "_TRANSPORT": "stdout", "_STREAM_ID": "3d" * 16, "_MACHINE_ID": "4e" * 16,
            "_CMDLINE": "/bin/sh -c 'cat /etc/app/deploy/key'",
            "_SYSTEMD_CGROUP": "/system.slice/system-getty.slice/getty@tty1.service", "_EXE": "/usr/bin/cat"}
    more = {"_SYSTEMD_INVOCATION_ID": "5f" * 16, "SYSLOG_IDENTIFIER": "sh", "_HOSTNAME": "host", "_PID": "4711"}
    return "".join(json.dumps({**some, "MESSAGE": line, **more}) + "\n" for line in text.splitlines())


def blob_page(text):
    return "<table>\n" + "".join(
        f'      <tr>\n        <td id="L{n}" class="blob-num js-line-number js-blob-rnum" data-line-number="{n}"></td>\n'
        f'        <td id="LC{n}" class="blob-code blob-code-inner js-file-line">{html.escape(line)}</td>\n      </tr>\n'
        for n, line in enumerate(text.splitlines(), 1)) + "</table>\n"


def highlighted(text):
    line = '<span id="L%d" class="line"><span class="s">'
    return "<pre>" + each(text, lambda n: line % n, "</span></span>\n") + "</pre>"


def har(text):
    return json.dumps({"log": {"entries": [{"request": {"postData": {
        "mimeType": "application/x-www-form-urlencoded", "text": f"name=x&key={urllib.parse.quote_plus(text)}"}}}]}})


def secret(text):
    return "apiVersion: v1\nkind: Secret\ndata:\n  x: eA==\n  account.json: " + b64(
        json.dumps({"type": "service_account", "private_key_id": "1f" * 20, "private_key": text,
                    "client_email": "a@b"})) + "\n  y: eQ==\n"


def join(text):
    return json.dumps({"Resources": {"Host": {"Properties": {"UserData": {"Fn::Base64": {"Fn::Join": [
        "\n", ["#!/bin/sh", "cat >key <<END", *text.splitlines(), "END"]]}}}}}}, indent=2)


def with_dashes(dash):
    return lambda text: "config\n" + text.replace("-----", dash)


FORMS = {
    "notebook": notebook, "notebook output": notebook_output, "CloudFormation": join,
    "CloudFormation on one line": lambda text: json.dumps(json.loads(join(text))) + "\n",
    "array of lines": lambda text: json.dumps(text.splitlines()) + "\n",
    "array, a line each": lambda text: json.dumps({"key": text.splitlines()}, indent=4),
    "docker": lambda text: "".join(json.dumps({"log": line + "\n", "stream": "stdout",
                                               "time": "2026-11-29T04:00:00.123456789Z"}) + "\n"
                                   for line in text.splitlines()),
    "journal": journal,
    "records of a shipper": lambda text: "".join(json.dumps({
        "@timestamp": "2026-11-29T04:00:00.123Z", "host": {"id": "6a" * 16, "name": "web-1"}, "message": line,
        "sha512": "7b" * 64, "labels": {"commit": "8c" * 20}}) + "\n" for line in text.splitlines()),
    "asciicast": lambda text: '{"version": 2, "width": 80}\n' + "".join(
        json.dumps([n / 10, "o", line + "\r\n"]) + "\n" for n, line in enumerate(text.splitlines())),
    "XML with &#13;": lambda text: f"<key>{with_ends(text, '&#13;' + chr(10))}</key>\n",
    "XML with &#xD;": lambda text: f"<a><key>{with_ends(text, '&#xD;' + chr(10))}</key></a>\n",
    "XML in one line": lambda text: f"<a><key>{with_ends(text, '&#10;')}</key></a>\n",
    "br": lambda text: f"<p>{with_ends(text, '<br>' + chr(10))}</p>\n",
    "br on one line": lambda text: f"<p>{with_ends(text, '<br/>')}</p>\n",
    "blob page": blob_page, "highlighted page": highlighted,
    "page with escapes": lambda text: "<pre>" + text.replace("+", "&#43;").replace("/", "&#x2F;") + "</pre>",
    "page without blanks": lambda text: "<code>" + text.replace(" ", "&nbsp;") + "</code>",
    "echo": lambda text: "#!/bin/sh\n" + each(text, 'echo "', '" >>key\n'),
    "printf": lambda text: each(text, "printf '%s\\n' '", "' >>/root/.ssh/id_rsa\n"),
    "PHP": lambda text: "<?php\n$key = ''\n" + each(text, "    . '", "' . \"\\n\"\n") + ";\n",
    "SQL": lambda text: "INSERT INTO k VALUES (\n" + each(text, "  '", "' || chr(10) ||\n") + "  '');\n",
    "VB": lambda text: "key = _\n" + each(text, '    "', '" & vbCrLf & _\n') + '    ""\n',
    "Java": lambda text: "String key =\n" + each(text, '        "', '\\n" +\n') + '        "";\n',
    "C": lambda text: "static const char key[] =\n" + each(text, '    "', '\\n"\n') + ";\n",
    "C in one string": lambda text: 'char *p = "\\\n' + each(text, "  ", "\\n\\\n") + '";\n',
    "cat -A": lambda text: each(text, "", "$\n"),
    "cat -A of Windows": lambda text: each(text, "", "^M$\n"),
    "coloured diff": lambda text: "\x1b[36m@@ -0,0 +1 @@\x1b[m\n" + each(text, "\x1b[32m+\x1b[m\x1b[32m", "\x1b[m\n"),
    "diff": lambda text: "@@ -0,0 +1 @@\n" + each(text, "+"),
    "old lines of a diff": lambda text: "@@ -1 +0,0 @@\n" + each(text, "-"),
    "plain diff": lambda text: "1,27d0\n" + each(text, "< "), "marks": lambda text: each(text, "<"),
    "numbered lines": lambda text: json.dumps({str(n): line for n, line in enumerate(text.splitlines())}, indent=1),
    "folded base64 in a diff": lambda text: each(b64(text, 76), "+"),
    "folded base64 in a mail": lambda text: each(b64("x: 1\n" + text, 76), "> "),
    "folded base64 in a patch of YAML": lambda text: "+key: |\n" + each(b64(text, 76), "+  "),
    "grep -A": lambda text: each(text, lambda n: f"deploy/keys/id_rsa{':' if n == 1 else '-'}"),
    "grep -n": lambda text: each(text, lambda n: f"{n}:"), "cat -n": lambda text: each(text, lambda n: f"{n:6}\t"),
    "a log": lambda text: each(text, "Nov 27 09:07:00 web-1 containerd[4711]: level=info msg=output "),
    "form": lambda text: "key=" + urllib.parse.quote_plus(text) + "&x=1\n", "HAR": har,
    "URL": lambda text: "https://host/?key=" + urllib.parse.quote(text) + "\n",
    "Secret": secret, "Secret of PEM": lambda text: f"data:\n  key: {b64(text)}\n",
    "Secret with other text": lambda text: f"data:\n  env: {b64('A=1' + chr(10) + 'KEY=' + repr(text))}\n",
    "folded base64": lambda text: f"key: !!binary |\n{textwrap.indent(b64(text, 76), '  ')}\n",
    "folded base64 of JSON": lambda text: b64(json.dumps({"a": "xy", "private_key": text}), 76) + "\n",
    "dockerconfigjson": lambda text: json.dumps({"data": {".dockerconfigjson": b64(json.dumps({"auths": {
        "https://host/": {"auth": b64("user:x"), "identity": text}}}))}}) + "\n",
    "an answer of GitHub": lambda text: json.dumps({"name": "id", "content": b64(text, 60) + "\n"}) + "\n",
    "JSON": lambda text: json.dumps({"private_key": text}) + "\n",
    "JSON in JSON": lambda text: json.dumps({"x": json.dumps({"private_key": text})}) + "\n",
    "JSON with slashes": lambda text: json.dumps({"private_key": text}).replace("/", "\\/") + "\n",
    "JSON patch": lambda text: json.dumps({"files": [{"patch": "@@ -0,0 +1,27 @@\n" + each(text, "+")}]}) + "\n",
    "quoted mail": lambda text: "On Monday you wrote:\n" + each(text, "> "),
    "quoted twice": lambda text: each(text, "> > "),
    "quoted mail in JSON": lambda text: json.dumps({"body": each(text, "> ")}) + "\n",
    "quoted-printable": lambda text: text.replace("=", "=3D").replace("\n", "=0A=\n"),
    "four dashes": with_dashes("----"), "six dashes": with_dashes("------"), "no dashes": with_dashes(""),
    "long dashes": with_dashes("\u2014\u2014-"), "short dashes": with_dashes("\u2013" * 5),
    "dashes with blanks": with_dashes("- - - - -"),
    "blanks for line ends": lambda text: "KEY=" + with_ends(text, " "),
    "no line ends": lambda text: with_ends(text, ""),
    "\\n": lambda text: "KEY=" + with_ends(text, "\\n"), "\\r\\n": lambda text: "KEY=" + with_ends(text, "\\r\\n"),
    "\\\\n": lambda text: "KEY=" + with_ends(text, "\\\\n"),
    "literal YAML": lambda text: "key: |\n" + each(text, "  ") + "x: y\n",
    "folded YAML": lambda text: "key: >\n" + each(text, "    ") + "x: y\n",
    "quoted YAML": lambda text: "key: '" + with_ends(text, "\n\n  ").strip() + "'\nx: y\n",
    "heredoc of Terraform": lambda text: "key = <<-EOT\n" + each(text, "    ") + "EOT\n",
    "shell variable": lambda text: f"export KEY='{text}'\n", "shell variable in quotes": lambda text: f'KEY="{text}"\n',
    "UTF-16": lambda text: text.encode("utf-16"), "UTF-16 without a mark": lambda text: text.encode("utf-16-be"),
    "UTF-16 behind ASCII": lambda text: b"words\r\n" + text.encode("utf-16-le"),
    "UTF-16 BE behind ASCII": lambda text: b"words\n\n" + text.encode("utf-16-be"),
    "tabs": lambda text: each(text, "\t\t"), "CRLF": lambda text: with_ends(text, "\r\n"),
    "byte order mark": lambda text: "\ufeff" + text, "byte order mark within": lambda text: "words\n\ufeff" + text,
    "comments": lambda text: each(text, "# "), "comments of C": lambda text: "/*\n" + each(text, " * ") + " */\n",
    "comment on one line": lambda text: "# KEY=" + with_ends(text, "\\n"),
    "table of Markdown": lambda text: each(text, "| ", " |\n"),
    "CSV": lambda text: f'name,key\na,"{text}"\n', "INI": lambda text: "[a]\nkey = " + with_ends(text, "\n    "),
    "gzip of a mail": lambda text: gzip.compress(each(text, "> ").encode()),
}


def is_told(result, path, fingerprint):
    """The key was found, or a problem names the file and a line."""
    if fingerprint in result.out.decode():
        return result.status == 0
    return result.status == 2 and re.search(rf"^keyveto: {re.escape(str(path))}:[1-9]\d*: ", result.err.decode(), re.M)


@pytest.mark.parametrize("form", FORMS)
def test_a_private_key_in_any_text_is_found_or_a_problem(scratch, leaked, form):
    for kind, (text, fingerprint) in leaked.items():
        data = FORMS[form](text)
        path = write(scratch / "d" / "file", data if isinstance(data, bytes) else data.encode())
        write(scratch / "d" / "a.pub", made()["ed25519"].line + "\n")
        write(scratch / "d" / "z", "words\nand words\n")
        for words, shown, given in (([path], path, b""), ([path.parent], path, b""), (["-"], "-", path.read_bytes())):
            result = check("--all", *words, stdin=given)
            assert is_told(result, shown, fingerprint), f"{kind} in {words}: {result}: {data[:600]!r}"


# Those of forms.md that stay.
READ = ("JSON", "JSON in JSON", "JSON with slashes", "no line ends", "blanks for line ends", "\\n", "\\r\\n",
        "\\\\n", "URL", "XML in one line", "literal YAML", "folded YAML", "heredoc of Terraform", "UTF-16",
        "UTF-16 without a mark", "tabs", "CRLF", "byte order mark", "byte order mark within")


@pytest.mark.parametrize("form", READ)
def test_a_file_of_a_key_is_read(scratch, leaked, form):
    for kind, (text, fingerprint) in leaked.items():
        if kind != "rsa-encrypted":
            data = FORMS[form](text)
            result = check("--all", write(scratch / "d" / "file", data if isinstance(data, bytes) else data.encode()))
            equal((re.findall(r"SHA256:\S{43}", result.out.decode()), result.status), ([fingerprint], 0), kind)


@pytest.mark.parametrize("form", sorted(set(FORMS) - set(READ)))
def test_the_line_of_the_key_is_told_once(scratch, leaked, form):
    """The message names the line of BEGIN, or the one of base64 that has it; no other line is a problem."""
    text = leaked["ed25519"][0]
    data = FORMS[form](text)
    data = data if isinstance(data, bytes) else data.encode()
    result = check(write(scratch / "d" / "file", data).parent, status=2)
    equal(len(result.problems), 1, f"{result.problems}")
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    at = [n for n, line in enumerate(plain.replace(b"\0", b"").split(b"\n"), 1) if b"BEGIN" in line]
    if at:
        contains = f"file:{at[0]}: "
        assert contains in result.problems[0], (contains, result.problems)


BARE = (
    "look for -----BEGIN RSA PRIVATE KEY----- in it\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n...\n-----END OPENSSH PRIVATE KEY-----\n",
    "    -----BEGIN RSA PRIVATE KEY-----\n    <key>\n    -----END RSA PRIVATE KEY-----\n\nand more words\n" * 3,
    'if (strstr(p, "-----BEGIN PRIVATE KEY-----")) return PEM;\n' + 'static const char name[] = "x";\n' * 20,
    '("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----")\n',
    '{"msg": "no -----BEGIN RSA PRIVATE KEY----- here", "sha512": "' + "0a" * 64 + '"}\n',
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + "lQdGBGaa" * 8 + "\n=aaaa\n-----END PGP PRIVATE KEY BLOCK-----\n",
    'BEGIN PRIVATE KEY</td><td class="' + "MIIE" * 16 + '">and words</td>\n' * 9,
    "> -----BEGIN PGP PRIVATE KEY BLOCK-----\n>\n> " + "lQdGBGaa" * 8 + "\n",
    base64.b64encode(b"look for -----BEGIN RSA PRIVATE KEY----- " + b"and read more words, " * 20).decode() + "\n",
    "BEGIN PRIVATE KEY" + " word" * 60 + " " + "MIIE" * 16 + "\n",
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n(see the manual)\n",
)


@pytest.mark.parametrize("text", BARE, ids=range(len(BARE)))
def test_a_bare_mention_in_a_folder_is_no_problem(scratch, text):
    path = write(scratch / "d" / "file", text)
    equal(check(path.parent, status=0).problems, [], text)
    path.write_bytes(text.encode("utf-16"))
    equal(check(path.parent, status=0).problems, [], text)


def test_a_public_key_behind_a_mention_is_no_private_one(scratch):
    key = made()["ed25519"]
    for text in (f"see BEGIN RSA PRIVATE KEY\n{key.line}\n", f'{{"a": "BEGIN PRIVATE KEY", "b": "{key.line}"}}\n',
                 f"see BEGIN RSA PRIVATE KEY, and {key.line}\n"):
        result = check("--all", write(scratch / "d" / "file", text).parent, status=0)
        equal((key.fingerprint in result.out.decode(), result.problems), (True, []), text)


def test_programs_that_know_the_words_are_no_problem(scratch):
    """Those of OpenSSH and OpenSSL, and their manuals."""
    for number, name in enumerate(("/usr/bin/ssh-keygen", "/usr/bin/ssh", "/usr/bin/openssl", "/usr/bin/ssh-agent")):
        write(scratch / "d" / str(number), open(name, "rb").read())
    equal(check(scratch / "d", status=0).problems, [])
    listed = re.findall(r"/\S*/lib(?:crypto|ssl|ssh|gcrypt)\.so\S*$", tool("ldconfig", "-p", text=True), re.MULTILINE)
    assert listed
    for name in listed:
        result = check(write(scratch / "lib", open(name, "rb").read()))
        assert REASON not in result.err.decode(), f"{name}: {result.err}"


def test_several_keys_in_a_text_are_each_told(scratch, leaked):
    text = leaked["ed25519"][0]
    path = write(scratch / "d" / "file", each(text, "> ") + "words\n" + each(text, "> ") + f"data: {b64(text)}\n")
    lines = text.count("\n")
    equal(check(path.parent, status=2).problems, [f"{path}:{n}: {REASON}" for n in (1, lines + 2, 2 * lines + 2)])
