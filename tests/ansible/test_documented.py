# SPDX-License-Identifier: ISC
"""What the collection documents is what it has: options of modules, variables of roles, names in README.md."""

import json
import re
import subprocess

import pytest
import yaml

from program import ROOT, equal

# As the action plugin of host has it.
VARIABLES = {"config": "keyveto_conf", "update_config": "keyveto_update_conf"}
COLLECTION = ROOT / "fleet/ansible"
MODULES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
ROLES = sorted(path.name for path in (COLLECTION / "roles").iterdir())
README = (COLLECTION / "README.md").read_text(encoding="utf-8")


# Prints the argument_spec that a module's main gives to Ansible, and what it documents.
TELL = """
import importlib.util, json, sys
sys.path.insert(0, sys.argv[1])
spec = importlib.util.spec_from_file_location("module", sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

def tell(*_, **options):
    print(json.dumps([options["argument_spec"], module.DOCUMENTATION, module.EXAMPLES, module.RETURN]))
    raise SystemExit

module.AnsibleModule = tell
module.main()
"""


@pytest.mark.parametrize("name", MODULES)
def test_each_option_of_a_module_is_documented(name, tmp_path):
    """In a process of its own: Ansible's action plugins, which other tests load, change how Python imports."""
    (tmp_path / "ansible_collections/keyveto").mkdir(parents=True)
    # Or Python would take Debian's package of this name, which has one.
    (tmp_path / "ansible_collections/__init__.py").touch()
    (tmp_path / "ansible_collections/keyveto/keyveto").symlink_to(COLLECTION)
    told = subprocess.run(["/usr/bin/python3", "-c", TELL, tmp_path, COLLECTION / f"plugins/modules/{name}.py"],
                          stdout=subprocess.PIPE, check=True)
    options, documentation, examples, returned = json.loads(told.stdout)
    has = {option: {key: one[key] for key in ("type", "default", "choices", "elements", "required") if key in one}
           for option, one in options.items()}
    documented = yaml.safe_load(documentation)
    equal({option: {key: value for key, value in one.items() if key not in ("description", "suboptions")}
           for option, one in documented["options"].items()}, has)
    equal(documented["module"], name)
    for text in (examples, returned):
        assert yaml.safe_load(text)
    assert f"`keyveto.keyveto.{name}`" in README


def variables_of_host(texts):
    """The variables of which tasks of keyveto.keyveto.host take options."""
    tasks = [task["keyveto.keyveto.host"] for text in texts for task in yaml.safe_load(text)
             if "keyveto.keyveto.host" in task]
    return {VARIABLES.get(name, f"keyveto_{name}") for task in tasks for name in task["variables"].replace(
        ",", " ").split()}


@pytest.mark.parametrize("name", ROLES)
def test_each_variable_of_a_role_is_documented(name):
    role = COLLECTION / "roles" / name
    options = yaml.safe_load((role / "meta/argument_specs.yml").read_text(encoding="utf-8"))[
        "argument_specs"]["main"]["options"]
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text(encoding="utf-8"))
    equal({option: one["default"] for option, one in options.items() if "default" in one}, defaults)
    texts = [path.read_text(encoding="utf-8") for path in [*role.glob("tasks/*.yml"), *role.glob("handlers/*.yml")]]
    used = set(re.findall(r"\bkeyveto_[a-z_]+", "".join(texts))) | variables_of_host(texts)
    own = {"keyveto_audited", "keyveto_brought", "keyveto_report", "keyveto_report_words", "keyveto_report_files",
           "keyveto_report_folder", "keyveto_report_sarif", "keyveto_openssh", "keyveto_openssh_version"}
    equal(used - own, set(options) - ({"keyveto_audit_dir"} - used))
    for option in options:
        assert f"`{option}`" in README or option in ("keyveto_audit_go_on",) or (
            option.startswith("keyveto_report_") and "`keyveto_report_html`, `_csv`" in README), option
    assert f"`{name}`" in README


@pytest.mark.parametrize("name", ["config", "disable", "enable", "lists", "rehearse"])
def test_a_role_has_the_defaults_of_the_module(name):
    """The playbook rollout has the tasks of roles without their defaults."""
    defaults = yaml.safe_load((COLLECTION / "roles" / name / "defaults/main.yml").read_text(encoding="utf-8"))
    module = yaml.safe_load(re.search(r'DOCUMENTATION = r"""(.*?)"""', (
        COLLECTION / "plugins/modules/host.py").read_text(encoding="utf-8"), re.DOTALL)[1])["options"]
    of_module = {VARIABLES.get(option, f"keyveto_{option}"): one.get("default") for option, one in module.items()}
    equal({variable: of_module[variable] for variable in defaults}, defaults)


def test_the_playbook_rollout_has_the_tasks_of_the_roles():
    plays = yaml.safe_load((COLLECTION / "playbooks/rollout.yml").read_text(encoding="utf-8"))
    for play, role in zip(plays, ("rehearse", "enable"), strict=True):
        equal(play["tasks"], yaml.safe_load((COLLECTION / "roles" / role / "tasks/main.yml").read_text("utf-8")))


def test_each_lookup_is_documented():
    for path in (COLLECTION / "plugins/lookup").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for name in ("DOCUMENTATION", "EXAMPLES", "RETURN"):
            assert yaml.safe_load(re.search(rf'{name} = r"""(.*?)"""', text, re.DOTALL)[1])
        assert f"`keyveto.keyveto.{path.stem}`" in README


def test_each_playbook_is_in_the_readme():
    for path in (COLLECTION / "playbooks").glob("*.yml"):
        assert f"`keyveto.keyveto.{path.stem}`" in README


def test_the_group_for_module_defaults_has_each_module():
    runtime = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text(encoding="utf-8"))
    equal(runtime["action_groups"], {"keyveto": MODULES})


def test_the_oldest_openssh_is_told_alike():
    """By the module, the role install, and each README; and no role claims a system that has an older one."""
    module = (COLLECTION / "plugins/modules/host.py").read_text(encoding="utf-8")
    oldest = ".".join(re.search(r"^OLDEST_OPENSSH = \((\d+), (\d+)\)$", module, re.MULTILINE).groups())
    task = (COLLECTION / "roles/install/tasks/main.yml").read_text(encoding="utf-8")
    equal(re.search(r"version\('([0-9.]+)', '>='\)", task)[1], oldest)
    for role in ROLES:
        text = (COLLECTION / "roles" / role / "README.md").read_text(encoding="utf-8")
        assert f"OpenSSH {oldest} or later" in text or role == "report"
        meta = yaml.safe_load((COLLECTION / "roles" / role / "meta/main.yml").read_text(encoding="utf-8"))
        equal([one["name"] for one in meta["galaxy_info"]["platforms"]], ["Debian"])
    assert f"OpenSSH {oldest} or later. EL 8 has 8.0 and EL 9 has 8.7" in README
    for text in (module, task):
        assert "EL 8" in text and "EL 9" in text
