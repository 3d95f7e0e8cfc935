/* SPDX-License-Identifier: ISC */
/* Has a worker do tasks of worker/task_folder.c, and checks what it says. */
#include "update/folder.h"

#include <limits.h>

#include "command.h"
#include "published/index_records.h"
#include "working/working.h"

#define WHY_BYTES 256
#define SILENCE "the worker did not say all"

static bool
report_worker(const char *shown, const char *why)
{
	cli_error("%s: cannot be read: %s", shown, why);
	return false;
}

/* Does a task. False after a message, or without if it was stopped. */
static bool
run_task(struct working_task *t, const char *shown)
{
	char why[WALL_WHY_BYTES];

	if (working_do(t, why))
		return true;
	return t->stopped != NULL && t->stopped() ?
	    false :
	    report_worker(shown, why);
}

static bool
report_silence(const char *shown)
{
	return report_worker(shown, SILENCE);
}

/* --- the index ---------------------------------------------------------- */

struct split {
	bool done;
	uint64_t len;
};

static bool
receive_split(struct kv_bytes b, void *arg)
{
	struct split *s = arg;

	s->done = !s->done && record_get_number(&b, &s->len) == KV_OK &&
	    s->len <= INDEX_MAX_BYTES && b.left == 0;
	return s->done;
}

bool
update_folder_split(const char *shown, int fd, size_t *lenp)
{
	struct split s = { .done = false };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_split,
		.arg = &s,
	};

	*lenp = 0;
	working_task_begin(&t, "split");
	if (!run_task(&t, shown))
		return false;
	*lenp = (size_t)s.len;
	return s.done || report_silence(shown);
}

/* The parts of an index: the mistake or "", and the SHA-256; head; files. */
enum parsed_part { PARSED_WHY, PARSED_HEAD, PARSED_FILES };

struct parsed {
	enum parsed_part next;
	struct index *x;
	size_t n; /* of its files */
	char *sha256;
	char why[INDEX_WHY_BYTES];
};

static bool
receive_index(struct kv_bytes b, void *arg)
{
	struct parsed *p = arg;

	switch (p->next) {
	case PARSED_WHY:
		p->next = PARSED_HEAD;
		return record_get_text(&b, p->why, sizeof(p->why)) &&
		    record_get_text(&b, p->sha256, INDEX_SHA256_BYTES) &&
		    index_is_sha256(p->sha256) && b.left == 0;
	case PARSED_HEAD:
		p->next = PARSED_FILES;
		return p->why[0] == '\0' && index_get_head(b, p->x, &p->n);
	default:
		return index_get_file(b, p->x, p->n);
	}
}

bool
update_folder_index(const char *shown, int fd, struct index *x,
    char sha256[static INDEX_SHA256_BYTES])
{
	struct parsed p = { .next = PARSED_WHY, .x = x, .sha256 = sha256 };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_index,
		.arg = &p,
	};

	*x = (struct index){ .serial = 0 };
	sha256[0] = '\0';
	working_task_begin(&t, "index");
	if (!run_task(&t, shown))
		return false;
	if (p.why[0] != '\0') {
		cli_error("%s: %s; ask its publisher", shown, p.why);
		return false;
	}
	return (p.next == PARSED_FILES && x->n == p.n) || report_silence(shown);
}

/* --- a packed file ------------------------------------------------------ */

struct unpacked {
	bool done;
	uint64_t error; /* errno */
	char why[WHY_BYTES];
};

static bool
receive_unpacked(struct kv_bytes b, void *arg)
{
	struct unpacked *u = arg;

	u->done = !u->done && record_get_number(&b, &u->error) == KV_OK &&
	    u->error <= INT_MAX &&
	    record_get_text(&b, u->why, sizeof(u->why)) && b.left == 0;
	return u->done;
}

int
update_folder_unpack(const char *shown, int packed, int out, uint64_t size,
    bool (*stopped)(void))
{
	struct unpacked u = { .done = false };
	struct working_task t = {
		.fd = { packed, out },
		.n_fds = 2,
		.result = receive_unpacked,
		.arg = &u,
		.stopped = stopped,
	};

	working_task_begin(&t, "unpack");
	record_add_number(&t.args, size);
	if (!run_task(&t, shown))
		return -1;
	if (u.done && u.why[0] == '\0')
		return (int)u.error;
	if (u.done)
		cli_error("%s: %s", shown, u.why);
	else
		(void)report_silence(shown);
	return -1;
}

/* --- a delta ------------------------------------------------------------ */

struct patched {
	bool done;
	uint64_t fits;
};

static bool
receive_patched(struct kv_bytes b, void *arg)
{
	struct patched *p = arg;

	p->done = !p->done && record_get_number(&b, &p->fits) == KV_OK &&
	    p->fits <= 1 && b.left == 0;
	return p->done;
}

bool
update_folder_patch(const struct folder_patch *p)
{
	struct patched r = { .done = false };
	struct working_task t = {
		.fd = { p->old, p->patch, p->out },
		.n_fds = 3,
		.result = receive_patched,
		.arg = &r,
		.stopped = p->stopped,
	};
	char why[WALL_WHY_BYTES];

	working_task_begin(&t, "patch");
	record_add_text(&t.args, p->shown);
	record_add_text(&t.args, p->path);
	record_add_text(&t.args, p->delta->from);
	record_add_text(&t.args, p->delta->to);
	record_add_number(&t.args, p->type);
	record_add_number(&t.args, p->min);
	record_add_number(&t.args, p->max);
	if (working_do(&t, why) && r.done)
		return r.fits != 0;
	if (!p->stopped())
		cli_error("warning: %s: a delta is not used: %s", p->shown,
		    why[0] != '\0' ? why : SILENCE);
	return false;
}
