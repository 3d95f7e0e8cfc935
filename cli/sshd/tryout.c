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

#include "base/io.h"
#include "host/child.h"
#include "host/program.h"
#include "kv_base64.h"
#include "kv_spki.h"
#include "sshd/usable.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/words.h"

#define SERVICE "sshd" /* the name of the PAM stack in the folder */
#define WORDS_MAX 1024 /* of a command: two for each file, and some */
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

/* Makes keys until one is clean. False after a message. */
static bool
make_clean_key(struct sshd_tryout *t, const struct sshd_options *o)
{
	struct kv_decision d = { .verdict = KV_VERDICT_ERROR };
	struct judging judging;
	struct kv_sshkey parsed;
	char why[WALL_WHY_BYTES];
	/* RFC 8709 section 4: string "ssh-ed25519", string key of 32 bytes. */
	static const char head[] = "\0\0\0\x0bssh-ed25519\0\0\0\x20";
	uint8_t made[sizeof(head) - 1 + KEY_BYTES], digest[KV_SHA256_BYTES];
	bool ok = true;

	if (!sshd_usable_open(o, KV_CONFIG_PATH, NULL, &judging))
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
	(void)judging_close(&judging, why);
	if (ok && d.verdict == KV_VERDICT_CLEAN)
		return true;
	return cli_error(
	    "%s: keyveto made %d random keys, and its filters list each one, "
	    "or cannot judge it; see keyveto doctor",
	    KV_CONFIG_PATH, TRIES);
}

bool
sshd_tryout_open(struct sshd_tryout *t, const struct sshd_options *o,
    const struct sshd_file *config)
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
	return make_clean_key(t, o);
}

void
sshd_tryout_close(struct sshd_tryout *t)
{
	temporary_remove(&t->folder);
}

/*
 * A copy of word with its tokens expanded as sshd does, which the caller frees.
 * NULL with errno: EINVAL for an unknown token.
 */
static char *
expand_word(const struct sshd_tryout *t, const struct account *account,
    const char *word)
{
	char uid[32], *text = NULL;
	const struct {
		char letter;
		const char *value;
	} token[] = {
		{ '%', "%" },
		{ 'u', account->name },
		{ 'h', account->home },
		{ 'U', uid },
		{ 't', t->type },
		{ 'k', t->key },
		{ 'f', t->fingerprint },
		{ 'C', "127.0.0.1 22 127.0.0.1 50000" },
		{ 'D', "" },
	};
	const size_t n = sizeof(token) / sizeof(token[0]);
	size_t len, k = 0;
	FILE *out;

	snprintf(uid, sizeof(uid), "%llu", (unsigned long long)account->uid);
	if ((out = open_memstream(&text, &len)) == NULL)
		return NULL;
	for (; k < n && *word != '\0'; word++) {
		if (*word != '%') {
			putc(*word, out);
			continue;
		}
		word++;
		for (k = 0; k < n && token[k].letter != *word; k++)
			;
		if (k < n)
			fputs(token[k].value, out);
	}
	if (fclose(out) == 0 && k < n)
		return text;
	free(text);
	if (k == n)
		errno = EINVAL;
	return NULL;
}

/* Takes ownership of word. False if word is NULL, or argv is full. */
static bool
add_word(char **argv, size_t *np, char *word)
{
	if (word == NULL || *np == WORDS_MAX - 1) {
		free(word);
		return false;
	}
	argv[(*np)++] = word;
	return true;
}

/*
 * Splits a command into words as sshd does. The guard gets --config with the
 * copy before its own arguments. False with errno.
 */
static bool
make_words(const struct sshd_tryout *t, const char *command,
    const struct account *account, char **argv)
{
	char *copy = strdup(command), *rest = copy;
	const char *args, *word;
	bool ok = copy != NULL;
	size_t n = 0;

	while (ok && (word = sshd_words_next(&rest)) != NULL) {
		const bool program = n == 0;

		ok = add_word(argv, &n,
		    program ? strdup(word) : expand_word(t, account, word));
		if (ok && program && guard_command(command, &args))
			ok = add_word(argv, &n, strdup("--config")) &&
			    add_word(argv, &n, strdup(t->config));
	}
	/* sshd gives a command without arguments the account's name. */
	if (ok && n == 1)
		ok = add_word(argv, &n, expand_word(t, account, "%u"));
	free(copy);
	return ok && n > 0;
}

