# SPDX-License-Identifier: ISC
"""What the manuals, --help, the completion, README.md and docs/ say of one another.

    python3 tests/cli/test_docs.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto).
"""

import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

from cases import KEYVETO, PATIENCE, ROOT, case, contains, equal, keyveto, run_all

PAGES = sorted((ROOT / "man").glob("*.[1-8]"))
PAGE = ROOT / "man/keyveto.1"
README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
# A path in a document may stand for one below these, whose names the text gives.
PATH_TOPS = (ROOT, ROOT / "packaging", ROOT / "tests", ROOT / "cli")
# man(1) leaves two columns of a terminal of 80 free.
COLUMNS = 78
COMPLETION = ROOT / "completion/keyveto.bash"
SOURCES = sorted([*(ROOT / "cli").rglob("*.c"), *(ROOT / "lib").glob("*.c")])

LINES = re.MULTILINE | re.DOTALL     # ^ and $ are those of lines, . is anything

JUDGING = ("check", "audit", "scan")
# Commands that have commands of their own.
GROUPS = ("filter", "sshd", "config")
SHARED_TITLE = "Options of check, audit and scan"
# The page has these beside the commands' own options, once for all.
EVERYWHERE = {"--help"}


def read(path):
    return path.read_text(encoding="utf-8")


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def help_of(command):
    return keyveto(*command.split(), "--help", status=0).stdout


def subcommands(text):
    """The names in the list of commands that --help prints."""
    return re.findall(r"^  (\w+) +[A-Z]", text, re.MULTILINE)


def commands():
    """All commands that take options: "check", "filter add"..."""
    found = []
    for name in subcommands(keyveto("--help", status=0).stdout):
        below = subcommands(help_of(name)) if name in GROUPS else []
        found += [f"{name} {word}" for word in below] or [name]
    assert len(found) > 5, f"--help lists only {found}"
    return found


def same(what, actual, expected):
    missing, surplus = set(expected) - set(actual), set(actual) - set(expected)
    assert not missing and not surplus, f"{what}: lacks {sorted(missing)}, has besides {sorted(surplus)}"


# The manual page of the command, as mdoc source.

def section(title, macro):
    """The lines below a heading, up to the next one of its kind or above."""
    found = re.search(rf"^\.{macro} {re.escape(title)}\n(.*?)(?=^\.Sh |^\.Ss |\Z)", read(PAGE), LINES)
    assert found, f"keyveto.1 has no section {title}"
    return found[1]


def mdoc_options(text):
    """--json for each "Fl -json"; "Fl -pem | -der" names two."""
    found = set()
    for line in text.splitlines():
        for words in re.findall(r"\bFl ((?:-[a-z][\w-]*(?: \| )?)+)", line):
            found |= {"-" + word for word in re.findall(r"-[a-z][\w-]*", words)}
    return found


def synopsis_options(command):
    forms = re.findall(rf"^\.Cm {command}\n(.*?)(?=^\.Nm$|\Z)", section("SYNOPSIS", "Sh"), LINES)
    assert forms, f"the synopsis lacks {command}"
    return set().union(*map(mdoc_options, forms))


def described_options(command):
    text = section(command, "Ss")
    if command in JUDGING:
        text += section(SHARED_TITLE, "Ss")
    return set().union(*(mdoc_options(line) for line in text.splitlines() if line.startswith(".It ")))


@case("each command's --help names an option in its usage, and tells what it does")
def _(_scratch):
    for command in commands():
        usage, details = help_of(command).split("\n", 1)
        described = set(re.findall(r"^  (--[a-z0-9-]+)", details, re.MULTILINE))
        same(f"the options below the usage of {command}", described, options_in(usage))


@case("--help names all options that the program knows, and no others")
def _(_scratch):
    table = re.compile(r'\{ "([a-z0-9-]+)", (?:no|required)_argument')
    headers = sorted((ROOT / "cli").rglob("*.h"))
    known = {f"--{name}" for path in [*SOURCES, *headers] for name in table.findall(read(path))}
    same("--help", set().union(*(options_in(help_of(command)) for command in commands())) | EVERYWHERE, known)


