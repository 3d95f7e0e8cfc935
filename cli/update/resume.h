/* SPDX-License-Identifier: ISC */
/*
 * update/resume: a file that is fetched into a part, and goes on there in the
 * next run. The notes say of which file the part is.
 */
#ifndef CLI_UPDATE_RESUME_H
#define CLI_UPDATE_RESUME_H

#include "update/update.h"

/* Whether the next run can resume the part, by the notes. */
bool update_resume_is_possible(const struct update *u);

/*
 * How many bytes of part are the beginning of the file that the notes call
 * source, as far as can be known; 0: none.
 */
off_t update_resume_known(const struct update *u,
    const struct update_part *part, const char *source);

/*
 * For the begin function of a fetch: if the part is a new one, because at is 0,
 * notes which file it is from. False after a message: then the fetch must end,
 * because the bytes would be stored under an older ETag, and the next run would
 * append bytes of that other file.
 */
bool update_resume_note(struct update *u, const struct fetch *f, off_t at,
    const char *source);

/*
 * Runs a fetch into part, which goes on where an earlier run ended, if that is
 * possible. FETCH_DONE or not, as fetch_run.
 */
enum fetch_end update_resume_run(struct update *u, struct fetch *f,
    const struct update_part *part, const char *source);

#endif
