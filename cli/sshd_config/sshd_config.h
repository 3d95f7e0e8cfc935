/* SPDX-License-Identifier: ISC */
/*
 * sshd_config: what sshd itself says of its configuration ("sshd -T"), for an
 * account.
 */
#ifndef CLI_SSHD_CONFIG_SSHD_CONFIG_H
#define CLI_SSHD_CONFIG_SSHD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "host/program.h"

#define SSHD_PATH "/usr/sbin/sshd"
#define SSHD_WORDS_MAX 256
#define SSHD_VALUE_BYTES 8192 /* more than a value needs */

/*
 * The settings that an answer of sshd's holds, for one kind of account. A string
 * is what sshd wrote: "none" is a value, and "" stands for no line at all.
 */
struct sshd_settings {
	char *memory, *words;	/* what the strings below point into */
	const char *keys_files; /* AuthorizedKeysFile */
	const char *pattern[SSHD_WORDS_MAX]; /* its words but "none" */
	size_t n_patterns;
	const char *keys_command, *keys_user; /* AuthorizedKeysCommand... */
	const char *user_ca;		      /* TrustedUserCAKeys */
	const char *principals_file;	      /* AuthorizedPrincipalsFile */
	const char *principals_command, *principals_user;
	const char *service;	  /* PAMServiceName */
	const char *methods;	  /* AuthenticationMethods */
	const char *tunnel;	  /* PermitTunnel */
	bool pubkey, strictmodes; /* yes, unless sshd says no */
	bool hostbased, use_pam;  /* no, unless sshd says yes */
	const char *host_key[SSHD_WORDS_MAX];
	size_t n_host_keys;
	const char *host_certificate[SSHD_WORDS_MAX];
	size_t n_host_certificates;
};

/* Which sshd is asked, about which file (NULL: its own). */
struct sshd {
	const char *path;
	const char *config;
	const char *host_key; /* one that it may take for its own, or NULL */
};

/* A question that sshd is thinking about. */
struct sshd_question {
	struct program_process process;
	int fd;	   /* -1: it could not be asked */
	int error; /* then errno, or a sentence in refused */
	const char *refused;
	bool asked; /* by sshd_ask */
	bool timed_out;
};

#define SSHD_NO_QUESTION ((struct sshd_question){ .fd = -1 })

/* Starts sshd with n more arguments, which say what it is to do. */
void sshd_start(const struct sshd *sshd, const char *const *argument, size_t n,
    struct sshd_question *q);

/*
 * Does so, and returns what it printed, to be freed. NULL with a sentence in
 * why if it fails, or has said nothing for some seconds.
 */
char *sshd_run(const struct sshd *sshd, const char *const *argument, size_t n,
    char *why, size_t cap);

/*
 * Asks what holds for a login of user from this machine, at the place where
 * this sshd listens; or with user NULL, where no Match line asks for anything.
 * Several questions may be asked before the answers are read. An sshd that did
 * not answer in time is not asked again.
 */
void sshd_ask(const struct sshd *sshd, const char *user,
    struct sshd_question *q);

/*
 * Waits for the answer. NULL with a sentence in why if there is none.
 */
struct sshd_settings *sshd_answer(struct sshd_question *q, char *why,
    size_t cap);

/*
 * The same, all that sshd said: a line for each keyword and its value. To be
 * freed. Keywords are in lower case up to OpenSSH 10.4, in mixed case later.
 */
char *sshd_answer_text(struct sshd_question *q, char *why, size_t cap);

/*
 * The first value of a keyword in such a text, as much of it as fits; false,
 * and "", without it. "none" is a value.
 */
bool sshd_text_value(const char *text, const char *keyword, char *value,
    size_t cap);

/* Whether it is this one, in any case; a keyword that is missing has none. */
bool sshd_text_is(const char *text, const char *keyword, const char *value);

/* The settings that such a text holds: NULL without memory. */
struct sshd_settings *sshd_settings_parse(const char *text);
void sshd_settings_free(struct sshd_settings *s);

/* Whether sshd takes keys from the same places by both. */
bool sshd_settings_same_keys(const struct sshd_settings *a,
    const struct sshd_settings *b);

#endif
