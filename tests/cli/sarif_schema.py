# SPDX-License-Identifier: ISC
"""What SARIF 2.1.0 (OASIS) demands of the parts that keyveto report writes, from the text of the standard.

Unlike the schema of OASIS, it allows no property that keyveto does not mean to write.
"""

import re

import jsonschema

TEXT = {"type": "string", "minLength": 1}


def an_object(required, **properties):
    return {"type": "object", "required": required.split(), "additionalProperties": False, "properties": properties}


MESSAGE = an_object("text", text=TEXT)                                              # 3.11
LEVEL = {"enum": ["none", "note", "warning", "error"]}                               # 3.27.10
RULE = an_object("id", id=TEXT, shortDescription=MESSAGE,                            # 3.49
                 defaultConfiguration=an_object("level", level=LEVEL))
DRIVER = an_object("name", name=TEXT, version=TEXT,                                  # 3.19
                   semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
                   rules={"type": "array", "minItems": 1, "uniqueItems": True, "items": RULE})
LOCATION = an_object(                                                                # 3.28
    "physicalLocation logicalLocations",
    physicalLocation=an_object(                                                      # 3.29
        "artifactLocation",
        artifactLocation=an_object("uri", uri={"type": "string", "pattern":          # 3.4, RFC 3986
                                               r"^file://(?:[\w.~-]|%[0-9A-F]{2})*/(?:[\w.~/-]|%[0-9A-F]{2})*$"}),
        region=an_object("startLine", startLine={"type": "integer", "minimum": 1})),  # 3.30.5
    logicalLocations={"type": "array", "minItems": 1, "uniqueItems": True,           # 3.33
                      "items": an_object("name fullyQualifiedName", name=TEXT, fullyQualifiedName=TEXT)})
PROPERTIES = an_object("host", **{name: {"type": "string"} for name in (             # 3.8
    "host", "account", "fingerprint", "type", "sources", "comment", "part", "lastLoginFrom", "lastLogin",
    "guarded", "owner", "team")})
RESULT = an_object(                                                                  # 3.27
    "ruleId ruleIndex level message locations partialFingerprints", ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0}, level=LEVEL, message=MESSAGE,
    locations={"type": "array", "minItems": 1, "items": LOCATION},
    partialFingerprints=an_object("keyveto/v1", **{"keyveto/v1": TEXT}), properties=PROPERTIES)
SCHEMA = an_object(                                                                  # 3.13, 3.14
    "version runs", **{
        "$schema": {"const": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                             "sarif-schema-2.1.0.json"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": an_object(
            "tool results", tool=an_object("driver", driver=DRIVER), columnKind={"const": "unicodeCodePoints"},
            results={"type": "array", "items": RESULT})}})


def complaints(log):
    """What is wrong with a log, also what no schema can say."""
    found = [f"{list(one.absolute_path)}: {one.message}" for one in jsonschema.Draft7Validator(SCHEMA).iter_errors(log)]
    if found:
        return found
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        for one in run["results"]:
            if rules[one["ruleIndex"]]["id"] != one["ruleId"]:
                found.append(f"{one['ruleId']} is not rule {one['ruleIndex']}")
            found += odd_text(one["message"]["text"])
    return found


def odd_text(text):
    """3.11.5 and 3.11.6: no argument and no link, since there are none."""
    bare = re.sub(r"\\[\\\[\]]|\{\{|\}\}", "", text)
    return [f"{text!r} has a link or an argument"] if re.search(r"[\[\]{}]", bare) else []
