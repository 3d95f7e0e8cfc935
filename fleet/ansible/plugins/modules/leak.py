#!/usr/bin/python
# SPDX-License-Identifier: ISC
"""The options of the action plugin of the same name, which does all of it. Nothing but keyveto runs on the host."""

DOCUMENTATION = r"""
module: leak
short_description: Refuses a key that leaked, and tells before who would be locked out
version_added: 2.0.0
author: The keyveto authors (@keyveto)
description:
  - Four steps, as the playbook C(keyveto.keyveto.leak) has them. Asks each host who has the key; publishes it; has
    each host refuse it; verifies that, and looks for sessions that are open.
  - It runs the program C(keyveto) on the host, over the connection. No Python is needed there.
  - The key is read on the controller. Only its public half and its fingerprint are sent to a host.
  - It needs root on the host (C(become)).
options:
  state:
    description:
      - V(asked) finds out which accounts have the key, and fails where one would be locked out.
      - V(published) puts the key into I(list) on the publisher's host, and publishes I(folder).
      - V(refused) has the host refuse the key by I(way).
      - V(verified) has the host judge the key, fails if it gets in, and looks for sessions that are open.
    type: str
    choices: [asked, published, refused, verified]
    required: true
  key:
    description: A file on the controller that has the key in any form that C(keyveto check) reads, or one fingerprint.
    type: str
    required: true
  proofs:
    description: Files on the controller with proofs of compromise. Each key must be proved by one of them.
    type: list
    elements: path
    default: []
  proof_required:
    description: Refuse a claim without I(proofs).
    type: bool
    default: false
  way:
    description: V(deny) writes DenyKey lines into C(keyveto.conf). V(update) runs C(keyveto update).
    type: str
    choices: [deny, update]
    default: deny
  reason:
    description: What C(keyveto deny) writes beside the key.
    type: str
    default: leaked
  sources:
    description: With V(update), only these sources of update.conf.
    type: list
    elements: str
    default: []
  accept_refused:
    description: Go on although accounts would be locked out, but never if that is the account that Ansible logs in as.
    type: bool
    default: false
  sessions:
    description: With V(verified), V(list) tells the open sessions that came in by the key, V(end) ends them.
    type: str
    choices: [list, end]
    default: list
  logs:
    description: With V(verified), what C(keyveto audit --logins) reads on the host. By default it finds the log.
    type: list
    elements: str
    default: []
  list:
    description: With V(published), the exact list on the publisher's host.
    type: path
    default: /srv/keyveto/ours.dat
  list_id:
    description: With V(published), the number of the source in the list, as C(keyveto list create --id) was told.
    type: int
    default: 1
  list_name:
    description: With V(published), what logs call that source, if the list does not say so yet.
    type: str
  folder:
    description: With V(published), the folder of C(keyveto-publish) there.
    type: path
    default: /srv/keyveto/site
  signing_key:
    description: With V(published), what C(keyveto-publish --sign) takes there.
    type: path
  directory:
    description: Where the callback C(keyveto.keyveto.summary) writes the report, on the controller.
    type: path
    default: keyveto-leak
  command:
    description: The program, on the hosts and on the controller.
    type: str
    default: keyveto
attributes:
  check_mode:
    description: Asks, and does nothing else.
    support: full
seealso:
  - module: keyveto.keyveto.update
"""

EXAMPLES = r"""
- name: Ask who has the key
  keyveto.keyveto.leak:
    state: asked
    key: leaked.pub
  become: true

- name: Refuse it
  keyveto.keyveto.leak:
    state: refused
    key: leaked.pub
    reason: found in a public repository
  become: true

- name: See that it is refused, and end its sessions
  keyveto.keyveto.leak:
    state: verified
    key: leaked.pub
    sessions: end
  become: true
"""

RETURN = r"""
leak:
  description: What is known of the key on this host after the step.
  returned: always
  type: dict
  contains:
    keys:
      description: The fingerprints.
      type: list
      elements: str
    accounts:
      description: The accounts that have the key. C(locked_out) tells that it has no other.
      type: list
      elements: dict
    guarded:
      description: Whether listed keys are refused on each way in.
      type: bool
    refused:
      description: Whether the key is refused from now on.
      type: bool
    sessions:
      description: The open sessions that came in by the key, as C(connected) of C(keyveto audit --json --logins),
        each with C(account), C(fingerprint) and C(ended).
      type: list
      elements: dict
    ended:
      description: Whether all of these were ended.
      type: bool
"""

from ansible.module_utils.basic import AnsibleModule

ARGUMENTS = {
    "state": {"type": "str", "choices": ["asked", "published", "refused", "verified"], "required": True},
    "key": {"type": "str", "required": True, "no_log": False},
    "proofs": {"type": "list", "elements": "path", "default": []},
    "proof_required": {"type": "bool", "default": False},
    "way": {"type": "str", "choices": ["deny", "update"], "default": "deny"},
    "reason": {"type": "str", "default": "leaked"},
    "sources": {"type": "list", "elements": "str", "default": []},
    "accept_refused": {"type": "bool", "default": False},
    "sessions": {"type": "str", "choices": ["list", "end"], "default": "list"},
    "logs": {"type": "list", "elements": "str", "default": []},
    "list": {"type": "path", "default": "/srv/keyveto/ours.dat"},
    "list_id": {"type": "int", "default": 1},
    "list_name": {"type": "str"},
    "folder": {"type": "path", "default": "/srv/keyveto/site"},
    "signing_key": {"type": "path", "no_log": False},
    "directory": {"type": "path", "default": "keyveto-leak"},
    "command": {"type": "str", "default": "keyveto"},
}


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    module.fail_json(msg="the action plugin of this name must call keyveto")


if __name__ == "__main__":
    main()
