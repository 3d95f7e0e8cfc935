#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""How the binaries are built: what they link, what they show, what guards them."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else "build")
GUARD, MODULE, COMMAND = (BUILD / name for name in ("keyveto-authorized-keys", "pam_keyveto.so", "keyveto"))

# The login path links these and nothing else, by its own wish.
NEEDED = {
    GUARD: {"libmd.so.0", "libc.so.6"},
    MODULE: {"libpam.so.0", "libmd.so.0", "libc.so.6"},
    # libpam, since keyveto sshd enable has PAM try the module out.
    COMMAND: {"libmd.so.0", "libpam.so.0", "libc.so.6", "libssh.so.4", "libcrypto.so.3", "libjansson.so.4", "libcurl.so.4",
              "libm.so.6"},
}
ENTRY_POINTS = {"pam_sm_authenticate", "pam_sm_setcred", "pam_sm_acct_mgmt", "pam_sm_open_session",
                "pam_sm_close_session", "pam_sm_chauthtok"}
# What the compiler's own start-up files put into writable sections.
START_UP_BYTES = 8

failures = []
passed = 0


def read(*arguments):
    return subprocess.run([str(word) for word in arguments], capture_output=True, text=True, check=True).stdout


def expect(condition, what):
    global passed
    if condition:
        passed += 1
    else:
        failures.append(what)
        print(f"FAILED {what}")


def check(binary):
    name = binary.name
    header, segments = read("readelf", "-Wh", binary), read("readelf", "-Wl", binary)
    dynamic, symbols = read("readelf", "-Wd", binary), read("readelf", "-Ws", binary)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    expect("DYN (" in header, f"{name} is position independent")
    expect("GNU_RELRO" in segments and "BIND_NOW" in dynamic + "".join(re.findall(r"FLAGS.*", dynamic)),
           f"{name} has full RELRO")
    expect(re.search(r"GNU_STACK.* RW +0x", segments), f"{name} has no executable stack")
    expect(not re.search(r"LOAD.* RWE ", segments), f"{name} has no segment that is writable and executable")
    expect("TEXTREL" not in dynamic, f"{name} has no text relocations")
    expect("RPATH" not in dynamic and "RUNPATH" not in dynamic, f"{name} has no search path of its own")
    expect("__stack_chk_fail" in symbols, f"{name} has the stack protector")
    expect(re.search(r"__\w+_chk\b", symbols.replace("__stack_chk", "")), f"{name} is fortified")
    expect(needed <= NEEDED[binary], f"{name} links {needed}, and may link {NEEDED[binary]}")


def check_module():
    shown = set(re.findall(r" T (\w+)", read("nm", "-D", "--defined-only", MODULE)))
    expect(shown == ENTRY_POINTS, f"the module shows {shown}")
    # Constants live in .data.rel.ro; what could change between calls, in these.
    for section in (".data", ".bss"):
        size = re.search(rf"\s\{section}\s+\w+\s+\w+\s+\w+\s+(\w+)", read("readelf", "-WS", MODULE))
        expect(size is None or int(size.group(1), 16) <= START_UP_BYTES,
               f"the module keeps state between calls: {section} has {size and size.group(1)} bytes")


def check_installation():
    """Whoever runs the guard must not be able to read it: it could be traced then, before it can forbid that."""
    with tempfile.TemporaryDirectory() as folder:
        read("make", "-s", "-o", "all", f"BUILD={BUILD}", "install", f"DESTDIR={folder}")
        for name, mode in ((GUARD.name, 0o711), (MODULE.name, 0o644), (COMMAND.name, 0o755)):
            found = [path.stat().st_mode & 0o7777 for path in Path(folder).rglob(name)
                     if path.parent.name in ("libexec", "security", "bin")]
            expect(found == [mode], f"{name} is installed with mode {mode:o}, not {found}")


for each in (GUARD, MODULE, COMMAND):
    check(each)
check_module()
check_installation()
print(f"{passed} passed, {len(failures)} failed")
sys.exit(1 if failures else 0)
