/* SPDX-License-Identifier: ISC */
#include "logs/outcomes.h"

#include <string.h>

#define ACCEPTED "Accepted "
#define PAM_ERROR "error: PAM: "
#define PAM_SESSION PAM_ERROR "pam_open_session(): "
#define PAM_ACCOUNT "fatal: Access denied for user "
#define MODULE "pam_keyveto("
#define MODULE_DENIES " action=deny "
#define MODULE_ENDS " disconnected=yes"

enum says { NOTHING, IS_IN, NOT_YET, REFUSED };

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

static enum says
read_message(const char *message)
{
	if (begins_with(message, ACCEPTED))
		return IS_IN;
	if (begins_with(message, PAM_SESSION) ||
	    begins_with(message, PAM_ACCOUNT) || module_disconnects(message))
		return REFUSED;
	/* Of a method that the client may try once more. */
	return begins_with(message, PAM_ERROR) ? NOT_YET : NOTHING;
}

bool
outcomes_may_tell(const char *text)
{
	return strstr(text, ACCEPTED) != NULL ||
	    strstr(text, PAM_ERROR) != NULL ||
	    strstr(text, PAM_ACCOUNT) != NULL || strstr(text, MODULE) != NULL;
}

static void
count_outcome(struct outcomes *o, struct outcome *one)
{
	if (one->process == 0)
		return;
	if (one->refused)
		logins_count_refused(o->l, &one->a);
	else
		logins_count(o->l, &one->a, one->seconds, o->log);
	one->process = 0;
	o->n--;
}

static bool
is_about(const struct outcome *one, uint64_t process, int64_t seconds)
{
	return one->process == process && seconds >= one->seconds &&
	    seconds - one->seconds <= OUTCOMES_SECONDS;
}

void
outcomes_read(struct outcomes *o, uint64_t process, int64_t seconds,
    const char *message)
{
	const enum says says = process != 0 && o->n > 0 ?
	    read_message(message) :
	    NOTHING;

	for (size_t i = 0; says != NOTHING && i < OUTCOMES_MAX; i++) {
		struct outcome *one = &o->v[i];

		if (one->process != process)
			continue;
		/* A connection has one "Accepted": this is another one. */
		if (!is_about(one, process, seconds) ||
		    (says == IS_IN && !one->a.partial))
			count_outcome(o, one);
		else if (says == REFUSED || one->a.partial)
			one->refused = says != IS_IN;
	}
}

void
outcomes_add(struct outcomes *o, uint64_t process, int64_t seconds,
    const struct accepted *a)
{
	struct outcome *one = &o->v[o->next];

	if (process == 0 || !logins_has(o->l, a)) {
		logins_count(o->l, a, seconds, o->log);
		return;
	}
	count_outcome(o, one);
	*one = (struct outcome){
		.process = process,
		.seconds = seconds,
		.a = *a,
	};
	o->n++;
	o->next = (o->next + 1) % OUTCOMES_MAX;
}

void
outcomes_end(struct outcomes *o)
{
	/* From the oldest on. */
	for (size_t i = 0; i < OUTCOMES_MAX; i++)
		count_outcome(o, &o->v[(o->next + i) % OUTCOMES_MAX]);
}
