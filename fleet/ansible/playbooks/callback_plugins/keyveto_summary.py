# SPDX-License-Identifier: ISC
"""The summary for the playbooks of this collection. Ansible loads what is here with them, without ansible.cfg."""

from ansible_collections.keyveto.keyveto.plugins.callback import summary

DOCUMENTATION = summary.DOCUMENTATION.replace("name: summary", "name: keyveto_summary")


class CallbackModule(summary.CallbackModule):
    """The callback keyveto.keyveto.summary."""

    CALLBACK_NAME = "keyveto_summary"
    CALLBACK_NEEDS_ENABLED = False
