# SPDX-License-Identifier: ISC
"""Makes mutants of a C file by rule: the same file gives the same mutants.

The rules, and their names:
  comparison  each comparison turned: < becomes <= and >=, == becomes !=, and so on
  constant    each number one more and one less, also those that macros of the file stand for
  return      each return but a function's last is dropped
  condition   the condition of each if, loop and ?: is fixed to 0 and to 1, and each operand of && to 1, of || to 0

Clang parses the file, so that only code is changed. Code that a macro expands to is left alone.
"""

import hashlib
import re
from dataclasses import dataclass

from clang import cindex
from clang.cindex import CursorKind

TURNED = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
LOOPS = {CursorKind.WHILE_STMT: 0, CursorKind.IF_STMT: 0, CursorKind.CONDITIONAL_OPERATOR: 0, CursorKind.DO_STMT: -1}
# A macro that stands for a number, or for numbers that are computed.
DEFINED = re.compile(r"^#define[ \t]+(\w+)[ \t]+([\w()*+<>/ \t-]*?)[ \t]*(?:/\*.*)?$", re.MULTILINE)
NUMBER = re.compile(r"(?<!\w)\d\w*")


@dataclass(frozen=True)
class Mutant:
    path: str           # within the repository
    function: str       # that it is in; a macro's name
    rule: str
    start: int          # bytes of the file from here
    end: int            # to here
    before: str
    after: str
    line: int
    number: str         # stays the same if other lines of the file move
    text: bytes         # the file

    def apply(self):
        return self.text[:self.start] + self.after.encode() + self.text[self.end:]

    def __str__(self):
        return f"{self.number} {self.path}:{self.line} {self.function}: {self.rule}: {self.before} -> {self.after}"


class Maker:
    """All mutants of one file."""

    def __init__(self, root, path, flags):
        self.path, self.mutants, self.seen = path, [], {}
        self.text = (root / path).read_bytes()
        self.file = str(root / path)
        unit = cindex.Index.create().parse(self.file, args=flags)
        for problem in unit.diagnostics:
            if problem.severity >= cindex.Diagnostic.Error:
                raise SystemExit(f"{self.file}: clang says: {problem.spelling}")
        self.expanded = []
        self.function, self.last = "", None
        for cursor in unit.cursor.get_children():
            if cursor.kind is CursorKind.FUNCTION_DECL and cursor.is_definition() and self._is_here(cursor):
                self.function = cursor.spelling
                body = list(cursor.get_children())[-1]
                self.last = (list(body.get_children()) or [None])[-1]
                self._walk(body)
            elif cursor.kind is CursorKind.VAR_DECL and self._is_here(cursor):
                self.function = cursor.spelling
                self._walk(cursor)
        self._macros()

    def _is_here(self, cursor):
        place = cursor.extent.start
        return place.file is not None and place.file.name == self.file

    def _add(self, rule, start, end, after, line):
        before = self.text[start:end].decode()
        begin = self.text.rfind(b"\n", 0, start) + 1
        around = self.text[begin:].split(b"\n", 1)[0].strip()
        key = (self.function, rule, around, start - begin, before, after)
        count = self.seen[key] = self.seen.get(key, 0) + 1
        number = hashlib.sha256(repr((self.path, key, count)).encode()).hexdigest()[:8]
        shown = " ".join(before.split())
        self.mutants.append(Mutant(self.path, self.function, rule, start, end, shown, after, line, number, self.text))

    def _span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def _is_written(self, cursor):
        """Not the work of a macro: the cursor's text is what the tokens say."""
        start, end = self._span(cursor)
        if not self._is_here(cursor) or end <= start:
            return False
        word = re.match(rb"[A-Za-z_]\w*", self.text[start:end])
        return not (cursor.kind is CursorKind.INTEGER_LITERAL and word)

    def _walk(self, cursor):
        if not self._is_here(cursor):
            return
        kind, children = cursor.kind, list(cursor.get_children())
        line = cursor.extent.start.line
        if kind in (CursorKind.INTEGER_LITERAL, CursorKind.CHARACTER_LITERAL) and self._is_written(cursor):
            start, end = self._span(cursor)
            for step in ("+ 1", "- 1"):
                self._add("constant", start, end, f"({self.text[start:end].decode()} {step})", line)
        elif kind is CursorKind.BINARY_OPERATOR and len(children) == 2:
            self._operator(children, line)
        elif kind is CursorKind.RETURN_STMT and cursor != self.last:
            start, end = self._span(cursor)
            self._add("return", start, end, "", line)
        if kind in LOOPS and self._is_written(children[LOOPS[kind]]):
            self._fix(children[LOOPS[kind]], "01", line)
        elif kind is CursorKind.FOR_STMT:
            self._for(cursor, children, line)
        for child in children:
            self._walk(child)

    def _fix(self, cursor, values, line):
        start, end = self._span(cursor)
        for value in values:
            if self.text[start:end].decode() != value:
                self._add("condition", start, end, value, line)

    def _for(self, cursor, children, line):
        """The condition of a for is what stands between its semicolons."""
        start, _ = self._span(cursor)
        body, _ = self._span(children[-1])
        head = self.text[start:body]
        semicolons = [match.start() for match in re.finditer(rb";", head)]
        if len(semicolons) != 2:
            return
        for child in children[:-1]:
            first, last = self._span(child)
            if start + semicolons[0] < first and last <= start + semicolons[1]:
                self._fix(child, "0", line)

    def _operator(self, children, line):
        (_, left), (right, _) = map(self._span, children)
        between = re.sub(rb"/\*.*?\*/", lambda match: b" " * len(match[0]), self.text[left:right])
        found = re.match(rb"[\s)]*(<=|>=|==|!=|&&|\|\||<(?!<)|>(?!>))[\s(]*$", between)
        if not found:
            return
        operator, start = found[1].decode(), left + found.start(1)
        for after in TURNED.get(operator, ()):
            self._add("comparison", start, start + len(operator), after, line)
        if operator in ("&&", "||"):
            for child in children:
                if self._is_written(child):
                    self._fix(child, "1" if operator == "&&" else "0", line)

    def _macros(self):
        text = self.text.decode()
        for found in DEFINED.finditer(text):
            self.function = found[1]
            for number in NUMBER.finditer(found[2]):
                start = len(text[:found.start(2) + number.start()].encode())
                for step in ("+ 1", "- 1"):
                    self._add("constant", start, start + len(number[0]), f"({number[0]} {step})",
                              text.count("\n", 0, found.start()) + 1)


def of_file(root, path, flags):
    return Maker(root, path, flags).mutants
