/* SPDX-License-Identifier: ISC */
#include "tasks/filter.h"

#include <sys/stat.h>

#include "working/working.h"

/* Whether a filter with this header would be the whole file. */
static bool
is_whole(int fd, const struct kv_pkbf_header *h)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	    st.st_size == kv_pkbf_file_bytes(h->length);
}

struct head {
	int fd;
	struct filter_head *f;
};

static bool
receive_head(struct kv_bytes b, void *arg)
{
	const struct head *h = arg;

	return filter_head_get(b, h->f) &&
	    (h->f->whole != KV_OK || is_whole(h->fd, &h->f->header));
}

bool
tasks_filter_head(const char *shown, int fd, struct filter_head *f)
{
	struct head h = { .fd = fd, .f = f };
	const struct working_task t = {
		.name = "filter-head",
		.fd = { fd },
		.n_fds = 1,
		.result = receive_head,
		.arg = &h,
	};

	return working_do_or_say(&t, shown);
}

struct judged {
	int fd;
	const char *shown;
	uint64_t old_bits;
	struct filter_judged *j;
};

static bool
receive_judged(struct kv_bytes b, void *arg)
{
	const struct judged *x = arg;

	return filter_judged_get(b, x->shown, x->old_bits, x->j) &&
	    (!x->j->ok || is_whole(x->fd, &x->j->facts.header));
}

bool
tasks_judge_filter(const char *shown, int fd, double max_rate,
    const char *old_shown, const struct kv_pkbf *old, bool (*stopped)(void),
    struct filter_judged *j)
{
	const bool has_old = old->fd != -1;
	struct judged x = {
		.fd = fd,
		.shown = shown,
		.old_bits = has_old ? (uint64_t)1 << old->header.length : 0,
		.j = j,
	};
	/* The rate goes by its bits. */
	const struct working_task t = {
		.name = "judge-filter",
		.args = RECORD_FIELDS(R_STRING(shown), R_ANY(max_rate),
		    R_VALUE(has_old), R_STRING(old_shown)),
		.fd = { fd, has_old ? old->fd : fd },
		.n_fds = 2,
		.result = receive_judged,
		.arg = &x,
		.stopped = stopped,
	};

	*j = (struct filter_judged){ .ok = false };
	return working_do_or_say(&t, shown) && j->ok;
}

bool
tasks_filter_facts(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts)
{
	bool ok = false;
	uint64_t set = 0;
	const struct working_task t = {
		.name = "filter-facts",
		.args = RECORD_FIELDS(R_STRING(path)),
		.fd = { f->fd },
		.n_fds = 1,
		.answer = RECORD_FIELDS(R_FLAG(ok),
		    R_NUMBER(set, (uint64_t)1 << f->header.length)),
	};

	ok = working_do_or_say(&t, path) && ok;
	filter_facts_set(path, &f->header, set, facts);
	return ok;
}
