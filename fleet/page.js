// SPDX-License-Identifier: ISC
//
// The page of keyveto-report. It shows the JSON in the element "data", which holds text of audits: names, paths and
// comments that anybody may have written. So nothing here makes HTML of text. el() makes elements, and text becomes
// text nodes. data() and plain() make characters visible that would hide something.
//
// Made by keyveto-report, which puts the style, this script, the numbers that a browser shows at once, and the data into
// page.html. The data is {"made": time, "version": text, "hosts": [...], "keys": [...], "gone": [...], "changes": [...],
// "owners": [...]}, and the page shows what it can of data of other types. Times are seconds since 1970, or null, but
// for "made" (RFC 3339). A host in a place is its number in "hosts", from 0 on, and an owner in "owners".
//
//   a host    {"name", "file", "answered", "reason", "complete", "whole", "time", "keyveto", "sshd", "os", "guarded":
//             true, false or null, "user_ca": bool, "lists": [{"kind", "file", "revision", "time", "sha256"}], "old":
//             bool, "stale": [[file of an old list, or null for the audit itself, how old]], "doctor": "ok",
//             "warning", "problem" or null, "findings": [{"check", "status", "found", "remedy"}], "accounts", "keys",
//             "listed", "unchecked", "uncovered": numbers, "locked": [accounts], "problems":
//             [{"account", "file", "line", "reason"}], "more_problems": number}
//   a key     {"fp", "type", "bits", "verdict": "listed", "allowed", "clean" or another, "sources": [texts],
//             "lists": [texts], "reason", "places": [[host, account or null, file, line, comment, part, last login or
//             null, from or null, owner or null, verdict there]]}; the last two may be left out
//   gone      a listed key that came in, and is in no file any more: [host, account or null, fp, type, last login, from]
//   change    since older audits; "changes" is only there with such: ["newly-guarded", "no-longer-guarded", "new",
//             "newly-used" or "gone", host or null, its name, account or null, fp or null, verdict or null, type, file,
//             line, comment, last login, from, what more is known, bits]. Without fp it is about the host.
//   owner     [person, team or null]; "owners" may be left out
(function () {
    'use strict';

    const CELLS = 5000;            // cells in the picture
    const ROWS = 25;               // rows of a table on one page
    const PRINTED_ROWS = 1000;     // rows of a table on paper
    const PRINTED_PLACES = 3000;   // places of all keys on paper
    const LONG = 160;              // characters of a text that are shown at first
    const LONGEST = 20000;         // characters of a text that are ever shown

    // What may be known of a host, the worst first. The style sheet has a letter, a shape and a colour for each.
    const STATES = [
        ['entered', 'a listed key gets in now', (host) => host.guarded === false && host.places.some(letsIn)],
        ['locked', 'last key of an account is listed', (host) => host.locked.length > 0],
        ['listed', 'listed keys', (host) => host.listed > 0],
        ['silent', 'did not answer', (host) => !host.answered],
        ['cut', 'audit cut off', (host) => host.answered && !host.complete],
        ['nolist', 'no list: nothing was judged', (host) => host.answered && host.complete && !host.lists.length],
        ['unguarded', 'not guarded', (host) => host.guarded === false],
        ['problem', 'doctor: problem', (host) => host.doctor === 'problem'],
        ['unchecked', 'keys or files not checked', (host) => host.unchecked > 0 || host.problems.length > 0],
        ['old', 'old list', (host) => host.old && (!host.aged || host.stale.some(({ file }) => file !== null))],
        ['aged', 'old audit', (host) => host.aged],
        ['warning', 'doctor: warning', (host) => host.doctor === 'warning'],
        ['part', 'only some accounts audited', (host) => host.answered && !host.whole],
        ['short', 'short RSA key', (host) => host.places.some(({ key }) => key.short)],
        ['fine', 'nothing found', () => false],
    ].map(([id, name, holds], rank) => ({ id, name, holds, rank }));
    const STATE = new Map(STATES.map((state) => [state.id, state]));
    const TROUBLE = STATES.filter((state) => !['entered', 'locked', 'listed', 'fine'].includes(state.id));

    const VERDICTS = {
        listed: { rank: 0, name: 'listed', mark: 'listed' },
        allowed: { rank: 1, name: 'listed, but allowed', mark: 'allowed' },
        other: { rank: 2, name: 'not judged', mark: 'unchecked' },
        clean: { rank: 3, name: 'not listed', mark: 'fine' },
    };
    // A clean key that is no good key. Its bits are 0 if they are not known.
    const SHORT = { name: 'not listed, but short', mark: 'short' };
    const isShort = (type, bits) => /^(ssh-)?rsa/i.test(type) && bits > 0 && bits < 2048;

    const byId = (id) => document.getElementById(id);
    const count = (n) => n.toLocaleString('en');
    const amount = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

    // ---------------------------------------------------------------- Text of audits

    // Controls, formats (also those that turn the direction of writing), surrogates without their other half, what is
    // unassigned or for private use, what is drawn as nothing, blanks other than the blank, and the third of several
    // marks over one letter.
    const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=\p{M}\p{M})\p{M}/gu;

    const escapeCode = (character) =>
        `\\u{${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}}`;

    // The first length characters of a text, without half a surrogate pair at its end.
    function start(text, length) {
        const high = text.charCodeAt(length - 1);
        return text.slice(0, high >= 0xd800 && high < 0xdc00 ? length - 1 : length);
    }

    // A text of an audit for an attribute or a sentence.
    function plain(text) {
        const begun = fitting(text, LONG);
        return begun.replace(UNSEEN, escapeCode) + (begun.length < text.length ? '…' : '');
    }

    // The start of a text that takes about this much room. An escape takes the room of eight characters.
    function fitting(text, room) {
        const begun = start(text, room);
        let used = 0;
        for (const found of begun.matchAll(UNSEEN)) {
            used += 8;
            if (found.index + used > room)
                return start(text, Math.max(found.index, 1));
        }
        return begun;
    }

    // Text nodes of a text, and an element for each character that would not be seen.
    function visible(text) {
        const nodes = [];
        let from = 0;
        for (const found of text.matchAll(UNSEEN)) {
            nodes.push(text.slice(from, found.index), el('span', { class: 'escape' }, escapeCode(found[0])));
            from = found.index + found[0].length;
        }
        nodes.push(text.slice(from));
        return nodes;
    }

    // An element with a text of an audit. more makes what stands for the rest of a long one, behind so many characters.
    function cut(text, kind, more) {
        const begun = fitting(text, LONG);
        return el('bdi', kind ? { class: kind } : {}, ...visible(begun),
            ...(begun.length < text.length ? more(begun.length) : []));
    }

    // For what is itself a button.
    const label = (text, kind) => cut(text, kind, () => ['…']);

    // For all else: a button shows what is left out.
    function data(text, kind) {
        const box = cut(text, kind, (length) => [' ', button(`… ${count(text.length - length)} more characters`, () => {
            const left = text.length - LONGEST;
            box.replaceChildren(...nodesOf(visible(start(text, LONGEST))),
                left > 0 ? ` … and ${count(left)} more characters` : '');
            box.tabIndex = -1;
            box.focus();
        })]);
        return box;
    }

    // ---------------------------------------------------------------- Elements

    const nodesOf = (children) => children.filter((child) => child !== null && child !== undefined && child !== '');

    // Makes an element. A string becomes a text node, never HTML.
    function el(tag, attributes, ...children) {
        const made = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes || {})) {
            if (value !== null && value !== undefined)
                made.setAttribute(name, value);
        }
        made.append(...nodesOf(children));
        return made;
    }

    function button(label, action, attributes) {
        const made = el('button', { type: 'button', class: 'link', ...attributes }, label);
        made.addEventListener('click', action);
        return made;
    }

    const chip = (state) => el('span', { class: `chip mark s-${state.id}` }, state.name);

    const hostButton = (host) => button(label(host.name), () => chooseHost(host, true));

    // A table with a caption for those who do not see its place. A row is a list of cells.
    function table(caption, heads, rows) {
        const columns = heads.map((head) => (typeof head === 'string' ? { name: head } : head));
        const body = el('tbody', { role: 'rowgroup' });
        for (const row of rows) {
            if (row instanceof Node) {
                body.append(row);
                continue;
            }
            body.append(el('tr', { role: 'row' }, ...row.map((content, i) => {
                const head = columns[i];
                const attributes = { class: head.class, 'data-head': head.name || null };
                const cell = i ? el('td', { role: 'cell', ...attributes })
                    : el('th', { scope: 'row', role: 'rowheader', ...attributes });
                cell.append(...nodesOf([content].flat()));
                return cell;
            })));
        }
        return el('table', { role: 'table' },
            el('caption', { class: 'unseen' }, caption),
            el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...columns.map((head) =>
                el('th', { scope: 'col', role: 'columnheader', class: head.class }, head.name)))),
            body);
    }

    // Which page each list shows.
    const pages = new Map();

    // Puts one page of items into box, as draw makes it, and the way to the others.
    function paged(box, id, items, draw, rows) {
        const size = printing ? PRINTED_ROWS : rows || ROWS;
        const last = Math.max(0, Math.ceil(items.length / size) - 1);
        const page = printing ? 0 : Math.min(pages.get(id) || 0, last);
        const from = page * size;
        const shown = items.slice(from, from + size);
        const nodes = [draw(shown)];
        const caption = nodes[0].querySelector(':scope > caption');
        const go = (to, name) => {
            const dead = to < 0 || to > last;
            return button(name, () => {
                if (dead)
                    return;
                pages.set(id, to);
                paged(box, id, items, draw, rows);
                box.querySelector(`:scope > .pages > [data-go="${name}"]`).focus();
            }, { class: null, 'data-go': name, 'aria-disabled': dead ? 'true' : null });
        };
        if (last > 0 && printing) {
            nodes.push(el('p', {}, `${count(items.length - size)} more are not printed. Search, and print what you find.`));
        } else if (last > 0) {
            nodes.push(el('nav', { class: 'pages', 'aria-label': `Pages of ${caption ? caption.textContent : id}` }, go(page - 1, 'Previous'),
                go(page + 1, 'Next'),
                el('span', { role: 'status' },
                    `${count(from + 1)} to ${count(from + shown.length)} of ${count(items.length)}`)));
        }
        box.replaceChildren(...nodes);
    }

    // Details that fill puts into a box once somebody opens them.
    function folded(summary, open, fill) {
        const box = el('div');
        const details = el('details', {}, summary, box);
        const fillOnce = () => box.firstChild || fill(box);
        details.addEventListener('toggle', fillOnce);
        if (open || printing) {
            fillOnce();
            details.open = true;
        }
        return details;
    }

    // ---------------------------------------------------------------- Times

    let made = NaN;

    // Whether a number of seconds is a time between 1970 and 9999.
    const aTime = (seconds) => seconds >= 0 && seconds < 253402300800;

    function when(seconds) {
        if (!Number.isFinite(seconds))
            return '';
        if (!aTime(seconds))
            return `${seconds} seconds`;
        return new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
    }

    function ago(seconds) {
        const past = made - seconds;
        if (!Number.isFinite(past) || !aTime(seconds))
            return '';
        if (past < 0)
            return past < -300 ? 'after this report was made' : 'now';
        const [size, one, many] = [[86400, 'day', 'days'], [3600, 'hour', 'hours'], [60, 'minute', 'minutes'],
            [1, 'second', 'seconds']].find(([unit]) => past >= unit) || [1, 'second', 'seconds'];
        return `${amount(Math.floor(past / size), one, many)} before`;
    }

    function time(seconds) {
        const text = when(seconds);
        return text ? el('span', { class: 'time', title: ago(seconds) }, text) : '–';
    }

    // ---------------------------------------------------------------- The data

    const string = (value) => (typeof value === 'string' ? value : value === null || value === undefined ? ''
        : JSON.stringify(value));
    const number = (value) => (Number.isFinite(value) ? value : 0);
    const list = (value) => (Array.isArray(value) ? value : []);
    const object = (value) => (value !== null && typeof value === 'object' ? value : {});

    let hosts = [];
    let keys = [];
    let gone = [];
    let changes = null;     // null: no older audits were given
    let owners = [];
    let anyLogins = false;

    function readHost(raw, index) {
        const host = {
            ...object(raw), index, name: string(object(raw).name), lists: list(object(raw).lists).map(object),
            findings: list(object(raw).findings).map(object), problems: list(object(raw).problems).map(object),
            stale: list(object(raw).stale).map((one) => ({
                file: list(one)[0] === null ? null : string(list(one)[0]), message: string(list(one)[1]),
            })),
            locked: list(object(raw).locked).map(string), listed: number(object(raw).listed),
            unchecked: number(object(raw).unchecked), uncovered: number(object(raw).uncovered), places: [],
        };
        host.aged = host.stale.some(({ file }) => file === null);
        return host;
    }

    // Once the places of all keys are read.
    function findStates(host) {
        host.states = STATES.filter((state) => state.holds(host));
        if (!host.states.length)
            host.states.push(STATE.get('fine'));
        host.worst = host.states[0];
        host.words = `${host.name}: ${host.states.map((state) => state.name).join(', ')}`;
    }

    const NOWHERE = readHost({ name: '(unknown host)' }, -1);

    function readPlace(raw, key) {
        const [index, account, file, line, comment, part, last, from, owner, verdict] = list(raw);
        const place = {
            key, host: hosts[index] || NOWHERE, account: account === null ? null : string(account),
            file: string(file), line: number(line), comment: string(comment), part: string(part),
            last: Number.isFinite(last) ? last : NaN, from: string(from), owner: owners[owner] || null,
            // Its own host may have no list that has the key, or let it in by AllowKey.
            listed: (verdict === undefined ? key.verdict : verdict) === 'listed',
        };
        place.host.places.push(place);
        return place;
    }

    function readKey(raw, index) {
        const { fp, type, bits, verdict, sources, lists, reason, places } = object(raw);
        const key = {
            index, fp: string(fp), type: string(type), bits: number(bits), said: string(verdict),
            verdict: Object.hasOwn(VERDICTS, verdict) ? verdict : 'other', sources: list(sources).map(string),
            lists: list(lists).map(string), reason: string(reason), short: isShort(string(type), number(bits)),
        };
        key.places = list(places).map((place) => readPlace(place, key));
        Object.assign(key, spreadOf(key.places));
        anyLogins = anyLogins || !Number.isNaN(key.last);
        return key;
    }

    function readGone(raw) {
        const [index, account, fp, type, last, from] = list(raw);
        return {
            host: hosts[index] || NOWHERE, account: account === null ? null : string(account), fp: string(fp),
            type: string(type), last: Number.isFinite(last) ? last : NaN, from: string(from),
        };
    }

    function readChange(raw) {
        const [kind, index, name, account, fp, verdict, type, file, line, comment, last, from, message, bits] = list(raw);
        return {
            kind: string(kind), host: hosts[index] || null, name: string(name),
            account: account === null ? null : string(account), fp: fp === null ? null : string(fp),
            key: { verdict: Object.hasOwn(VERDICTS, verdict) ? verdict : 'other', said: string(verdict),
                short: isShort(string(type), number(bits)) },
            type: string(type), place: { file: string(file), line: number(line), part: '' }, comment: string(comment),
            last: Number.isFinite(last) ? last : NaN, from: string(from), message: string(message),
        };
    }

    // On how many hosts and accounts these places are, and when somebody last came in by one of them.
    function spreadOf(places) {
        if (places.length === 1) {
            const [place] = places;
            return { hosts: 1, accounts: place.account === null ? 0 : 1, owners: 1, last: place.last };
        }
        const onHosts = new Set();
        const owners = new Set();
        const accounts = new Set();
        let last = NaN;
        for (const place of places) {
            const owner = `${place.host.index} ${place.account === null ? '' : `:${place.account}`}`;
            onHosts.add(place.host.index);
            owners.add(owner);
            if (place.account !== null)
                accounts.add(owner);
            if (!(last >= place.last))
                last = Number.isNaN(place.last) ? last : place.last;
        }
        return { hosts: onHosts.size, accounts: accounts.size, owners: owners.size, last };
    }

    // ---------------------------------------------------------------- The view, which the address can be told to hold

    const CHOICES = { in: 'in', verdict: 'verdict', spread: 'spread', sort: 'sort', order: 'order' };
    const view = { q: '', in: 'all', verdict: 'any', spread: 'any', sort: 'worst', order: 'places', states: new Set(),
        host: null };
    let here = null;        // the host in the picture that the arrow keys are on
    let shown = [];         // the hosts in the picture
    let found = { keys: [], hosts: [], narrowed: false };
    let printing = false;

    // Hosts may have the same name: two audits of one, or names that somebody chose. The number tells them apart.
    const namesakes = (host) => hosts.filter((other) => other.name === host.name);

    function fragment() {
        const words = new URLSearchParams();
        if (view.q)
            words.set('q', view.q);
        for (const id of Object.keys(CHOICES)) {
            if (view[id] !== byId(id).options[0].value)
                words.set(id, view[id]);
        }
        if (view.states.size)
            words.set('states', [...view.states].join(' '));
        if (view.host) {
            words.set('host', view.host.name);
            const same = namesakes(view.host);
            if (same.length > 1)
                words.set('nth', same.indexOf(view.host) + 1);
        }
        return words.toString();
    }

    // Writes the view into the address. A host that is chosen becomes a step that Back undoes.
    function remember(step) {
        const wanted = fragment();
        if (wanted === location.hash.slice(1))
            return;
        const address = `${location.href.split('#')[0]}#${wanted}`;
        if (step)
            history.pushState(null, '', address);
        else
            history.replaceState(null, '', address);
    }

    function recall() {
        const words = new URLSearchParams(location.hash.slice(1));
        view.q = words.get('q') || '';
        for (const id of Object.keys(CHOICES)) {
            const values = [...byId(id).options].map((option) => option.value);
            view[id] = values.includes(words.get(id)) ? words.get(id) : values[0];
        }
        view.states = new Set((words.get('states') || '').split(' ').filter((id) => STATE.has(id)));
        // URLSearchParams cannot hold half a surrogate pair, so names are compared as it would give them back.
        const same = words.has('host')
            ? hosts.filter((host) => host.name.toWellFormed() === words.get('host')) : [];
        view.host = same[(parseInt(words.get('nth'), 10) || 1) - 1] || same[0] || (hosts.length === 1 ? hosts[0] : null);
        here = view.host;
    }

    // ---------------------------------------------------------------- Search

    const ownerText = ({ owner }) => (owner ? [owner.person, owner.team] : []);

    const KEY_TEXT = {
        all: (key) => [key.fp, key.type, key.said, key.reason, ...key.sources, ...key.lists],
        key: (key) => [key.fp, key.type],
        source: (key) => [key.reason, ...key.sources, ...key.lists],
    };
    const PLACE_TEXT = {
        all: (place) => [place.host.name, place.account || '', place.file, place.comment, place.part, place.from,
            ...ownerText(place)],
        owner: (place) => ownerText(place),
        host: (place) => [place.host.name],
        account: (place) => [place.account || ''],
        comment: (place) => [place.comment],
    };
    const HOST_TEXT = {
        all: (host) => [host.name, string(host.os), string(host.sshd), string(host.reason)],
        host: (host) => [host.name],
    };

    // The words that are not in these texts.
    function missing(words, texts, thing) {
        if (!texts)
            return words;
        const text = texts(thing).join('\n').toLowerCase();
        return words.filter((word) => !text.includes(word));
    }

    // The places of a key where all words are found, in the key or in the place.
    function placesWith(words, key) {
        const left = missing(words, KEY_TEXT[view.in], key);
        return left.length ? key.places.filter((place) => !missing(left, PLACE_TEXT[view.in], place).length)
            : key.places;
    }

    function wantedKey(key) {
        return (view.verdict === 'any' || view.verdict === key.verdict) &&
            (view.spread === 'any' || (view.spread === 'once') === (key.owners <= 1));
    }

    const inOrder = {
        places: (a, b) => b.key.hosts - a.key.hosts || b.key.accounts - a.key.accounts,
        last: (a, b) => (b.key.last || 0) - (a.key.last || 0),
        key: () => 0,
    };

    const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter((word) => word);

    function search() {
        const words = wordsOf(view.q);
        const byKeys = view.verdict !== 'any' || view.spread !== 'any';
        const hit = new Set();
        const hits = [];
        for (const key of keys) {
            if (!wantedKey(key))
                continue;
            const places = words.length ? placesWith(words, key) : key.places;
            if (!places.length && (words.length || key.places.length))
                continue;
            hits.push({ key, places });
            if (words.length || byKeys)
                places.forEach((place) => hit.add(place.host));
        }
        const text = HOST_TEXT[view.in];
        const foundHosts = words.length || byKeys ? hosts.filter((host) => hit.has(host) ||
            (words.length && !byKeys && text && !missing(words, text, host).length)) : hosts;
        const order = inOrder[view.order];
        hits.sort((a, b) => VERDICTS[a.key.verdict].rank - VERDICTS[b.key.verdict].rank || order(a, b) ||
            (a.key.fp < b.key.fp ? -1 : a.key.fp > b.key.fp ? 1 : 0));
        found = { keys: hits, hosts: foundHosts, narrowed: words.length > 0 || byKeys };
    }

    // ---------------------------------------------------------------- Parts of the page

    function fileAndLine(place) {
        const line = place.line > 0 ? `:${place.line}` : '';
        return [data(place.file, 'code'), line ? el('span', { class: 'code' }, line) : '',
            place.part && place.part !== 'key' ? el('span', {}, ' (', data(place.part), ')') : ''];
    }

    function lastLogin(place) {
        return Number.isNaN(place.last) ? ['–']
            : [time(place.last), place.from ? el('span', {}, ' from ', data(place.from, 'code')) : ''];
    }

    const LOGIN_HEAD = { name: 'Last login', class: 'login-cell' };
    const HOST_HEAD = { name: 'Host', class: 'host-cell' };
    const ACCOUNT_HEAD = { name: 'Account', class: 'account-cell' };
    const KEY_HEAD = { name: 'Key', class: 'key-cell' };
    const ownerName = (account) => (account === null ? el('span', { class: 'soft' }, 'of the host')
        : data(account));

    const ownerCell = ({ person, team }) => [button(label(person), () => searchFor('owner', person)),
        team ? el('span', { class: 'soft' }, ' ', data(team)) : ''];

    function keyName(key) {
        const facts = [key.type, key.bits ? `${key.bits} bits` : ''].filter((fact) => fact).join(', ');
        return [button(label(key.fp, 'code'), () => searchFor('key', key.fp),
            { class: 'link', title: 'Show only this key' }), el('br'), el('span', { class: 'soft' }, data(facts))];
    }

    function verdictChip(key) {
        const verdict = key.verdict === 'clean' && key.short ? SHORT : VERDICTS[key.verdict];
        return el('span', { class: `chip mark s-${verdict.mark}` },
            key.verdict === 'other' && key.said ? data(key.said) : verdict.name);
    }

    // The sources of a key, a comma between them, and the reason why it is allowed or listed.
    function knownFrom(key) {
        const nodes = key.sources.flatMap((source, i) =>
            [i ? ', ' : '', button(label(source), () => searchFor('source', source))]);
        if (key.reason)
            nodes.push(nodes.length ? ': ' : '', el('span', { class: 'soft' }, data(key.reason)));
        return nodes.length ? nodes : ['–'];
    }

    function placeTable(caption, places, withHost) {
        const heads = [...(withHost ? [HOST_HEAD, ACCOUNT_HEAD] : []), 'File and line', ...(withHost ? [] : [KEY_HEAD]),
            { name: owners.length ? 'Comment, owner' : 'Comment', class: 'comment-cell' },
            ...(anyLogins ? [LOGIN_HEAD] : [])];
        return table(caption, heads, places.map((place) => [
            ...(withHost ? [hostButton(place.host), ownerName(place.account)] : []), fileAndLine(place),
            ...(withHost ? [] : [[verdictChip(place.key), ...keyName(place.key), ...(place.key.sources.length
                ? [el('span', { class: 'soft' }, ', known from '), ...knownFrom(place.key)] : [])]]),
            [data(place.comment), ...(place.owner ? [el('br'), ...ownerCell(place.owner)] : [])],
            ...(anyLogins ? [lastLogin(place)] : [])]));
    }

    // How many places of all keys paper still takes.
    let paper = 0;

    function placesRow(key, places, columns) {
        const cell = el('td', { role: 'cell', colspan: columns });
        const row = el('tr', { role: 'row', class: 'places', id: `places-${key.index}` }, cell);
        const some = printing ? places.slice(0, Math.max(0, paper)) : places;
        paper -= some.length;
        paged(cell, `places-${key.index}`, some, (part) => placeTable(`Places of ${plain(key.fp)}`, part, true));
        if (some.length < places.length)
            cell.append(el('p', {}, `${count(places.length - some.length)} more places are not printed.`));
        return row;
    }

    // The cell that says where a key is, and the row that shows all its places.
    function whereCell({ key, places }, columns) {
        if (places.length === 1) {
            const [place] = places;
            return [hostButton(place.host), ' ', ownerName(place.account), el('br'), ...fileAndLine(place),
                place.comment ? el('br') : '', place.comment ? data(place.comment) : ''];
        }
        const opener = button(amount(places.length, 'place', 'places'), () => {
            const open = opener.getAttribute('aria-expanded') === 'true';
            const row = opener.closest('tr');
            if (open)
                row.nextElementSibling.remove();
            else
                row.after(placesRow(key, places, columns));
            opener.setAttribute('aria-expanded', String(!open));
        }, { class: 'link', 'aria-expanded': 'false', 'aria-controls': `places-${key.index}` });
        return [opener];
    }

    function drawKeys(hits) {
        const heads = [KEY_HEAD, { name: 'Verdict', class: 'verdict-cell' },
            { name: 'Known from', class: 'source-cell' }, { name: 'Hosts', class: 'number' },
            { name: 'Accounts', class: 'number' }, ...(anyLogins ? [{ ...LOGIN_HEAD, class: 'date-cell' }] : []),
            ...(printing ? [] : ['Where'])];
        const rows = [];
        for (const hit of hits) {
            const { key, places } = hit;
            rows.push([keyName(key), verdictChip(key), knownFrom(key), count(key.hosts), count(key.accounts),
                ...(anyLogins ? [time(key.last)] : []), ...(printing ? [] : [whereCell(hit, heads.length)])]);
            if (printing && places.length)
                rows.push(placesRow(key, places, heads.length));
        }
        return table('Keys, and where they are', heads, rows);
    }

    function showKeys() {
        // On paper only what matters, unless something else was asked for.
        const hits = printing && !found.narrowed ? found.keys.filter(({ key }) => key.verdict !== 'clean')
            : found.keys;
        paper = PRINTED_PLACES;
        const box = byId('key-list');
        if (!hits.length) {
            box.replaceChildren(nothingFound());
            return;
        }
        paged(box, 'keys', hits, drawKeys);
        if (!found.narrowed && hits[0].key.verdict !== 'listed')
            box.prepend(nothingFound());
        if (hits.length < found.keys.length)
            box.append(el('p', {}, `${amount(found.keys.length - hits.length, 'key', 'keys')} that no list knows, not printed.`));
    }

    function nothingFound() {
        if (found.narrowed)
            return el('p', {}, 'No key is like that.');
        const unjudged = hosts.filter((host) => ['silent', 'cut', 'nolist'].some((id) =>
            host.states.includes(STATE.get(id)))).length;
        if (!hosts.length)
            return el('p', {}, 'No host is in this report.');
        return unjudged ? el('p', {}, `No listed key was found. But ${amount(unjudged, 'host was', 'hosts were')} not judged, or not to the end.`)
            : el('p', { class: 'good' }, 'No listed key was found.');
    }

    // Whether sshd takes the listed key of a place: from an account's file, or as a CA of TrustedUserCAKeys.
    const letsIn = (place) => place.listed && place.host.answered &&
        (place.account !== null || (place.part === 'ca' && place.host.user_ca === true));

    // The accounts with listed keys on hosts whose "guarded" is this, each with the places of these keys.
    function enteredAccounts(guarded) {
        const all = new Map();
        for (const host of hosts.filter((one) => (typeof one.guarded === 'boolean' ? one.guarded : null) === guarded)) {
            for (const place of host.places.filter(letsIn)) {
                const name = `${host.index} ${place.account === null ? '' : `:${place.account}`}`;
                if (!all.has(name))
                    all.set(name, { host, account: place.account, places: [] });
                all.get(name).places.push(place);
            }
        }
        return [...all.values()].map((one) => ({ ...one, last: spreadOf(one.places).last }))
            .sort((a, b) => (b.last || 0) - (a.last || 0));
    }

    function showEntered() {
        const hit = found.narrowed ? new Set(found.hosts) : null;
        const accounts = enteredAccounts(false).filter(({ host }) => !hit || hit.has(host));
        byId('entered').hidden = !accounts.length;
        paged(byId('entered-list'), 'entered', accounts, (part) =>
            accountTable('Accounts that listed keys get into now', part), 5);
    }

    // The accounts that get in by no key any more, those that came in last first.
    function lockedAccounts() {
        const hit = found.narrowed ? new Set(found.hosts) : null;
        const all = [];
        for (const host of hosts) {
            if (!host.locked.length || (hit && !hit.has(host)))
                continue;
            const names = new Map(host.locked.map((account) => [account, []]));
            for (const place of host.places) {
                if (place.listed && place.account !== null && names.has(place.account))
                    names.get(place.account).push(place);
            }
            for (const [account, places] of names)
                all.push({ host, account, places, last: spreadOf(places).last });
        }
        return all.sort((a, b) => (b.last || 0) - (a.last || 0));
    }

    const LOCKED_TEXT = new Map([[true, 'is locked out'], [false, 'would be locked out']]);

    function accountTable(caption, accounts, more) {
        const keysOf = (places) => places.length ? places.slice(0, 2).flatMap((place) => [
            button(label(place.key.fp, 'code'), () => searchFor('key', place.key.fp),
                { class: 'link', title: 'Show only this key' }), el('br'), ...fileAndLine(place), el('br')])
            .concat(places.length > 2 ? `and ${count(places.length - 2)} more` : '')
            : 'not in this report';
        return table(caption,
            [{ ...ACCOUNT_HEAD, class: 'comment-cell' }, HOST_HEAD, ...(more ? [more.head] : []), 'Listed keys',
                ...(anyLogins ? [LOGIN_HEAD] : [])],
            accounts.map(({ host, account, places, last }) => [
                account === null ? 'any, by certificates' : data(account), hostButton(host),
                ...(more ? [more.cell(host)] : []), keysOf(places),
                ...(anyLogins ? [Number.isNaN(last) ? '–' : [time(last), ` (${ago(last)})`]] : [])]));
    }

    function showLocked() {
        const accounts = lockedAccounts();
        byId('locked').hidden = !accounts.length;
        paged(byId('locked-list'), 'locked', accounts, (part) => accountTable('Accounts whose last key is listed', part,
            { head: 'State', cell: (host) => LOCKED_TEXT.get(host.guarded) || 'not known whether guarded' }), 5);
    }

    const GONE_TEXT = {
        all: (login) => [login.fp, login.type, login.host.name, login.account || '', login.from],
        key: (login) => [login.fp, login.type],
        host: (login) => [login.host.name],
        account: (login) => [login.account || ''],
    };

    function showGone() {
        const words = wordsOf(view.q);
        const logins = gone.filter((login) => !missing(words, GONE_TEXT[view.in], login).length)
            .sort((a, b) => (b.last || 0) - (a.last || 0));
        byId('gone').hidden = !logins.length;
        paged(byId('gone-list'), 'gone', logins, (part) => table('Listed keys that came in, and are in no file any more',
            [KEY_HEAD, ACCOUNT_HEAD, HOST_HEAD, 'Last login'], part.map((login) => [
                [data(login.fp, 'code'), el('br'), el('span', { class: 'soft' }, data(login.type))],
                ownerName(login.account), hostButton(login.host), lastLogin(login)])), 10);
    }

    // ---------------------------------------------------------------- Changes

    const CHANGES = [
        ['no-longer-guarded', 'Hosts that are no longer guarded'],
        ['newly-guarded', 'Hosts that are guarded now'],
        ['new', 'New keys and hosts'],
        ['newly-used', 'Keys that came in for the first time'],
        ['gone', 'Keys and hosts that are gone'],
    ];

    const changedHost = (one) => (one.host ? hostButton(one.host) : data(one.name));

    function drawChanges(caption, some) {
        if (some.every((one) => one.fp === null)) {
            return table(caption, [HOST_HEAD, 'What is known'],
                some.map((one) => [changedHost(one), data(one.message)]));
        }
        return table(caption, [HOST_HEAD, ACCOUNT_HEAD, KEY_HEAD, 'File and line, comment', 'What is known'],
            some.map((one) => [changedHost(one), ...(one.fp === null ? ['–', '–', '–'] : [ownerName(one.account),
                [verdictChip(one.key), ' ', button(label(one.fp, 'code'), () => searchFor('key', one.fp)), el('br'),
                    el('span', { class: 'soft' }, data(one.type))],
                [...fileAndLine(one.place), el('br'), data(one.comment)]]),
            [data(one.message), Number.isNaN(one.last) ? '' : el('span', {}, ' Last login ', ...lastLogin(one))]]));
    }

    // Each kind of change has its own table. They are not searched: who asks what changed wants all of it.
    function showChanges() {
        byId('changes').hidden = changes === null;
        if (changes === null)
            return;
        const boxes = CHANGES.map(([kind, title]) => {
            const some = changes.filter((one) => one.kind === kind);
            const box = el('div', { id: `changes-${kind}` });
            if (some.length)
                paged(box, `changes-${kind}`, some, (part) => drawChanges(title, part), 10);
            return some.length ? el('div', {}, el('h3', {}, `${title}: ${count(some.length)}`), box) : null;
        });
        byId('change-list').replaceChildren(...nodesOf(boxes));
        if (!changes.length)
            byId('change-list').append(el('p', { class: 'good' }, 'Nothing.'));
    }

    // ---------------------------------------------------------------- The picture

    function showLegend() {
        const box = byId('legend');
        const focused = document.activeElement && document.activeElement.dataset.state;
        const totals = new Map();
        for (const host of found.hosts)
            host.states.forEach((state) => totals.set(state, (totals.get(state) || 0) + 1));
        box.replaceChildren(...STATES.filter((state) => totals.get(state) || view.states.has(state.id)).map((state) =>
            button(el('span', { class: `mark s-${state.id}` }), () => {
                if (!view.states.delete(state.id))
                    view.states.add(state.id);
                pages.clear();
                showHosts();
                remember();
            }, { class: null, 'aria-pressed': String(view.states.has(state.id)), 'data-state': state.id })));
        for (const made of box.children) {
            const state = STATE.get(made.dataset.state);
            made.append(el('span', {}, state.name), el('b', {}, count(totals.get(state) || 0)));
        }
        const again = focused && box.querySelector(`[data-state="${focused}"]`);
        if (again)
            again.focus();
    }

    const byName = new Intl.Collator('en', { numeric: true }).compare;

    function showGrid() {
        const inStates = view.states.size ? found.hosts.filter((host) => host.states.some((state) =>
            view.states.has(state.id))) : found.hosts;
        const worstFirst = (a, b) => a.worst.rank - b.worst.rank || b.listed - a.listed;
        const all = [...inStates].sort((a, b) => (view.sort === 'worst' ? worstFirst(a, b) : 0) ||
            byName(a.name, b.name));
        const grid = byId('grid');
        shown = all.slice(0, CELLS);
        if (!shown.includes(here))
            here = shown[0] || null;
        grid.className = shown.length <= 60 ? 'names' : shown.length <= 400 ? '' : shown.length <= 1500 ? 'many' : 'most';
        grid.hidden = !shown.length;
        grid.replaceChildren(...shown.map((host) => el('div', {
            class: `cell mark s-${host.worst.id}`, role: 'option', id: `h${host.index}`,
            'aria-label': plain(host.words), 'aria-selected': String(host === view.host),
        }, shown.length <= 60 ? el('bdi', {}, plain(host.name)) : null)));
        pointAt(here);
        const beyond = byId('beyond');
        beyond.hidden = shown.length > 0 && all.length <= CELLS;
        beyond.textContent = !hosts.length ? 'No host is in this report.' : !shown.length ? 'No host is like that.'
            : `${count(all.length - CELLS)} more hosts are not in the picture. Search for them.`;
    }

    const cellOf = (host) => (host ? byId(`h${host.index}`) : null);
    const hostOf = (node) => {
        const cell = node.closest('.cell');
        return cell ? hosts[Number(cell.id.slice(1))] : null;
    };

    // Moves the arrow keys' place in the picture.
    function pointAt(host) {
        const grid = byId('grid');
        const before = cellOf(here);
        if (before)
            before.classList.remove('here');
        here = host;
        const cell = cellOf(host);
        if (cell) {
            cell.classList.add('here');
            grid.setAttribute('aria-activedescendant', cell.id);
        } else {
            grid.removeAttribute('aria-activedescendant');
        }
        describe(host);
    }

    function describe(host) {
        byId('pointed').replaceChildren(host ? data(host.words) : '');
    }

    function columnsOfGrid() {
        return getComputedStyle(byId('grid')).gridTemplateColumns.split(' ').length;
    }

    function onGridKey(event) {
        const at = shown.indexOf(here);
        const columns = columnsOfGrid();
        const to = {
            ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - columns, ArrowDown: at + columns,
            PageUp: Math.max(at - 10 * columns, at % columns), PageDown: Math.min(at + 10 * columns, shown.length - 1),
            Home: 0, End: shown.length - 1,
        }[event.key];
        if (event.ctrlKey || event.altKey || event.metaKey)
            return;
        if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            if (here)
                chooseHost(here, true);
        } else if (to !== undefined) {
            event.preventDefault();
            if (shown[to]) {
                pointAt(shown[to]);
                cellOf(here).scrollIntoView({ block: 'nearest' });
            }
        }
    }

    // ---------------------------------------------------------------- One host

    // Scrolls until the beginning of this is well to be seen.
    function bringUp(box) {
        const { top } = box.getBoundingClientRect();
        if (top < 0 || top > innerHeight * 0.5)
            box.scrollIntoView({ block: 'start' });
    }

    function chooseHost(host, focus) {
        const cell = cellOf(view.host);
        if (cell)
            cell.setAttribute('aria-selected', 'false');
        view.host = host;
        if (host && shown.includes(host)) {
            pointAt(host);
            cellOf(host).setAttribute('aria-selected', 'true');
        }
        showHost();
        remember(true);
        if (focus)
            byId(host ? 'host-title' : 'grid').focus({ preventScroll: Boolean(host) });
        if (focus && host)
            bringUp(byId('host'));
    }

    function facts(pairs) {
        return el('dl', {}, ...pairs.filter(([, value]) => value !== null && value !== '')
            .flatMap(([name, value]) => {
                const cell = el('dd');
                cell.append(...nodesOf([value].flat()));
                return [el('dt', {}, name), cell];
            }));
    }

    const yesNo = (value, yes, no) => (value === true ? yes : value === false ? no : 'not known');

    function hostFacts(host) {
        const text = (value) => (string(value) ? data(string(value)) : null);
        return facts([
            ['Audited', Number.isFinite(host.time) ? [time(host.time), ago(host.time) ? ` (${ago(host.time)})` : ''] : null],
            ['Did not answer', host.answered ? null : text(host.reason) || 'no reason told'],
            ['Audit', host.answered ? [host.complete ? 'complete' : 'cut off: the end is missing',
                host.whole ? ', all accounts' : ', only some accounts'] : null],
            ['Accounts', host.answered ? count(number(host.accounts)) : null],
            ['Keys', host.answered ? `${count(number(host.keys))}, listed: ${count(host.listed)}, not checked: ${count(host.unchecked)}` : null],
            ['Guarded', host.answered ? yesNo(host.guarded, 'yes', 'no: sshd lets listed keys in') : null],
            ['Doctor', host.answered ? text(host.doctor) || 'not asked' : null],
            ['System', text(host.os)], ['sshd', text(host.sshd)], ['keyveto', text(host.keyveto)],
            ['Audit file', text(host.file)],
        ]);
    }

    function hostLists(host) {
        if (!host.answered)
            return [];
        if (!host.lists.length)
            return [el('h4', {}, 'Lists'), el('p', {}, 'None: nothing was judged.')];
        const stale = host.stale.map(({ file, message }) => el('li', {}, ...(file === null ? [data(message)]
            : [data(file, 'code'), ' ', data(message)])));
        return [el('h4', {}, host.old ? 'Lists: old' : 'Lists'),
            ...(stale.length ? [el('ul', { class: 'findings' }, ...stale)] : []), table('Lists of this host',
            ['File', { name: 'Kind', class: 'kind-cell' }, { name: 'Revision', class: 'account-cell' },
                { name: 'Made', class: 'host-cell' }, { name: 'SHA-256', class: 'key-cell' }],
            host.lists.map((one) => [data(string(one.file), 'code'), data(string(one.kind)),
                Number.isFinite(one.revision) ? String(one.revision) : '–',
                Number.isFinite(one.time) ? [time(one.time), ago(one.time) ? ` (${ago(one.time)})` : ''] : '–',
                data(string(one.sha256), 'code')]))];
    }

    function hostFindings(host) {
        if (!host.findings.length)
            return [];
        return [el('h4', {}, 'What the doctor found'), el('ul', { class: 'findings' }, ...host.findings.map((one) =>
            el('li', {}, el('b', {}, data(string(one.status))), ' ', data(string(one.check)), ': ',
                data(string(one.found)), one.remedy ? el('span', {}, ' What to do: ', data(string(one.remedy))) : '')))];
    }

    function hostProblems(host) {
        const more = number(host.more_problems);
        if (!host.problems.length && !more)
            return [];
        return [el('h4', {}, 'What could not be checked'), el('ul', { class: 'findings' }, ...host.problems.map((one) =>
            el('li', {}, ...fileAndLine({ file: string(one.file), line: number(one.line), part: '' }),
                string(one.account) ? el('span', {}, ' of ', data(string(one.account))) : '', ': ',
                data(string(one.reason)))), more ? el('li', {}, `and ${count(more)} more, in the audit file`) : '')];
    }

    // The accounts of a host with the places of their keys: those who would be locked out first, then by listed keys.
    function accountsOf(host) {
        const accounts = new Map(host.locked.map((account) => [account, { account, locked: true, places: [], listed: 0 }]));
        for (const place of host.places) {
            if (!accounts.has(place.account))
                accounts.set(place.account, { account: place.account, locked: false, places: [], listed: 0 });
            const owner = accounts.get(place.account);
            owner.places.push(place);
            owner.listed += place.listed ? 1 : 0;
        }
        for (const { places } of accounts.values())
            places.sort((a, b) => VERDICTS[a.key.verdict].rank - VERDICTS[b.key.verdict].rank);
        return [...accounts.values()].sort((a, b) => b.locked - a.locked || b.listed - a.listed ||
            byName(a.account || '', b.account || ''));
    }

    function accountDetails(host, owner, open) {
        const others = owner.places.length - owner.listed;
        const summary = el('summary', {}, owner.account === null ? 'of the host' : label(owner.account), ': ',
            [owner.listed || !others ? amount(owner.listed, 'listed key', 'listed keys') : '',
                others ? amount(others, 'other key', 'other keys') : ''].filter((part) => part).join(', '),
            host.guarded === false && owner.places.some(letsIn) ? el('b', {}, ' (can be entered now)') : '',
            owner.locked ? el('b', {}, ' (the last key is listed)') : '');
        return folded(summary, open, (box) => {
            if (owner.places.length) {
                paged(box, `account-${host.index}-${owner.account}`, owner.places, (part) =>
                    placeTable(`Keys of ${plain(owner.account || 'the host')}`, part, false));
            }
        });
    }

    function hostAccounts(host) {
        const accounts = accountsOf(host);
        if (!accounts.length)
            return host.answered ? [el('p', {}, 'None of its keys is in this report: none is listed, and none is elsewhere.')] : [];
        const box = el('div');
        paged(box, `accounts-${host.index}`, accounts, (part) => el('div', {}, ...part.map((owner, i) =>
            accountDetails(host, owner, i < 5))));
        return [el('h4', {}, 'Keys, by account'), box];
    }

    function showHost() {
        const box = byId('host');
        const host = view.host;
        box.hidden = !host;
        if (!host) {
            box.replaceChildren();
            return;
        }
        const close = hosts.length > 1 ? button('Close', () => chooseHost(null, true), { class: 'close' }) : null;
        box.replaceChildren(el('div', { class: 'head' },
            el('h3', { id: 'host-title', tabindex: '-1' }, data(host.name)), close),
            el('p', {}, ...host.states.map(chip)), hostFacts(host), ...hostAccounts(host), ...hostFindings(host),
            ...hostProblems(host), ...hostLists(host));
    }

    // ---------------------------------------------------------------- Sources, and hosts that need a look

    function showSources() {
        const sources = new Map();
        for (const { key, places } of found.keys) {
            const listed = places.filter((place) => place.listed);
            if (!listed.length)
                continue;
            for (const source of key.sources.length ? new Set(key.sources) : ['']) {
                const sum = sources.get(source) || { source, keys: 0, places: 0, hosts: new Set() };
                sum.keys++;
                sum.places += listed.length;
                listed.forEach((place) => sum.hosts.add(place.host));
                sources.set(source, sum);
            }
        }
        const all = [...sources.values()].sort((a, b) => b.keys - a.keys || b.places - a.places);
        const most = all.length ? all[0].keys : 1;
        byId('sources').hidden = !all.length;
        paged(byId('source-list'), 'sources', all, (part) => table('Sources of listed keys',
            ['Source', { name: 'Keys', class: 'number' }, { name: 'Places', class: 'number' },
                { name: 'Hosts', class: 'number' }, { name: 'Share', class: 'bar-cell' }],
            part.map((sum) => {
                const bar = el('span', { class: 'bar' });
                bar.style.width = `${100 * sum.keys / most}%`;
                return [sum.source ? button(label(sum.source), () => searchFor('source', sum.source)) : 'not told',
                    count(sum.keys), count(sum.places), count(sum.hosts.size), bar];
            })), 12);
    }

    // A row for each owner of listed keys, and one for those of nobody.
    function showOwners() {
        const sums = new Map();
        for (const { key, places } of found.keys.filter((hit) => hit.key.verdict === 'listed' && owners.length)) {
            for (const place of places.filter((one) => one.listed)) {
                const name = JSON.stringify(ownerText(place));
                if (!sums.has(name))
                    sums.set(name, { owner: place.owner, keys: new Set(), places: 0, entered: 0 });
                const sum = sums.get(name);
                sum.keys.add(key);
                sum.places++;
                sum.entered += letsIn(place) && place.host.guarded === false ? 1 : 0;
            }
        }
        const all = [...sums.values()].sort((a, b) => b.entered - a.entered || b.places - a.places);
        byId('owners').hidden = !all.length;
        paged(byId('owner-list'), 'owners', all, (part) => table('Owners of listed keys',
            ['Owner', { name: 'Keys', class: 'number' }, { name: 'Places', class: 'number' },
                { name: 'Get in', class: 'number' }],
            part.map((sum) => [sum.owner ? ownerCell(sum.owner) : 'no line of --owners', count(sum.keys.size),
                count(sum.places), count(sum.entered)])), 12);
    }

    // What is known of a host in each of its states: [state, text].
    function troubles(host) {
        const texts = {
            silent: host.answered ? [] : [string(host.reason)],
            unchecked: host.problems.slice(0, 1).map((one) =>
                `${string(one.file)}${one.line ? `:${one.line}` : ''}: ${string(one.reason)}`),
            old: host.stale.filter(({ file }) => file !== null).map(({ file, message }) => `${file} ${message}`),
            aged: host.stale.filter(({ file }) => file === null).map(({ message }) => message),
        };
        for (const one of host.findings)
            (texts[one.status === 'warning' ? 'warning' : 'problem'] ||= []).push(`${string(one.check)}: ${string(one.found)}`);
        return TROUBLE.flatMap((state) => {
            const known = texts[state.id] || [];
            return (known.length || !host.states.includes(state) ? known : ['']).map((text) => [state, text]);
        });
    }

    function hostsCell(id, some) {
        return some.length === 1 ? hostButton(some[0])
            : folded(el('summary', {}, amount(some.length, 'host', 'hosts')), false, (box) => paged(box, id, some,
                (part) => el('div', {}, ...part.flatMap((host) => [hostButton(host), el('br')]))));
    }

    // A row for each thing that is known, and the hosts of which it is.
    function showTrouble() {
        const rows = new Map();
        const wanted = found.hosts.filter((host) => !view.states.size || host.states.some(({ id }) => view.states.has(id)));
        for (const host of wanted) {
            for (const [state, text] of troubles(host)) {
                const name = `${state.id} ${text}`;
                if (!rows.has(name))
                    rows.set(name, { id: `trouble-${rows.size}`, state, text, hosts: new Set() });
                rows.get(name).hosts.add(host);
            }
        }
        const all = [...rows.values()].sort((a, b) => a.state.rank - b.state.rank || b.hosts.size - a.hosts.size ||
            byName(a.text, b.text));
        // One host has it all above, in its own box.
        byId('trouble').hidden = !all.length || hosts.length === 1;
        paged(byId('trouble-list'), 'trouble', all, (part) => table('Hosts that need a look',
            [{ name: 'State', class: 'state-cell' }, 'What is known', HOST_HEAD],
            part.map((row) => [chip(row.state), row.text ? data(row.text) : '–',
                hostsCell(row.id, [...row.hosts].sort((a, b) => byName(a.name, b.name)))])), 10);
    }

    // ---------------------------------------------------------------- All of it

    // What was searched for, in words: on paper the controls are not to be seen.
    function asked() {
        const choice = (id) => byId(id).selectedOptions[0].textContent;
        return [view.q ? `“${plain(view.q)}” in ${choice('in')}` : '',
            view.verdict === 'any' ? '' : `keys that are ${choice('verdict')}`,
            view.spread === 'any' ? '' : `keys that are ${choice('spread')}`].filter((part) => part).join(', ');
    }

    function showFound() {
        byId('found').textContent = (printing && found.narrowed ? `Searched for: ${asked()}. ` : '') + (found.narrowed
            ? `Found: ${amount(found.keys.length, 'key', 'keys')} of ${count(keys.length)}, on ${amount(found.hosts.length, 'host', 'hosts')} of ${count(hosts.length)}.`
            : `${amount(keys.length, 'key', 'keys')} of ${amount(hosts.length, 'host', 'hosts')}: every listed key, and others that are on several accounts or hosts.`);
    }

    function showHosts() {
        showLegend();
        showGrid();
        showTrouble();
    }

    function showAll() {
        showFound();
        showEntered();
        showLocked();
        showChanges();
        showGone();
        showHosts();
        showHost();
        showKeys();
        showOwners();
        showSources();
    }

    function searchAgain(step) {
        pages.clear();
        search();
        showAll();
        remember(step);
    }

    // Searches for a thing that was clicked on.
    function searchFor(where, text) {
        Object.assign(view, { q: text.toWellFormed(), in: where, verdict: 'any', spread: 'any' });
        showControls();
        searchAgain(true);
        byId('q').focus();
    }

    function showControls() {
        byId('q').value = view.q;
        for (const id of Object.keys(CHOICES))
            byId(id).value = view[id];
    }

    function fromAddress() {
        if (fragment() === location.hash.slice(1))
            return;
        recall();
        showControls();
        pages.clear();
        search();
        showAll();
    }

    // The number of hosts in a state.
    const inState = (id) => hosts.filter((host) => host.states.includes(STATE.get(id))).length;

    function showNumbers() {
        const listed = keys.filter((key) => key.verdict === 'listed');
        const entered = enteredAccounts(false);
        const unsure = enteredAccounts(null);
        const onHosts = (accounts) => new Set(accounts.map(({ host }) => host)).size;
        const numbers = {
            entered: entered.length, 'entered-hosts': onHosts(entered),
            unsure: unsure.length, 'unsure-hosts': onHosts(unsure),
            hosts: hosts.length,
            locked: hosts.reduce((sum, host) => sum + host.locked.length, 0),
            'listed-keys': listed.length,
            'listed-places': listed.reduce((sum, key) => sum + key.places.filter((place) => place.listed).length, 0),
            'listed-hosts': inState('listed'), silent: inState('silent'), cut: inState('cut'),
            old: hosts.filter((host) => host.old === true).length, unguarded: inState('unguarded'),
            unwell: inState('problem'), warned: hosts.filter((host) => host.doctor === 'warning').length,
            uncovered: hosts.reduce((sum, host) => sum + host.uncovered, 0),
        };
        for (const [id, value] of Object.entries(numbers))
            byId(`number-${id}`).textContent = count(value);
        byId('unsure').hidden = !unsure.length;
        for (const item of byId('numbers').children) {
            const [, value] = Object.entries(numbers).find(([id]) => `number-${id}` === item.firstElementChild.id);
            const go = button('', () => showNumber(item.dataset.go), { class: null });
            go.append(...item.childNodes);
            item.append(go);
            item.hidden = hosts.length === 1 && item.classList.contains('of-hosts');
            item.classList.toggle('zero', value === 0);
            item.classList.toggle('alarm', value > 0 && ['entered', 'locked'].includes(item.dataset.go));
        }
    }

    // Shows what a number counts.
    function showNumber(what) {
        Object.assign(view, { q: '', in: 'all', verdict: what === 'keys' ? 'listed' : 'any', spread: 'any' });
        view.states = new Set({ old: ['old', 'aged'], uncovered: ['unchecked', 'nolist'] }[what] ||
            (STATE.has(what) ? [what] : []));
        showControls();
        searchAgain(true);
        const section = byId({ keys: 'keys', entered: 'entered' }[what] || 'picture');
        const title = byId(section.hidden ? 'picture-title' : `${section.id}-title`);
        title.tabIndex = -1;
        title.focus();
        title.scrollIntoView();
    }

    function listen() {
        let waiting = 0;
        byId('q').addEventListener('input', () => {
            clearTimeout(waiting);
            waiting = setTimeout(() => {
                view.q = byId('q').value;
                searchAgain();
            }, 120);
        });
        for (const id of Object.keys(CHOICES)) {
            byId(id).addEventListener('change', () => {
                view[id] = byId(id).value;
                searchAgain();
            });
        }
        byId('search').addEventListener('submit', (event) => event.preventDefault());
        byId('clear').addEventListener('click', () => {
            Object.assign(view, { q: '', in: 'all', verdict: 'any', spread: 'any', states: new Set() });
            showControls();
            searchAgain();
        });
        byId('skip').addEventListener('click', (event) => {
            event.preventDefault();
            byId('main').focus();
        });
        const grid = byId('grid');
        grid.addEventListener('keydown', onGridKey);
        grid.addEventListener('focus', () => describe(here));
        grid.addEventListener('mouseover', (event) => describe(hostOf(event.target) || here));
        grid.addEventListener('mouseleave', () => describe(here));
        grid.addEventListener('click', (event) => {
            const host = hostOf(event.target);
            if (host)
                chooseHost(host, true);
        });
        window.addEventListener('popstate', fromAddress);
        window.addEventListener('hashchange', fromAddress);
        window.addEventListener('beforeprint', () => {
            printing = true;
            showAll();
        });
        window.addEventListener('afterprint', () => {
            printing = false;
            showAll();
        });
    }

    function begin() {
        let raw = null;
        try {
            raw = object(JSON.parse(byId('data').textContent));
        } catch (error) {
            byId('reading').textContent = `The data of this page is damaged (${error.message}). Make the page again.`;
            return;
        }
        made = Date.parse(raw.made) / 1000;
        owners = list(raw.owners).map((one) => ({ person: string(list(one)[0]), team: string(list(one)[1]) }));
        hosts = list(raw.hosts).map(readHost);
        keys = list(raw.keys).map(readKey);
        [...hosts, NOWHERE].forEach(findStates);
        gone = list(raw.gone).map(readGone);
        changes = raw.changes === undefined ? null : list(raw.changes).map(readChange);
        showNumbers();
        if (hosts.length === 1) {
            byId('title').replaceChildren('SSH keys of ', data(hosts[0].name));
            byId('picture-title').textContent = 'The host';
            byId('many').hidden = true;
        }
        recall();
        showControls();
        search();
        byId('view').hidden = false;
        byId('reading').remove();
        showAll();
        listen();
        if (view.host && hosts.length > 1)
            bringUp(byId('host'));
    }

    begin();
}());
