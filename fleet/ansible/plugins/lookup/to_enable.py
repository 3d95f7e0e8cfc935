# SPDX-License-Identifier: ISC
"""Which hosts a rehearsal found fit to be enabled."""

DOCUMENTATION = r"""
name: to_enable
short_description: Hosts on which keyveto is to be enabled
version_added: 1.0.0
author: The keyveto authors (@keyveto)
description:
  - The hosts on which M(keyveto.keyveto.host) with I(state=rehearsed) has succeeded in this run, and on which
    I(state=enabled) has something to do. They are in the order of the inventory.
  - It is for the C(hosts) of a later play. A group that hosts join while Ansible runs would do, too. But whenever a
    host joins one, Ansible goes through its whole inventory.
"""

EXAMPLES = r"""
- name: Enable
  hosts: "{{ query('keyveto.keyveto.to_enable') or '!all' }}"
"""

RETURN = r"""
_raw:
  description: Names of hosts.
  type: list
  elements: str
"""

from ansible.plugins.lookup import LookupBase
from ansible_collections.keyveto.keyveto.plugins.plugin_utils.this_run import noted


class LookupModule(LookupBase):
    """The lookup keyveto.keyveto.to_enable."""

    def run(self, terms, variables=None, **kwargs):
        wanted, inventory = noted(), variables["groups"]["all"]
        # localhost need not be in the inventory.
        return [host for host in inventory if host in wanted] + sorted(wanted.difference(inventory))
