/* SPDX-License-Identifier: ISC */
/*
 * doctor: what the checks of keyveto status share. Each check adds one finding
 * or several. doctor/doctor.c has the table of checks, doctor/output.c prints
 * the findings.
 */
#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include <limits.h>

#include "command.h"
#include "config/findings.h"
#include "host/accounts.h"
#include "sets/filter_facts.h"
#include "reading/judging.h"
#include "sets/list_facts.h"
#include "base/json_text.h"
#include "sshd_config/overview.h"
#include "sshd_config/sshd_config.h"
#include "upkeep/notes.h"
#include "ways/pam_stack.h"
#include "ways/ways.h"

#define DOCTOR_CANARY_PATH KV_SYSCONFDIR "/keyveto/canaries"
#define DOCTOR_DAY_SECONDS 86400
#define DOCTOR_MAX_AGE_DEFAULT 30
/* badkeys publishes a list every one to three months. */
#define DOCTOR_LIST_MAX_AGE_DEFAULT 120

/* From good to bad. exit_status in doctor.c says what each makes. */
enum doctor_status {
	DOCTOR_OK,
	DOCTOR_WARNING,
	DOCTOR_UNSEEN, /* a warning: it could not be found out */
	DOCTOR_BROKEN, /* a listed key may get in */
	DOCTOR_BLIND,  /* broken: logins get no verdict, or nothing is known */
	DOCTOR_STATES,
};

struct doctor_finding {
	const char *check; /* its name in the table of checks */
	enum doctor_status status;
	bool unused; /* it says that something is not in use: for JSON alone */
	bool
	    refuses; /* because of it, every login that it is about is refused */
	char *found;
	char *remedy; /* what to do; NULL: nothing */
};

struct doctor_options {
	struct cli_judge_options judge;
	struct sshd sshd;
	const char *canary;    /* NULL: DOCTOR_CANARY_PATH, if it exists */
	uint64_t max_age;      /* of a filter, in days; 0: any */
	uint64_t list_max_age; /* the same of an exact list */
	bool all;	       /* text shows what is well, too */
};

/* Accounts that have the same ways in, guarded by the same. */
struct doctor_group {
	struct ways ways;
	char **account; /* names that belong to doctor.accounts */
	size_t n;
};

/* A guard that sshd runs for some account. */
struct doctor_guard {
	char *command, *user;
	const char *args; /* of the command, behind its program */
	bool keys;	  /* AuthorizedKeysCommand; else ...PrincipalsCommand */
};

/* Another keyveto.conf than the one that is checked, and its users. */
struct doctor_conf {
	char *path;
	struct config_readers readers;
};

/* The module in sshd's PAM service. */
struct doctor_module {
	bool known; /* the stack could be read; else why says why not */
	/* Its first line of each type in doctor.pam; NULL: none. */
	const struct pam_line *session, *auth, *account;
	bool judges; /* as ways_find_module says */
	bool stays;  /* disconnect=never: root's connection goes on */
	char why[1024];
};

/* An exact list of the judge. */
struct doctor_list {
	bool has_facts; /* facts are known; else why says why not */
	struct list_facts facts;
	char why[KV_TRUSTED_WHY_BYTES];
};

struct doctor {
	const struct doctor_options *o;
	int64_t now;	   /* seconds since 1970 */
	const char *check; /* the check that runs */
	struct doctor_finding *finding;
	size_t n;
	bool out_of_memory;

	const char *config;	  /* the keyveto.conf that is checked */
	bool is_read;		  /* by a guard, or by the module */
	struct doctor_conf *conf; /* what these read instead */
	size_t n_confs;
	struct judging judging;
	char unread[WALL_WHY_BYTES]; /* why it could read no file; or "" */
	struct filter_facts *facts;  /* of each filter of the judge */
	bool *has_facts;	     /* facts[i] could be read */
	struct doctor_list *list;    /* the same of each list */

	char *dump; /* what "sshd -T" prints for root; NULL: see sshd_why */
	struct sshd_settings *settings; /* the same, parsed */
	char sshd_why[1024];
	/* The next ones are empty if sshd gave no answer. */
	struct sshd_overview overview;
	struct accounts accounts;
	struct doctor_group *group;
	size_t n_groups, unasked; /* accounts of which sshd told nothing */
	size_t elsewhere;	  /* sshd that listen, and read other files */
	struct doctor_guard *guard;
	size_t n_guards;
	bool pam_everywhere; /* the module judges, whatever Match blocks say */
	bool pam_methods;    /* AuthenticationMethods asks PAM after the key */
	struct ways ways;    /* root's */
	char service[256];   /* sshd's PAM service */
	bool service_set;    /* sshd shows it: its own name does not count */
	struct pam_stack pam;
	struct doctor_module module;
};

