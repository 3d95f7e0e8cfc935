# SPDX-License-Identifier: ISC
"""keyveto status: the PAM stack, compared with what libpam does."""

import ctypes
import os
import re

import pytest

from doctor_machine import GUARDED, RANK, SESSION, STACK, STOCK_STACK, doctor, expect, expect_all_well
from program import contains, equal, lacks

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def test_pam_names_the_phases_that_see_the_key(machine):
    machine.pam(STOCK_STACK)
    contains(expect_all_well()["pam"][0]["found"], "does not run the module")
    machine.pam("account requisite pam_keyveto.so\n" + STOCK_STACK)
    expect("pam", "warning", "only in account")
    machine.pam("auth requisite pam_keyveto.so\n" + STOCK_STACK)
    expect("pam", "warning", "only in auth")
    machine.sshd_config(*GUARDED, "KbdInteractiveAuthentication yes",
                        "AuthenticationMethods publickey,keyboard-interactive:pam")
    contains(expect_all_well()["pam"][0]["found"], "AuthenticationMethods")
    for methods in ("publickey,keyboard-interactive:pam publickey", "publickey,keyboard-interactive:pam,publickey",
                    "keyboard-interactive:pam,publickey"):
        machine.sshd_config(*GUARDED, "KbdInteractiveAuthentication yes", f"AuthenticationMethods {methods}")
        expect("pam", "warning", "only in auth")
    machine.sshd_config(*GUARDED, "KbdInteractiveAuthentication yes", "HostbasedAuthentication yes",
                        "AuthenticationMethods publickey,keyboard-interactive:pam,hostbased")
    expect("pam", "warning", "only in auth", others=["hostbased"])
    machine.sshd_config()
    machine.pam("account requisite pam_keyveto.so\n" + STOCK_STACK)
    expect("pam", "broken", "only in account", others=["guard"])


def test_pam_usepam_no_and_a_stack_that_pam_refuses(machine):
    machine.sshd_config("UsePAM no", *GUARDED)
    expect("pam", "warning", "UsePAM is no")
    machine.sshd_config("UsePAM no")
    expect("pam", "broken", "UsePAM is no", others=["guard"])
    machine.sshd_config(*GUARDED)
    machine.pam(SESSION + STOCK_STACK + "@include missing\n")
    expect("pam", "broken", f"{STACK}:", "/etc/pam.d/missing: No such file")
    machine.pam(SESSION + "sesion required pam_permit.so\n")
    expect("pam", "broken", f"{STACK}:2: unknown type sesion")


def test_pam_control_says_whether_a_refusal_counts(machine):
    for control, status in (("requisite", "ok"), ("required", "warning"), ("optional", "broken"),
                            ("sufficient", "broken"), ("[success=ok default=die]", "ok"),
                            ("[success=ok ignore=ignore default=bad]", "warning"), ("[success=ok]", "warning"),
                            ("[success=ok default=ignore]", "broken"),
                            ("[perm_denied=die session_err=die default=ignore]", "ok"),
                            ("[perm_denied=die default=ignore]", "broken"),
                            ("[perm_denied=die session_err=bad default=ignore]", "warning")):
        machine.pam(f"session {control} pam_keyveto.so\n{STOCK_STACK}")
        expect("pam-control", status, control)
    machine.pam(f"-session requisite pam_keyveto.so\n{STOCK_STACK}")
    expect("pam-control", "warning", "does not log that a module is missing")


def test_pam_control_a_stack_that_the_modules_line_decides(machine):
    permit = "session required pam_permit.so\n"
    for stack, status, says in ((permit, "ok", "a refusal ends the stack"),
                                ("session include other\n", "ok", "a refusal ends the stack"),
                                ("", "warning", "PAM would use /etc/pam.d/other"),
                                ("session optional pam_permit.so\n", "warning", f"{STACK}:1: this line decides"),
                                (f"session [success=1 default=ignore] pam_env.so\n{permit}", "warning",
                                 "PAM may let in somebody whom it would refuse")):
        machine.pam(SESSION + stack)
        expect("pam-control", status, says)


def test_pam_order_debians_own_stack(machine):
    """The module's line is in the wrong place."""
    machine.pam(STOCK_STACK + SESSION)
    found = expect("pam-order", "broken", "user_readenv=1")
    place = next(number for number, line in enumerate(STOCK_STACK.splitlines(), 1)
                 if re.match(r"session.*pam_env\.so.*user_readenv=1", line))
    contains(str(found["pam-order"]), f"{STACK}:{place}: ")
    lacks(str(found["pam-order"]), "pam_loginuid")


def test_pam_order_lines_that_set_the_environment(machine):
    """Also lines that keep the module from running."""
    for line, status in (("required pam_loginuid.so", "ok"), ("required pam_env.so", "warning"),
                         ("required pam_env.so user_readenv=1", "broken"),
                         ("required pam_env.so user_readenv=0", "warning"),
                         ("required pam_env.so readenv=0 user_readenv=2", "broken"),
                         ("required pam_env.so [user_readenv=1]", "broken"),
                         ("SUFFICIENT pam_permit.so", "broken"),
                         ("required pam_exec.so /bin/true", "warning"),
                         ("sufficient pam_permit.so", "broken"),
                         ("[success=1 default=ignore] pam_permit.so", "broken"),
                         ("[success=done default=ignore] pam_permit.so", "broken"),
                         ("[success=ok ignore=ignore default=bad] pam_selinux.so close", "ok")):
        machine.pam(f"session {line}\n{SESSION}{STOCK_STACK}")
        expect("pam-order", status)
    machine.pam(f"session [success=1 default=ignore] pam_permit.so\nsession required pam_loginuid.so\n"
                f"{SESSION}{STOCK_STACK}")
    expect_all_well()
    # A line in an included file counts, too. Lines of another phase do not matter.
    (STACK.parent / "earlier").write_text("session required pam_env.so user_readenv=1\n", encoding="utf-8")
    machine.pam(f"@include earlier\n{SESSION}{STOCK_STACK}")
    expect("pam-order", "broken", "/etc/pam.d/earlier:1: ")
    machine.pam(f"auth include earlier\n{SESSION}{STOCK_STACK}")
    expect_all_well()
    (STACK.parent / "earlier").unlink()


