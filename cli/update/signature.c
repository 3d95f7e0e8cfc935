/* SPDX-License-Identifier: ISC */
/* Whether a file has a good signature, by ssh-keygen and AllowedSigners. */
#include "update/update.h"

#include <sys/wait.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tasks/keygen.h"
#include "update/text.h"

#define SIGNATURE_MAX_BYTES (64 * 1024)

bool
update_signature_verify(const struct update_source *s, int fd,
    const char *namespace, const char *what, const char *shown, int signature)
{
	struct keygen_said v;
	char why[WALL_WHY_BYTES] = "";
	const bool ok = tasks_verify(fd, signature, s->signers,
	    s->settings.identity, namespace, &v, why);

	if (!ok)
		cli_error("%s: its signature cannot be verified: %s", shown,
		    why);
	else if (v.error == ENOENT)
		cli_error("%s: %s cannot be run; install openssh-client", shown,
		    KEYGEN_PATH);
	else if (v.error != 0)
		cli_error("%s: %s cannot be run: %s", shown, KEYGEN_PATH,
		    strerror(v.error));
	else if (WIFSIGNALED(v.status))
		cli_error("%s: %s was ended by signal %d; run this again",
		    shown, KEYGEN_PATH, WTERMSIG(v.status));
	else if (v.status != 0)
		cli_error(
		    "%s: no good signature by %s for this %s "
		    "(ssh-keygen: %s); if the publisher has a new key, put it "
		    "into AllowedSigners",
		    shown, s->settings.identity, what, v.answer);
	return ok && v.error == 0 && v.status == 0;
}

bool
update_signature_check(struct update *u, int fd, const char *namespace)
{
	int signature;
	bool ok;

	if (u->source.signers == -1)
		return true;
	signature = update_text_get(&u->source.signature, &u->source.limits,
	    &u->progress, SIGNATURE_MAX_BYTES,
	    "too long for a signature; correct SignatureURL");
	if (signature == -1) {
		cli_error("%s: has no signature that could be checked, and "
			  "AllowedSigners asks for one",
		    u->source.from.shown);
		ok = false;
	} else {
		/* If the signature is bad, the part must not be resumed. */
		u->keep_part = false;
		ok = update_signature_verify(&u->source, fd, namespace,
		    u->kind->what, u->source.signature.shown, signature);
		close(signature);
	}
	return ok;
}
