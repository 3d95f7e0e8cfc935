/* SPDX-License-Identifier: ISC */
/*
 * config/findings: what a login makes of a keyveto.conf. The guard's own
 * functions in lib/ read it.
 */
#ifndef CLI_CONFIG_FINDINGS_H
#define CLI_CONFIG_FINDINGS_H

#include "reading/judging.h"

/*
 * A user that sshd runs the guard as: if it cannot read keyveto.conf or a filter,
 * a login has no verdict. Root can read every file, and is not listed.
 */
struct config_reader {
	char name[256]; /* "%u" for any account */
	unsigned int uid, gid;
};

#define CONFIG_READERS_MAX 32

/* All zeroes: none. */
struct config_readers {
	struct config_reader v[CONFIG_READERS_MAX];
	size_t n;
	/* A guard reads accounts' files by the configuration, or may do so. */
	bool files;
};

/*
 * Asks sshd for AuthorizedKeysCommand and AuthorizedPrincipalsCommand. Finds
 * the users of those commands that are the guard and read the configuration at
 * path, also in Match blocks. If sshd cannot be asked, there are none, and a
 * note is printed (none if there is no sshd); a guard may read files then.
 */
void config_readers_find(struct config_readers *r, const char *path);

/* The same for one user of the guard, by name. */
void config_readers_add(struct config_readers *r, const char *user);

enum config_finding {
	CONFIG_MISTAKE,
	CONFIG_UNREADABLE, /* a file that a login or reader cannot read */
	CONFIG_UNSEEN,	   /* it could not be looked into */
	CONFIG_IDLE,	   /* a line without effect */
	CONFIG_POLICY,	   /* what works, but should be checked */
};

/* The file to check. */
struct config_subject {
	const char *name; /* the file's name in messages */
	const char *path; /* where logins find it; NULL: nowhere yet */
	const char *text; /* its content, now or soon */
	size_t len;
	const struct config_readers *readers; /* who must read it */
	bool text_alone; /* do not look into its filters and lists */
	/* Gets each finding; NULL: they are only counted. */
	void (*found)(void *arg, enum config_finding kind, const char *text);
	void *arg;
};

struct config_findings {
	struct kv_config config; /* as parsed, without the wrong lines */
	struct judging judging;	 /* of its filters and lists */
	size_t mistakes;	 /* number of lines that are wrong */
	size_t unreadable;	 /* files that a login or reader cannot read */
	uint32_t blind;		 /* bit i: reader i gets no verdict */
	enum kv_action on_error; /* OnError as a login reads it now */
};

/*
 * Checks the file, and tells s->found "NAME:LINE: reason" for each mistake, each
 * file that cannot be read, and what else it finds. False after a message if out
 * of memory. Always call config_findings_free.
 */
bool config_findings_make(struct config_findings *f,
    const struct config_subject *s);
void config_findings_free(struct config_findings *f);

/* Whether logins by key get no verdict: by a mistake or unreadable file. */
bool config_findings_no_verdict(const struct config_findings *f);

/* Prints a finding as a message. */
void config_findings_tell(void *arg, enum config_finding kind,
    const char *text);

/*
 * Whether line, without its line end, is an AllowKey line, or with denies a
 * DenyKey line, without a mistake. Then *key is set, but for its reason, which
 * is "".
 */
bool config_line_names(const char *line, size_t len, bool denies,
    struct kv_key_line *key);

/*
 * Whether this process can open each filter and list of a configuration as a
 * login does. False with a sentence.
 */
bool config_can_open_all(const struct kv_config *config,
    char why[static KV_TRUSTED_WHY_BYTES]);

#endif