@case("keyveto(1) has each command's options in its synopsis, and no others")
def _(_scratch):
    for command in commands():
        same(f"the synopsis of {command}", synopsis_options(command), options_in(help_of(command)) - EVERYWHERE)


@case("keyveto(1) describes each command's options, and no others")
def _(_scratch):
    for command in commands():
        same(f"the section {command}", described_options(command), options_in(help_of(command)) - EVERYWHERE)
    contains(section("DESCRIPTION", "Sh"), ".Fl -help ", ".Fl -version\n")


@case("keyveto(1) has a section for each command")
def _(_scratch):
    titles = re.findall(r"^\.Ss (.*)$", read(PAGE), re.MULTILINE)
    named = (*JUDGING, *GROUPS, "spki", "update", "allow", "doctor")
    same("keyveto.1", [title for title in titles if title.split()[0] in named], commands())


def source_text():
    """All sources, strings put together, conversions and variable parts out."""
    text = "".join(map(read, SOURCES))
    text = re.sub(r'"\s*(?:PRI\w+|[A-Z][A-Z_]+)?\s*"', "", text)
    return re.sub(r"%\.?[\w*]*?(?:llu|ju|jd|zu|lu|[sudg])", "\0", text)


@case("each diagnostic of keyveto(1) is a message of the program")
def _(_scratch):
    source, found = source_text(), 0
    for message in re.findall(r"^\.It (.*)$", section("DIAGNOSTICS", "Sh"), re.MULTILINE):
        for part in re.split(r"\b[A-Z]{4,}\b|\bN\b", message):
            part = part.strip(": ")
            assert part in source or part == "No such file or directory", f"no source has {part!r}"
            found += part != ""
    assert found > 10, "no diagnostics found"


# The formats that scripts read.

@case("keyveto(1) names the keys of all JSON objects")
def _(scratch):
    (scratch / "unknown").write_text("ssh-foo AAAAB3NzaC1mb28AAAABeA==\n", encoding="ascii")
    demo = ROOT / "testdata/demo"
    output = keyveto("check", "--json", "--filter", demo / "demo.pkbf", demo / "home", scratch / "unknown").stdout
    names = set(re.findall(r'"(\w+)":', output)) - {"SHA256"}
    contains(str(names), "fingerprint", "reason")
    page = section("OUTPUT", "Sh")
    table = set(re.findall(r"\w+", " ".join(re.findall(r"^\.It Cm (.*)$", page, re.MULTILINE))))
    same("the table of JSON keys", table - {"account"}, names)
    printed = re.findall(r'"(\w+)",\s+(?:accounts_to_json|ways_name|c->ways\.open|ways_is_guarded)', read(ROOT / "cli/sshd/status.c"))
    text = re.search(r"^\.It Fl -json\n(.*?)^\.It ", section("sshd status", "Ss"), LINES)[1]
    marked = " ".join(re.findall(r"^\.Cm (.*)$", text, re.MULTILINE))
    same("sshd status --json", set(re.findall(r"\w+", marked)), set(printed))
    info = keyveto("filter", "info", "--json", demo / "demo.pkbf", status=0).stdout
    marked = " ".join(re.findall(r"^\.Cm (.*)$", section("filter info", "Ss"), re.MULTILINE))
    same("filter info --json", re.findall(r"\w+", marked), re.findall(r'"(\w+)":', info))


@case("keyveto(1) names the checks of doctor, the keys of its JSON, and its metrics")
def _(_scratch):
    demo, page = ROOT / "testdata/demo/demo.pkbf", section("doctor", "Ss")
    options = ("--config", ROOT / "etc/keyveto.conf", "--filter", demo)
    report = json.loads(keyveto("doctor", "--json", *options).stdout)
    items = re.findall(r"^\.It Cm (.*)$", page, re.MULTILINE)
    same("the checks of doctor", re.findall(r"[\w-]+", " ".join(items)), {one["check"] for one in report["checks"]})
    metrics = set(re.findall(r"^(keyveto_\w+)", keyveto("doctor", "--prometheus", *options).stdout, re.MULTILINE))
    same("the metrics of doctor", re.findall(r"keyveto_\w+", page), metrics)
    described = re.search(r"^\.It Fl -json\n(.*?)^\.It ", page, LINES)[1]
    marked = re.findall(r"\w+", " ".join(re.findall(r"^\.Cm (.*)$", described, re.MULTILINE)))
    assert report["filters"] and report["checks"], report
    same("doctor --json", marked, {*report, *report["checks"][0], *report["filters"][0]})


