/* SPDX-License-Identifier: ISC */
/* update/install: fetches a filter, verifies it, and installs it. */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "filter/filter.h"
#include "update/update.h"

/* A new filter with a smaller share of the old one's entries is refused. */
#define ENTRIES_SHARE_MIN 0.5
#define COMPARE_BYTES (256 * 1024)

/* --- what is known ------------------------------------------------------ */

/*
 * Whether the installed filter has a good signature of those that the settings
 * name now, or none is needed.
 */
static bool
is_vouched_for(const struct update *u)
{
	return u->source.signers == -1 ||
	    strcmp(u->notes.signers, u->source.signers_name) == 0;
}

/* Notes the server's name for the installed filter, whose stat is st. */
static void
note_installed(struct update *u, const struct fetch *f, const struct stat *st)
{
	const struct replace *place = &u->installed.place;
	struct update_notes *s = &u->notes;

	memcpy(s->source, u->source.name, sizeof(s->source));
	memcpy(s->etag, f->etag, sizeof(s->etag));
	memcpy(s->last_modified, f->last_modified, sizeof(s->last_modified));
	memcpy(s->signers, u->source.signers_name, sizeof(s->signers));
	update_notes_fit(s, st);
	update_notes_forget_part(s);
	update_notes_keep(place->dir, place->name, s);
}

/* --- receiving ---------------------------------------------------------- */

/*
 * Judges a header before the rest is received. False after a message, or
 * without one if u->unwanted is set.
 */
static bool
may_receive(const struct kv_pkbf_header *h, void *arg)
{
	struct update *u = arg;
	const struct update_installed *t = &u->installed;

	if (!u->options.force && h->revision <= u->notes.unwanted &&
	    h->revision > t->header.revision) {
		u->unwanted = true;
		return false;
	}
	if (u->options.force || !t->is_filter ||
	    h->revision >= t->header.revision)
		return true;
	progress_clear(&u->received.progress);
	cli_error("%s: is revision %" PRIu32
		  ", older than the revision %" PRIu32
		  " that is installed; somebody may want old keys to be "
		  "accepted again. If it is right, use --force",
	    u->source.from.shown, h->revision, t->header.revision);
	return false;
}

/*
 * Truncates the file to at bytes. If the part is a new one, notes which file it
 * is from. If that cannot be saved, the fetch must end: the bytes would be
 * stored under an older ETag, and the next run would append bytes of that other
 * file.
 */
static bool
begin_part(const struct fetch *f, off_t at, void *arg)
{
	struct update *u = arg;
	const struct update_installed *t = &u->installed;
	struct update_notes *s = &u->notes;

	u->keep_part = false;
	if (!update_received_begin(&u->received, at))
		return false;
	if (at == 0) {
		update_notes_forget_part(s);
		if (u->source.from.is_url && http_etag_is_strong(f->etag)) {
			memcpy(s->part_etag, f->etag, sizeof(s->part_etag));
			memcpy(s->part_source, u->source.name,
			    sizeof(s->part_source));
			update_notes_boot(s->part_boot);
		}
		/* If killed before this: a note without bytes, which is safe. */
		if (!u->options.dry_run &&
		    !update_notes_save(t->place.dir, t->place.name, s)) {
			progress_clear(&u->received.progress);
			cli_error("%s: cannot write .%s.keyveto-update beside "
				  "it: %s",
			    t->path, t->place.name, strerror(errno));
			return false;
		}
	}
	u->keep_part = s->part_etag[0] != '\0' && s->part_boot[0] != '\0' &&
	    !u->options.dry_run;
	return true;
}

static bool
add_data(const void *p, size_t len, void *arg)
{
	struct update *u = arg;

	if (update_received_add(&u->received, p, len))
		return true;
	/* The same bytes would be refused again. */
	u->keep_part = false;
	return false;
}

