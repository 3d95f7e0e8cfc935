/* SPDX-License-Identifier: ISC */
#include "update/resume.h"

#include <string.h>

bool
update_resume_is_possible(const struct update *u)
{
	return u->notes.part_etag[0] != '\0' && u->notes.part_boot[0] != '\0' &&
	    !u->options->dry_run;
}

off_t
update_resume_known(const struct update *u, const struct update_part *part,
    const char *source)
{
	const struct update_notes *s = &u->notes;
	char boot[UPDATE_BOOT_CHARS];

	update_notes_boot(boot);
	return boot[0] != '\0' && strcmp(s->part_boot, boot) == 0 &&
		strcmp(s->part_source, source) == 0 &&
		http_etag_is_strong(s->part_etag) ?
	    part->len :
	    0;
}

bool
update_resume_note(struct update *u, const struct fetch *f, off_t at,
    const char *source)
{
	struct update_notes *s = &u->notes;

	if (at != 0)
		return true;
	update_notes_forget_part(s);
	if (f->place->is_url && http_etag_is_strong(f->etag)) {
		memcpy(s->part_etag, f->etag, sizeof(s->part_etag));
		memcpy(s->part_source, source, sizeof(s->part_source));
		update_notes_boot(s->part_boot);
	}
	/* If killed before this: a note without bytes, which is safe. */
	return update_save_notes(u);
}

enum fetch_end
update_resume_run(struct update *u, struct fetch *f,
    const struct update_part *part, const char *source)
{
	char etag[HTTP_VALUE_BYTES];
	const off_t known = update_resume_known(u, part, source);
	enum fetch_end end;

	f->if_range = NULL;
	f->from = 0;
	if (known > 0) {
		/* update_resume_note may change the notes. */
		memcpy(etag, u->notes.part_etag, sizeof(etag));
		f->if_range = etag;
		/* From the last byte: an empty range would be refused. */
		f->from = known - 1;
	}
	if ((end = fetch_run(f)) != FETCH_NO_RANGE)
		goto out;
	f->from = 0;
	f->if_range = NULL;
	if ((end = fetch_run(f)) != FETCH_NO_RANGE)
		goto out;
	cli_error("%s: the server sends a part of the file that was not asked "
		  "for; try again later",
	    f->place->shown);
	end = FETCH_FAILED;
out:
	/* It was this function's. */
	f->if_range = NULL;
	return end;
}
