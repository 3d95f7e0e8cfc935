/* SPDX-License-Identifier: ISC */
/* The exact lists: whether they can be read, are in order, and are fresh. */
#include "doctor/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "tasks/list.h"

/* The file of the list's sources, as a login reads it; -1: it reads none. */
static int
find_sources(const struct doctor *d, const struct kv_list *l)
{
	char *path = NULL;
	int fd = -1;

	if (asprintf(&path, "%s" KV_SOURCES_SUFFIX, l->path) != -1)
		fd = judging_find_file(&d->judging.judge, path);
	free(path);
	return fd;
}

bool
doctor_read_lists(struct doctor *d)
{
	d->list = calloc(d->judging.judge.n_lists + 1, sizeof(*d->list));
	if (d->list == NULL)
		return false;
	for (size_t i = 0; i < d->judging.judge.n_lists; i++) {
		const struct kv_list *l = &d->judging.judge.list[i];
		struct doctor_list *known = &d->list[i];

		if (l->blocklist.fd == -1)
			snprintf(known->why, sizeof(known->why), "%s", l->why);
		else if (d->unread[0] == '\0')
			known->has_facts = tasks_list_facts(l->path,
			    l->blocklist.fd, find_sources(d, l), &known->facts,
			    known->why);
	}
	return true;
}

const char *
doctor_remedy_unopened(const char *path)
{
	if (access(path, F_OK) == -1 && errno == ENOENT)
		return "what was installed there is gone: keyveto update "
		       "fetches it, if it came from there; until then OnError "
		       "decides";
	return "make what was installed there root's, and writable by nobody "
	       "else; until then OnError decides";
}

/* Warns of names that are there and that no login uses. */
static void
check_names(struct doctor *d, const struct kv_list *l)
{
	char path[PATH_MAX], why[KV_TRUSTED_WHY_BYTES] = "";
	int fd = -1, n;

	n = snprintf(path, sizeof(path), "%s" KV_SOURCES_SUFFIX, l->path);
	if (find_sources(d, l) != -1 || n < 0 || (size_t)n >= sizeof(path) ||
	    access(path, F_OK) == -1)
		return;
	if (cli_open_as_login(path, &fd, why, NULL) == KV_OK)
		close(fd);
	else
		doctor_add(d, DOCTOR_WARNING,
		    "make it root's, and writable by nobody else; until then "
		    "logs call sources by their numbers",
		    "%s", why);
}

void
doctor_list(struct doctor *d)
{
	const struct kv_judge *judge = &d->judging.judge;

	if (d->unread[0] != '\0' && judge->n_lists > 0) {
		doctor_add(d, DOCTOR_UNSEEN, NULL, "not looked at: %s",
		    d->unread);
		return;
	}
	for (size_t i = 0; i < judge->n_lists; i++) {
		const struct kv_list *l = &judge->list[i];
		const struct list_facts *f = &d->list[i].facts;

		if (l->blocklist.fd == -1)
			doctor_add(d, DOCTOR_BLIND,
			    doctor_remedy_unopened(l->path), "%s", l->why);
		else if (!d->list[i].has_facts)
			doctor_add(d, DOCTOR_BLIND, DOCTOR_DAMAGED, "%s: %s",
			    l->path, d->list[i].why);
		else
			doctor_add(d, DOCTOR_OK, NULL,
			    "%s: %" PRIu64 " %s in order, and look-ups find "
			    "them",
			    l->path, f->records,
			    cli_plural(f->records, "record", "records"));
		check_names(d, l);
	}
	if (d->judging.judge.broken[0] != '\0')
		doctor_not_looked_at(d);
	else if (d->judging.judge.n_lists == 0)
		doctor_add_unused(d, "there is no exact list");
}

/* Adds a finding about the date of a list that was read whole. */
static void
check_age(struct doctor *d, const struct list_facts *f)
{
	const int64_t age = d->now - f->time;
	const uint64_t days = d->o->list_max_age;

	if (!f->dated)
		doctor_add(d, DOCTOR_OK, NULL,
		    "%s: its age is not known: %s" KV_SOURCES_SUFFIX
		    " has no line with a date",
		    f->path, f->path);
	else if (age < -DOCTOR_DAY_SECONDS)
		doctor_add(d, DOCTOR_WARNING,
		    "compare the clocks of this machine and of the one that "
		    "made it",
		    "%s: was made in the future: %s", f->path, f->date);
	else if (days > 0 && age > 0 &&
	    (uint64_t)age > days * DOCTOR_DAY_SECONDS)
		doctor_add(d, DOCTOR_WARNING,
		    "install a newer one (keyveto update); keys that were "
		    "leaked since are let in",
		    "%s: was made %s, is %" PRId64 " days old", f->path,
		    f->date, age / DOCTOR_DAY_SECONDS);
	else
		doctor_add(d, DOCTOR_OK, NULL, "%s: was made %s", f->path,
		    f->date);
}

void
doctor_list_age(struct doctor *d)
{
	size_t looked_at = 0;

	for (size_t i = 0; i < d->judging.judge.n_lists; i++) {
		if (!d->list[i].has_facts)
			continue;
		check_age(d, &d->list[i].facts);
		looked_at++;
	}
	if (d->judging.judge.broken[0] != '\0')
		doctor_not_looked_at(d);
	else if (d->judging.judge.n_lists == 0)
		doctor_add_unused(d, "there is no exact list");
	else if (looked_at == 0)
		doctor_add(d, DOCTOR_WARNING, NULL,
		    "not looked at, since no list can be read");
}