static enum fetch_end
receive_filter(struct update *u, struct fetch *f)
{
	const struct update_notes *s = &u->notes;
	char part_etag[HTTP_VALUE_BYTES], boot[UPDATE_BOOT_CHARS];
	enum fetch_end end;

	*f = (struct fetch){ .place = &u->source.from,
		.limits = &u->source.limits,
		.if_none_match = s->etag,
		.if_modified_since = s->etag[0] != '\0' ? "" : s->last_modified,
		.if_range = "",
		.begin = begin_part,
		.data = add_data,
		.arg = u,
		.progress = &u->received.progress };
	/* Resume the part of an earlier run, if that is possible. */
	update_notes_boot(boot);
	if (u->received.len > 0 && boot[0] != '\0' &&
	    strcmp(s->part_boot, boot) == 0 &&
	    strcmp(s->part_source, u->source.name) == 0 &&
	    http_etag_is_strong(s->part_etag)) {
		u->keep_part = !u->options.dry_run;
		/* begin_part may change the notes. */
		memcpy(part_etag, s->part_etag, sizeof(part_etag));
		f->if_range = part_etag;
		/* From the last byte: an empty range would be refused. */
		f->from = u->received.len - 1;
	}
	if ((end = fetch_run(f)) != FETCH_NO_RANGE)
		return end;
	f->if_range = "";
	f->from = 0;
	if ((end = fetch_run(f)) != FETCH_NO_RANGE)
		return end;
	cli_error("%s: the server sends a part of the file that was not asked "
		  "for; try again later",
	    u->source.from.shown);
	return FETCH_FAILED;
}

/* --- the signature ------------------------------------------------------ */

struct memory {
	const char *shown;
	size_t len;
	uint8_t bytes[SIGNATURE_MAX_BYTES];
};

static bool
add_signature_data(const void *p, size_t len, void *arg)
{
	struct memory *m = arg;

	if (len > sizeof(m->bytes) - m->len) {
		cli_error("%s: too long for a signature; correct SignatureURL",
		    m->shown);
		return false;
	}
	memcpy(m->bytes + m->len, p, len);
	m->len += len;
	return true;
}

static bool
check_signature(struct update *u)
{
	static struct memory m;
	struct fetch f = { .place = &u->source.signature,
		.limits = &u->source.limits,
		.if_none_match = "",
		.if_modified_since = "",
		.if_range = "",
		.data = add_signature_data,
		.arg = &m,
		.progress = &u->received.progress };

	if (u->source.signers == -1)
		return true;
	m.shown = u->source.signature.shown;
	if (fetch_run(&f) != FETCH_DONE) {
		cli_error("%s: has no signature that could be checked, and "
			  "AllowedSigners asks for one",
		    u->source.from.shown);
		return false;
	}
	/* If the signature is bad, the part must not be resumed. */
	u->keep_part = false;
	return signature_verify(u->received.fd, m.bytes, m.len,
	    u->source.signers, u->source.settings.identity,
	    u->source.signature.shown);
}

/* --- judging it --------------------------------------------------------- */

/* Whether installed and received are equal: 1, 0, -1 after a message. */
static int
compare_files(const struct update *u)
{
	static char a[COMPARE_BYTES], b[COMPARE_BYTES];
	off_t size = u->received.len;

	if (u->installed.st.st_size != size)
		return 0;
	for (off_t at = 0; at < size; at += COMPARE_BYTES) {
		size_t len = size - at < COMPARE_BYTES ?
		    (size_t)(size - at) :
		    COMPARE_BYTES;

		if (!cli_read_at(u->installed.path, u->installed.fd, a, len,
			at) ||
		    !cli_read_at(u->source.from.shown, u->received.fd, b,
			len, at))
			return -1;
		if (memcmp(a, b, len) != 0)
			return 0;
	}
	return 1;
}

/*
 * Compares the received filter with the installed one. UPDATE_REPLACED if it
 * may replace that one, UPDATE_FAILED after a message.
 */