@case("the alerts watch the file that keyveto(1) has written, and notice when there is none")
def _(_scratch):
    rules = read(ROOT / "packaging/prometheus/keyveto.rules.yml")
    written = re.search(r"^M=(\S+)$", read(ROOT / "man/keyveto.1"), LINES)[1] + ".prom"
    contains(rules, f"{written}.new {written}\n", "expr: absent(keyveto_status)\n", " unless keyveto_status)")
    watched = re.search(r'time\(\) - node_textfile_mtime_seconds\{file=~"(.*?)"\} > ', rules)[1]
    # By its path, or for older ones of node_exporter its name.
    for name, is_ours in ((written, True), (Path(written).name, True), (written + ".new", False),
                          (Path(written).with_name("other.prom"), False)):
        equal(bool(re.fullmatch(watched, str(name))), is_ours, name)


# Every page.

@case("mandoc finds nothing in any manual page")
def _(_scratch):
    assert len(PAGES) > 4, PAGES
    done = subprocess.run(["mandoc", "-T", "lint", *map(str, PAGES)], capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines()
             if "referenced manual not found" not in line and "mandoc.db" not in line]
    equal("\n".join(lines), "")


def rendered(*argv):
    """A page as a terminal shows it: a list of lines, without bold and underline."""
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    equal(done.stderr, "", argv[0])
    lines = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout).expandtabs(8).splitlines()
    assert len(lines) > 80, f"{argv}: only {len(lines)} lines"
    return lines


@case("each manual page fits on a terminal of 80 columns, by mandoc and by groff")
def _(_scratch):
    for page in PAGES:
        for argv in (("mandoc", "-Tutf8", f"-Owidth={COLUMNS}"), ("groff", "-mandoc", "-Tutf8", f"-rLL={COLUMNS}n")):
            equal([line for line in rendered(*argv, str(page)) if len(line) > COLUMNS], [], f"{page.name}, {argv[0]}")


@case("the manual pages that pages and documents name are there")
def _(_scratch):
    have = {(page.stem, page.suffix[1:]) for page in PAGES}
    ours = re.compile(r"(?:pam_)?keyveto|pkbf")
    for page in PAGES:
        named = {pair for pair in re.findall(r"^\.Xr (\S+) (\d)", read(page), re.MULTILINE) if ours.match(pair[0])}
        assert named <= have, f"{page.name} names {sorted(named - have)}"
    for document in DOCUMENTS:
        named = {pair for pair in re.findall(r"\b([\w.-]+)\((\d)\)", read(document)) if ours.match(pair[0])}
        assert named <= have, f"{document.name} names {sorted(named - have)}"
        if document == README:
            same("the README", named, have)


@case("each page ends its list of references in the order of sections and names")
def _(_scratch):
    for page in PAGES:
        block = re.search(r"^\.Sh SEE ALSO\n(.*?)(?=^\.Sh |\Z)", read(page), LINES)[1]
        named = [(int(number), name) for name, number in re.findall(r"^\.Xr (\S+) (\d)", block, re.MULTILINE)]
        equal(named, sorted(named), page.name)


# keyveto.conf

def known_keywords():
    return set(re.findall(r'strcasecmp\(word\[0\], "(\w+)"\)', read(ROOT / "lib/kv_config.c")))


def update_keywords():
    return set(re.findall(r'^\t\{ "(\w+)", read_', read(ROOT / "cli/update/settings.c"), re.MULTILINE))


def keywords_are_documented(known, page, sample):
    listed = re.search(r"^The keywords are:\n(.*?)^\.El$", read(ROOT / page), LINES)[1]
    documented = re.findall(r"^\.It Cm (\w+)", listed, re.MULTILINE)
    assert len(known) > 8, known
    same(page, documented, known)
    equal(documented, sorted(documented))
    same(sample, re.findall(r"^#([A-Z]\w+)", read(ROOT / sample), re.MULTILINE), known)


