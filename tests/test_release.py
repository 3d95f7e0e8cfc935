# SPDX-License-Identifier: ISC
"""What a release consists of: the tarball, what is linked into the programs, and the signatures of CONTRIBUTING.md."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.search(r"^VERSION = (\S+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
HOMEPAGE = re.search(r"^HOMEPAGE = (\S+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
DIST = ("make", "-s", "-o", "placed", "dist")       # wherever keyveto is to be had
TARBALL = f"build/dist/keyveto-{VERSION}.tar.gz"
SBOM = f"build/dist/keyveto-{VERSION}.spdx.json"
of_a_clone = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone")      # but a tarball


def run(*argv, **options):
    return subprocess.run([str(word) for word in argv], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def clone(folder):
    run("git", "clone", "-q", "--no-hardlinks", ROOT, folder)
    return folder


def commands(heading):
    """The indented commands of CONTRIBUTING.md below the heading."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ")[0]
    return "".join(line[4:] for line in text.splitlines(True) if line.startswith("    "))


@of_a_clone
def test_the_tarball_has_the_commit_and_the_same_bytes_anywhere(tmp_path):
    one, two = clone(tmp_path / "one"), clone(tmp_path / "a-path-of-another-length")
    (two / "not-of-the-commit").write_text("")
    run("git", "-C", two, "config", "tar.umask", "0077")
    (tmp_path / "attributes").write_text("*.md export-ignore\n")
    run("git", "-C", two, "config", "core.attributesFile", tmp_path / "attributes")
    run(*DIST, cwd=one)
    run("sh", "-c", f"umask 077 && {' '.join(DIST)}", cwd=two,
        env={**os.environ, "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "LANG": "tr_TR.UTF-8"})
    assert (one / TARBALL).read_bytes() == (two / TARBALL).read_bytes()
    with tarfile.open(one / TARBALL) as packed:
        files = {member.name: member for member in packed if not member.isdir()}
    committed = run("git", "-C", one, "ls-files").splitlines()
    assert sorted(files) == sorted(f"keyveto-{VERSION}/{name}" for name in committed)
    assert {member.mtime for member in files.values()} == {int(run("git", "-C", one, "log", "-1", "--format=%ct"))}
    assert {(member.uid, member.mode & 0o022) for member in files.values() if member.isfile()} == {(0, 0)}
    assert (one / TARBALL).read_bytes()[4:8] == bytes(4) and gzip.decompress((one / TARBALL).read_bytes())


@of_a_clone
def test_there_is_no_tarball_without_a_commit(tmp_path):
    tree = clone(tmp_path / "tree")
    shutil.rmtree(tree / ".git")
    made = subprocess.run(("make", "-s", "dist"), check=False, cwd=tree, capture_output=True,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)})
    assert made.returncode != 0 and b"not a git repository" in made.stderr
    assert not (tree / TARBALL).exists()


@pytest.fixture(scope="session", name="bill")
def fixture_bill(build):
    # What is preloaded here is not in the programs.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1795000000", "LD_PRELOAD": "libseccomp.so.2"}
    return json.loads(run(ROOT / "scripts/sbom.py", build, VERSION, env=environment))


def test_the_bill_is_spdx_2_3(bill):
    """What the specification demands of a document, of a package and of a relationship (its chapters 6, 7 and 11)."""
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["dataLicense"] == "CC0-1.0"
    assert bill["SPDXID"] == "SPDXRef-DOCUMENT" and bill["name"]
    assert re.fullmatch(r"urn:[^#\s]+", bill["documentNamespace"])
    assert bill["creationInfo"]["created"] == "2026-11-18T11:06:40Z"
    assert all(re.match("(Tool|Person|Organization): ", who) for who in bill["creationInfo"]["creators"])
    ids = [package["SPDXID"] for package in bill["packages"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in ids)
    assert all(package["name"] and package["downloadLocation"] for package in bill["packages"])
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= {*ids, "SPDXRef-DOCUMENT"}
        assert relation["relationshipType"] in ("DESCRIBES", "DYNAMIC_LINK", "STATIC_LINK")


def test_the_bill_names_packages_by_the_rules_of_package_urls(bill):
    """Those rules' own example is pkg:deb/debian/attr@1:2.4.47-2%2Bb1."""
    versions = {package["name"]: package["versionInfo"] for package in bill["packages"]}
    urls = [reference["referenceLocator"] for package in bill["packages"]
            for reference in package.get("externalRefs", ())]
    assert urls and all(re.fullmatch(r"pkg:deb/debian/[\w.%-]+@[\w.~:%-]+", url) for url in urls)
    assert not any("%3A" in url for url in urls)
    assert all(versions[name] == version for name, version in (
        unquote(url.removeprefix("pkg:deb/debian/")).split("@") for url in urls))


def linked(bill, program, how):
    names = {package["SPDXID"]: package["name"] for package in bill["packages"]}
    return {names[relation["relatedSpdxElement"]] for relation in bill["relationships"]
            if names.get(relation["spdxElementId"]) == program and relation["relationshipType"] == how}


def test_the_bill_has_each_program_by_its_digest(bill, build):
    described = {relation["relatedSpdxElement"] for relation in bill["relationships"]
                 if relation["relationshipType"] == "DESCRIBES"}
    own = {package["name"]: package for package in bill["packages"] if package["SPDXID"] in described}
    programs = {path.name for path in build.iterdir() if path.name.startswith("keyveto") or path.suffix == ".so"}
    programs -= {"keyveto-report", "keyveto-publish"}       # which are Python
    assert set(own) == programs
    for name, package in own.items():
        assert package["checksums"] == [
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256((build / name).read_bytes()).hexdigest()}]


