# SPDX-License-Identifier: ISC
"""What the manuals, --help, README.md and docs/ say of one another."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from documents import EVERYWHERE, GROUPS, commands, help_of, options_in, same_names
from list_runs import write_list
from program import KEYVETO, ROOT, attempt, contains, equal, keyveto
from samples import write

MAN = ROOT / "man"
PAGES = sorted(MAN.glob("*.[1-8]"))
OVERVIEW = MAN / "keyveto.1"
JSON_PAGE = MAN / "keyveto-json.5"
README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
# A path in a document may stand for one below these, whose names the text gives.
PATH_TOPS = (ROOT, ROOT / "packaging", ROOT / "tests", ROOT / "cli")
# man(1) leaves two columns of a terminal of 80 free.
COLUMNS = 78
SOURCES = sorted([*(ROOT / "cli").rglob("*.c"), *(ROOT / "lib").glob("*.c")])

LINES = re.MULTILINE | re.DOTALL     # ^ and $ are those of lines, . is anything

JUDGING = ("check", "audit", "scan")
SHARED_TITLE = "Options of check, audit and scan"


def read(path):
    return path.read_text(encoding="utf-8")


def page_of(command):
    """The manual page of a command; the subcommands of one share it, as do others that its NAME lists."""
    name = command.split()[0]
    page, = (page for page in MAN.glob("*.[18]") if f".Nm keyveto-{name}" in
             re.split(" ,\n|\n", section(page, "NAME", "Sh")))
    return page


def section(page, title, macro="Ss"):
    """The lines below a heading of a page, up to the next heading."""
    found = re.search(rf"^\.{macro} {re.escape(title)}\n(.*?)(?=^\.Sh |^\.Ss |\Z)", read(page), LINES)
    assert found, f"{page.name} has no section {title}"
    return found[1]


def section_of(command):
    """What the page of a command says of it: a page of several has a section for each."""
    page = page_of(command)
    shared = " " in command or section(page, "NAME", "Sh").count(".Nm") > 1
    return section(page, command) if shared else section(page, "DESCRIPTION", "Sh")


def mdoc_options(text):
    """--json for each "Fl -json"; "Fl -pem | -der" names two."""
    found = set()
    for line in text.splitlines():
        for words in re.findall(r"\bFl ((?:-[a-z][\w-]*(?: \| )?)+)", line):
            found |= {"-" + word for word in re.findall(r"-[a-z][\w-]*", words)}
    return found


def synopsis_options(command):
    text = section(page_of(command), "SYNOPSIS", "Sh")
    forms = re.findall(rf"^\.Cm {command}\n(.*?)(?=^\.Nm keyveto$|\Z)", text, LINES)
    assert forms, f"the synopsis lacks {command}"
    return set().union(*map(mdoc_options, forms))


def described_options(command):
    text = section_of(command)
    if command in JUDGING:
        text += section(OVERVIEW, SHARED_TITLE)
    return set().union(*(mdoc_options(line) for line in text.splitlines() if line.startswith(".It ")))


def test_each_commands_help_names_an_option_in_its_usage():
    for command in commands():
        usage, details = help_of(command).split("\n", 1)
        described = set(re.findall(r"^  (--[a-z0-9-]+)", details, re.MULTILINE))
        same_names(f"the options below the usage of {command}", described, options_in(usage))


def test_each_commands_help_is_a_line_for_each_option_and_the_page():
    """Each command's --help has the usage, a sentence, a line for each option, and the page's name."""
    for command in commands():
        usage, empty, sentence, *rest = help_of(command).splitlines()
        page = page_of(command)
        equal((empty, sentence[-1], rest[-1]), ("", ".", f"{page.stem}({page.suffix[1:]}) tells more."), command)
        described = [line for line in rest if line.startswith(" ")]
        assert all(re.match("  --[a-z]", line) for line in described), f"{command}: {described}"
        equal(len(described), len(set(options_in(usage))), f"the lines with options of {command}")
        assert all(len(line) <= 80 for line in rest), f"{command}: a line over 80 columns"


def test_help_names_all_options_that_the_program_knows():
    table = re.compile(r'\{[\s\\]*\.name = "([a-z0-9-]+)",\s+\.(?:flag|choice|text|number|read) ')
    headers = sorted((ROOT / "cli").rglob("*.h"))
    known = {f"--{name}" for path in [*SOURCES, *headers] for name in table.findall(read(path))}
    same_names("--help", set().union(*(options_in(help_of(command)) for command in commands())) | EVERYWHERE, known)


def test_each_commands_page_has_its_options_in_the_synopsis():
    for command in commands():
        same_names(f"the synopsis of {command}", synopsis_options(command), options_in(help_of(command)) - EVERYWHERE)


def test_each_commands_page_describes_its_options_and_no_others():
    for command in commands():
        same_names(f"the section {command}", described_options(command), options_in(help_of(command)) - EVERYWHERE)
    for command in JUDGING:
        contains(section_of(command), f".Dq {SHARED_TITLE}\nin\n.Xr keyveto 1 .")
    contains(section(OVERVIEW, "DESCRIPTION", "Sh"), ".Fl -help\n", ".Fl -version\n")


def test_keyveto_1_names_the_page_of_each_command():
    """keyveto(1) names the page of each command, in the order of --help; there are no others."""
    named = [f"{name}.{number}" for name, number in re.findall(r"^\.It Xr (\S+) (\d)$", read(OVERVIEW), re.MULTILINE)]
    equal(named, list(dict.fromkeys(page_of(command).name for command in commands())))
    for group in GROUPS:
        titles = re.findall(rf"^\.Ss ({group} .*)$", read(page_of(group)), re.MULTILINE)
        same_names(f"the page of {group}", titles, [one for one in commands() if one.split()[0] == group])


def source_text():
    """All sources, strings put together, plurals with their s, conversions and variable parts out."""
    text = "".join(map(read, SOURCES))
    text = re.sub(r'"\s*(?:PRI\w+|[A-Z][A-Z_]+)?\s*"', "", text)
    text = re.sub(r"(?<=[a-z])%s(?=[ ,;:])", "s", text)
    return re.sub(r"%\.?[\w*]*?(?:llu|ju|jd|zu|lu|[sudg])", "\0", text)


def test_each_diagnostic_of_the_pages_is_a_message_of_the_program():
    source, found = source_text(), 0
    for page in {page_of(command) for command in commands()}:
        if ".Sh DIAGNOSTICS\n" not in read(page):
            continue
        for message in re.findall(r"^\.It (.*)$", section(page, "DIAGNOSTICS", "Sh"), re.MULTILINE):
            for part in re.split(r"\b[A-Z]{4,}\b|\bN\b", message):
                part = part.strip(": ")
                assert part in source or part == "No such file or directory", f"no source has {part!r}"
                found += part != ""
    assert found > 40, f"only {found} diagnostics"


def test_keyveto_json_5_names_the_keys_of_all_objects(scratch):
    """keyveto-json(5) names the keys of all objects, and each command that has --json sends there."""
    (scratch / "unknown").write_text("ssh-foo AAAAB3NzaC1mb28AAAABeA==\n", encoding="ascii")
    demo = ROOT / "testdata/demo"
    output = keyveto("check", "--all", "--json", "--filter", demo / "demo.pkbf", demo / "home",
                     scratch / "unknown").stdout
    names = set(re.findall(r'"(\w+)":', output)) - {"SHA256"}
    contains(str(names), "fingerprint", "reason")
    page = section(JSON_PAGE, "check, audit and scan")
    table = set(re.findall(r"\w+", " ".join(re.findall(r"^\.It Cm (.*)$", page, re.MULTILINE))))
    same_names("the table of JSON keys", table - {"account"}, names)
    one = write_list(scratch / "l", [(bytes(15), 1)], "")
    for command, file in (("filter info", demo / "demo.pkbf"), ("list info", one)):
        printed = keyveto(*command.split(), "--json", file, status=0).stdout
        marked = " ".join(re.findall(r"^\.Cm (.*)$", section(JSON_PAGE, command), re.MULTILINE))
        same_names(f"{command} --json", re.findall(r"\w+", marked), re.findall(r'"(\w+)":', printed))
    described = set()
    for title in re.findall(r"^\.Ss (.*)$", read(JSON_PAGE), re.MULTILINE):
        described |= set(re.split(", | and ", title))
    having = {command for command in commands() if "--json" in options_in(help_of(command))}
    same_names("keyveto-json(5)", described, having)
    for command in having:
        text = section(OVERVIEW, SHARED_TITLE) if command in JUDGING else section_of(command)
        contains(re.search(r"^\.It Fl -json\n(.*?)^\.(?:It|El)", text, LINES)[1], ".Xr keyveto-json 5 .\n")


# The keys of a way in. Where sshd gives no answer there is none.
WAY = ("accounts", "way", "open", "guard", "pam", "guarded")


def test_the_page_names_the_checks_the_json_and_the_metrics_of_status(scratch):
    """The page of status names its checks and metrics, and keyveto-json(5) the keys of its JSON."""
    demo, page = ROOT / "testdata/demo/demo.pkbf", section_of("status")
    blocklist = write_list(scratch / "list", [(bytes(15), 1)], "# date 2026-01-31\n")
    options = ("--config", ROOT / "etc/keyveto.conf", "--filter", demo, "--blocklist", blocklist)
    report = json.loads(keyveto("status", "--json", *options).stdout)
    items = re.findall(r"^\.It Cm (.*)$", page, re.MULTILINE)
    same_names("the checks of status", re.findall(r"[\w-]+", " ".join(items)),
               {one["check"] for one in report["checks"]})
    prometheus = keyveto("status", "--prometheus", *options).stdout
    metrics = set(re.findall(r"^# TYPE (keyveto_\w+)", prometheus, re.MULTILINE))
    same_names("the metrics of status", re.findall(r"keyveto_\w+", page), metrics)
    marked = re.findall(r"\w+", " ".join(re.findall(r"^\.Cm (.*)$", section(JSON_PAGE, "status"), re.MULTILINE)))
    assert report["filters"] and report["lists"] and report["checks"], report
    same_names("status --json", marked, {*report, *WAY, *report["checks"][0], *report["filters"][0],
                                         *report["lists"][0]})
    assert all(set(one) == set(WAY) for one in report["ways"])


def test_the_alerts_watch_the_file_that_keyveto_status_8_has_written():
    """The alerts watch the file that keyveto-status(8) has written, and notice when there is none."""
    rules = read(ROOT / "packaging/prometheus/keyveto.rules.yml")
    written = re.search(r"^M=(\S+)$", read(page_of("status")), LINES)[1] + ".prom"
    contains(rules, f"{written}.new {written}\n", "expr: absent(keyveto_status)\n", " unless keyveto_status)")
    watched = re.search(r'time\(\) - node_textfile_mtime_seconds\{file=~"(.*?)"\} > ', rules)[1]
    # By its path, or for older ones of node_exporter its name.
    for name, is_ours in ((written, True), (Path(written).name, True), (written + ".new", False),
                          (Path(written).with_name("other.prom"), False)):
        equal(bool(re.fullmatch(watched, str(name))), is_ours, name)


def test_mandoc_finds_nothing_in_any_manual_page():
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
    assert len(lines) > 30, f"{argv}: only {len(lines)} lines"
    return lines


def test_each_manual_page_fits_on_a_terminal_of_80_columns():
    for page in PAGES:
        for argv in (("mandoc", "-Tutf8", f"-Owidth={COLUMNS}"), ("groff", "-mandoc", "-Tutf8", f"-rLL={COLUMNS}n")):
            equal([line for line in rendered(*argv, str(page)) if len(line) > COLUMNS], [], f"{page.name}, {argv[0]}")


def test_the_manual_pages_that_are_named_are_there():
    have = {(page.stem, page.suffix[1:]) for page in PAGES}
    ours = re.compile(r"(?:pam_)?keyveto|pkbf")
    for page in PAGES:
        named = {pair for pair in re.findall(r"^\.Xr (\S+) (\d)", read(page), re.MULTILINE) if ours.match(pair[0])}
        assert named <= have, f"{page.name} names {sorted(named - have)}"
    for document in DOCUMENTS:
        named = {pair for pair in re.findall(r"\b([\w.-]+)\((\d)\)", read(document)) if ours.match(pair[0])}
        assert named <= have, f"{document.name} names {sorted(named - have)}"
        if document == README:
            # keyveto(1) names those of the commands.
            of_commands = {(page.stem, page.suffix[1:]) for page in map(page_of, commands())}
            same_names("the README", named - of_commands, have - of_commands)


def test_the_references_of_each_page_are_in_order():
    """Each page ends its list of references in the order of sections and names."""
    for page in PAGES:
        block = re.search(r"^\.Sh SEE ALSO\n(.*?)(?=^\.Sh |\Z)", read(page), LINES)[1]
        named = [(int(number), name) for name, number in re.findall(r"^\.Xr (\S+) (\d)", block, re.MULTILINE)]
        equal(named, sorted(named), page.name)


def keywords_are_documented(known, page, sample):
    listed = re.search(r"^The keywords are:\n(.*?)^\.El$", read(ROOT / page), LINES)[1]
    documented = re.findall(r"^\.It Cm (\w+)", listed, re.MULTILINE)
    assert len(known) > 8, known
    same_names(page, documented, known)
    equal(documented, sorted(documented))
    same_names(sample, re.findall(r"^#([A-Z]\w+)", read(ROOT / sample), re.MULTILINE), known)


def test_each_keyword_of_keyveto_conf_is_in_its_page_and_the_sample():
    known = re.findall(r'strcasecmp\(word\[0\], "(\w+)"\)', read(ROOT / "lib/kv_config.c"))
    keywords_are_documented(set(known), "man/keyveto.conf.5", "etc/keyveto.conf")


def test_each_keyword_of_update_conf_is_in_its_page_and_the_sample():
    known = re.findall(r'^\t\{ "(\w+)", [A-Z]+,', read(ROOT / "cli/upkeep/settings.c"), re.MULTILINE)
    keywords_are_documented({"Source", "Confirm", *known}, "man/keyveto-update.conf.5", "etc/update.conf")


def test_the_sample_keyveto_conf_is_valid(scratch):
    """The sample keyveto.conf is valid, its examples uncommented too."""
    sample = read(ROOT / "etc/keyveto.conf")
    demo = ROOT / "testdata/demo"
    for number, text in enumerate((sample, re.sub(r"^#([A-Z]\w+)", r"\1", sample, flags=re.MULTILINE))):
        config = scratch / f"keyveto.conf{number}"
        config.write_text(text, encoding="utf-8")
        keyveto("check", "--quiet", "--config", config, "--filter", demo / "demo.pkbf", demo / "compromised.pub",
                status=1)


def test_the_sample_update_conf_is_valid(scratch):
    """The sample update.conf is valid, its examples uncommented too, and says the defaults."""
    sample, config = read(ROOT / "etc/update.conf"), scratch / "update.conf"
    arguments = ("update", "--settings", config, "--filter", scratch / "f.pkbf", "--rollback")
    keys = write(scratch / "never_listed", (ROOT / "testdata/demo/compromised.pub").read_bytes(), mode=0o644)
    for text in (sample, re.sub(r"^#([A-Z]\w+)", r"\1", sample, flags=re.MULTILINE)):
        config.write_text(text.replace("/etc/keyveto/never_listed", str(keys)), encoding="utf-8")
        contains(keyveto(*arguments, status=2).stderr, "there is no previous one")
    unit = {"G": 1 << 30, "": 1}
    source = re.sub(r"\s+", " ", read(ROOT / "cli/upkeep/settings.c"))
    defaults = dict(re.findall(r"\.(\w+) = ([^,;]+),", re.search(r"\.source = \{ \{(.*?)\.hold", source)[1]))
    defaults["max_bytes"] = re.search(r"UPDATE_FORMAT_PKBF \? ([^:]+) :", source)[1]
    for keyword, member in (("Identity", "identity"), ("MaxSize", "max_bytes"), ("Timeout", "timeout"),
                            ("StallTimeout", "stall_timeout"), ("MaxFalsePositives", "max_rate")):
        value = re.search(rf"^#{keyword} (\S+)", sample, re.MULTILINE)[1]
        if member == "identity":
            equal(f'"{value}"', defaults[member])
            continue
        number, suffix = re.fullmatch(r"([\d.]+)([G]?)", value).groups()
        expected = eval(defaults[member].replace("GIB", str(1 << 30)))
        equal(float(number) * unit[suffix], expected, keyword)


def headings(document):
    """The headings, and the bold words that begin a paragraph."""
    found = re.findall(r"^#+ (.*)$|^\*\*(.*?)\.?\*\*", read(document), re.MULTILINE)
    return [heading.replace("`", "") or bold.replace("`", "") for heading, bold in found]


def anchors(document):
    """What GitHub makes of the headings."""
    text = re.sub(r"^```.*?^```$", "", read(document), flags=LINES)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_the_documents_links_lead_to_files():
    found = 0
    for document in [*DOCUMENTS, ROOT / "tests/README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", read(document)):
            name, _, anchor = target.partition("#")
            path = document.parent / name if name else document
            assert path.exists(), f"{document.name}: link to {target}"
            assert not anchor or anchor in anchors(path), f"{document.name}: {path.name} has no heading {anchor}"
            found += 1
    assert found > 20, f"only {found} links"


def test_the_readme_leads_to_every_document():
    """By itself, or by a page to which it leads."""
    linked, new = set(), {README}
    while new:
        linked |= new
        new = {(page.parent / name).resolve() for page in linked
               for name in re.findall(r"\]\(([\w/.-]+\.md)[#)]", read(page))} - linked
    assert linked >= set(DOCUMENTS), set(DOCUMENTS) - linked


def test_the_files_and_folders_that_the_documents_name_are_there():
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


def test_the_layout_names_every_folder():
    layout = read(ROOT / "docs/how-it-works.md").split("## Layout of the repository", 1)[1]
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "." and path.name != "build"}
    same_names("the layout", re.findall(r"`([\w-]+)/`", layout), folders)


def test_the_headings_are_there_for_those_who_are_sent_to_them():
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


def test_make_targets_that_are_named_are_in_the_makefile():
    targets = set(" ".join(re.findall(r"^([a-z -]+):", read(ROOT / "Makefile"), re.MULTILINE)).split())
    for text in map(read, (*DOCUMENTS, *PAGES)):
        named = set(re.findall(r"(?:`|&& |^ {4}|^)make ([a-z-]+)(?=`|\n| [A-Z_]+=)", text, re.MULTILINE))
        assert named <= targets, f"no targets {sorted(named - targets)}"


def test_nothing_claims_more_than_the_page_of_platforms():
    """Packages, roles and documents ask for the OpenSSH, and name systems, that docs/platforms.md has."""
    page, packaging = read(ROOT / "docs/platforms.md"), ROOT / "packaging"
    oldest = re.search(r"^keyveto is for OpenSSH (\S+) and later\.", page, re.MULTILINE)[1]
    tried = set(re.findall(r"^\| ([^|]+?)(?:p1)? \|(?:[^|]*\|)? tried", page, re.MULTILINE))
    control, spec = read(packaging / "debian/control"), read(packaging / "rpm/keyveto.spec")
    equal(re.findall(r"^Recommends:.*(openssh-server.*)", control, re.MULTILINE), [f"openssh-server (>= 1:{oldest})"])
    equal(re.findall(r"^(\w+): +openssh-server(.*)", spec, re.MULTILINE),
          [("Recommends", f" >= {oldest}"), ("Conflicts", f" < {oldest}")])
    roles = list((ROOT / "fleet/ansible/roles").glob("*/meta/main.yml"))
    of_roles = {name for role in roles for name in re.findall(r"^ {8}- (\w+)$", read(role), re.MULTILINE)}
    assert of_roles and {{"bookworm": "Debian 12", "trixie": "Debian 13"}.get(name, name) for name in of_roles} <= tried
    documents = " ".join(" ".join(map(read, (*DOCUMENTS, ROOT / "fleet/ansible/README.md"))).split())
    systems = {number for named in re.findall(r"for root on Debian ([\d or]+)", documents)
               for number in re.findall(r"\d+", named)}
    assert systems and {f"Debian {number}" for number in systems} <= tried
    first, last, with_these = re.search(r"\((\S+) to (\S+); tried with (.*?)\)", documents).groups()
    equal(first, oldest)
    assert {first, last, *re.findall(r"[\d.]+", with_these)} <= tried


def test_the_documents_examples_print_what_they_say_as_anybody(scratch):
    for name in ("build", "testdata"):
        (scratch / name).mkdir()
    (scratch / "build/keyveto").symlink_to(KEYVETO)
    (scratch / "testdata/demo").symlink_to(ROOT / "testdata/demo")
    ran = 0
    text = "".join(map(read, DOCUMENTS))
    for command, expected in re.findall(r"^    \$ (.*)\n((?:    [^$#].*\n)*)", text, re.MULTILINE):
        done = attempt(*shlex.split(command), cwd=scratch, stderr=subprocess.STDOUT)
        # Run by anybody but root, there is more to say of files that are not root's.
        actual = re.sub(r"; but a login would not trust it: .*|^keyveto: warning: .*\n", "", done.stdout,
                        flags=re.MULTILINE)
        equal(actual.splitlines(), [line.removeprefix("    ") for line in expected.splitlines()], command)
        ran += 1
    assert ran >= 4, f"only {ran} examples"


def test_commands_in_examples_have_only_options_that_there_are():
    ran = 0
    for text in map(read, (*DOCUMENTS, *PAGES)):
        command = r"(?:check|audit|scan|why|confirm|spki|allow|(?:filter|list|sshd|config) \w+)"
        for line in re.findall(rf"^.*\bkeyveto {command} .*$", text, re.MULTILINE):
            for name, rest in re.findall(r"\bkeyveto ((?:filter|list|sshd|config) \w+|\w+)([^|&]*)", line):
                if options_in(rest):
                    surplus = options_in(rest) - options_in(help_of(name))
                    assert not surplus, f"{line}: {surplus}"
                    ran += 1
    assert ran > 6, f"only {ran} examples"