@case("each keyword of keyveto.conf is in keyveto.conf(5), in order, and in the sample")
def _(_scratch):
    keywords_are_documented(known_keywords(), "man/keyveto.conf.5", "etc/keyveto.conf")


@case("each keyword of update.conf is in keyveto-update.conf(5), in order, and in the sample")
def _(_scratch):
    keywords_are_documented(update_keywords(), "man/keyveto-update.conf.5", "etc/update.conf")


@case("the sample keyveto.conf is valid, its examples uncommented too")
def _(scratch):
    sample = read(ROOT / "etc/keyveto.conf")
    demo = ROOT / "testdata/demo"
    for number, text in enumerate((sample, re.sub(r"^#([A-Z]\w+)", r"\1", sample, flags=re.MULTILINE))):
        config = scratch / f"keyveto.conf{number}"
        config.write_text(text, encoding="utf-8")
        keyveto("check", "--quiet", "--config", config, "--filter", demo / "demo.pkbf", demo / "compromised.pub",
                status=1)


@case("the sample update.conf is valid, its examples uncommented too, and says the defaults")
def _(scratch):
    sample, config = read(ROOT / "etc/update.conf"), scratch / "update.conf"
    arguments = ("update", "--settings", config, "--filter", scratch / "f.pkbf", "--rollback")
    for text in (sample, re.sub(r"^#([A-Z]\w+)", r"\1", sample, flags=re.MULTILINE)):
        config.write_text(text, encoding="utf-8")
        contains(keyveto(*arguments, status=2).stderr, "there is no previous one")
    unit = {"G": 1 << 30, "": 1}
    source = re.sub(r"\s+", " ", read(ROOT / "cli/update/settings.c"))
    defaults = dict(re.findall(r"\.(\w+) = ([^,;]+),", re.search(r"\*s = \(struct update_settings\)\{(.*?)\}",
                                                               source)[1]))
    for keyword, member in (("Identity", "identity"), ("MaxSize", "max_bytes"), ("Timeout", "timeout"),
                            ("StallTimeout", "stall_timeout"), ("MaxFalsePositives", "max_rate")):
        value = re.search(rf"^#{keyword} (\S+)", sample, re.MULTILINE)[1]
        if member == "identity":
            equal(f'"{value}"', defaults[member])
            continue
        number, suffix = re.fullmatch(r"([\d.]+)([G]?)", value).groups()
        expected = eval(defaults[member].replace("GIB", str(1 << 30)))   # pylint: disable=eval-used
        equal(float(number) * unit[suffix], expected, keyword)


# README.md, docs/ and the other documents.

def headings(document):
    """The headings, and the bold words that begin a paragraph."""
    found = re.findall(r"^#+ (.*)$|^\*\*(.*?)\.?\*\*", read(document), re.MULTILINE)
    return [heading.replace("`", "") or bold.replace("`", "") for heading, bold in found]


def anchors(document):
    """What GitHub makes of the headings."""
    text = re.sub(r"^```.*?^```$", "", read(document), flags=LINES)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@case("the documents' links lead to files and headings that are there")
def _(_scratch):
    found = 0
    for document in [*DOCUMENTS, ROOT / "tests/README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", read(document)):
            name, _, anchor = target.partition("#")
            path = document.parent / name if name else document
            assert path.exists(), f"{document.name}: link to {target}"
            assert not anchor or anchor in anchors(path), f"{document.name}: {path.name} has no heading {anchor}"
            found += 1
    assert found > 20, f"only {found} links"


@case("the README leads to every document")
def _(_scratch):
    linked = set(re.findall(r"\]\(([\w/.-]+\.md)[#)]", read(README)))
    same("the README", linked, {str(path.relative_to(ROOT)) for path in DOCUMENTS if path != README})


