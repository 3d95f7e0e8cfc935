/* SPDX-License-Identifier: ISC */
/* sshd: what enable and disable share. */
#ifndef CLI_SSHD_SSHD_H
#define CLI_SSHD_SSHD_H

#include "command.h"
#include "host/accounts.h"
#include "sshd/files.h"
#include "sshd_config/copy.h"
#include "sshd_config/sshd_config.h"
#include "ways/ways.h"

/* The Makefile sets KV_LIBEXECDIR. */
#ifndef KV_LIBEXECDIR
#define KV_LIBEXECDIR "/usr/libexec"
#endif

#define SSHD_GUARD_PATH KV_LIBEXECDIR "/keyveto-authorized-keys"
#define SSHD_MODULE WAYS_MODULE
#define SSHD_MODULE_PATH WAYS_MODULE_DIR "/" SSHD_MODULE
#define SSHD_DROP_IN SSHD_TREE_DROP_INS "/00-keyveto.conf"
#define SSHD_WHY_BYTES 2048
/*
 * Exit status of enable: some account would be refused, or may be. Of disable:
 * sshd would take keys from other places.
 */
#define SSHD_NOT_DONE 1

struct sshd_options {
	const char *sshd; /* --sshd: the program that is asked */
	uint64_t timeout; /* --timeout, in seconds */
	bool guard, pam, warn, yes, dry_run, reload, json;
};

/*
 * What enable or disable does with its options, with sshd's configuration as it
 * is, with the files that it may change, and with what enable kept of them.
 * Returns the exit status of the process.
 */
struct sshd_state;
typedef int sshd_change_fn(const struct sshd_options *o, struct sshd_copy *now,
    struct sshd_files *files, const struct sshd_state *kept);

/*
 * Reads cmd's options, locks the state against another keyveto, reads the
 * files, and calls change. Returns the exit status of the process. If
 * a part of sshd's configuration is missing, or cannot be read, it fails if
 * needs_all is true; otherwise change gets what there is.
 */
int sshd_change(const struct cli_command *cmd, int argc, char **argv,
    bool needs_all, sshd_change_fn *change);

/*
 * Copies sshd's configuration: as it is if fs is NULL, else with fs in place of
 * its files, without keyveto's lines, or as enable plans them if next is true.
 * False after a message. Always call sshd_copy_close, even after a failure.
 */
bool sshd_open_copy(struct sshd_copy *c, const struct sshd_files *fs,
    bool next);
/*
 * The same with a sentence in why instead of a message. c->tree then has what
 * can be read, and sshd cannot be asked about c.
 */
bool sshd_try_copy(struct sshd_copy *c, const struct sshd_files *fs, bool next,
    char *why, size_t cap);
/*
 * What "sshd -T" prints for user about the copy (NULL: for no user); the caller
 * frees it. NULL after a message.
 */
char *sshd_ask_copy(const struct sshd_options *o, struct sshd_copy *c,
    const char *user);
/* The same, parsed; the caller calls sshd_settings_free. */
struct sshd_settings *sshd_ask_settings(const struct sshd_options *o,
    struct sshd_copy *c, const char *user);

/*
 * Whether "sshd -T" prints the same settings about c, a copy of the unchanged
 * files, as about sshd's own configuration file. False after a message.
 */
bool sshd_faithful_copy(const struct sshd_options *o, struct sshd_copy *c);

/*
 * The first line of from, the output of "sshd -T", that differs in to, except
 * HostKey lines, since a copy's host key is its own, and those of the keywords
 * that spared has bits for (sshd_keyword). NULL if there is none.
 */
const char *sshd_find_change(const char *from, const char *to,
    unsigned int spared);

/*
 * Reloads the sshd of this machine: by systemd, or by the PidFile that dump,
 * the output of "sshd -T", names. False after a message.
 */
bool sshd_reload(const char *dump);

/*
 * Whether systemd runs, and with these files: in a chroot, systemctl does
 * nothing, and says that it is done; with other mounts, it reloads an sshd that
 * reads other files.
 */
bool sshd_has_systemd(void);

/* The PAM service that sshd uses by its settings; NULL: they are not known. */
const char *sshd_service(const struct sshd_settings *s);

/* Adds the accounts of this machine to a. False after a message. */
bool sshd_find_accounts(struct accounts *a);

#endif
