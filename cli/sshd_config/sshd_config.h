/* SPDX-License-Identifier: ISC */
/*
 * sshd_config: asks sshd for its settings for an account ("sshd -T"), and
 * parses the answer.
 */
#ifndef CLI_SSHD_CONFIG_SSHD_CONFIG_H
#define CLI_SSHD_CONFIG_SSHD_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "host/program.h"

#define SSHD_PATH "/usr/sbin/sshd"
#define SSHD_WORDS_MAX 256
#define SSHD_VALUE_BYTES 8192 /* more than a value needs */

/*
 * sshd's settings for one account. A string is what sshd printed: "none" is a
 * value, and "" means that sshd printed no such line.
 */
struct sshd_settings {
	char *memory, *words;	/* the strings below point into these */
	const char *keys_files; /* AuthorizedKeysFile */
	const char *pattern[SSHD_WORDS_MAX]; /* its words except "none" */
	size_t n_patterns;
	const char *keys_command, *keys_user; /* AuthorizedKeysCommand[User] */
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

/* The sshd to ask. */
struct sshd {
	const char *path;
	const char *config;   /* -f; NULL: sshd's own file */
	const char *host_key; /* -h; or NULL */
	/* Values of -o, of which sshd uses the first for a keyword. */
	const char *const *option;
	size_t n_options;
};

/*
 * Sets version to what the sshd at path prints of itself with -V, up to a comma:
 * "OpenSSH_9.2p1 Debian-2". False, and "", if it prints no version.
 */
bool sshd_version(const char *path, char *version, size_t cap);

/*
 * Whether the sshd at path prints, with -V, that it is OpenSSH major.minor or
 * later. False if it prints no version.
 */
bool sshd_version_at_least(const char *path, unsigned int major,
    unsigned int minor);

/* What sshd_ask needs to know of an sshd. */
struct sshd_subject {
	char file[PATH_MAX]; /* that it reads; "" if unknown */
	char address[64];    /* where a client of this machine reaches it */
	unsigned int port;
	unsigned int free_port; /* a port that no Match LocalPort names */
	char refused[1024];	/* why it must not be asked, or "" */
};

/*
 * Reads the sshd's configuration, and asks it with -dd -T, unless the last call
 * was about the same sshd. If it gives no answer: 127.0.0.1 and port 22. The
 * result is valid until the next call.
 */
const struct sshd_subject *sshd_subject(const struct sshd *sshd);

/* A running sshd. sshd_answer or sshd_answer_text waits for it. */
struct sshd_question {
	struct program_process process;
	int fd;		     /* its output; -1 if it could not be started */
	int error;	     /* if fd is -1: errno, unless refused is set */
	const char *refused; /* if fd is -1: a sentence, or NULL */
	bool asked;	     /* by sshd_ask */
	bool timed_out;
};

#define SSHD_NO_QUESTION ((struct sshd_question){ .fd = -1 })

/* Starts sshd in / with n arguments, and with -f and -h as struct sshd says. */
void sshd_start(const struct sshd *sshd, const char *const *argument, size_t n,
    struct sshd_question *q);

/* Calls sshd_start and sshd_answer_text. */
char *sshd_run(const struct sshd *sshd, const char *const *argument, size_t n,
    char *why, size_t cap);

/*
 * Starts "sshd -T" for a login of user from this machine, at the address where
 * this sshd listens; with user NULL, for a login that no Match line matches.
 * Several sshd may be started before the first answer is read. An sshd that did
 * not answer in time is not asked again.
 */
void sshd_ask(const struct sshd *sshd, const char *user,
    struct sshd_question *q);

/*
 * Waits for the answer, and parses it. The caller calls sshd_settings_free.
 * NULL with a sentence in why if sshd fails, or prints nothing for 10 seconds.
 */
struct sshd_settings *sshd_answer(struct sshd_question *q, char *why,
    size_t cap);

/*
 * The same, but returns sshd's text: a line for each keyword and its value. The
 * caller frees it. Keywords are in lower case up to OpenSSH 10.4, in mixed case
 * later.
 */
char *sshd_answer_text(struct sshd_question *q, char *why, size_t cap);

/*
 * Copies the first value of a keyword in such a text, cut off at cap - 1 bytes.
 * False, and "", if the text has no such line. "none" is a value.
 */
bool sshd_text_value(const char *text, const char *keyword, char *value,
    size_t cap);

/* Whether a keyword has this value, in any case. False without such a line. */
bool sshd_text_is(const char *text, const char *keyword, const char *value);

/*
 * Parses such a text. The caller calls sshd_settings_free. NULL without memory.
 */
struct sshd_settings *sshd_settings_parse(const char *text);
void sshd_settings_free(struct sshd_settings *s);

/* Whether sshd takes the same keys, from the same places, by both. */
bool sshd_settings_same_keys(const struct sshd_settings *a,
    const struct sshd_settings *b);

#endif
