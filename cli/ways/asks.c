/* SPDX-License-Identifier: ISC */
#include "ways/asks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshd_config/guard_command.h"
#include "ways/ways.h"

static const struct asks always = { true, true, "", " from the next login on",
	"" };
static const struct asks unknown = { false, false, "where sshd asks keyveto, ",
	" from the next login on", "" };
static const struct asks never = { true, false, "once sshd asks keyveto, ", "",
	"sshd does not ask keyveto yet: type keyveto enable" };
static const struct asks partly = {
	true, true, "where sshd asks keyveto, ", " from the next login on",
	"sshd does not ask keyveto on every way in: keyveto status names them"
};

static bool
is_same_path(const char *one, const char *other)
{
	char a[PATH_MAX], b[PATH_MAX];

	return realpath(one, a) != NULL && realpath(other, b) != NULL &&
	    strcmp(a, b) == 0;
}

/* Whether the guard of these settings, if it is theirs, reads that file. */
static bool
guard_goes_by(const struct sshd_settings *s, const char *config)
{
	char path[PATH_MAX];
	const char *args;

	if (!guard_command(s->keys_command, &args))
		return true;
	(void)guard_config(args, path, sizeof(path));
	return is_same_path(path, config);
}

/* The answer for these ways in; asked: sshd runs the guard, even if it need not. */
static const struct asks *
judge(const struct ways *w, bool asked)
{
	bool guarded = asked, bypassed = false;

	for (enum way i = 0; i < WAYS; i++) {
		guarded |= w->open[i] && ways_is_guarded(w, i);
		bypassed |= w->open[i] && !ways_is_guarded(w, i);
	}
	if (bypassed)
		return guarded ? &partly : &never;
	return guarded ? &always : &unknown;
}

static const struct asks *
ask(const struct sshd_settings *s, const char *config)
{
	struct pam_stack stack = { .n = 0 };
	struct ways_context context = { .pam = false };
	const struct pam_line *l;
	const struct asks *found = &unknown;
	char why[1024], path[PATH_MAX];
	const char *args;
	struct ways w;

	if (pam_stack_read(*s->service != '\0' ? s->service : "sshd", &stack,
		why, sizeof(why)) ||
	    !s->use_pam) {
		l = ways_find_module(&stack, &context.pam);
		if (l != NULL)
			pam_stack_config(l, path, sizeof(path));
		ways_read(s, &context, &w);
		if (guard_goes_by(s, config) &&
		    (!w.pam || is_same_path(path, config)))
			found = judge(&w,
			    guard_command(s->keys_command, &args));
	}
	pam_stack_free(&stack);
	return found;
}

const struct asks *
asks_sshd(const char *config)
{
	const struct sshd sshd = { .path = SSHD_PATH };
	const struct asks *found = &unknown;
	struct sshd_settings *s;
	struct sshd_question q;
	char why[1024];

	if (config == NULL || geteuid() != 0 || access(SSHD_PATH, X_OK) == -1)
		return &unknown;
	sshd_ask(&sshd, "root", &q);
	if ((s = sshd_answer(&q, why, sizeof(why))) != NULL)
		found = ask(s, config);
	sshd_settings_free(s);
	return found;
}

void
asks_print_note(const struct asks *a)
{
	if (*a->note != '\0')
		puts(a->note);
}
