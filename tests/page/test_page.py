# SPDX-License-Identifier: ISC
"""The page of keyveto-report, in Chromium: what it shows, what it refuses, and whom it serves."""

import base64
import hashlib
import json
import random
import re
import subprocess
import threading
import unicodedata
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import fleets
import pages
from browser import browser

TAGS = set("HTML HEAD META TITLE STYLE BODY A HEADER H1 H2 H3 H4 P MAIN SECTION UL LI STRONG SPAN NOSCRIPT DIV FORM "
           "LABEL INPUT SELECT OPTION BUTTON SCRIPT BDI B BR CODE TABLE CAPTION THEAD TBODY TR TH TD NAV DL DT DD "
           "DETAILS SUMMARY".split())
KEYS_SHOWN = """
const rows = [...document.querySelectorAll('#key-list > table > tbody > tr:not(.places)')];
return rows.map((row) => row.querySelector('bdi').textContent);
"""
FOUND = "return document.getElementById('found').textContent"


class Parts(HTMLParser):
    """The contents of style and script, and the policy of a page, as another program reads them."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.tag, self.policy = {}, None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tag = (tag, dict(attrs).get("type"))
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_endtag(self, tag):
        self.tag = None

    def handle_data(self, data):
        self.texts[self.tag] = self.texts.get(self.tag, "") + data


def quiet(chromium):
    """Asserts that the browser found nothing to complain about, and asked nobody for anything."""
    assert chromium.log() == []
    assert chromium.run("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []
    asked = [json.loads(entry["message"])["message"] for entry in chromium.log("performance")]
    urls = {event["params"]["request"]["url"].partition("#")[0] for event in asked
            if event["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith(("file:", "about:", "data:,"))} == set()


def all_rows(chromium, where):
    """The texts of the cells of a table, over all its pages."""
    rows = []
    while True:
        rows += chromium.run(f"return [...document.querySelectorAll('{where} tbody tr')].map((row) => "
                             "[...row.cells].map((cell) => cell.textContent))")
        if not chromium.run(f"const next = document.querySelector('{where} [data-go=Next]');"
                            "const more = next && !next.getAttribute('aria-disabled'); if (more) next.click();"
                            "return Boolean(more)"):
            return rows


def number_of(text):
    """The number at the beginning of what follows "Found: "."""
    return int(re.match(r"Found: ([\d,]+) key", text)[1].replace(",", ""))


# ------------------------------------------------------------------ How it is made


def test_policy_has_the_hashes_of_style_and_script(build):
    parts = Parts(fleets.page(build, fleets.few()).decode())
    hashes = {name: base64.b64encode(hashlib.sha256(parts.texts[name, None].encode()).digest()).decode()
              for name in ("style", "script")}
    assert parts.policy == (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}'; script-src 'sha256-{hashes['script']}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'")


def test_the_page_has_a_slot_for_each_number(build):
    slots = {piece.partition("|")[0] for piece in fleets.pieces(build)[1::2]}
    assert slots == set(fleets.numbers(fleets.few())) | {"data", "made", "version"}


def test_nothing_in_the_page_makes_html_of_text():
    source = open("fleet/page.js", encoding="utf-8").read()
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|"
                          r"createContextualFragment|</script|<!--|\bfetch\b|XMLHttpRequest|https?://", source)
    assert "</style" not in open("fleet/page.css", encoding="utf-8").read()


# ------------------------------------------------------------------ What it shows


@pytest.mark.parametrize("data", [
    pytest.param(fleets.few(), id="eleven hosts"),
    pytest.param(fleets.large(300, 2000, 5), id="300 hosts"),
    pytest.param(fleets.hostile(), id="hostile"),
    pytest.param(fleets.fleet([]), id="none"),
])
def test_numbers_are_those_of_the_slots(show, data):
    chromium = show(data)
    seen = chromium.run("return Object.fromEntries([...document.querySelectorAll('[id^=number-]')].map((one) => "
                        "[one.id.slice(7).replace('-', '_'), Number(one.textContent.replaceAll(',', ''))]))")
    assert seen == fleets.numbers(data)
    quiet(chromium)


@pytest.mark.parametrize("data", [fleets.few(), fleets.large(400, 500, 2), fleets.hostile()],
                         ids=["eleven hosts", "400 hosts", "hostile"])
def test_each_cell_shows_the_worst_of_its_host(show, data):
    chromium = show(data)
    cells = chromium.run("return [...document.querySelectorAll('.cell')].map((cell) => [Number(cell.id.slice(1)), "
                         "cell.className.match(/s-(\\w+)/)[1]])")
    assert dict(cells) == {index: states[0] for index, states in enumerate(pages.all_states(data))}
    ranks = [[*pages.STATES, "fine"].index(state) for _, state in cells]
    assert ranks == sorted(ranks)
    legend = chromium.run("return Object.fromEntries([...document.querySelectorAll('#legend button')].map((one) => "
                          "[one.dataset.state, Number(one.querySelector('b').textContent.replace(',', ''))]))")
    known = [state for states in pages.all_states(data) for state in states]
    assert legend == {state: known.count(state) for state in set(known)}


def test_states_differ_without_colour(show):
    chromium = show(fleets.few())
    looks = chromium.run("""return [...document.querySelectorAll('#legend .mark')].map((mark) => {
        const style = getComputedStyle(mark, '::before');
        return [mark.className.match(/s-(\\w+)/)[1], style.content]; })""")
    assert len({letter for _, letter in looks}) == len(looks) > 8


def test_accounts_whose_last_key_is_listed_come_first(show):
    data = fleets.large(600, 3000, 3)
    chromium = show(data)
    locked = {(account, host["name"]) for host in data["hosts"] for account in host["locked"]}
    assert len(locked) > 5
    rows = all_rows(chromium, "#locked-list")
    assert {(row[0], row[1]) for row in rows} == locked
    assert len(rows) == len(locked)
    logins = [row[4][:16] for row in rows if row[4] != "–"]
    assert logins == sorted(logins, reverse=True)
    boxes = chromium.run("return ['numbers', 'entered', 'locked', 'search'].map((id) => "
                         "document.getElementById(id).getBoundingClientRect().top)")
    assert boxes == sorted(boxes)


def test_accounts_that_listed_keys_get_into_come_before_all_others(show):
    data = fleets.large(300, 2000, 5)
    chromium = show(data)
    expected = {(account or "any, by certificates", data["hosts"][index]["name"])
                for index, account in fleets.entered(data, False)}
    rows = all_rows(chromium, "#entered-list")
    assert {(row[0], row[1]) for row in rows} == expected and len(rows) == len(expected) > 20
    assert chromium.run("return document.querySelector('#numbers strong').id") == "number-entered"
    chromium.run("document.querySelector('#numbers button').click()")
    assert chromium.run("return document.activeElement.id") == "entered-title"


def test_the_worst_is_an_account_that_can_be_entered_now(show):
    """Above a person who is refused. And no problem of the doctor hides that a host is not guarded."""
    hosts = [fleets.host("refused", listed=1, locked=["alice"]), fleets.host("open", guarded=False, listed=1),
             fleets.host("bare", guarded=False, doctor="problem")]
    chromium = show(fleets.fleet(hosts, [fleets.key("one", [fleets.place(0, "alice"), fleets.place(1, "bob")])]))
    cells = chromium.run("return [...document.querySelectorAll('.cell')].map((one) => "
                         "[one.textContent, one.className])")
    assert cells == [
        ["open", "cell mark s-entered here"], ["refused", "cell mark s-locked"], ["bare", "cell mark s-unguarded"]]
    first = chromium.run("return document.querySelector('#numbers li').innerText")
    assert " ".join(first.split()) == "1 account on 1 host can be entered now, by listed keys"
    chromium.run("document.querySelector('#numbers [data-go=unguarded] button').click()")
    names = chromium.run("return [...document.querySelectorAll('.cell')].map((one) => one.textContent)")
    assert names == ["open", "bare"]
    chromium.run("document.getElementById('h1').click()")
    assert "bob: 1 listed key (can be entered now)" in chromium.run("return document.getElementById('host').innerText")


def test_what_is_equal_on_many_hosts_is_one_row(show):
    finding = {"check": "update", "status": "warning", "found": "the timer is not enabled", "remedy": None}
    other = finding | {"status": "problem", "found": "the last update failed"}
    hosts = [fleets.host(f"web{number:02}", doctor="warning", findings=[finding]) for number in range(30)]
    hosts += [fleets.host("db", doctor="problem", findings=[other, finding]), fleets.silent("away")]
    chromium = show(fleets.fleet(hosts))
    assert all_rows(chromium, "#trouble-list") == [
        ["did not answer", "Connection timed out after 30 seconds", "away"],
        ["doctor: problem", "update: the last update failed", "db"],
        ["doctor: warning", "update: the timer is not enabled", "31 hosts"]]
    chromium.run("document.querySelector('#trouble-list summary').click()")
    names = "[...document.querySelectorAll('#trouble-list details bdi')].map((one) => one.textContent)"
    assert chromium.wait(f"return {names}.length && {names}") == ["db", *(f"web{number:02}" for number in range(24))]


def test_the_page_of_one_host_speaks_of_one_host(show):
    host = fleets.host("web <b>\u202e", guarded=False, listed=1, locked=["alice"], doctor="warning", findings=[
        {"check": "update", "status": "warning", "found": "the timer is not enabled", "remedy": None}])
    chromium = show(fleets.fleet([host], [fleets.key("one", [fleets.place(0, "alice")])]))
    text = " ".join(chromium.run("return document.body.innerText").split())
    assert text.split(" Made ")[0] == "Skip to the results SSH keys of web <b>\\u{202E}"
    assert "1 account on 1 host can be entered now, by listed keys 1 account whose last key is listed " \
        "1 listed key in 1 place 0 keys that no list in use could know" in text
    assert "The host" in text and "the timer is not enabled" in text and "/home/alice/.ssh/authorized_keys" in text
    assert "hosts" not in chromium.run("return document.getElementById('picture').innerText")
    assert not chromium.run("return [...document.querySelectorAll('#grid, #legend, #trouble, .of-hosts')]"
                            ".some((one) => one.checkVisibility())")
    assert chromium.run(pages.NAMELESS) == []
    quiet(chromium)


@pytest.mark.parametrize("kind, bits, mark", [
    ("ssh-rsa", 1024, "short"), ("RSA", 2047, "short"), ("ssh-rsa", 2048, "fine"), ("ssh-ed25519", 256, "fine"),
    ("ssh-rsa", 0, "fine")])
def test_a_short_rsa_key_has_no_green_tick(show, kind, bits, mark):
    key = fleets.key("one", [fleets.place(0, "alice"), fleets.place(1, "alice")], "clean", kind=kind, bits=bits)
    new = fleets.change("new", 0, "a", "alice", "one", "clean")
    new[6], new[13:] = kind, [bits]
    chromium = show(fleets.fleet([fleets.host("a"), fleets.host("b")], [key], changes=[new]))
    for where in ("#key-list", "#change-list", "#grid"):
        marks = chromium.run(f"return [...document.querySelectorAll('{where} .mark')].map((one) => one.className)")
        assert marks and all(f"s-{mark}" in one.split() for one in marks), where


@pytest.mark.parametrize("guarded, text", [(True, "is locked out"), (False, "would be locked out"),
                                           (None, "not known whether guarded")])
def test_who_would_be_locked_out_where_keyveto_is_not_enforced(show, guarded, text):
    host = fleets.host("web", guarded=guarded, listed=1, locked=["alice"])
    chromium = show(fleets.fleet([host], [fleets.key("one", [fleets.place(0, "alice")])]))
    assert chromium.run("return document.querySelector('#locked-list tbody tr').cells[2].textContent") == text


def test_what_changed_is_there_if_older_audits_were(show):
    data = fleets.few()
    chromium = show(data)
    titles = chromium.run("return [...document.querySelectorAll('#change-list h3')].map((one) => one.textContent)")
    assert [title.split(": ")[1] for title in titles] == ["1", "1", "2", "1", "2"]
    rows = chromium.run("return [...document.querySelectorAll('#change-list tbody tr')].map((row) => row.textContent)")
    assert len(rows) == len(data["changes"])
    for _, _, name, account, fp, _, _, file, line, comment, *_, message in data["changes"]:
        parts = [name, account, fp, file and f"{file}:{line}", comment, message]
        assert any(all(part in row for part in parts if part) for row in rows), parts
    chromium = show(fleets.fleet([fleets.host("one")], changes=[]))
    assert chromium.run("return document.getElementById('change-list').textContent") == "Nothing."
    chromium = show(fleets.fleet([fleets.host("one")]))
    assert not chromium.run("return document.getElementById('changes').checkVisibility()")


def test_owners_of_listed_keys(show):
    chromium = show(fleets.few())
    rows = chromium.run("return [...document.querySelectorAll('#owner-list tbody tr')].map((row) => "
                        "[...row.cells].map((cell) => cell.textContent))")
    assert rows == [["Alice Example platform", "1", "1", "1"], ["Carol Example", "1", "1", "0"],
                    ["no line of --owners", "1", "1", "0"]]
    chromium.run("document.querySelector('#owner-list button').click()")
    assert chromium.run("return [document.getElementById('q').value, document.getElementById('in').value]") == \
        ["Alice Example", "owner"]
    assert "Found: 1 key of 4, on 1 host of 11." in chromium.run("return document.getElementById('found').textContent")
    chromium = show(fleets.fleet([fleets.host("one")], [fleets.key("one", [fleets.place(0, "alice")])]))
    assert not chromium.run("return document.getElementById('owners').checkVisibility()")


def test_no_listed_key_is_no_good_news_where_nobody_looked(show):
    chromium = show(fleets.fleet([fleets.host("fine"), fleets.silent("away"), fleets.host("bare", lists=[])]))
    assert chromium.run("return document.getElementById('key-list').textContent") == \
        "No listed key was found. But 2 hosts were not judged, or not to the end."
    assert "Connection timed out" in chromium.run("return document.getElementById('trouble').innerText")


def test_the_most_spread_listed_keys_come_first(show):
    data = fleets.large(200, 1000, 4, hostile=False)
    chromium = show(data)
    ranks = {"listed": 0, "allowed": 1, "clean": 3}
    by_fingerprint = {entry["fp"]: entry for entry in data["keys"]}
    order = sorted((entry for entry in data["keys"] if entry["places"]), key=lambda entry: (
        ranks[entry["verdict"]], -len({place[0] for place in entry["places"]}), -len(pages.owners(entry)), entry["fp"]))
    assert chromium.run(KEYS_SHOWN) == [entry["fp"] for entry in order[:25]]
    first = chromium.run("return [...document.querySelector('#key-list tbody tr').cells].map((one) => one.innerText)")
    entry = by_fingerprint[order[0]["fp"]]
    assert first[3:5] == [str(len({place[0] for place in entry["places"]})), str(len(pages.owners(entry)))]


def test_host_shows_account_file_and_line_of_each_key(show):
    data = fleets.few()
    chromium = show(data, "#host=web02.example.net")
    text = chromium.run("return document.getElementById('host').innerText")
    for index, entry in enumerate(data["keys"]):
        for at, _, file, line, comment, *_ in entry["places"]:
            if at == 1:
                assert ", ".join(entry["sources"]) in text
                assert f"{file}:{line}" in text and comment in text and entry["fp"] in text, index
    chromium = show(data, "#host=mail.example.net")
    text = chromium.run("return document.getElementById('host').innerText")
    assert "sshd does not run the guard for Match User git. What to do: Type keyveto enable" in text
    chromium = show(data, "#host=git.example.net")
    text = chromium.run("return document.getElementById('host').innerText")
    assert "/srv/git/.ssh/authorized_keys:812 of git: unknown key type" in text
    quiet(chromium)


def test_host_says_what_is_old(show):
    chromium = show(fleets.few(), "#host=db02.example.net")
    text = chromium.run("return document.getElementById('host').innerText")
    assert "/var/lib/keyveto/badkeys.pkbf is 210 days old" in text
    trouble = chromium.run("return document.getElementById('trouble').innerText")
    assert "the audit is 45 days old" in trouble and "/var/lib/keyveto/badkeys.pkbf is 210 days old" in trouble
    chromium.run("document.querySelector('#numbers [data-go=old] button').click()")
    names = chromium.run("return [...document.querySelectorAll('.cell')].map((cell) => cell.textContent)")
    assert sorted(names) == ["db02.example.net", "late.example.net"]


def test_only_a_part_that_is_no_key_is_named(show):
    places = [fleets.place(0, "root", "/a", 1, part="key"), fleets.place(0, None, "/b", 2, part="ca")]
    chromium = show(fleets.fleet([fleets.host("one")], [fleets.key("one", places)]), "#host=one")
    files = chromium.run("return [...document.querySelectorAll('#host tbody th')].map((cell) => cell.textContent)")
    assert sorted(files[:2]) == ["/a:1", "/b:2 (ca)"]


def test_places_of_a_key_unfold(show):
    data = fleets.large(200, 200, 6, hostile=False)
    chromium = show(data, "#order=places")
    first = chromium.run(KEYS_SHOWN)[0]
    places = next(entry["places"] for entry in data["keys"] if entry["fp"] == first)
    button = "document.querySelector('#key-list tbody tr button[aria-expanded]')"
    assert chromium.run(f"return {button}.textContent") == f"{len(places)} places"
    chromium.run(f"{button}.click()")
    rows = {tuple(row[:3]) for row in all_rows(chromium, "tr.places")}
    assert rows == {(data["hosts"][index]["name"], account, f"{file}:{line}") for index, account, file, line, *_
                    in places}


def test_logins_by_keys_that_are_gone_are_told(show):
    chromium = show(fleets.few())
    section = "return document.getElementById('gone').checkVisibility() && document.getElementById('gone').innerText"
    text = chromium.run(section)
    for part in ("carol", "fine.example.net", fleets.fingerprint("carol's old key"),
                 "2026-10-24 13:20 from 198.51.100.4"):
        assert part in text
    assert "carol" in show(fleets.few(), "#q=carol+198.51").run(section)
    assert not show(fleets.few(), "#q=carol&in=host").run(section)
    chromium = show(fleets.fleet([fleets.host("fine")]))
    assert not chromium.run(section) and not chromium.run(section.replace("gone", "locked"))
    assert chromium.run("return document.getElementById('key-list').textContent") == "No listed key was found."


# ------------------------------------------------------------------ Search, and the address


@pytest.mark.parametrize("words, where, verdict, spread", [
    ("web", "all", "any", "any"), ("ROOT", "account", "any", "any"), ("laptop1", "comment", "listed", "any"),
    ("roca", "source", "any", "any"), ("fra web0", "host", "any", "any"), ("", "all", "listed", "once"),
    ("", "all", "clean", "many"), ("git rapid7 ams", "all", "any", "any"), ("ED25519", "key", "any", "any"),
    ("<script>", "comment", "any", "any"), ("allowed", "all", "any", "any"), ("192.0.2.7", "all", "listed", "many"),
    ("no such thing", "all", "any", "any"), ("\\u{202e}", "all", "any", "any"), (".*", "all", "any", "any"),
])
def test_search_finds_what_python_finds(show, words, where, verdict, spread):
    data = fleets.large(150, 1200, 7)
    chromium = show(data)
    chromium.run("""for (const [id, value] of Object.entries(arguments[0])) {
        const field = document.getElementById(id);
        field.value = value;
        field.dispatchEvent(new Event(id === 'q' ? 'input' : 'change'));
    }""", {"in": where, "verdict": verdict, "spread": spread, "q": words})
    if words:
        chromium.wait("return new URLSearchParams(location.hash.slice(1)).get('q') === arguments[0]", words)
    expected = pages.search(data, words, where, verdict, spread)
    text = chromium.run(FOUND)
    assert number_of(text) == len(expected)
    shown = chromium.run(KEYS_SHOWN)
    assert len(shown) == min(25, len(expected)) and set(shown) <= set(expected)
    # The same address shows the same, in another window.
    address = chromium.run("return location.hash")
    assert address
    assert show(data, address).run(FOUND) == text
    assert chromium.run(KEYS_SHOWN) == shown
    assert chromium.run("return ['q', 'in', 'verdict', 'spread'].map((id) => document.getElementById(id).value)") == \
        [words, where, verdict, spread]
    quiet(chromium)


def test_fingerprint_is_found_alone(show):
    data = fleets.large(150, 1200, 7)
    wanted = data["keys"][40]["fp"]
    chromium = show(data)
    chromium.run("document.getElementById('q').focus()")
    chromium.type(wanted)
    chromium.wait("return document.getElementById('found').textContent.startsWith('Found: 1 key of')")
    assert chromium.run(KEYS_SHOWN) == [wanted]


def test_hosts_of_a_state_alone(show):
    data = fleets.large(300, 100, 8)
    chromium = show(data)
    chromium.run("document.querySelector('#legend [data-state=old]').focus()")
    chromium.press("Enter")
    shown = chromium.run("return [...document.querySelectorAll('.cell')].map((cell) => Number(cell.id.slice(1)))")
    assert set(shown) == {index for index, states in enumerate(pages.all_states(data)) if "old" in states}
    assert 0 < len(shown) < sum(host["old"] for host in data["hosts"])
    assert chromium.run("return document.activeElement.dataset.state") == "old"
    address = chromium.run("return location.hash")
    assert show(data, address).run("return document.querySelectorAll('.cell').length") == len(shown)


def test_back_goes_to_the_host_before(show):
    chromium = show(fleets.few(), "#host=web01.example.net")
    chromium.run("document.querySelector('#h4').click()")
    title = "return document.getElementById('host-title').textContent"
    assert chromium.run(title) == fleets.few()["hosts"][4]["name"]
    chromium.run("history.back()")
    chromium.wait("return document.getElementById('host-title').textContent === 'web01.example.net'")


@pytest.mark.parametrize("index", [0, 1, 2])
def test_hosts_of_one_name_have_addresses_of_their_own(show, index):
    data = fleets.fleet([fleets.host("same", file=f"{number}.json") for number in range(3)])
    chromium = show(data)
    chromium.run(f"document.getElementById('h{index}').click()")
    address = chromium.run("return location.hash")
    text = show(data, address).run("return document.getElementById('host').innerText")
    assert f"{index}.json" in text


@pytest.mark.parametrize("fragment", ["#", "#main", "#q", "#host=nobody", "#host=fine&nth=99", "#sort=__proto__",
                                      "#states=fine+nothing", "#%", "#q=%ff%00", "#in=<script>&verdict=1&nth=-1"])
def test_any_address_shows_the_page(show, fragment):
    chromium = show(fleets.fleet([fleets.host("fine")]), fragment)
    assert chromium.run("return document.getElementById('view').checkVisibility()")
    quiet(chromium)


# ------------------------------------------------------------------ Hostile texts


def test_hostile_texts_are_seen_and_do_nothing(show):
    data = fleets.hostile()
    chromium = show(data)
    texts, raw = "", ""
    for index in range(len(data["hosts"])):
        chromium.run(f"document.getElementById('h{index}').click()")
        census = chromium.run(pages.CENSUS)
        assert census["pwned"] == "undefined"
        assert set(census["tags"]) <= TAGS
        assert census["handlers"] == census["twice"] == census["dangling"] == []
        texts += census["text"]
        raw += census["raw"]
    for name, text in (("text", texts), ("attributes", raw)):
        left = {character for character in text if pages.unseen(character)} - set("\n\t")
        assert not left, (name, left)
    for text in fleets.HOSTILE:
        if len(text) < 100:
            # innerText gives the blanks of pre-wrap, but none around a block.
            assert pages.escaped(text).strip() in texts, text
    assert not re.search("[^\\W\\d_]" + "[\u0300-\u036f]" * 4, unicodedata.normalize("NFD", texts))
    quiet(chromium)


def test_long_texts_are_cut_and_unfold(show):
    data = fleets.fleet([fleets.host("long")], [fleets.key("long", [fleets.place(0, "root", comment="x" * 50000)])])
    chromium = show(data)
    cell = "document.querySelector('#key-list tbody tr').lastElementChild"
    assert len(chromium.run(f"return {cell}.textContent")) < 400
    chromium.run(f"[...{cell}.querySelectorAll('button')].find((one) => one.textContent.includes('more')).click()")
    text = chromium.run(f"return {cell}.textContent")
    assert "x" * 20000 in text and text.endswith("and 30,000 more characters")


def spoil(draw, value):
    """Replaces a value somewhere in the data by one of another type."""
    while True:
        entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        if not entries:
            return
        name, inner = draw.choice(entries)
        if isinstance(inner, (dict, list)) and inner and draw.random() < 0.8:
            value = inner
            continue
        value[name] = draw.choice([None, True, -1, 1e308, "", "text", [], {}, [[]], {"a": []}, "\ud800", 10**30])
        return


def test_data_of_other_types_is_shown_as_far_as_it_goes(chromium, build, scratch):
    page = fleets.page(build, fleets.fleet([])).decode()
    head, tail = page.split(fleets.as_json(fleets.fleet([])))
    for seed in range(40):
        draw = random.Random(seed)
        data = json.loads(json.dumps(fleets.hostile() if seed % 2 else fleets.few()))
        for _ in range(8):
            spoil(draw, data)
        (scratch / "page.html").write_text(head + fleets.as_json(data) + tail)
        chromium.open("about:blank")
        chromium.log()
        chromium.open(f"file://{scratch}/page.html")
        assert chromium.run("return document.getElementById('view').checkVisibility()"), seed
        if chromium.run("return document.querySelectorAll('.cell').length"):
            chromium.run("document.querySelector('.cell').click()")
        assert chromium.log() == [], seed


# ------------------------------------------------------------------ No network


class Listener(BaseHTTPRequestHandler):
    """A server that remembers what it is asked for."""

    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.body if self.path == "/page.html" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(name="listener")
def fixture_listener(build):
    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        server.asked = []
        server.body = fleets.page(build, fleets.hostile())
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


ADD = "document.body.append(Object.assign(document.createElement"
ATTEMPTS = [
    "await fetch('/fetched')", "new Image().src = '/image'", "navigator.sendBeacon('/beacon')",
    "new WebSocket(`ws://${location.host}/ws`)", "document.body.innerHTML = '<b>x</b>'",
    "document.body.setAttribute('style', 'background: url(/url)')",
    f"{ADD}('iframe'), {{ src: '/frame' }}))", f"{ADD}('script'), {{ text: 'window.pwned = 1' }}))",
    f"{ADD}('link'), {{ rel: 'stylesheet', href: '/style' }}))",
]


def test_page_asks_a_server_for_nothing_and_cannot(chromium, listener):
    port = listener.server_address[1]
    chromium.open("about:blank")
    chromium.log()
    chromium.open(f"http://127.0.0.1:{port}/page.html")
    assert chromium.run("return document.querySelectorAll('.cell').length") == len(fleets.hostile()["hosts"])
    assert [entry for entry in chromium.log() if "favicon" not in entry["message"]] == []
    # Not even a script in it gets anywhere. The browser itself may look for an icon.
    for attempt in ATTEMPTS:
        chromium.run(f"return (async () => {{ try {{ {attempt} }} catch (error) {{ return String(error); }} }})()")
    assert chromium.run("return typeof window.pwned") == "undefined"
    assert len([entry for entry in chromium.log() if entry["level"] == "SEVERE"]) >= 7
    assert set(listener.asked) <= {"/page.html", "/favicon.ico"}


# ------------------------------------------------------------------ Without a mouse, without colours, without sight


def tab_to(chromium, wanted):
    """Presses Tab until the element with this id has the focus. Each stop must be visible and show that it has it."""
    for _ in range(60):
        chromium.press("Tab")
        stop = chromium.run("""const one = document.activeElement, style = getComputedStyle(one);
            const box = one.getBoundingClientRect();
            return { id: one.id, name: one.outerHTML.slice(0, 150), outline: parseFloat(style.outlineWidth),
                     style: style.outlineStyle, seen: box.width > 4 && box.bottom > 0 && box.top < innerHeight }""")
        assert stop["outline"] >= 2 and stop["style"] != "none" and stop["seen"], stop
        if stop["id"] == wanted:
            return
    raise AssertionError(f"Tab never came to {wanted}")


def test_keyboard_alone_leads_to_the_line_of_a_key(show):
    data = fleets.few()
    chromium = show(data)
    tab_to(chromium, "skip")
    chromium.press("Enter")
    assert chromium.run("return [document.activeElement.id, location.hash]") == ["main", ""]
    tab_to(chromium, "grid")
    chromium.press("Right", "Left")
    here = "return document.getElementById(document.getElementById('grid').getAttribute('aria-activedescendant'))"
    assert chromium.run(f"{here}.getAttribute('aria-label')") == \
        "web02.example.net: a listed key gets in now, listed keys, not guarded"
    chromium.press("Enter")
    assert chromium.run("return document.activeElement.id") == "host-title"
    seen = chromium.run("""const one = [...document.querySelectorAll('#host tbody th')].find((cell) =>
        cell.innerText.includes('/home/backup/.ssh/authorized_keys:1'));
        const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight""")
    assert seen
    # From there to the key everywhere else, and back.
    for _ in range(10):
        chromium.press("Tab")
        if chromium.run("return document.activeElement.textContent") == data["keys"][0]["fp"]:
            break
    chromium.press("Enter")
    assert chromium.run(FOUND) == "Found: 1 key of 4, on 2 hosts of 11."
    chromium.press("Shift+Tab")
    assert chromium.run("return document.activeElement.id") != "q"


def test_arrow_keys_go_where_they_point(show):
    chromium = show(fleets.large(300, 10, 9))
    chromium.run("document.getElementById('grid').focus()")
    at = """const grid = document.getElementById('grid');
        const box = document.getElementById(grid.getAttribute('aria-activedescendant')).getBoundingClientRect();
        return [box.left, box.top + scrollY]"""
    left, top = chromium.run(at)
    chromium.press("Right", "Right")
    x, y = chromium.run(at)
    assert x > left and y == top
    chromium.press("Down")
    assert chromium.run(at)[0] == x and chromium.run(at)[1] > y
    chromium.press("Up", "Left", "Left")
    assert chromium.run(at) == [left, top]
    chromium.press("Up", "Left")
    assert chromium.run(at) == [left, top]
    chromium.press("End")
    last = chromium.run(at)
    chromium.press("Right", "Down")
    assert chromium.run(at) == last
    chromium.press("Home")
    assert chromium.run(at) == [left, top]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("data", [fleets.few(), fleets.hostile(), fleets.large(500, 400, 10), fleets.fleet([])],
                         ids=["eleven hosts", "hostile", "500 hosts", "none"])
def test_names_headings_and_contrast(show, data, scheme):
    chromium = show(data)
    chromium.emulate(prefers_color_scheme=scheme)
    if data["hosts"]:
        chromium.run("document.querySelector('.cell').click()")
        chromium.run("document.querySelectorAll('#key-list button[aria-expanded]').forEach((one) => one.click())")
        chromium.run("document.querySelector('#legend button').click()")
    assert chromium.run(pages.NAMELESS) == []
    census = chromium.run(pages.CENSUS)
    assert census["twice"] == census["dangling"] == []
    contrast = chromium.run(pages.PALE)
    assert contrast["pale"] == [] and contrast["seen"] > 20


@pytest.mark.parametrize("width", [320, 360, 768, 1280, 2560])
@pytest.mark.parametrize("data", [fleets.few(), fleets.hostile(), fleets.large(500, 400, 10), fleets.fleet([])],
                         ids=["eleven hosts", "hostile", "500 hosts", "none"])
def test_nothing_sticks_out_at_any_width(show, data, width):
    chromium = show(data)
    chromium.resize(width, 800)
    if data["hosts"]:
        chromium.run("document.querySelector('.cell').click()")
        chromium.run("document.querySelectorAll('#key-list button[aria-expanded]').forEach((one) => one.click())")
    assert chromium.run("return document.documentElement.scrollWidth <= innerWidth")


def test_a_long_comment_takes_no_room_of_other_columns(show):
    widths = []
    for comment in ("short", "x" * 3000):
        entry = fleets.key("one", [fleets.place(0, "root", comment=comment), fleets.place(1, "root")])
        chromium = show(fleets.fleet([fleets.host("a"), fleets.host("b")], [entry]))
        chromium.run("document.querySelector('#key-list button[aria-expanded]').click()")
        widths.append(chromium.run("return [...document.querySelectorAll('#key-list th')].map((head) => "
                                   "Math.round(head.getBoundingClientRect().width))"))
    assert widths[0] == widths[1]


# ------------------------------------------------------------------ Paper


def printed(chromium, scratch):
    """The text of the printed page, and how many sheets it takes."""
    chromium.pdf(scratch / "page.pdf", printBackground=False)
    text = subprocess.run(["pdftotext", "-layout", scratch / "page.pdf", "-"], capture_output=True, check=True,
                          encoding="utf-8").stdout
    return text, text.count("\f")


def test_paper_has_all_places_unfolded(show, scratch):
    data = fleets.few()
    chromium = show(data)
    before = chromium.run("return document.getElementById('main').innerHTML")
    text, _ = printed(chromium, scratch)
    together = re.sub(r"\s", "", text)
    for host in data["hosts"]:
        assert host["name"] in together
    for entry in data["keys"]:
        if entry["verdict"] == "clean":
            continue
        for _, _, file, line, *_ in entry["places"]:
            assert f"{file}:{line}" in together
    assert "1 key that no list knows, not printed." in text
    assert "Show everything" not in text
    assert chromium.run("return document.getElementById('main').innerHTML") == before


@pytest.mark.parametrize("data", [fleets.few(), fleets.hostile(), fleets.large(100, 400, 12)],
                         ids=["eleven hosts", "hostile", "100 hosts"])
def test_no_word_sticks_out_of_the_paper(show, scratch, data):
    chromium = show(data, "#host=web01.example.net")
    chromium.pdf(scratch / "page.pdf")
    boxes = subprocess.run(["pdftotext", "-bbox", scratch / "page.pdf", "-"], capture_output=True, check=True,
                           encoding="utf-8").stdout
    # A4 with a margin of 1.5 cm, in points. Descenders may reach into the margin.
    words = re.findall(r'xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</word>', boxes)
    assert len(words) > 100
    assert [word for word in words if float(word[0]) < 41 or float(word[2]) > 555 or float(word[1]) < 38 or
            float(word[3]) > 806] == []


def test_paper_says_what_was_searched_for(show, scratch):
    text, _ = printed(show(fleets.few(), "#q=deploy+web&in=all&verdict=listed"), scratch)
    together = " ".join(text.split())
    assert "Searched for: “deploy web” in everything, keys that are listed. Found: 1 key of 4," in together


def test_paper_ends_and_says_what_is_not_on_it(show, scratch):
    chromium = show(fleets.large(200, 30000, 11, hostile=False))
    text, sheets = printed(chromium, scratch)
    assert sheets < 250
    assert re.search(r"\d more are not printed. Search, and print what you find.", text)
    assert chromium.run("return document.querySelectorAll('*').length") < 4000


# ------------------------------------------------------------------ Large, cut off, without JavaScript


def test_a_thousand_hosts_and_fifty_thousand_keys(show, record_property):
    chromium = show(fleets.large(1000, 50000))
    took = chromium.run("return performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
    nodes = chromium.run("return document.getElementsByTagName('*').length")
    record_property("a page of 1,000 hosts and 50,000 keys is loaded", f"{took:.2f} s, {nodes} elements")
    assert nodes < 4000
    assert took < 60
    searched = chromium.run("""const began = performance.now(), field = document.getElementById('verdict');
        field.value = 'listed'; field.dispatchEvent(new Event('change'));
        document.body.getBoundingClientRect(); return performance.now() - began""") / 1000
    record_property("a search through it is shown", f"{searched:.2f} s")
    assert chromium.run("return document.getElementsByTagName('*').length") < 4000
    quiet(chromium)


def test_picture_ends_at_five_thousand_hosts(show):
    chromium = show(fleets.fleet(fleets.host(f"h{number}") for number in range(5001)))
    assert chromium.run("return document.querySelectorAll('.cell').length") == 5000
    assert chromium.run("return document.getElementById('beyond').innerText") == \
        "1 more hosts are not in the picture. Search for them."
    chromium = show(fleets.fleet(fleets.host(f"h{number}") for number in range(5000)))
    assert not chromium.run("return document.getElementById('beyond').checkVisibility()")


@pytest.mark.parametrize("where", ["in the data", "in the script"])
def test_a_file_that_is_cut_off_says_so(chromium, build, scratch, where):
    page = fleets.page(build, fleets.few())
    data = page.index(b'id="data">')
    end = data + 500 if where == "in the data" else len(page) - 3000
    (scratch / "page.html").write_bytes(page[:end])
    chromium.open(f"file://{scratch}/page.html")
    assert "a part of this file is missing" in chromium.run("return document.getElementById('main').innerText")


def test_damaged_data_says_so(chromium, build, scratch):
    page = fleets.page(build, fleets.few()).replace(b'"version":', b'"version"', 1)
    (scratch / "page.html").write_bytes(page)
    chromium.open(f"file://{scratch}/page.html")
    assert "The data of this page is damaged" in chromium.run("return document.getElementById('main').innerText")


def test_without_javascript_there_are_the_numbers(build, scratch):
    data = fleets.few()
    (scratch / "page.html").write_bytes(fleets.page(build, data))
    with browser(scripts=False) as other:
        other.open(f"file://{scratch}/page.html")
        tree = other.devtools("Accessibility.getFullAXTree")["nodes"]
    text = "\n".join(str(node.get("name", {}).get("value", "")) for node in tree if not node["ignored"])
    assert "JavaScript is off, so this page shows only these numbers." in text
    assert "a part of this file is missing" not in text
    assert "SSH keys of the fleet" in text and "account whose last key is listed" in text and "Search" not in text
