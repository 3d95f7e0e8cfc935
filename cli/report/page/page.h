/* SPDX-License-Identifier: ISC */
/*
 * report/page/page: the HTML page of keyveto report, without its data. `embed`
 * makes it of page.html, page.css and page.js when keyveto is built.
 */
#ifndef CLI_REPORT_PAGE_PAGE_H
#define CLI_REPORT_PAGE_PAGE_H

#include <stddef.h>

/*
 * The page is these pieces, in this order. After each piece comes what its slot
 * names. The slot of the last piece is NULL: nothing comes after it.
 *
 *   data      the fleet as JSON, in which every <, >, &, U+2028 and U+2029 is
 *             \uXXXX; see below
 *   made      when the report was made, as 2026-11-23 13:20 UTC
 *   version   of keyveto
 *
 * All other slots are decimal numbers. A browser shows them at once, and even
 * if it runs no JavaScript:
 *
 *   hosts           hosts, also those that did not answer
 *   entered, entered_hosts   accounts that listed keys get into now, and
 *                   their hosts
 *   unsure, unsure_hosts     the same, if their hosts are not guarded
 *   locked          accounts whose last key is listed
 *   listed_keys     keys that are listed
 *   listed_places   lines (or parts of files) with such a key
 *   listed_hosts    hosts with such a key
 *   silent          hosts that did not answer
 *   cut             hosts that answered, but whose audit was cut off
 *   old             hosts whose "old" is true: a list or the audit itself is
 *   unwell          hosts whose doctor says "problem"
 *   warned          hosts whose doctor says "warning"
 *   uncovered       keys that no list in use could know
 *
 * A slot may come more than once.
 *
 * The data is {"made": time, "version": text, "hosts": [...], "keys": [...],
 * "gone": [...], "changes": [...], "owners": [...]}. The page shows what it can of data of other types. Times are
 * seconds since 1970, or null, but for "made" (RFC 3339).
 *
 *   a host    {"name", "file", "answered", "reason", "complete", "whole", "time",
 *             "keyveto", "sshd", "os", "guarded": true, false or null,
 *             "user_ca": bool, "lists":
 *             [{"kind", "file", "revision", "time", "sha256"}], "old": bool, "stale":
 *             [[file of an old list, or null for the audit itself, how old]],
 *             which may be left out, "doctor": "ok", "warning", "problem" or
 *             null, "findings": [{"check", "status", "found", "remedy"}], "accounts", "keys", "listed",
 *             "unchecked", "uncovered": numbers, "locked": [accounts], "problems":
 *             [{"account", "file", "line", "reason"}], "more_problems": number}
 *   a key     {"fp", "type", "bits", "verdict": "listed", "allowed", "clean" or
 *             another, "sources": [texts], "lists": [texts], "reason", "places":
 *             [[host, account or null, file, line, comment, part, last login or
 *             null, from or null, owner]]}; the owner may be left out
 *   gone      a listed key that came in, and is in no file any more: [host,
 *             account or null, fp, type, last login, from]; may be left out
 *   change    what changed since older audits; "changes" is only there if older
 *             audits were given: ["newly-guarded", "no-longer-guarded", "new",
 *             "newly-used" or "gone", host or null, its name, account or null,
 *             fp or null, verdict or null, type, file, line, comment, last
 *             login, from, what more is known]. Without fp it is about the host.
 *
 *   owner     [person, team or null]; "owners" may be left out
 *
 * A host in a place is its number in "hosts", from 0 on, and an owner in
 * "owners".
 */
struct page_piece {
	const unsigned char *bytes;
	size_t len;
	const char *slot;
};

extern const struct page_piece page_pieces[];

#endif
