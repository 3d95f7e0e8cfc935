/* SPDX-License-Identifier: ISC */
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/room.h"

/* Without it a check is not made. */
enum need { NOTHING, CONFIG, SSHD_ANSWER };

/* In the order of the output. */
static const struct {
	const char *name;
	void (*run)(struct doctor *d);
	enum need need;
} checks[] = {
	{ "config", doctor_config, NOTHING },
	{ "policy", doctor_policy, NOTHING },
	{ "exceptions", doctor_exceptions, CONFIG },
	{ "filter", doctor_filter, NOTHING },
	{ "filter-age", doctor_filter_age, NOTHING },
	{ "filter-rate", doctor_filter_rate, NOTHING },
	{ "list", doctor_list, NOTHING },
	{ "list-age", doctor_list_age, NOTHING },
	{ "update", doctor_update, CONFIG },
	{ "canaries", doctor_canaries, NOTHING },
	{ "sshd", doctor_sshd, NOTHING },
	{ "service", doctor_service, NOTHING },
	{ "guard", doctor_guard, SSHD_ANSWER },
	{ "guard-path", doctor_guard_path, SSHD_ANSWER },
	{ "guard-user", doctor_guard_user, SSHD_ANSWER },
	{ "match", doctor_match, SSHD_ANSWER },
	{ "user-ca", doctor_user_ca, SSHD_ANSWER },
	{ "hostbased", doctor_hostbased, SSHD_ANSWER },
	{ "tunnel", doctor_tunnel, SSHD_ANSWER },
	{ "pam", doctor_pam, NOTHING },
	{ "pam-control", doctor_pam_control, NOTHING },
	{ "pam-order", doctor_pam_order, NOTHING },
	{ "pam-module", doctor_pam_module, NOTHING },
	{ "syslog", doctor_syslog, NOTHING },
	{ "walls", doctor_walls, NOTHING },
};

void
doctor_add(struct doctor *d, enum doctor_status status, const char *remedy,
    const char *fmt, ...)
{
	struct doctor_finding f = { .check = d->check, .status = status };
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = vasprintf(&f.found, fmt, ap) != -1;
	va_end(ap);
	if (!ok)
		f.found = NULL;
	if (status != DOCTOR_OK && remedy != NULL)
		ok &= (f.remedy = strdup(remedy)) != NULL;
	if (ok && room_for_one(&d->finding, d->n, sizeof(f))) {
		d->finding[d->n++] = f;
		return;
	}
	d->out_of_memory = true;
	free(f.found);
	free(f.remedy);
}

void
doctor_add_refuses(struct doctor *d)
{
	if (d->n > 0)
		d->finding[d->n - 1].refuses = d->finding[d->n - 1].status ==
		    DOCTOR_BLIND;
}

void
doctor_add_unused(struct doctor *d, const char *found)
{
	const size_t n = d->n;

	doctor_add(d, DOCTOR_OK, NULL, "%s", found);
	if (d->n > n)
		d->finding[n].unused = true;
}

enum doctor_status
doctor_status(const struct doctor *d, const char *check)
{
	enum doctor_status worst = DOCTOR_OK;

	for (size_t i = 0; i < d->n; i++)
		if ((check == NULL ||
			strcmp(d->finding[i].check, check) == 0) &&
		    d->finding[i].status > worst)
			worst = d->finding[i].status;
	return worst;
}

const char *
doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = { "ok", "warning", "broken" };

	return names[doctor_status_number(status)];
}

int
doctor_status_number(enum doctor_status status)
{
	return status <= DOCTOR_WARNING ? (int)status :
	    status == DOCTOR_UNSEEN	? 1 :
					  2;
}

int
doctor_exit_status(const struct doctor *d)
{
	int worst = 0, one;

	for (size_t i = 0; i < d->n; i++) {
		one = d->finding[i].status == DOCTOR_UNSEEN ||
			d->finding[i].status == DOCTOR_BLIND ?
		    2 :
		    d->finding[i].status != DOCTOR_OK;
		worst = one > worst ? one : worst;
	}
	return worst;
}

static void
run_check(struct doctor *d, size_t i)
{
	d->check = checks[i].name;
	if (checks[i].need == SSHD_ANSWER && d->settings == NULL)
		doctor_add(d, DOCTOR_UNSEEN, NULL,
		    "not looked at, since sshd gave no answer");
	else if (checks[i].need == CONFIG && d->judging.judge.broken[0] != '\0')
		doctor_not_looked_at(d);
	else
		checks[i].run(d);
}

bool
doctor_run(struct doctor *d, const struct doctor_options *o)
{
	*d = (struct doctor){ .o = o, .now = time(NULL) };
	if (doctor_read_filters(d) && doctor_read_lists(d)) {
		doctor_read_sshd(d);
		doctor_read_pam(d);
		if (d->settings != NULL)
			doctor_read_ways(d);
		for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
			run_check(d, i);
	} else
		d->out_of_memory = true;
	return !d->out_of_memory;
}

void
doctor_free(struct doctor *d)
{
	char why[WALL_WHY_BYTES];

	for (size_t i = 0; i < d->n; i++) {
		free(d->finding[i].found);
		free(d->finding[i].remedy);
	}
	free(d->finding);
	free(d->facts);
	free(d->has_facts);
	free(d->list);
	(void)judging_close(&d->judging, why);
	free(d->dump);
	sshd_settings_free(d->settings);
	sshd_overview_free(&d->overview);
	for (size_t i = 0; i < d->n_groups; i++)
		free(d->group[i].account);
	free(d->group);
	for (size_t i = 0; i < d->n_guards; i++) {
		free(d->guard[i].command);
		free(d->guard[i].user);
	}
	free(d->guard);
	for (size_t i = 0; i < d->n_confs; i++)
		free(d->conf[i].path);
	free(d->conf);
	accounts_free(&d->accounts);
	pam_stack_free(&d->pam);
}
