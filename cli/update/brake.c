/* SPDX-License-Identifier: ISC */
/*
 * update/brake: asks whether a new filter or list may take effect, and notes
 * the answer for keyveto doctor.
 */
#include "host/change.h"
#include "update/update.h"

/* Notes the keys in use that are listed newly, and what is held. */
static void
note_effect(struct update *u, const struct change_effect *e)
{
	struct update_notes *s = &u->notes;

	if (!e->consulted)
		return;
	u->told = e->keys > 0;
	if (!e->held || u->options->yes)
		s->in_use = (int64_t)e->keys;
	/* A rollback says nothing about a newer file that is kept away. */
	if (!u->options->rollback)
		s->held = !e->held || u->options->yes ? 0 :
		    e->accounts > 0		      ? (int64_t)e->accounts :
							1;
}

bool
update_brake_allows(struct update *u, int fd, const char *sources)
{
	const struct update_installed *t = &u->installed;
	const struct change c = {
		.kind = u->kind == &update_list_kind ? CHANGE_LIST :
						       CHANGE_FILTER,
		.path = t->path,
		.fd = fd,
		.sources = sources,
		.what = u->options->rollback ? "the previous one" :
					       "the new one",
		.via = "update",
		.config = u->options->judge.config,
		.hold = &u->source.settings.hold,
		.yes = u->options->yes,
		.dry_run = u->options->dry_run,
	};
	struct change_effect e;
	const bool may = change_may_take_effect(&c, &e);

	note_effect(u, &e);
	if (!may && e.held && !u->options->dry_run)
		update_keep_notes(u);
	return may;
}
