/* SPDX-License-Identifier: ISC */
#include "log_lines/outcome.h"

#include <string.h>

#define ACCEPTED "Accepted "
#define PAM_ERROR "error: PAM: "
#define PAM_SESSION PAM_ERROR "pam_open_session(): "
#define PAM_ACCOUNT "fatal: Access denied for user "
#define MODULE "pam_keyveto("
#define MODULE_DENIES " action=deny "
#define MODULE_ENDS " disconnected=yes"

static bool
begins_with(const char *message, const char *word)
{
	return strncmp(message, word, strlen(word)) == 0;
}

/*
 * Whether the module has ended the connection. The verdict and the action stand
 * before each value that somebody else chooses; such a value is quoted.
 */
static bool
module_disconnects(const char *message)
{
	const char *p = strstr(message, "): verdict=");
	const size_t n = strlen(message), end = strlen(MODULE_ENDS);

	if (!begins_with(message, MODULE) || p == NULL)
		return false;
	p += strcspn(p + 3, " ") + 3;
	return begins_with(p, MODULE_DENIES) && n > end &&
	    strcmp(message + n - end, MODULE_ENDS) == 0;
}

enum outcome_says
outcome_parse(const char *message)
{
	if (begins_with(message, ACCEPTED))
		return OUTCOME_IN;
	if (begins_with(message, PAM_SESSION) ||
	    begins_with(message, PAM_ACCOUNT) || module_disconnects(message))
		return OUTCOME_REFUSED;
	return begins_with(message, PAM_ERROR) ?
	    OUTCOME_NOT_YET :
	    OUTCOME_NOTHING;
}

bool
outcome_may_be(const char *text)
{
	return strstr(text, ACCEPTED) != NULL ||
	    strstr(text, PAM_ERROR) != NULL ||
	    strstr(text, PAM_ACCOUNT) != NULL || strstr(text, MODULE) != NULL;
}