/*
 * Makes all checks. o must live as long as d. Call doctor_free afterwards. False
 * without memory.
 */
bool doctor_run(struct doctor *d, const struct doctor_options *o);
void doctor_free(struct doctor *d);

/*
 * Adds a finding of the check that runs. remedy is one sentence that says what
 * to do, or NULL; it is ignored with DOCTOR_OK. Without memory sets
 * d->out_of_memory.
 */
void doctor_add(struct doctor *d, enum doctor_status status, const char *remedy,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* If the finding that was added last is broken, each such login is refused. */
void doctor_add_refuses(struct doctor *d);

/* Adds a finding that all is well, since what the check is about is not used. */
void doctor_add_unused(struct doctor *d, const char *found);

/*
 * The worst status of one check's findings, or with check NULL, of all. DOCTOR_OK
 * if there are none.
 */
enum doctor_status doctor_status(const struct doctor *d, const char *check);
/* What JSON and metrics have of it: "ok", "warning" or "broken"; 0, 1 or 2. */
const char *doctor_status_name(enum doctor_status status);
int doctor_status_number(enum doctor_status status);

/*
 * Whether listed keys are kept out on every way in, also by what keyveto.conf
 * says; JSON's null if that is not known.
 */
json_t *doctor_guarded_to_json(const struct doctor *d);

/*
 * The object that keyveto status --json prints; the caller's. NULL without
 * memory.
 */
json_t *doctor_to_json(const struct doctor *d);

/* doctor/text.c, doctor/output.c. False, after a message, if standard output failed. */
bool doctor_print_text(const struct doctor *d);
bool doctor_print_json(const struct doctor *d);
bool doctor_print_prometheus(const struct doctor *d);

/*
 * Fill in d with what several checks need. Call each once, in this order,
 * before the checks. The first two are false without memory. The last is for
 * an sshd that gave an answer.
 */
bool doctor_read_filters(struct doctor *d);
bool doctor_read_lists(struct doctor *d);
void doctor_read_sshd(struct doctor *d);
void doctor_read_pam(struct doctor *d);
void doctor_read_ways(struct doctor *d);

/* The first guard of that kind; NULL: there is none. */
const struct doctor_guard *doctor_find_guard(const struct doctor *d, bool keys);

/* Copies the path of the guard's program. */
void doctor_guard_program(const struct doctor_guard *g,
    char path[static PATH_MAX]);

/* Whether the way in is open, and judged by nothing, for some account. */
bool doctor_is_open(const struct doctor *d, enum way way);

/*
 * Sets *pathp to the next filter or list of keyveto.conf, from number *next on,
 * of which keyveto update noted something, and loads that. *next is 0 first.
 * False after the last.
 */
bool doctor_next_notes(const struct doctor *d, size_t *next, const char **pathp,
    struct update_notes *notes);

/* What to do about a filter or list that a login cannot open. */
const char *doctor_remedy_unopened(const char *path);
#define DOCTOR_DAMAGED \
	"what was installed there is damaged: keyveto update fetches it " \
	"again, if it came from there; else make it again"

/* Adds a warning: the check needs keyveto.conf, which cannot be read. */
void doctor_not_looked_at(struct doctor *d);

/* The checks, by file. */
void doctor_config(struct doctor *d);
void doctor_policy(struct doctor *d);
void doctor_exceptions(struct doctor *d);

void doctor_filter(struct doctor *d);
void doctor_filter_age(struct doctor *d);
void doctor_filter_rate(struct doctor *d);
void doctor_canaries(struct doctor *d);

void doctor_list(struct doctor *d);
void doctor_list_age(struct doctor *d);

void doctor_update(struct doctor *d);

void doctor_sshd(struct doctor *d);
void doctor_guard(struct doctor *d);
void doctor_match(struct doctor *d);
void doctor_user_ca(struct doctor *d);
/* Of user-ca, too: CAs behind TrustedUserCAKeys that need no secret. */
void doctor_ca_keys(struct doctor *d);
void doctor_hostbased(struct doctor *d);
void doctor_tunnel(struct doctor *d);

void doctor_guard_path(struct doctor *d);
void doctor_guard_user(struct doctor *d);

void doctor_pam(struct doctor *d);
void doctor_pam_control(struct doctor *d);
void doctor_pam_order(struct doctor *d);
void doctor_pam_module(struct doctor *d);

void doctor_service(struct doctor *d);
void doctor_syslog(struct doctor *d);
void doctor_walls(struct doctor *d);

#endif
