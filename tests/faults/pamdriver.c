/* SPDX-License-Identifier: ISC */
/*
 * Calls PAM as sshd does, for one login.
 *
 *   pamdriver CONFDIR SERVICE USER RHOST INFO PHASE...
 *
 * INFO is what SSH_AUTH_INFO_0 is set to, "" for nothing; a PHASE is auth,
 * account or session. Prints "PHASE CODE" for each, and "said TEXT" for what
 * the user sees. The driver writes to descriptor -1 before and after each
 * phase, so that a trace shows the calls of a phase. Exit status 0 if PAM was
 * started, whatever the phases answer, and 3 if not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <security/pam_appl.h>

#define AUTH_INFO "SSH_AUTH_INFO_0="
#define EXIT_NO_PAM 3

/* Faults are armed while PAM runs, and not in the driver itself. */
static void
arm(int on)
{
	void (*alloc)(
	    int) = (void (*)(int))dlsym(RTLD_DEFAULT, "failalloc_arm");
	void (*io)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "shortio_arm");

	if (alloc != NULL)
		alloc(on);
	if (io != NULL)
		io(on);
}

static void
mark(const char *edge, const char *phase)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %s", edge, phase);
	(void)!write(-1, text, strlen(text));
}

static int
converse(int n, const struct pam_message **msg, struct pam_response **resp,
    void *arg)
{
	struct pam_response *answers = calloc((size_t)n, sizeof(*answers));

	(void)arg;
	if (answers == NULL)
		return PAM_BUF_ERR;
	for (int i = 0; i < n; i++)
		printf("said %s\n", msg[i]->msg);
	*resp = answers;
	return PAM_SUCCESS;
}

static int
call(pam_handle_t *pamh, const char *phase)
{
	if (strcmp(phase, "auth") == 0)
		return pam_authenticate(pamh, 0);
	if (strcmp(phase, "account") == 0)
		return pam_acct_mgmt(pamh, 0);
	if (strcmp(phase, "session") == 0)
		return pam_open_session(pamh, 0);
	abort();
}

static int
put_info(pam_handle_t *pamh, const char *info)
{
	size_t len = sizeof(AUTH_INFO) + strlen(info);
	char *pair = malloc(len);
	int r;

	if (pair == NULL)
		abort();
	snprintf(pair, len, AUTH_INFO "%s", info);
	r = pam_putenv(pamh, pair);
	free(pair);
	return r;
}

int
main(int argc, char **argv)
{
	static const struct pam_conv conv = { .conv = converse };
	pam_handle_t *pamh = NULL;
	int r;

	if (argc < 7)
		return 2;
	arm(1);
	r = pam_start_confdir(argv[2], argv[3], &conv, argv[1], &pamh);
	arm(0);
	if (r != PAM_SUCCESS) {
		printf("start %d\n", r);
		return EXIT_NO_PAM;
	}
	if (pam_set_item(pamh, PAM_RHOST, argv[4]) != PAM_SUCCESS ||
	    (*argv[5] != '\0' && put_info(pamh, argv[5]) != PAM_SUCCESS))
		return EXIT_NO_PAM;
	for (int i = 6; i < argc; i++) {
		mark("begin", argv[i]);
		arm(1);
		r = call(pamh, argv[i]);
		arm(0);
		mark("end", argv[i]);
		printf("%s %d\n", argv[i], r);
		fflush(stdout);
	}
	pam_end(pamh, r);
	return 0;
}
