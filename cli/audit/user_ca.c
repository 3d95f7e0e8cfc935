/* SPDX-License-Identifier: ISC */
#include "audit/user_ca.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "audit/accounts.h"
#include "host/root_file.h"
#include "sshd_config/words.h"

static void
on_ca_key(const struct input_key *key, void *arg)
{
	struct input_key ca = *key;

	ca.part = KV_PART_CA;
	report_key(arg, &ca);
}

/* The TrustedUserCAKeys of a policy; NULL if it has none. */
static const char *
ca_file(const struct audit_policy *policy)
{
	const struct sshd_settings *s = policy->settings;

	return s != NULL && !sshd_words_none(s->user_ca) ? s->user_ca : NULL;
}

/* Whether policy i has the same file as an earlier one. */
static bool
was_audited(const struct audit_policies *p, size_t i)
{
	const char *path = ca_file(p->v[i]), *other;

	for (size_t j = 0; j < i; j++)
		if ((other = ca_file(p->v[j])) != NULL &&
		    strcmp(other, path) == 0)
			return true;
	return false;
}

static void
audit_file(struct report *r, const char *path, const char *root,
    bool absent_is_problem)
{
	const struct input_sink sink = {
		.key = on_ca_key,
		.problem = audit_on_problem,
		.file = audit_on_file,
		.arg = r,
	};
	struct input_problem problem = { .path = path };
	int fd = root_open(root, path, O_RDONLY);

	if (fd != -1) {
		input_read_fd(fd, path, &sink);
		close(fd);
	} else if (errno != ENOENT || absent_is_problem) {
		problem.reason = strerror(errno);
		report_problem(r, &problem);
	}
}

void
audit_user_cas(struct report *r, const struct audit_policies *policies,
    const char *root, bool absent_is_problem)
{
	for (size_t i = 0; i < policies->n; i++) {
		const char *path = ca_file(policies->v[i]);

		if (path != NULL && !was_audited(policies, i))
			audit_file(r, path, root, absent_is_problem);
	}
}
