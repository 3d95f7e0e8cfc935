/* SPDX-License-Identifier: ISC */
#include "handed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A configuration, and for each list a file with its sources. */
#define FILES_MAX (1 + KV_CONFIG_MAX_FILTERS + 2 * KV_CONFIG_MAX_BLOCKLISTS)

struct handed_file {
	char path[PATH_MAX];
	char why[KV_TRUSTED_WHY_BYTES];
	enum kv_err err;
	int fd; /* -1: it could not be opened */
};

struct handed_files {
	struct handed_file *v;
	size_t n, next;
};

/* Is a kv_open_fn. */
static enum kv_err
open_handed(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	struct handed_files *files = arg;
	struct handed_file *f;

	*fdp = -1;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "%.400s: was not handed over",
	    path);
	/* The sources of a list are not asked for if that is none. */
	while (files->next < files->n &&
	    strcmp(files->v[files->next].path, path) != 0)
		files->next++;
	if (files->next == files->n)
		return KV_ERR_SYSTEM;
	f = &files->v[files->next++];
	memcpy(why, f->why, sizeof(f->why));
	/* The front may have read it. */
	if (f->fd != -1)
		(void)lseek(f->fd, 0, SEEK_SET);
	*fdp = f->fd;
	f->fd = -1;
	return f->err;
}

static bool
add_opened_file(struct orders *o, struct kv_bytes b, struct handed_files *files)
{
	struct handed_file *f = &files->v[files->n];

	if (files->n == FILES_MAX ||
	    !record_get(&b, R_TEXT(f->path), R_NUMBER(f->err, UINT32_MAX),
		R_TEXT(f->why)))
		return false;
	f->fd = f->err == KV_OK ? orders_next_descriptor(o) : -1;
	files->n++;
	return (f->fd != -1) == (f->err == KV_OK);
}

static bool
add_path(struct kv_bytes b, const char **path, size_t *np, size_t max)
{
	return *np < max && (path[(*np)++] = record_copy_text(&b)) != NULL;
}

static bool
read_setup(struct kv_bytes b, struct setup *s)
{
	uint64_t version;

	if (!record_get(&b, R_ANY(version), R_ANY(s->flags), R_ANY(s->total)) ||
	    version != READING_VERSION ||
	    (s->config = record_copy_text(&b)) == NULL)
		return false;
	if (s->config[0] == '\0')
		s->config = NULL;
	return true;
}

bool
handed_setup(struct orders *o, struct setup *setup)
{
	struct kv_bytes b;
	uint8_t tag;

	*setup = (struct setup){ 0 };
	return orders_next(o, &tag, &b) && tag == READING_SETUP &&
	    read_setup(b, setup);
}

/* Takes one of the orders between READING_SETUP and READING_JUDGE. */
static bool
obey_order(struct orders *o, uint8_t tag, struct kv_bytes b, struct setup *s,
    struct handed_files *files)
{
	switch (tag) {
	case READING_FILTER:
		return add_path(b, s->filter, &s->paths.n_filters,
		    KV_CONFIG_MAX_FILTERS);
	case READING_BLOCKLIST:
		return add_path(b, s->blocklist, &s->paths.n_blocklists,
		    KV_CONFIG_MAX_BLOCKLISTS);
	case READING_OPENED:
		return add_opened_file(o, b, files);
	default:
		return false;
	}
}

bool
handed_judge(struct orders *o, struct setup *s, struct kv_judge *j)
{
	struct handed_files files = { 0 };
	struct kv_bytes b;
	uint8_t tag;
	bool ok, named;

	if ((files.v = calloc(FILES_MAX, sizeof(*files.v))) == NULL)
		return false;
	s->paths = (struct kv_paths){
		.filter = s->filter,
		.blocklist = s->blocklist,
	};
	while ((ok = orders_next(o, &tag, &b)) && tag != READING_JUDGE)
		if (!(ok = obey_order(o, tag, b, s, &files)))
			break;
	named = s->paths.n_filters + s->paths.n_blocklists > 0;
	if (ok)
		kv_judge_open_with(j, s->config, named ? &s->paths : NULL,
		    open_handed, &files);
	free(files.v);
	return ok;
}
