/* SPDX-License-Identifier: ISC */
#include "sshd/result.h"

#include <string.h>

#include "base/json_text.h"

/*
 * Adds f to list if it was changed or, with planned, if it would be. False
 * without memory.
 */
static bool
add_file(json_t *list, const struct sshd_file *f, bool planned)
{
	const bool written = f->found != NULL;
	const char *before = written ? f->found : f->now, *after = f->now;
	size_t before_len = written ? f->found_len : f->now_len;
	size_t after_len = f->now_len;
	bool there = f->there;

	if (planned) {
		after = f->next != NULL ? f->next : f->base;
		after_len = f->next != NULL ? f->next_len : f->base_len;
		there = after_len > 0 || (f->was_there && !f->made);
	}
	if (there == f->was_there && after_len == before_len &&
	    memcmp(after, before, after_len) == 0)
		return true;
	return json_array_append_new(list,
		   json_pack("{s:o, s:o, s:o}", "path", json_text(f->path),
		       "before",
		       f->was_there ? json_bytes(before, before_len) :
				      json_null(),
		       "after",
		       there ? json_bytes(after, after_len) : json_null())) ==
	    0;
}

static json_t *
files_to_json(const struct sshd_files *fs, bool planned)
{
	json_t *list = json_array();

	for (size_t i = 0; i < fs->n; i++)
		if (!add_file(list, fs->v[i], planned)) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* Who would be refused, as the rehearsal found; null if there was none. */
static json_t *
refused_to_json(const struct audit_refused *h, bool stops)
{
	json_t *accounts, *unjudged;
	bool ok = true;

	if (h == NULL)
		return json_null();
	accounts = json_array();
	unjudged = json_array();
	for (size_t i = 0; ok && i < h->n; i++) {
		const struct audit_refused_account *a = &h->v[i];

		ok = json_array_append_new(accounts,
			 json_pack("{s:o, s:b}", "account",
			     json_text(a->account->name), "locked_out",
			     a->locked_out)) == 0;
	}
	for (size_t i = 0; ok && i < h->n_unjudged; i++)
		ok = json_array_append_new(unjudged,
			 json_text(h->unjudged[i]->name)) == 0;
	if (!ok) {
		json_decref(accounts);
		json_decref(unjudged);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:b, s:I, s:b}", "accounts", accounts,
	    "unjudged", unjudged, "unjudged_settings", h->unjudged_settings,
	    "listed_cas", (json_int_t)h->listed_cas, "stops", stops);
}

bool
sshd_result_print(const struct sshd_result *r, const struct sshd_files *files,
    int status)
{
	json_t *list = files_to_json(files, r->planned && r->dry_run);
	const bool changed = json_array_size(list) > 0;

	return json_print(json_pack("{s:s, s:i, s:b, s:b, s:b, s:b, s:b, s:o, "
				    "s:o}",
	    "sshd", r->what, "status", status, "dry_run", r->dry_run, "changed",
	    changed, "guard", r->guard, "pam", r->pam, "reloaded", r->reloaded,
	    "files", list, "refused", refused_to_json(r->refused, r->stops)));
}