def test_pam_module_missing_insecure_or_not_to_be_loaded(machine):
    content = machine.module.read_bytes()
    machine.module.unlink()
    expect("pam-module", "broken", "No such file")
    machine.module.write_bytes(content)
    machine.module.chmod(0o666)
    expect("pam-module", "broken", "writable by group or others")
    machine.module.chmod(0o644)
    expect_all_well()
    machine.module.write_bytes(content[:4096])
    expect("pam-module", "broken", str(machine.module))
    machine.module.write_bytes(content)
    machine.pam(SESSION.replace("\n", " config=/etc/keyveto/other.conf\n") + STOCK_STACK)
    expect("config", "broken", "/etc/keyveto/other.conf: No such file")
    machine.pam(SESSION.replace("\n", " [config=/etc/keyveto/other.conf]\n") + STOCK_STACK)
    expect("config", "broken", "/etc/keyveto/other.conf: No such file")
    machine.pam(SESSION.replace("\n", " config=/etc/keyveto/keyveto.conf config=/etc/keyveto/other.conf\n")
                + STOCK_STACK)
    expect("config", "broken", "/etc/keyveto/other.conf: No such file")
    machine.pam(f"auth requisite pam_keyveto.so config=/etc/keyveto/other.conf\n{SESSION}{STOCK_STACK}")
    expect("config", "broken", "/etc/keyveto/other.conf: No such file")
    machine.pam(f"auth requisite /nowhere/pam_keyveto.so\n{SESSION}{STOCK_STACK}")
    expect("pam-module", "broken", "/nowhere: No such file")


class Conversation(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("data", ctypes.c_void_p)]


class Message(ctypes.Structure):
    _fields_ = [("style", ctypes.c_int), ("text", ctypes.c_char_p)]


CONVERSE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(Message)),
                            ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)


def open_session(folder, *lines):
    """Opens a session with this stack through libpam: (whether it was opened, the output of pam_echo)."""
    folder = folder / "pam"
    folder.mkdir(exist_ok=True)
    (folder / "doctor").write_text("".join(f"session {line}\n" for line in lines), encoding="utf-8")
    libpam, libc = ctypes.CDLL("libpam.so.0"), ctypes.CDLL(None)
    libc.calloc.restype = ctypes.c_void_p
    said = []

    @CONVERSE
    def converse(count, messages, answers, _):
        said.extend(messages[number][0].text for number in range(count))
        answers[0] = libc.calloc(ctypes.c_size_t(count), ctypes.c_size_t(16))
        return 0
    conversation = Conversation(ctypes.cast(converse, ctypes.c_void_p), None)
    handle = ctypes.c_void_p()
    status = libpam.pam_start_confdir(b"doctor", b"root", ctypes.byref(conversation), os.fsencode(folder),
                                      ctypes.byref(handle))
    equal(status, 0)
    status = libpam.pam_open_session(handle, 0)
    libpam.pam_end(handle, status)
    return status == 0, said


CONTROLS = ["requisite", "required", "optional", "sufficient", "[default=die]", "[default=bad]", "[success=ok]",
            "[success=ok default=ignore]", "[success=done default=bad]", "[perm_denied=die default=ignore]",
            "[session_err=die perm_denied=die default=ok]", "[perm_denied=bad session_err=die default=die]",
            "[success=ok new_authtok_reqd=ok ignore=ignore default=1]", "[default=1 perm_denied=2 session_err=bad]"]


def test_pam_control_says_what_libpam_makes_of_each_control(scratch, machine):
    seen = set()
    for control in CONTROLS:
        outcomes = [open_session(scratch, f"{control} pam_debug.so open_session={refusal}",
                                 "optional pam_echo.so later", *["required pam_permit.so"] * 4)
                    for refusal in ("perm_denied", "session_err")]
        opened, went_on = any(one[0] for one in outcomes), any(b"later" in one[1] for one in outcomes)
        status = "broken" if opened else "warning" if went_on else "ok"
        machine.pam(f"session {control} pam_keyveto.so\nsession optional pam_echo.so x\n"
                    "session required pam_permit.so\n")
        expect("pam-control", status, control)
        seen.add(status)
    equal(seen, set(RANK))


def test_pam_order_knows_what_keeps_libpam_from_the_module(scratch, machine):
    """libpam runs each of the stacks."""
    seen = set()
    for control in [*CONTROLS, "[success=2]", "[success=1]", "[success=3 default=ignore]", "[success=ok]"]:
        status = "ok"
        for answer in ("success", "perm_denied", "session_err", "new_authtok_reqd", "ignore"):
            opened, said = open_session(scratch, f"{control} pam_debug.so open_session={answer}",
                                        "optional pam_permit.so", "required pam_echo.so the module",
                                        *["required pam_permit.so"] * 4)
            if opened and b"the module" not in said:
                status = "broken"
        earlier = [f"{control} pam_permit.so", "optional pam_permit.so"]
        machine.pam("".join(f"session {line}\n" for line in earlier) + SESSION + "session required pam_permit.so\n")
        found, _ = doctor()
        equal(max((one["status"] for one in found["pam-order"]), key=RANK.get), status, f"{control}: {found}")
        seen.add(status)
    equal(seen, {"ok", "broken"})