static int
hash_output(const void *p, size_t len, void *hash)
{
	SHA256Update(hash, p, len);
	return 0;
}

/*
 * Runs argv as sshd runs a command (misc.c:subprocess): with four environment
 * variables, and with /dev/null as standard input and error. False with a
 * sentence in why if the program could not be run, or did not end in time.
 */
static bool
run_command(const struct sshd_tryout *t, char *const *argv,
    const struct account *as, struct sshd_output *out, char *why, size_t cap)
{
	char user[512], logname[512], home[PATH_MAX + 8];
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/games";
	char *const env[] = { path, user, logname, home, NULL };
	struct program program = {
		.argv = (const char *const *)argv,
		.env = env,
		.as = as,
		.dies_with_us = true,
	};
	struct program_process process;
	int ends[2], error;
	SHA2_CTX hash;

	snprintf(user, sizeof(user), "USER=%s", as->name);
	snprintf(logname, sizeof(logname), "LOGNAME=%s", as->name);
	snprintf(home, sizeof(home), "HOME=%s", as->home);
	if (pipe2(ends, O_CLOEXEC) == -1) {
		snprintf(why, cap, "pipe: %s", strerror(errno));
		return false;
	}
	program_fds(&program, PROGRAM_NULL, ends[1], PROGRAM_NULL);
	SHA256Init(&hash);
	error = program_start(&program, &process) ? 0 : errno;
	close(ends[1]);
	if (error != 0)
		snprintf(why, cap, "%s: %s", argv[0], strerror(error));
	else if ((error = program_read(ends[0], t->timeout, hash_output,
		      &hash)) != 0) {
		program_kill(&process);
		out->late = error == ETIMEDOUT;
		snprintf(why, cap, "%s: %s", argv[0],
		    error == ETIMEDOUT ? "did not end in time (--timeout)" :
					 strerror(error));
	} else if ((error = program_wait(&process, &out->status)) != 0)
		snprintf(why, cap, "%s: cannot be run by %s: %s", argv[0],
		    as->name, strerror(error));
	close(ends[0]);
	SHA256Final(out->digest, &hash);
	return error == 0;
}

bool
sshd_tryout_command(const struct sshd_tryout *t, const char *command,
    const char *user, const struct account *account, struct sshd_output *out,
    char *why, size_t cap)
{
	struct accounts as = { 0 };
	char *argv[WORDS_MAX] = { NULL };
	char *name = expand_word(t, account, user);
	bool ok = false;

	*out = (struct sshd_output){ .late = false };
	if (name == NULL || !accounts_add(&as, name))
		snprintf(why, cap, "AuthorizedKeysCommandUser %s: %s", user,
		    name == NULL ? "has a token that is not known here" :
				   "there is no such account");
	else if (!make_words(t, command, account, argv))
		snprintf(why, cap, "AuthorizedKeysCommand %s: %s", command,
		    errno == EINVAL ? "has a token that is not known here" :
				      strerror(errno));
	else
		ok = run_command(t, argv, &as.v[0], out, why, cap);
	for (size_t i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	accounts_free(&as);
	free(name);
	return ok;
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
	char line[160], path[sizeof(t->config)];
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct kv_span said = { (const uint8_t *)"the process ended", 17 };
	struct child c;
	uint8_t tag = 0;
	bool bad;

	snprintf(line, sizeof(line),
	    "session requisite " SSHD_MODULE " config=%s\n", t->config);
	if (!write_file(t->folder.path, SERVICE, line, strlen(line), &of_root,
		path, sizeof(path)) ||
	    !child_start(&c, open_session, (void *)t))
		return cli_error("%s: %s", path, strerror(errno));
	while (record_fill(&in, c.fd) > 0)
		;
	if (record_next(&in, &tag, &payload, &bad) && tag == NOT_OPENED)
		(void)!kv_bytes_get_string(&payload, &said);
	if (tag != OPENED)
		cli_error(
		    "%s: PAM opens no session with it: %.*s; the system "
		    "log says more. Install it again: 'make install', or its "
		    "package",
		    SSHD_MODULE_PATH, (int)said.len, (const char *)said.p);
	record_in_free(&in);
	return child_wait(&c) == 0 && tag == OPENED;
}
