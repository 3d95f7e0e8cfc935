#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Compares what the C includes with scripts/layers.txt, which says how. Silent if all is as it says.

    scripts/layers.py [ROOT]    ROOT is the folder of the sources; without it, this one
"""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class Layers:
    """The lines of layers.txt. number has the line of each folder or file, exceptions that of each exception."""

    def __init__(self, path):
        self.path, self.number, self.exceptions, self.wrong = path, {}, {}, []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = line.partition("#")[0].split()
            if words[:1] == ["!"] and len(words) == 3:
                self.exceptions[tuple(words[1:])] = number
            else:
                self.add(number, words)

    def add(self, number, names):
        for name in names:
            if name in self.number:
                self.wrong.append(f"{self.path}:{number}: {name} stands in line {self.number[name]}, too")
            self.number.setdefault(name, number)

    def name_of(self, file):
        """The name in the list that the file belongs to, or None."""
        for name in (str(file.with_suffix("")), str(file.parent)):
            if name in self.number:
                return name
        return None


def sources(root, layers):
    """The files of the folders in the list and below cli, by their paths below root."""
    tops = {name.split("/")[0] for name in layers.number}
    return {path.relative_to(root): path.read_text() for top in sorted(tops)
            for path in sorted((root / top).rglob("*.[ch]"))}


def find(file, included, files):
    """The file that is meant: beside the one that includes it, or below cli or lib. None: none of ours."""
    for folder in (file.parent, Path("cli"), Path("lib")):
        if folder / included in files:
            return folder / included
    return None


def edges(files):
    """Yields each file, what it includes as written, and the file that is meant."""
    for file, text in files.items():
        for included in INCLUDE.findall(text):
            target = find(file, included, files)
            if target is not None:
                yield file, included, target


def judge(root):
    layers = Layers(root / "scripts" / "layers.txt")
    files = sources(root, layers)
    wrong = list(layers.wrong)
    used = set()
    for name in layers.number:
        if not any(layers.name_of(file) == name for file in files):
            wrong.append(f"{layers.path}:{layers.number[name]}: there is no {name}; remove it")
    for folder in sorted({str(file.parent) for file in files if layers.name_of(file) is None}):
        wrong.append(f"{folder}: is in no line of {layers.path}")
    for file, included, target in edges(files):
        here, there = layers.name_of(file), layers.name_of(target)
        if None in (here, there) or here == there or layers.number[there] < layers.number[here]:
            continue
        if (str(file), included) in layers.exceptions:
            used.add((str(file), included))
        else:
            wrong.append(f"{file}: includes {included}, but {there} is not below {here} in scripts/layers.txt")
    for exception, number in layers.exceptions.items():
        if exception not in used:
            wrong.append(f"{layers.path}:{number}: {exception[0]} does not include {exception[1]} against the layers "
                         "any more; remove the line")
    return wrong


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    wrong = judge(root)
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
