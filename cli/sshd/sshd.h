/* SPDX-License-Identifier: ISC */
/* sshd: what the subcommands of keyveto sshd share. */
#ifndef CLI_SSHD_SSHD_H
#define CLI_SSHD_SSHD_H

#include "audit/policy.h"
#include "command.h"
#include "sshd/files.h"
#include "sshd/state.h"
#include "sshd_config/copy.h"
#include "sshd_config/sshd_config.h"
#include "ways/module.h"
#include "ways/pam_stack.h"

/* The Makefile may say otherwise. */
#ifndef KV_LIBEXECDIR
#define KV_LIBEXECDIR "/usr/libexec"
#endif

#define SSHD_GUARD_PATH KV_LIBEXECDIR "/keyveto-authorized-keys"
#define SSHD_MODULE WAYS_MODULE
#define SSHD_MODULE_PATH WAYS_MODULE_DIR "/" SSHD_MODULE
#define SSHD_DROP_IN SSHD_TREE_DROP_INS "/00-keyveto.conf"
#define SSHD_WHY_BYTES 2048
/* Exit status: somebody would be refused, or may be. */
#define SSHD_NOT_DONE 1

/* Their names hold both words ("sshd status"), for usage and --help. */
extern const struct cli_command sshd_status, sshd_enable, sshd_disable;

struct sshd_options {
	char root[4096]; /* "" for this machine */
	const char *sshd;
	uint64_t timeout;
	bool guard, pam, warn, yes, dry_run, reload, json;
};

/*
 * Reads the options of cmd that are in its synopsis. 0 to go on; else the
 * process is to exit with *statusp.
 */
int sshd_read_options(const struct cli_command *cmd, int argc, char **argv,
    struct sshd_options *o, int *statusp);

/* A copy of the configuration with changes; false after a message. */
bool sshd_open_copy(const struct sshd_options *o, struct sshd_copy *c,
    const struct sshd_change *change, size_t n);
/* The same without keyveto's lines, or as it is to be. */
bool sshd_open_changed(const struct sshd_options *o,
    const struct sshd_files *fs, bool next, struct sshd_copy *c);
/* What sshd says of a copy; NULL after a message. */
char *sshd_ask_copy(const struct sshd_options *o, struct sshd_copy *c,
    const char *user);

/* The name of sshd's PAM service. */
void sshd_pam_service(const char *dump, char name[static SSHD_VALUE_BYTES]);

/* The accounts of the machine; false after a message. */
bool sshd_find_accounts(const struct sshd_options *o, struct accounts *a);

/* sshd/present.c */

/* Everything that is there before enable or disable does something. */
struct sshd_present {
	struct sshd_state state;
	struct sshd_files files; /* sshd's, keyveto.conf, the state's */
	struct sshd_copy now;
	struct sshd_copy base; /* without keyveto's lines */
	char *dump;	       /* what sshd says of base; NULL: nothing */
};

/*
 * Reads the options of cmd, and calls change with what is there, while no other
 * keyveto changes it. The exit status of the process.
 */
int sshd_run_change(const struct cli_command *cmd, int argc, char **argv,
    int (*change)(const struct sshd_options *o, struct sshd_present *p));

/*
 * Asks sshd about base, and adds the file of its PAM service, which dump names.
 * False after a message, but for sshd's silence: that is in why.
 */
bool sshd_present_ask(const struct sshd_options *o, struct sshd_present *p,
    char *why, size_t cap);

/*
 * Whether sshd without keyveto's lines takes keys from a file or a command, if
 * it does with them. False after a message: a line that belongs to the guard
 * stands outside the marks. True where sshd does not tell.
 */
bool sshd_present_keeps_keys(const struct sshd_options *o,
    struct sshd_present *p);

/* Whether keyveto's lines are in a file of sshd's, or else in one of PAM's. */
bool sshd_present_has(const struct sshd_present *p, bool sshds);

/*
 * Whether the copy says what the files themselves say to sshd: else keyveto
 * reads Include lines in another way. True where that cannot be asked.
 */
bool sshd_copy_is_faithful(const struct sshd_options *o, struct sshd_copy *c);

/* sshd/started.c: sshd's arguments, which count before its files do. */

/*
 * Whether each sshd of this machine goes by what enable is to write, which p
 * has, or is not touched by it. False after messages. What cannot be seen is
 * noted. True below another root.
 */
bool sshd_started_allows(const struct sshd_options *o, struct sshd_present *p);

/*
 * Whether each sshd of this machine goes by what sshd says of its files, dump.
 * False after messages; true below another root.
 */
bool sshd_started_goes_by(const struct sshd_options *o, const char *dump);

/* sshd/reload.c */

/* Makes the running sshd read its files; false after a message. */
bool sshd_reload(const char *dump);

/* sshd/rehearse.c */

/* What enabling keyveto would do to those who log in. */
struct sshd_rehearsal {
	size_t refused;	   /* accounts with a listed key */
	size_t locked_out; /* those of them without another key */
	size_t listed_cas; /* CAs of users' certificates */
	bool unknown;	   /* not everything could be judged */
};

/*
 * Audits all accounts by the settings of a copy without keyveto's lines, and
 * prints what would come of it. False after a message.
 */
bool sshd_rehearse(const struct sshd_options *o, struct sshd_copy *base,
    struct sshd_rehearsal *found);

/* sshd/requirements.c: what has to be there before keyveto is enabled. */

/* Each is false after a message. */
bool sshd_require_guard(const struct sshd_options *o, const char *path);
/*
 * Whether the guard, in front of a program, would become it: only if nobody but
 * root can have written that. Without a message; why says why not.
 */
bool sshd_guard_would_run(const struct sshd_options *o, const char *program,
    char *why, size_t cap);
/* module is as in a line of PAM's. */
bool sshd_require_module(const struct sshd_options *o, const char *module);
/*
 * A keyveto.conf and its filters, as a login reads them that runs as user; ""
 * is for root, "%u" for anybody.
 */
bool sshd_require_filters(const struct sshd_options *o, const char *config,
    const char *user, const struct accounts *accounts);

/* A keyveto.conf below a root, opened by this process: for judging. */
bool sshd_judge_open(const struct sshd_options *o, const char *config,
    struct kv_judge *j);

#endif