static enum update_outcome
judge_by_installed(const struct update *u)
{
	const struct update_installed *t = &u->installed;
	const struct kv_pkbf f = { .fd = t->fd, .header = t->header };
	const char *shown = u->source.from.shown;
	struct filter_facts old;
	int same;

	if (!t->is_filter)
		return UPDATE_REPLACED;
	if (t->header.revision == u->fresh.header.revision) {
		if ((same = compare_files(u)) != 0)
			return same == 1 ? UPDATE_CURRENT : UPDATE_FAILED;
		if (!u->options.force) {
			cli_error("%s: is revision %" PRIu32
				  ", as the one that is installed, but differs "
				  "from it. Either keys were added to that one "
				  "here, which would be lost (keep them in a "
				  "filter of their own), or somebody changed "
				  "it without a new revision. If it is right, "
				  "use --force",
			    shown, t->header.revision);
			return UPDATE_FAILED;
		}
	}
	if (u->options.force)
		return UPDATE_REPLACED;
	if (!filter_facts_read(t->path, &f, &old))
		return UPDATE_FAILED;
	/*
	 * An almost empty filter protects nobody. The entries of a full filter
	 * cannot be estimated.
	 */
	if (old.set == old.bits ||
	    u->fresh.entries >= ENTRIES_SHARE_MIN * old.entries)
		return UPDATE_REPLACED;
	cli_error("%s: its bits look like %.0f entries, those of the installed "
		  "one like %.0f: most keys would be accepted again. If it is "
		  "right, use --force",
	    shown, u->fresh.entries, old.entries);
	return UPDATE_FAILED;
}

/* Verifies the complete file, and installs it. */
static enum update_outcome
verify_and_install(struct update *u, const struct fetch *f)
{
	const struct update_installed *t = &u->installed;
	const char *shown = u->source.from.shown;
	enum update_outcome outcome;
	int fd = u->received.fd;
	struct stat st;
	bool ok;

	if (!update_received_end(&u->received)) {
		/* The server's file is the wrong size: nothing to resume. */
		u->keep_part = false;
		return UPDATE_FAILED;
	}
	if (!check_signature(u)) {
		/* If a signature was good before, this one is only missing. */
		if (!is_vouched_for(u) && t->is_filter && compare_files(u) == 1)
			cli_error("%s: the installed filter is this same file: "
				  "no good signature of it is known either; "
				  "ask its publisher",
			    t->path);
		return UPDATE_FAILED;
	}
	u->keep_part = false;
	if (!update_installed_judge(shown, fd, u->source.settings.max_rate,
		&u->fresh))
		return UPDATE_FAILED;
	outcome = judge_by_installed(u);
	if (outcome == UPDATE_CURRENT && !u->options.dry_run)
		note_installed(u, f, &t->st);
	if (outcome != UPDATE_REPLACED)
		return outcome;
	if (u->source.limits.stopped()) {
		cli_error("%s: interrupted", shown);
		return UPDATE_FAILED;
	}
	if (u->options.dry_run)
		return UPDATE_REPLACED;
	if (fstat(fd, &st) == -1) {
		cli_error("%s: %s", t->path, strerror(errno));
		return UPDATE_FAILED;
	}
	/* From here on the handlers of host/replace end this on a signal. */
	u->received.fd = -1;
	ok = update_installed_replace(t, fd, u->received.name, &u->replaced);
	if (u->replaced)
		note_installed(u, f, &st);
	return ok ? UPDATE_REPLACED : UPDATE_FAILED;
}

enum update_outcome
update_install(struct update *u)
{
	struct update_notes *s = &u->notes;
	struct fetch f;

	/* The ETag is of another URL, or all must be fetched again. */
	if (u->options.force || strcmp(s->source, u->source.name) != 0 ||
	    !is_vouched_for(u))
		s->etag[0] = s->last_modified[0] = '\0';
	u->received.shown = u->source.from.shown;
	u->received.max_bytes = u->source.settings.max_bytes;
	u->received.judge = may_receive;
	u->received.arg = u;
	switch (receive_filter(u, &f)) {
	case FETCH_DONE:
		return verify_and_install(u, &f);
	case FETCH_NOT_MODIFIED:
		break;
	default:
		if (!u->unwanted)
			return UPDATE_FAILED;
	}
	u->keep_part = false;
	return UPDATE_CURRENT;
}
