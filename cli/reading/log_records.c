/* SPDX-License-Identifier: ISC */
#include "reading/log_records.h"

#include <string.h>

bool
reading_receive_login(struct kv_bytes b, struct reading_login *l)
{
	const char *from = l->a.from;

	*l = (struct reading_login){ .process = 0 };
	return record_get_all(&b, READING_LOGIN_FIELDS(l)) &&
	    *l->a.user != '\0' && *from != '\0' &&
	    from[strspn(from, ACCEPTED_FROM_CHARS)] == '\0';
}

bool
reading_receive_outcome(struct kv_bytes b, struct reading_login *l)
{
	*l = (struct reading_login){ .process = 0 };
	return record_get_all(&b, READING_OUTCOME_FIELDS(l));
}

bool
reading_receive_log_key(struct kv_bytes b, struct log_decision *d)
{
	return record_get_all(&b, READING_LOG_KEY_FIELDS(d));
}

static bool
is_printable(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

bool
reading_receive_log_since(struct kv_bytes b, int64_t *since)
{
	return record_get_all(&b, READING_SINCE_FIELDS(*since));
}

bool
reading_receive_log_end(struct kv_bytes b, struct reading_log_end *e)
{
	return record_get_all(&b, READING_LOG_END_FIELDS(e)) &&
	    is_printable(e->why);
}
