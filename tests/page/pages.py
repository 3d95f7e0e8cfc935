# SPDX-License-Identifier: ISC
"""What a page must show, worked out once more in Python, and what may be asked of any page."""

import unicodedata

import fleets

STATES = ["entered", "locked", "listed", "silent", "cut", "nolist", "unguarded", "problem", "unchecked", "old", "aged",
          "warning", "part", "short"]


def all_states(data):
    """What is known of each host, the worst first."""
    entered = {index for index, _ in fleets.entered(data, False)}
    short = {place[0] for entry in data["keys"] for place in entry["places"]
             if entry["type"].lower() in ("rsa", "ssh-rsa") and 0 < (entry["bits"] or 0) < 2048}
    return [_states_of(host, index in entered, index in short) for index, host in enumerate(data["hosts"])]


def _states_of(host, entered, short):
    judged = host["answered"]
    aged = None in [file for file, _ in host["stale"]]
    holds = {
        "entered": entered, "short": short, "locked": host["locked"], "listed": host["listed"], "silent": not judged,
        "cut": judged and not host["complete"], "nolist": judged and host["complete"] and not host["lists"],
        "problem": host["doctor"] == "problem", "unchecked": host["unchecked"] or host["problems"],
        "old": host["old"] and [file for file, _ in host["stale"] if file] or host["old"] and not aged, "aged": aged,
        "warning": host["doctor"] == "warning", "part": judged and not host["whole"],
        "unguarded": host["guarded"] is False,
    }
    return [state for state in STATES if holds[state]] or ["fine"]


def owners(entry):
    """The accounts that have a key, each with its host. The host's own files are an owner too."""
    return {(index, account) for index, account, *_ in entry["places"]}


def _texts(data, entry, where, place):
    """The texts of a key in a place that a search looks at."""
    index, account, file, _, comment, part, _, source, *rest = place
    host = data["hosts"][index]["name"]
    owner = data["owners"][rest[0]] if rest and rest[0] is not None else []
    return {
        "all": [entry["fp"], entry["type"], entry["verdict"], entry["reason"], *entry["sources"], *entry["lists"], host,
                account, file, comment, part, source, *owner],
        "key": [entry["fp"], entry["type"]], "host": [host], "account": [account], "comment": [comment], "owner": owner,
        "source": [entry["reason"], *entry["sources"], *entry["lists"]],
    }[where]


def search(data, words="", where="all", verdict="any", spread="any"):
    """The fingerprints of the keys that a search finds, and how many places of each."""
    found = {}
    for entry in data["keys"]:
        once = len(owners(entry)) <= 1
        if verdict not in ("any", entry["verdict"]) or spread == ("many" if once else "once"):
            continue
        hits = sum(all(any(word.lower() in (text or "").lower() for text in _texts(data, entry, where, place))
                       for word in words.split()) for place in entry["places"])
        if hits:
            found[entry["fp"]] = hits
    return found


def unseen(character):
    """Whether a character must not reach the eye as itself."""
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp") or (category == "Zs" and character != " ") \
        or character in "\u2800\u3164\u034f\ufe0f\u115f\u1160\uffa0"


def escaped(text):
    """A text as the page shows it, without the limit for stacked marks."""
    return "".join(f"\\u{{{ord(character):04X}}}" if unseen(character) else character for character in text)


# What the page has that is not text: tags, attributes, characters, and ids that are used twice.
CENSUS = r"""
const tags = new Set(), handlers = [], ids = new Set(), twice = [], dangling = [];
let raw = '';
for (const element of document.querySelectorAll('*')) {
    tags.add(element.tagName);
    for (const { name, value } of element.attributes) {
        if (/^on|^srcdoc$/i.test(name) || (name === 'style' && !/^width: [\d.]+%;$/.test(value)) ||
            (/^(href|src|action|formaction|data)$/i.test(name) && value !== '#main'))
            handlers.push(`${element.tagName} ${name}=${value}`);
        raw += value + '\n';
        if (/^aria-(labelledby|describedby|activedescendant)$|^for$/.test(name)) {
            for (const id of value.split(' ')) {
                if (!document.getElementById(id))
                    dangling.push(`${name}=${id}`);
            }
        }
    }
    if (element.id && ids.has(element.id))
        twice.push(element.id);
    ids.add(element.id);
}
return { tags: [...tags].sort(), handlers, twice, dangling, text: document.getElementById('main').innerText,
         raw, pwned: typeof window.pwned };
"""

# Controls without a name or in another, headings that skip a level or are empty, and landmarks of the same name.
NAMELESS = r"""
const textOf = (id) => (document.getElementById(id) || {}).textContent;
const name = (element) => (element.getAttribute('aria-label') ||
    (element.getAttribute('aria-labelledby') || '').split(' ').map(textOf).join('') ||
    [...(element.labels || [])].map((label) => label.textContent).join('') || element.textContent || '').trim();
const wrong = [];
const named = 'button, input, select, summary, a, [role=option], [role=listbox], [role=search], [role=group], ' +
    'section, nav, table';
for (const element of document.querySelectorAll(named)) {
    if (element.checkVisibility() && !name(element))
        wrong.push(`no name: ${element.outerHTML.slice(0, 200)}`);
}
let level = 0;
for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    if (!heading.checkVisibility())
        continue;
    const now = Number(heading.tagName[1]);
    if (now > level + 1)
        wrong.push(`heading skips a level: ${heading.textContent}`);
    level = now;
}
if (document.querySelectorAll('h1').length !== 1 || document.querySelectorAll('main').length !== 1)
    wrong.push('not one h1 and one main');
const landmarks = new Set();
for (const landmark of document.querySelectorAll('nav, section, [role=search]')) {
    if (landmark.checkVisibility() && landmarks.size === landmarks.add(name(landmark).slice(0, 300)).size)
        wrong.push(`two landmarks of one name: ${name(landmark)}`);
}
for (const head of document.querySelectorAll('th')) {
    if (head.checkVisibility() && !head.textContent.trim())
        wrong.push('a heading of a table is empty');
}
for (const inner of document.querySelectorAll(':is([role=option], button, a, summary) :is(button, a, input)'))
    wrong.push(`a control in a control: ${inner.outerHTML.slice(0, 200)}`);
for (const cell of document.querySelectorAll('td, th')) {
    if (!cell.getAttribute('role') || (cell.tagName === 'TH' && !cell.getAttribute('scope')))
        wrong.push(`cell without role or scope: ${cell.outerHTML.slice(0, 200)}`);
}
return wrong;
"""

# Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3), also those of marks.
PALE = r"""
const rgba = (colour) => { const n = colour.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const behind = (element) => {
    if (!element)
        return [255, 255, 255, 1];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
};
const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
};
const pale = [];
let seen = 0;
const check = (what, style, back) => {
    const ratio = contrast(over(rgba(style.color), back), back);
    seen++;
    if (ratio < 4.5)
        pale.push(`${ratio.toFixed(2)} ${style.color} on ${back}: ${what}`);
};
for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.matches('script, style, noscript'))
        continue;
    if ([...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || element.tagName === 'INPUT')
        check(element.outerHTML.slice(0, 120), getComputedStyle(element), behind(element));
    if (element.tagName === 'INPUT')
        check('placeholder', getComputedStyle(element, '::placeholder'), behind(element));
    const mark = getComputedStyle(element, '::before');
    if (element.classList.contains('mark'))
        check(`mark ${element.className}`, mark, rgba(mark.backgroundColor));
}
return { pale, seen };
"""