@case("the files and folders that the documents name are there")
def _(_scratch):
    relative = r"(?<![\w/.~:+=@^-])((?:[a-z][\w-]*/)+[\w.-]*)"
    everything = set()
    for document in DOCUMENTS:
        text = read(document)
        named = {name for quoted in re.findall(r"`([^`\n]+)`", text) for name in re.findall(relative, quoted)}
        folders = tuple(f"{one.name}/" for one in ROOT.iterdir() if one.is_dir())
        named |= {name for name in re.findall(relative, text) if name.startswith(folders)}
        for path in sorted(named):
            if not path.startswith("build/") and "NAME" not in path:
                there = any((top / path).exists() for top in (*PATH_TOPS, document.parent))
                assert there, f"{document.name} names {path}"
        everything |= named
    assert {"lib/", "scripts/deps", "testdata/demo/home"} <= everything, everything


@case("the layout names every folder")
def _(_scratch):
    layout = read(ROOT / "docs/how-it-works.md").split("## Layout of the repository", 1)[1]
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "." and path.name != "build"}
    same("the layout", re.findall(r"`([\w-]+)/`", layout), folders)


@case("the headings are there for those who are sent to them, by documents and by messages")
def _(_scratch):
    there, quoted = [heading for document in DOCUMENTS for heading in headings(document)], []
    for document in DOCUMENTS[:-1]:     # SECURITY.md quotes a form of the repository's site
        text = re.sub(r"^    .*$|^```.*?^```$", "", read(document), flags=LINES)
        quoted += re.findall(r'"([A-Z][A-Za-z= ]+)"', re.sub(r"\s+", " ", text))
    assert len(quoted) > 3, quoted
    messages = re.findall(r'see \\"(.*?)\\" in the README', source_text())
    assert messages, "no message names a heading of the README"
    for phrase in quoted:
        assert any(phrase in one for one in there), f"no heading {phrase!r}"
    for phrase in messages:
        assert any(phrase in one for one in headings(README)), f"the README has no heading {phrase!r}"


@case("the documents' and the pages' make targets are in the Makefile")
def _(_scratch):
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    for text in map(read, (*DOCUMENTS, *PAGES)):
        named = set(re.findall(r"(?:`|&& |^ {4}|^)make ([a-z]+)(?=`|\n)", text, re.MULTILINE))
        assert named <= targets, f"no targets {sorted(named - targets)}"


