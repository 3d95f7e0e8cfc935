/* SPDX-License-Identifier: ISC */
/*
 * ways/pam_stack: the lines of a PAM service, in the order in which PAM runs
 * them, with @include, include and substack followed (pam.conf(5), pam.d(5);
 * Linux-PAM's pam_handlers.c).
 */
#ifndef CLI_WAYS_PAM_STACK_H
#define CLI_WAYS_PAM_STACK_H

#include <stdbool.h>
#include <stddef.h>

/* Linux-PAM's limit on the length of a line. */
#define PAM_STACK_LINE_BYTES 1024

struct pam_line {
	char *file;	    /* the path of its file */
	unsigned int line;  /* from 1 */
	char *type;	    /* auth, account, password, session */
	bool optional;	    /* "-session": a missing module is not logged */
	char *control;	    /* "requisite", "[success=1 default=ignore]" */
	char *module;	    /* as written: "pam_env.so", or a path */
	char *args;	    /* the rest of the line, "" if there is none */
	unsigned int depth; /* 0 in the service's own file */
	bool substack;	    /* in a substack: "requisite" ends only that */
};

struct pam_stack {
	struct pam_line *line;
	size_t n;
};

/*
 * Reads /etc/pam.d/SERVICE, else /usr/lib/pam.d/SERVICE, and all that it
 * includes. False with a sentence in why that names file and line if anything
 * is missing, malformed or includes itself. Always call pam_stack_free, even
 * after a failure; s has the lines before the one that failed.
 */
bool pam_stack_read(const char *service, struct pam_stack *s, char *why,
    size_t cap);
void pam_stack_free(struct pam_stack *s);

/* The file name of a line's module, without its directory. */
const char *pam_line_module(const struct pam_line *l);

/*
 * The first line of a type whose module's file name is module, or with module
 * NULL, the first of that type. NULL if there is none.
 */
const struct pam_line *pam_stack_find(const struct pam_stack *s,
    const char *type, const char *module);

/*
 * The keyveto.conf that pam_keyveto.so reads when it is called by a line: its
 * last config= argument, also in brackets, else KV_CONFIG_PATH. path has cap
 * bytes (pam_keyveto.c:read_options; libpam's _pam_mkargv).
 */
void pam_stack_config(const struct pam_line *l, char *path, size_t cap);

#endif
