/* SPDX-License-Identifier: ISC */
/*
 * doctor: what the checks of keyveto doctor share. Each check looks at one
 * thing and says what it found, in a line or several; doctor/doctor.c has the
 * table of them, doctor/output.c prints.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include "command.h"
#include "filter/facts.h"
#include "host/accounts.h"
#include "sshd_config/sshd_config.h"
#include "ways/module.h"
#include "ways/pam_stack.h"
#include "ways/ways.h"

#define DOCTOR_CANARY_PATH KV_SYSCONFDIR "/keyveto/canaries"
#define DOCTOR_VALUE_BYTES 4096

/* In the order of what is worse; these are the exit statuses, too. */
enum doctor_status {
	DOCTOR_OK = 0,
	DOCTOR_WARNING = 1,
	DOCTOR_BROKEN = 2,
};

struct doctor_finding {
	const char *check; /* the table's */
	enum doctor_status status;
	char *found;
	char *remedy; /* NULL: nothing is to be done */
};

struct doctor_options {
	struct cli_judge_options judge;
	struct sshd sshd;
	const char *canary; /* NULL: DOCTOR_CANARY_PATH, if it exists */
	uint64_t max_age;   /* of a filter, in days; 0: any */
};

/* What sshd's settings for root come to. */
struct doctor_root {
	bool guard;	 /* AuthorizedKeysCommand is the guard */
	bool principals; /* the guard is in front of the principals */
	bool tunnel;
	bool pam_methods; /* PAM is asked after the keys, at each login */
};

/* What PAM runs of the module. */
struct doctor_module {
	bool known; /* the stack could be read */
	bool session, auth, account;
	bool judges;	/* as ways_find_module says */
	bool stays;	/* it does not end root's connection */
	char why[1024]; /* if it is not known */
};

struct doctor {
	const struct doctor_options *o;
	int64_t now;
	struct doctor_finding *finding;
	size_t n;
	bool out_of_memory;

	const char *config; /* the file that is looked at */
	struct kv_judge judge;
	struct filter_facts *facts; /* of each filter of the judge */
	bool *learnt;

	struct sshd_settings *settings; /* for root; NULL, with why */
	char sshd_why[1024];
	struct doctor_root root; /* zeroes if sshd does not answer */
	char service[256];	 /* that sshd gives to PAM */
	bool service_set;	 /* by PAMServiceName, not by sshd's own name */
	struct pam_stack pam;
	struct doctor_module module;
};

/* A finding. The remedy is one sentence that says what to do. */
void doctor_ok(struct doctor *d, const char *check, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_warning(struct doctor *d, const char *check, const char *remedy,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void doctor_broken(struct doctor *d, const char *check, const char *remedy,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void doctor_say(struct doctor *d, const char *check, enum doctor_status status,
    const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* The worst of all findings, or of those of one check. */
enum doctor_status doctor_status(const struct doctor *d, const char *check);
const char *doctor_status_name(enum doctor_status status);

/* doctor/output.c: false if standard output failed. */
bool doctor_print_text(const struct doctor *d);
bool doctor_print_json(const struct doctor *d);
bool doctor_print_prometheus(const struct doctor *d);

/* What several checks need: called once, before the checks. */
bool doctor_learn_filters(struct doctor *d);
void doctor_learn_sshd(struct doctor *d);
void doctor_learn_pam(struct doctor *d);

/* Root's ways in; none are open if sshd gave no answer. */
void doctor_read_root_ways(const struct doctor *d, struct ways *w);

/* False, after a warning that says so, if sshd gave no answer. */
bool doctor_has_sshd(struct doctor *d, const char *check);

/* A warning that says so: keyveto.conf could not be read. */
void doctor_not_looked_at(struct doctor *d, const char *check);

/* The checks, by file. */
void doctor_config(struct doctor *d, const char *check);
void doctor_policy(struct doctor *d, const char *check);
void doctor_exceptions(struct doctor *d, const char *check);

void doctor_filter(struct doctor *d, const char *check);
void doctor_filter_age(struct doctor *d, const char *check);
void doctor_filter_rate(struct doctor *d, const char *check);
void doctor_canaries(struct doctor *d, const char *check);

void doctor_sshd(struct doctor *d, const char *check);
void doctor_guard(struct doctor *d, const char *check);
void doctor_match(struct doctor *d, const char *check);
void doctor_user_ca(struct doctor *d, const char *check);
void doctor_hostbased(struct doctor *d, const char *check);
void doctor_tunnel(struct doctor *d, const char *check);

void doctor_guard_path(struct doctor *d, const char *check);
void doctor_guard_user(struct doctor *d, const char *check);

void doctor_pam(struct doctor *d, const char *check);
void doctor_pam_control(struct doctor *d, const char *check);
void doctor_pam_order(struct doctor *d, const char *check);
void doctor_pam_module(struct doctor *d, const char *check);

void doctor_service(struct doctor *d, const char *check);
void doctor_syslog(struct doctor *d, const char *check);

#endif
