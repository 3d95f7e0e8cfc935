#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes what is linked into each program of a build as SPDX 2.3, in JSON: scripts/sbom.py BUILD VERSION

The libraries are those that the loader finds for a program, by its own list (NEEDED) and by theirs; the guard's libmd,
which the linker copied; and xxHash, which is all headers, in programs of a source that includes it. Each is named
by its Debian package. The date is that of the release, or SOURCE_DATE_EPOCH.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ("keyveto", "keyveto-authorized-keys", "keyveto-network", "keyveto-reader",
            "keyveto-worker", "pam_keyveto.so")


def read(*argv, **options):
    return subprocess.run([str(word) for word in argv], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def packages_of(paths):
    """Name and version of the Debian packages with the files. dpkg may know /lib only as /usr/lib, or the reverse."""
    named = {name: path for path in paths for real in [os.path.realpath(path)]
             for name in (real, real.removeprefix("/usr"), f"/usr{real}")}
    told = subprocess.run(["dpkg", "-S", *named], check=False, capture_output=True, text=True).stdout
    owners = {named[name]: package for package, name in (line.split(": ", 1) for line in told.splitlines())}
    missing = set(paths) - set(owners)
    if missing:
        sys.exit(f"scripts/sbom.py: no Debian package has {' '.join(sorted(missing))}")
    query = read("dpkg-query", "-W", "-f=${binary:Package}\\t${Package} ${Version}\\n", *set(owners.values()))
    known = dict(line.split("\t") for line in query.splitlines())
    return {path: known.get(package, known.get(package.split(":")[0])).split() for path, package in owners.items()}


def needed(program):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", read("readelf", "-Wd", program)))


def loaded(program):
    """The files that the loader maps for the program, whatever this process has it preload."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    return set(re.findall(r"(?:=> )?(/\S+) \(0x", read("ldd", program, env=environment)))


def includes_xxhash(program):
    """By the sources that the compiler told debuggers."""
    told = read("readelf", "--debug-dump=info", "--dwarf-depth=1", program)
    sources = [ROOT / name for name in re.findall(r"DW_AT_name .*: (\S+\.c)\s", told)]
    if not sources:
        sys.exit(f"scripts/sbom.py: {program} does not name its sources: build it with -g")
    return any("<xxhash.h>" in source.read_text(encoding="utf-8") for source in sources if source.exists())


def parts(program):
    """The files that are in the program, and how they were linked."""
    for path in sorted(loaded(program)):
        yield path, "DYNAMIC_LINK"
    if program.name == "keyveto-authorized-keys" and "libmd.so.0" not in needed(program):
        yield read(os.environ.get("CC", "cc"), "-print-file-name=libmd.a").strip(), "STATIC_LINK"
    if includes_xxhash(program):
        yield "/usr/include/xxhash.h", "STATIC_LINK"


def a_package(spdx_id, name, version, **more):
    return {"SPDXID": spdx_id, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", **more}


def document(build, version, made):
    packages, relations = {}, []
    linked = {name: list(parts(build / name)) for name in PROGRAMS}
    owners = packages_of({path for files in linked.values() for path, _ in files})
    for name in PROGRAMS:
        digest = hashlib.sha256((build / name).read_bytes()).hexdigest()
        own = f"SPDXRef-{name.replace('_', '-')}"
        packages[own] = a_package(own, name, version, licenseDeclared="ISC", packageFileName=name, checksums=[
            {"algorithm": "SHA256", "checksumValue": digest}])
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", own))
        for package, package_version, how in dict.fromkeys((*owners[path], how) for path, how in linked[name]):
            other = f"SPDXRef-Debian-{re.sub(r'[^A-Za-z0-9.-]', '-', package)}"
            packages[other] = a_package(other, package, package_version, externalRefs=[
                {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                 # A package URL has an epoch's colon as it is, and a plus as %2B.
                 "referenceLocator": f"pkg:deb/debian/{quote(package)}@{quote(package_version, safe=':')}"}])
            relations.append((own, how, other))
    of_all = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"keyveto-{version}",
        "documentNamespace": f"urn:keyveto:{version}:{of_all}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: keyveto-scripts-sbom"]},
        "packages": list(packages.values()),
        "relationships": [{"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other}
                          for one, how, other in relations]}


def main():
    build, version = Path(sys.argv[1]), sys.argv[2]
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or read(ROOT / "scripts/release-date")
    made = datetime.fromtimestamp(int(epoch), timezone.utc)
    json.dump(document(build, version, made), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