@case("the documents' examples print what they say, as anybody and anywhere")
def _(scratch):
    for name in ("build", "testdata"):
        (scratch / name).mkdir()
    (scratch / "build/keyveto").symlink_to(KEYVETO)
    (scratch / "testdata/demo").symlink_to(ROOT / "testdata/demo")
    ran = 0
    text = "".join(map(read, DOCUMENTS))
    for command, expected in re.findall(r"^    \$ (.*)\n((?:    [^$#].*\n)*)", text, re.MULTILINE):
        done = subprocess.run(shlex.split(command), cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        # Run by anybody but root, there is more to say of files that are not root's.
        actual = re.sub(r"; but a login would not trust it: .*|^keyveto: warning: .*\n", "", done.stdout,
                        flags=re.MULTILINE)
        equal(actual.splitlines(), [line.removeprefix("    ") for line in expected.splitlines()], command)
        ran += 1
    assert ran >= 4, f"only {ran} examples"


@case("commands in examples have only options that there are")
def _(_scratch):
    ran = 0
    for text in map(read, (*DOCUMENTS, PAGE, ROOT / "man/pkbf.5")):
        for line in re.findall(r"^.*\bkeyveto (?:check|audit|scan|spki|allow|(?:filter|sshd|config) \w+) .*$", text, re.MULTILINE):
            for name, rest in re.findall(r"\bkeyveto ((?:filter|sshd|config) \w+|\w+)([^|]*)", line):
                if options_in(rest):
                    surplus = options_in(rest) - options_in(help_of(name))
                    assert not surplus, f"{line}: {surplus}"
                    ran += 1
    assert ran > 6, f"only {ran} examples"


# The completion.

def complete(*words, cwd=None):
    """What bash offers for the last of the words, an empty one for a new one."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
              ' _keyveto; ((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-uc", script, "bash", str(COMPLETION), "keyveto", *words], cwd=cwd,
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    return set(done.stdout.splitlines())


@case("bash takes the completion, and leaves other commands alone")
def _(_scratch):
    done = subprocess.run(["bash", "--norc", "-euc", 'source "$1"; complete -p', "bash", str(COMPLETION)],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout, done.stderr), (0, "complete -F _keyveto keyveto\n", ""))


@case("the completion offers each command, and each option of it, and no others")
def _(_scratch):
    same("the commands", complete(""), {command.split()[0] for command in commands()})
    for name in GROUPS:
        same(f"the {name} commands", complete(name, ""),
             {c.split()[1] for c in commands() if c.startswith(f"{name} ")})
        same(f"the options of {name}", complete(name, "-"), {"--help"})
    same("the options before a command", complete("-"), {"--help", "--version"})
    for command in commands():
        same(f"the options of {command}", complete(*command.split(), "-"), options_in(help_of(command)) | EVERYWHERE)


@case("the completion knows which options take a value")
def _(_scratch):
    for command in commands():
        usage = help_of(command).split("\n", 1)[0]
        for option in options_in(usage):
            takes = re.search(rf"{option} [A-Z]", usage) is not None
            offered = complete(*command.split(), option, "--")
            equal(offered == set(), takes, f"{command} {option}: {offered}")


@case("the completion offers files, filters, accounts and hosts where they belong")
def _(scratch):
    for name in ("a.pub", "a.pkbf", "b c.pub"):
        (scratch / name).touch()
    (scratch / "d").mkdir()
    everything, filters = {"a.pub", "a.pkbf", "b c.pub", "d"}, {"a.pkbf", "d"}
    for words, expected in ((("check", ""), everything), (("update", ""), filters), (("check", "--all", "a"), {"a.pub", "a.pkbf"}),
                            (("check", "--filter", ""), filters), (("check", "--filter", "=", ""), filters),
                            (("check", "--filter", "="), filters), (("check", "--config", "a.pu"), {"a.pub"}),
                            (("filter", "add", ""), filters), (("filter", "add", "x", "b"), {"b c.pub"}),
                            (("filter", "add", "--ca", "x", "--spki", ""), everything),
                            (("filter", "explain", ""), filters), (("filter", "explain", "x", ""), everything),
                            (("filter", "explain", "x", "y", ""), set()), (("filter", "merge", "x", "y", ""), filters),
                            (("filter", "verify", "x", ""), set()), (("spki", "--der", ""), everything),
                            (("config", "check", ""), everything), (("config", "check", "x", ""), set()),
                            (("config", "edit", ""), set()), (("allow", "--until", "2030-01-01", ""), everything),
                            (("allow", "x", ""), set()), (("sshd", "status", "--root", ""), {"d"}), (("sshd", "enable", ""), set()),
                            (("check", "--", "--"), set()), (("audit", ""), set()), (("nothing", ""), set())):
        equal(complete(*words, cwd=scratch), expected, str(words))
    contains(complete("audit", "--user", "nobo"), "nobody")
    contains(complete("scan", "localh"), "localhost")


class Terminal:
    """An interactive bash with the completion, and a keyveto that prints its arguments."""

    def __init__(self, cwd):
        self.text = ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(cwd)
            os.environ.update(PS1="", TERM="dumb", INPUTRC="/dev/null", HOME=str(cwd))
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.pid = pid

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, wanted):
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {wanted!r} in\n{self.text}"
            self.text += os.read(self.fd, 4096).decode(errors="replace")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@case("in a terminal, a name with a blank is completed to one argument")
def _(scratch):
    (scratch / "some keys.pub").touch()
    (scratch / "folder").mkdir()
    (scratch / "folder/odd name").touch()
    terminal = Terminal(scratch)
    try:
        terminal.type(f"keyveto() {{ printf '<%s>' \"$@\"; }}; source {shlex.quote(str(COMPLETION))}\n")
        for typed, arguments in (("keyveto ch\tsome\t\n", "<check><some keys.pub>"),
                                 ("keyveto check some\\ k\t\n", "<check><some keys.pub>"),
                                 ("keyveto check --fil\tfo\todd.pkbf\n", "<check><--filter><folder/odd.pkbf>"),
                                 ("keyveto filter ad\tfo\todd\t\n", "<filter><add><folder/odd name>")):
            terminal.type(typed)
            terminal.wait_for(arguments)
            terminal.text = ""
    finally:
        terminal.close()


if __name__ == "__main__":
    sys.exit(run_all())
