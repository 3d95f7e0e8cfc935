/* SPDX-License-Identifier: ISC */
/*
 * The module's phases: any configuration, items of PAM and SSH_AUTH_INFO_0. It
 * refuses with a reason in the log, and ends the connection only in the session
 * phase where its options and the caller say so. The input is a byte of options
 * (enum how), five strings that end in NUL (see SERVICE), and SSH_AUTH_INFO_0.
 */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>

#include "fuzz.h"
#include "kv_pkbf.h"
#include "kv_verdict.h"

/* What the module would do to this process, and where it reads its files. */
static void open_judge(struct kv_judge *j, const char *path, uid_t owner);
static void log_line(int priority, const char *format, ...);
_Noreturn static void end_connection(int status);

#define kv_judge_open open_judge
#define syslog log_line
#define _exit end_connection
#include "../pam/pam_keyveto.c"

/* The two lowest bits are an index of disconnects. */
enum how { DEBUG = 4, SILENT = 8, AUTH = 16, ACCOUNT = 32 };
enum { CONFIG, USER, RHOST, TTY, SERVICE, INFO, STRINGS };

static char *string[STRINGS];
static const char *phase_called;
static unsigned int logged, prompted;
static jmp_buf ended;
static struct passwd account_found = { .pw_name = "a" };

/* The configuration is the input's. All filters are one that lists nothing. */
static enum kv_err
open_file(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	static const uint8_t filter[KV_PKBF_HEADER_BYTES + 32] =
	    "pkbfv1\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\3\10";
	bool is_config = strcmp(path, arg) == 0;
	const void *text = is_config ? (void *)string[CONFIG] : filter;
	size_t size = is_config ? strlen(string[CONFIG]) : sizeof(filter);

	why[0] = '\0';
	*fdp = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(*fdp != -1);
	FUZZ_CHECK(write(*fdp, text, size) == (ssize_t)size);
	FUZZ_CHECK(lseek(*fdp, 0, SEEK_SET) == 0);
	return KV_OK;
}

static void
open_judge(struct kv_judge *j, const char *path, uid_t owner)
{
	FUZZ_CHECK(owner == 0);
	kv_judge_open_with(j, path, NULL, open_file, (void *)path);
}

static void
check_printable(const char *text)
{
	for (; *text != '\0'; text++)
		FUZZ_CHECK(*text >= 0x20 && *text < 0x7f);
}

/* Service, phase and line: the service is the administrator's file name. */
static void
log_line(int priority, const char *format, ...)
{
	va_list ap;

	(void)priority;
	FUZZ_CHECK(strcmp(format, "pam_keyveto(%s:%s): %s") == 0);
	va_start(ap, format);
	(void)va_arg(ap, const char *);
	FUZZ_CHECK(strcmp(va_arg(ap, const char *), phase_called) == 0);
	check_printable(va_arg(ap, const char *));
	va_end(ap);
	logged++;
}

_Noreturn static void
end_connection(int status)
{
	FUZZ_CHECK(status == 0);
	longjmp(ended, 1);
}

const char *
pam_getenv(pam_handle_t *pamh, const char *name)
{
	(void)pamh;
	return strcmp(name, "SSH_AUTH_INFO_0") == 0 ? string[INFO] : NULL;
}

int
pam_get_item(const pam_handle_t *pamh, int type, const void **item)
{
	(void)pamh;
	*item = type == PAM_USER ? string[USER] :
	    type == PAM_RHOST	 ? string[RHOST] :
	    type == PAM_TTY	 ? string[TTY] :
	    type == PAM_SERVICE	 ? string[SERVICE] :
				   NULL;
	return PAM_SUCCESS;
}

int
pam_prompt(pam_handle_t *pamh, int style, char **response, const char *format,
    ...)
{
	char text[2 * MESSAGE_BYTES];
	va_list ap;

	(void)pamh;
	FUZZ_CHECK(style == PAM_ERROR_MSG && response == NULL);
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	prompted++;
	return PAM_CONV_ERR;
}

/* "root" and "a" are accounts, and no other name. */
struct passwd *
pam_modutil_getpwnam(pam_handle_t *pamh, const char *user)
{
	(void)pamh;
	account_found.pw_uid = strcmp(user, "root") == 0 ? 0 : 1000;
	return strcmp(user, "a") == 0 || account_found.pw_uid == 0 ?
	    &account_found :
	    NULL;
}

/* Cuts the copy of the input, which ends in NUL, into its strings. */
static void
cut(char *text, const char *end)
{
	for (size_t i = 0; i < STRINGS; i++) {
		string[i] = text;
		text += strlen(text);
		if (text < end)
			text++;
	}
}

/* Returns what PAM gets, or -1 if the connection ended. */
static int
call_phase(unsigned int how)
{
	const char *disconnects[] = { "disconnect=root", "disconnect=always",
		"disconnect=never", "disconnect=" };
	const char *arg[] = { disconnects[how & 3], "config=/fuzz.conf",
		how & DEBUG ? "debug" : "config=/fuzz.conf" };
	const int flags = how & SILENT ? PAM_SILENT : 0;
	pam_handle_t *pamh = (pam_handle_t *)string;

	if (setjmp(ended) != 0)
		return -1;
	if ((how & AUTH) != 0)
		return pam_sm_authenticate(pamh, flags, 3, arg);
	if ((how & ACCOUNT) != 0)
		return pam_sm_acct_mgmt(pamh, flags, 3, arg);
	return pam_sm_open_session(pamh, flags, 3, arg);
}

static void
check_phase(unsigned int how)
{
	const bool early = (how & (AUTH | ACCOUNT)) != 0;
	const int clean = early ? PAM_IGNORE : PAM_SUCCESS;
	int r;

	phase_called = how & AUTH ? "auth" :
	    how & ACCOUNT	  ? "account" :
				    "session";
	logged = prompted = 0;
	r = call_phase(how);
	FUZZ_CHECK(r == clean || r == -1 || r == PAM_PERM_DENIED ||
	    r == (early ? PAM_AUTHINFO_UNAVAIL : PAM_SESSION_ERR));
	FUZZ_CHECK(pam_sm_setcred(NULL, 0, 0, NULL) == PAM_IGNORE);
	FUZZ_CHECK(pam_sm_chauthtok(NULL, 0, 0, NULL) == PAM_IGNORE);
	FUZZ_CHECK(pam_sm_close_session(NULL, 0, 0, NULL) == PAM_SUCCESS);
	FUZZ_CHECK(prompted <= logged);
	if (strstr(string[INFO], "publickey") == NULL &&
	    strstr(string[INFO], "hostbased") == NULL)
		FUZZ_CHECK(r == clean && logged == 0);
	if (r != clean)
		FUZZ_CHECK(
		    logged > 0 && (how & SILENT ? !prompted : prompted > 0));
	if (r != -1)
		return;
	FUZZ_CHECK(!early && strcmp(string[TTY], "ssh") == 0);
	FUZZ_CHECK((how & 3) == 1 ||
	    ((how & 3) != 2 && strcmp(string[USER], "a") != 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	text = fuzz_alloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	cut(text, text + size - 1);
	check_phase(data[0]);
	free(text);
	return 0;
}
