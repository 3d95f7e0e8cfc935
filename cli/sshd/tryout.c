/* SPDX-License-Identifier: ISC */
#include "sshd/tryout.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <security/pam_appl.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounts/ask.h"
#include "base/io.h"
#include "host/child.h"
#include "kv_base64.h"
#include "kv_spki.h"
#include "sshd/usable.h"

#define SERVICE "sshd" /* the name of the PAM stack in the folder */
#define KEY_BYTES 32
#define TRIES 100

/* Writes a file of the folder, with owner, group and mode of like. */
static bool
write_file(const char *folder, const char *name, const char *text, size_t len,
    const struct stat *like, char *path, size_t cap)
{
	bool ok;
	int fd;

	snprintf(path, cap, "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	ok = fd != -1 && io_write(fd, text, len) &&
	    fchown(fd, like->st_uid, like->st_gid) == 0 &&
	    fchmod(fd, like->st_mode & 07777) == 0;
	io_close(fd);
	return ok;
}

/*
 * Makes keys until one is clean; only one, if none is judged. False after a
 * message.
 */
static bool
make_key(struct sshd_tryout *t, const struct sshd_file *config, bool judged)
{
	struct kv_decision d = { .verdict = KV_VERDICT_ERROR };
	struct judging judging;
	struct kv_sshkey parsed;
	char why[WALL_WHY_BYTES];
	/* RFC 8709 section 4: string "ssh-ed25519", string key of 32 bytes. */
	static const char head[] = "\0\0\0\x0bssh-ed25519\0\0\0\x20";
	uint8_t made[sizeof(head) - 1 + KEY_BYTES], digest[KV_SHA256_BYTES];
	bool ok = true;

	if (judged &&
	    !sshd_usable_open(config->path,
		&(struct sshd_text){ config->base, config->base_len },
		&judging))
		return false;
	snprintf(t->type, sizeof(t->type), "ssh-ed25519");
	memcpy(made, head, sizeof(head) - 1);
	for (int i = 0; ok && i < TRIES && d.verdict != KV_VERDICT_CLEAN; i++) {
		ok = getrandom(made + sizeof(head) - 1, KEY_BYTES, 0) ==
		    KEY_BYTES;
		/* A multiple of three bytes has no padding. */
		kv_base64_encode_unpadded(made, sizeof(made), t->key);
		ok = ok &&
		    kv_sshkey_parse(made, sizeof(made), &parsed) == KV_OK;
		if (!ok)
			break;
		if (!judged)
			d.verdict = KV_VERDICT_CLEAN;
		else
			judging_key(&judging.judge,
			    &(struct input_key){
				.path = "",
				.key = parsed.key,
				.type = t->type,
				.bits = kv_pubkey_bits(&parsed.key),
			    },
			    time(NULL), &d);
		kv_fingerprint_digest(&parsed.key, digest);
		kv_fingerprint_format(digest, t->fingerprint);
	}
	if (judged)
		(void)judging_close(&judging, why);
	if (ok && d.verdict == KV_VERDICT_CLEAN)
		return true;
	return cli_error(
	    "%s: keyveto made %d random keys, and its filters list each one, "
	    "or cannot judge it; see keyveto status",
	    KV_CONFIG_PATH, TRIES);
}

bool
sshd_tryout_open(struct sshd_tryout *t, const struct sshd_options *o,
    const struct sshd_file *config, bool judged)
{
	/* As sshd_file_write makes it. */
	const struct stat made = { .st_mode = 0644 };

	*t = (struct sshd_tryout){ .timeout = (unsigned int)o->timeout };
	if (!temporary_make(&t->folder, "keyveto-tryout"))
		return cli_error("/tmp: cannot make a directory: %s",
		    strerror(errno));
	/*
	 * AuthorizedKeysCommandUser has to read the copy, if it may read
	 * keyveto.conf.
	 */
	if (chmod(t->folder.path, 0755) == -1 ||
	    !write_file(t->folder.path, "keyveto.conf",
		config->next != NULL ? config->next : config->base,
		config->next != NULL ? config->next_len : config->base_len,
		config->there ? &config->st : &made, t->config,
		sizeof(t->config)))
		return cli_error("%s: %s", t->folder.path, strerror(errno));
	return make_key(t, config, judged);
}

void
sshd_tryout_close(struct sshd_tryout *t)
{
	temporary_remove(&t->folder);
}

static int
hash_output(const void *p, size_t len, void *hash)
{
	SHA256Update(hash, p, len);
	return 0;
}

bool
sshd_tryout_command(const struct sshd_tryout *t, const char *command,
    const char *user, const struct account *account, struct sshd_output *out,
    char *why, size_t cap)
{
	const struct ask_login login = {
		.account = account,
		.type = t->type,
		.key = t->key,
		.fingerprint = t->fingerprint,
		.connection = "127.0.0.1 22 127.0.0.1 50000",
		.config = t->config,
	};
	char *argv[ASK_WORDS_MAX] = { NULL };
	char *name = ask_expand(&login, user);
	struct accounts as = { 0 };
	int error = EINVAL;
	SHA2_CTX hash;

	*out = (struct sshd_output){ .late = false };
	SHA256Init(&hash);
	if (name == NULL || !accounts_add(&as, name))
		snprintf(why, cap, "AuthorizedKeysCommandUser %s: %s", user,
		    name == NULL ? "has a token that is not known here" :
				   "there is no such account");
	else if (!ask_words(&login, command, argv))
		snprintf(why, cap, "AuthorizedKeysCommand %s: %s", command,
		    errno == EINVAL ? "has a token that is not known here" :
				      strerror(errno));
	else if ((error = ask_execute(argv, as.v, t->timeout, hash_output,
		      &hash, &out->status)) == ETIMEDOUT)
		snprintf(why, cap, "%s: did not end in time (--timeout)",
		    argv[0]);
	else if (error != 0)
		snprintf(why, cap, "%s: cannot be run by %s: %s", argv[0], name,
		    strerror(error));
	out->late = error == ETIMEDOUT;
	SHA256Final(out->digest, &hash);
	ask_free_words(argv);
	accounts_free(&as);
	free(name);
	return error == 0;
}

/* The conversation function: nobody is there to answer a module. */
static int
refuse_to_talk(int n, const struct pam_message **message,
    struct pam_response **response, void *arg)
{
	(void)n, (void)message, (void)arg;
	*response = NULL;
	return PAM_CONV_ERR;
}

enum { OPENED = 1, NOT_OPENED };

/* In a child: opens a session for root with the key, as sshd does. */
static void
open_session(struct record_out *out, void *arg)
{
	const struct pam_conv conv = { refuse_to_talk, NULL };
	const struct sshd_tryout *t = arg;
	char info[sizeof(t->type) + sizeof(t->key) + 64];
	pam_handle_t *pamh = NULL;
	int r;

	snprintf(info, sizeof(info), "SSH_AUTH_INFO_0=publickey %s %s", t->type,
	    t->key);
	r = pam_start_confdir(SERVICE, "root", &conv, t->folder.path, &pamh);
	if (r == PAM_SUCCESS && (r = pam_putenv(pamh, info)) == PAM_SUCCESS)
		r = pam_open_session(pamh, 0);
	record_send(out, r == PAM_SUCCESS ? OPENED : NOT_OPENED,
	    R_STRING(pam_strerror(pamh, r)));
}

bool
sshd_tryout_module(const struct sshd_tryout *t)
{
	const struct stat of_root = { .st_mode = 0600 };
	char line[160], path[sizeof(t->config)],
	    said[512] = "the process ended";
	struct child c;

	snprintf(line, sizeof(line),
	    "session requisite " SSHD_MODULE " config=%s\n", t->config);
	if (!write_file(t->folder.path, SERVICE, line, strlen(line), &of_root,
		path, sizeof(path)) ||
	    !child_start(&c, open_session, (void *)t))
		return cli_error("%s: %s", path, strerror(errno));
	return child_read_text(&c, said, sizeof(said)) == OPENED ||
	    cli_error("%s: PAM opens no session with it: %s; the system log "
		      "says more. Install it again: 'make install', or its "
		      "package",
		SSHD_MODULE_PATH, said);
}
