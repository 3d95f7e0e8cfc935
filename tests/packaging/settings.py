# SPDX-License-Identifier: ISC
"""keyveto.conf and update.conf are the administrator's: no package has them, and none loses a line of them."""

from pathlib import Path

from steps import ROOT, call, check, same, snapshot

FOLDER = Path("/etc/keyveto")
LINES = {"keyveto.conf": "DenyKey SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU x\n", "update.conf": "MaxAge 9\n"}
SPEC = ("Name: keyveto\nVersion: 0.0\nRelease: 1\nSummary: older\nLicense: ISC\nBuildArch: noarch\n%description\n"
        "%install\ninstall -D -m 644 -t %{{buildroot}}/etc/keyveto {}/etc/*.conf\n"
        "%files\n%config(noreplace) /etc/keyveto/*\n")


def former_deb(new, folder):
    """The package as an older version had it, with conffiles of another text."""
    tree = folder / "former"
    call("dpkg-deb", "-R", new, tree)
    for name in LINES:
        (tree / "etc/keyveto" / name).write_text(f"# older\n{(ROOT / 'etc' / name).read_text()}", encoding="utf-8")
    (tree / "DEBIAN/conffiles").write_text("".join(f"/etc/keyveto/{name}\n" for name in LINES), encoding="ascii")
    call("sed", "-i", "s/^Version: .*/Version: 0.0/", tree / "DEBIAN/control")
    call("dpkg-deb", "--root-owner-group", "-b", tree, f"{tree}.deb")
    return f"{tree}.deb"


def former_rpm(_new, folder):
    (folder / "keyveto.spec").write_text(SPEC.format(ROOT), encoding="ascii")
    call("rpmbuild", "-bb", "--define", f"_topdir {folder}", folder / "keyveto.spec")
    call("rpm", "--initdb")
    return next(folder.glob("RPMS/noarch/*.rpm"))


# How packages are made, installed, removed, and removed with their settings.
KINDS = {"deb": (former_deb, ("dpkg", "-i"), ("dpkg", "--remove", "keyveto"), ("dpkg", "--purge", "keyveto")),
         "rpm": (former_rpm, ("rpm", "-U", "--nodeps", "--oldpackage"), ("rpm", "-e", "keyveto"), ("rm", "-r", FOLDER))}


def edit():
    """A line that must not be lost; rpm may put a file aside, beside its place, and says so."""
    for name, line in LINES.items():
        call("sh", "-c", f"printf %s '{line}' >>{FOLDER / name}; chmod 600 {FOLDER / name}")


def not_lost(what):
    found = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*"))
    check(all(line in found for line in LINES.values()), f"{what}: a line is lost: {found}")


def live(part, kind, new, folder):
    """Nothing can be asked: standard input is empty, and no option says what to answer."""
    make, install, remove, purge = KINDS[kind]
    former = make(new, folder)
    for edits in (lambda: None, edit):
        call(*install, former)
        edits()
        before = snapshot(FOLDER)
        for package in (new, former, new):
            call(*install, package)
            found = {path: what for path, what in snapshot(FOLDER).items() if not path.endswith(".rpmnew")}
            same(before, found, f"{kind}: {package} changes the settings")
    call(*remove)
    not_lost(f"{kind}: a removal")
    call(*purge)
    check(not FOLDER.exists(), f"{kind}: something is left")
    call(*install, new)
    check(not list(FOLDER.iterdir()), f"the {kind} has settings")
    edit()
    if kind == "deb":
        call(*install, former, status="failure")        # dpkg asks, and nobody answers
        install = ("dpkg", "--force-confold", "-i")
    not_lost(f"{kind}: a question")
    call(*install, former)
    call(*remove)
    not_lost(f"{kind}: a downgrade, and a removal")
    call(*purge)
    part.ok(f"{kind}: an upgrade changes no byte of keyveto.conf and update.conf, and nothing loses a line unasked")


def settings(part, folder):
    for kind, pattern in (("deb", "one/build/deb/keyveto_*.deb"), ("rpm", "rpm/build/rpm/RPMS/*/keyveto-[0-9]*.rpm")):
        Path(f"/root/{kind}").mkdir()
        live(part, kind, next(folder.glob(pattern)), Path(f"/root/{kind}"))
