# SPDX-License-Identifier: ISC
"""The stages, by the names that run.py gives on the kernel command line."""
# flake8: noqa: F401

from apparmor import apparmor
from logs import logs
from packages import packages, removal
from selinux import selinux_enforcing, selinux_permissive
from switch import doctor, switch
from update import update