def closure(program, cache):
    """The libraries that a program needs, and those that these need, by their headers and ldconfig's cache."""
    found, wanted = set(), [program]
    while wanted:
        told = run("readelf", "-Wd", wanted.pop())
        paths = {cache[name] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", told)} - found
        found |= paths
        wanted += paths
    return found


def owners(paths):
    """The package of each file. dpkg may know /lib as /usr/lib, or the reverse, and others may have files so named."""
    told = run("dpkg", "-S", *{f"*/{Path(path).resolve().name}" for path in paths})
    lines = [line.split(": ", 1) for line in told.splitlines()]
    known = {Path(path).resolve(): name.split(":")[0] for name, path in lines}
    return {path: known[Path(path).resolve()] for path in paths}


def test_the_bill_has_what_readelf_finds(bill, build):
    here = run("cc", "-print-multiarch").strip()
    cache = dict(re.findall(rf"^\s+(\S+) .* => (/\S*/{here}/\S+)", run("/sbin/ldconfig", "-p"), re.MULTILINE))
    programs = {package["name"] for package in bill["packages"] if "checksums" in package}
    loaded = {program: closure(build / program, cache) for program in programs}
    package_of = owners(set().union(*loaded.values()))
    for program, paths in loaded.items():
        assert linked(bill, program, "DYNAMIC_LINK") == {package_of[path] for path in paths}, program
        # What is copied into a program has its functions in there.
        symbols = run("nm", build / program)
        functions = {"libmd-dev": " [Tt] SHA256Update", "libxxhash-dev": " [RrTt] XXH"}
        copied = {package for package, function in functions.items() if re.search(function, symbols)}
        assert linked(bill, program, "STATIC_LINK") == copied, program


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    """A clone whose git signs with a throw-away key, which is in tmp_path."""
    tree, key = clone(tmp_path / "tree"), tmp_path / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", key)
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", key), ("user.name", "a"), ("user.email", "a@b")):
        run("git", "-C", tree, "config", name, value)
    (tree / "allowed_signers").write_text(f"release {key.with_suffix('.pub').read_text(encoding='ascii')}")
    return tree


@of_a_clone
def test_a_release_is_made_and_verified_as_contributing_says(build, tree, tmp_path):
    # The programs are built.
    (tree / "build/dist").mkdir(parents=True)
    (tree / "build/dist/keyveto-0.0.9.tar.gz").touch()      # of a release before
    (tree / "build/dist/SHA256SUMS.sig").touch()            # ssh-keygen leaves it as it is, and returns 0
    make = commands("Make a release").replace("make ", f"make -s -o all -o placed BUILD={build} ")
    run("sh", "-eu", "-c", make, cwd=tree, env={**os.environ, "KEY": str(tmp_path / "key")})
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    assert dates(tree)[0] == dates(tree)[1] and today in dates(tree)[0]
    assert json.loads((tree / SBOM).read_text(encoding="ascii"))["creationInfo"]["created"][:10] == today

    assert {path.name for path in (tree / "build/dist").iterdir()} == {
        Path(TARBALL).name, Path(SBOM).name, "SHA256SUMS", "SHA256SUMS.sig"}
    shutil.copytree(tree / "build/dist", tree / "release")
    shutil.rmtree(tree / "build")
    # The next version has begun.
    makefile = tree / "Makefile"
    makefile.write_text(makefile.read_text(encoding="utf-8").replace(f"VERSION = {VERSION}", "VERSION = 99.0.0"))
    run("git", "-C", tree, "commit", "-q", "-a", "-m", "the next version")
    check = ("sh", "-eu", "-c", commands("Verify a release").replace("make dist", " ".join(DIST)))
    run(*check, cwd=tree)
    for name in ("SHA256SUMS", Path(SBOM).name, Path(TARBALL).name):
        good = (tree / "release" / name).read_bytes()
        (tree / "release" / name).write_bytes(good + b" ")
        assert subprocess.run(check, check=False, cwd=tree, capture_output=True).returncode != 0, name
        (tree / "release" / name).write_bytes(good)
    run("git", "-C", tree, "-c", "gpg.format=ssh", "tag", "-f", "-a", "-m", "unsigned", f"v{VERSION}", stderr=-3)
    assert subprocess.run(check, check=False, cwd=tree, capture_output=True).returncode != 0


def dates(tree):
    """What CHANGES.md and Debian's changelog begin with: version and date."""
    changes = re.search(r"^## (\S+) \((\S+)\)$", (tree / "CHANGES.md").read_text(encoding="utf-8"), re.MULTILINE)
    # dpkg's own reader.
    told = run("dpkg-parsechangelog", "-l", tree / "packaging/debian/changelog", "-S", "Version")
    stamp = int(run("dpkg-parsechangelog", "-l", tree / "packaging/debian/changelog", "-S", "Timestamp"))
    assert stamp == int(run(tree / "scripts/release-date"))
    day = datetime.fromtimestamp(stamp, timezone.utc).strftime("%Y-%m-%d")
    return changes.groups(), (told.strip().rpartition("-")[0], day)


@of_a_clone
def test_version_and_date_agree_everywhere(build):
    assert dates(ROOT)[0] == dates(ROOT)[1] and dates(ROOT)[0][0] == VERSION
    assert run(build / "keyveto", "--version").split()[:2] == ["keyveto", VERSION]
    found = run("git", "-C", ROOT, "grep", "-Il", "-F", VERSION, "--", ":!tests", ":!testdata", ":!fuzz").split()
    # The collection says with which keyveto it began, and its README names packages.
    for program in ("keyveto-publish", "keyveto-report"):
        assert run(build / program, "--version").split()[:2] == [program, VERSION]
    assert found == ["CHANGES.md", "Makefile", "fleet/ansible/CHANGELOG.md", "fleet/ansible/README.md",
                     "fleet/keyveto-publish", "fleet/keyveto-report", "packaging/debian/changelog"]
    debian = run("dpkg-parsechangelog", "-l", ROOT / "packaging/debian/changelog", "-S", "Version").strip()
    named = re.findall(r"keyveto_(\S+)_amd64\.deb", (ROOT / found[3]).read_text(encoding="utf-8"))
    assert set(named) == {debian}


@of_a_clone
def test_one_place_says_where_keyveto_is_to_be_had(tree):
    """And a release says a real one."""
    places = {"README.md": f"`git clone {HOMEPAGE} keyveto`", "SECURITY.md": f"<{HOMEPAGE}>",
              "fleet/ansible/galaxy.yml": f"\nrepository: {HOMEPAGE}\nhomepage: {HOMEPAGE}\n",
              "packaging/debian/control": f"\nHomepage: {HOMEPAGE}\n",
              "packaging/debian/watch": f"\n {HOMEPAGE}/releases/ ", "packaging/rpm/keyveto.spec": f" {HOMEPAGE}\n"}
    for name, text in places.items():
        assert text in (ROOT / name).read_text(encoding="utf-8"), f"{name} does not have the Makefile's HOMEPAGE"
    change = f"git grep -lF .invalid -- Makefile packaging {' '.join(places)} | xargs -r sed -i s/[.]invalid/.example/g"
    for invalid in (True, False):
        run("sh", "-c", change, cwd=tree)
        with (tree / "Makefile").open("a", encoding="utf-8") as makefile:
            makefile.write("# keyveto.invalid\n" * invalid)
        run("git", "-C", tree, "commit", "-q", "-a", "-m", "places")
        made = subprocess.run(("make", "-s", "dist"), check=False, cwd=tree, capture_output=True, text=True)
        assert (made.returncode != 0, "HEAD:Makefile:" in made.stderr) == (invalid, invalid), made.stderr
        assert (tree / TARBALL).exists() is not invalid
