/* SPDX-License-Identifier: ISC */
/*
 * keyveto proof make: has keyveto-worker make proofs that a key is compromised,
 * in both forms, and writes them. The private key may be anybody's.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/files.h"
#include "host/replace.h"
#include "kv_fingerprint.h"
#include "proof/private_key.h"
#include "tasks/keygen.h"
#include "tasks/task.h"
#include "working/questions.h"

#define DEFAULT_SUFFIX ".proof"

/* A file that is written. */
struct output {
	char path[PATH_MAX];
	const char *form;
	char *text; /* NULL: the key has no proof in this form */
};

enum { JWS, PKCS10, OUTPUTS };

/* One run of make. */
struct making {
	const char *private_key; /* "-": standard input */
	const char *name;	 /* --output */
	bool force;
	int next; /* a file for the key, which a worker leaves to the next */
	enum kv_keytype type;
	unsigned int bits;
	char fingerprint[KV_FINGERPRINT_BYTES];
	struct output output[OUTPUTS];
};

static bool
set_names(struct making *m)
{
	static const char *const suffix[OUTPUTS] = { ".json", ".pem" };
	static const char *const form[OUTPUTS] = { "JWS", "PKCS#10" };

	if (m->name == NULL && strcmp(m->private_key, "-") == 0)
		return cli_error("--output NAME must say where the proofs go");
	for (size_t i = 0; i < OUTPUTS; i++) {
		int len = snprintf(m->output[i].path, PATH_MAX, "%s%s%s",
		    m->name != NULL ? m->name : m->private_key,
		    m->name != NULL ? "" : DEFAULT_SUFFIX, suffix[i]);

		m->output[i].form = form[i];
		if (len < 0 || len >= PATH_MAX)
			return cli_error("%s: the name is too long",
			    m->private_key);
	}
	return true;
}

/* --- the worker --------------------------------------------------------- */

/* What the task "make-proof" answers. */
struct answer {
	bool is_last; /* it may need nothing more */
	struct making *m;
	enum private_key_end end;
	char why[PROOF_WHY_BYTES];
};

/* A proof, or "", is copied. False for what is none. */
static bool
receive_text(struct kv_bytes *b, struct output *o)
{
	char text[WORKING_TEXT_BYTES];

	if (!record_get_text(b, text, sizeof(text)))
		return false;
	for (const char *p = text; *p != '\0'; p++)
		if (*p != '\n' && (*p < ' ' || *p > '~'))
			return false;
	return text[0] == '\0' || (o->text = strdup(text)) != NULL;
}

static bool
receive_proofs(struct kv_bytes *b, struct making *m)
{
	return record_get(b, R_NUMBER(m->type, KV_KEY_MLDSA44_ED25519_OLD),
		   R_NUMBER(m->bits, UINT32_MAX), R_TEXT(m->fingerprint)) &&
	    receive_text(b, &m->output[JWS]) &&
	    receive_text(b, &m->output[PKCS10]) &&
	    m->output[PKCS10].text != NULL;
}

static bool
receive_answer(struct kv_bytes b, void *arg)
{
	struct answer *a = arg;

	return record_get(&b,
		   R_NUMBER(a->end,
		       a->is_last ? PRIVATE_KEY_READ : PRIVATE_KEY_END_MAX),
		   R_TEXT(a->why)) &&
	    (a->end != PRIVATE_KEY_READ || receive_proofs(&b, a->m)) &&
	    b.left == 0;
}

/*
 * Has the key that fd holds sign. needed is what the worker before needed, or 0.
 * Returns what it needs in m->next; PRIVATE_KEY_REFUSED after a message.
 */
static enum private_key_end
sign(struct making *m, int fd, enum private_key_end needed,
    const char *passphrase)
{
	struct answer a = { .is_last = needed != 0, .m = m };
	const struct working_task t = {
		.name = "make-proof",
		.args = RECORD_FIELDS(R_VALUE(needed), R_STRING(passphrase)),
		.fd = { fd, m->next },
		.n_fds = 2,
		.file_bytes = WORKING_COPY_BYTES,
		.result = receive_answer,
		.arg = &a,
	};

	if (!tasks_do(&t, m->private_key))
		return PRIVATE_KEY_REFUSED;
	if (a.end == PRIVATE_KEY_REFUSED)
		cli_error("%s: %s", m->private_key, a.why);
	return a.end;
}

/* Has ssh-keygen convert the key in m->next. False after a message. */
static bool
convert(const struct making *m, const char *passphrase)
{
	struct keygen_said said;
	char why[WALL_WHY_BYTES];

	if (!tasks_convert(m->next, passphrase, &said, why))
		cli_error("%s: cannot be read: %s", m->private_key, why);
	else if (said.error == ENOENT)
		cli_error("%s: %s cannot be run; install openssh-client",
		    m->private_key, KEYGEN_PATH);
	else if (said.error != 0)
		cli_error("%s: %s cannot be run: %s", m->private_key,
		    KEYGEN_PATH, strerror(said.error));
	else if (said.status == 0)
		return true;
	else
		cli_error("%s: %s", m->private_key,
		    passphrase != NULL ?
			"ssh-keygen cannot decrypt it: wrong passphrase, or a "
			"damaged key" :
			"ssh-keygen cannot read it: damaged, or of a type that "
			"it does not know");
	return false;
}

/* --- reading the key ---------------------------------------------------- */

/*
 * Asks on the terminal, and nowhere else. NULL after a message. The text is
 * static.
 */
static char *
ask_passphrase(const struct making *m)
{
	const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	char *text;

	if (terminal == -1) {
		cli_error("%s: encrypted, and there is no terminal to ask for "
			  "its passphrase on",
		    m->private_key);
		return NULL;
	}
	close(terminal);
	cli_error("%s: encrypted", m->private_key);
	if ((text = getpass("Passphrase: ")) == NULL)
		cli_error("%s: no passphrase was given", m->private_key);
	return text;
}

/* Opens the file. -1 after a message. */
static int
open_key(const struct making *m)
{
	const int fd = files_is_standard_input(m->private_key) ?
	    questions_open_standard_input() :
	    files_open(m->private_key, 0);

	if (fd == -1)
		cli_error("%s: %s", m->private_key, strerror(errno));
	return fd;
}

/* Has the key in m->next sign, which a worker put there. False after a message. */
static bool
sign_with_next(struct making *m, enum private_key_end needed)
{
	const bool asks = needed != PRIVATE_KEY_NEEDS_KEYGEN;
	char *passphrase = NULL;
	bool ok;

	if (asks && (passphrase = ask_passphrase(m)) == NULL)
		return false;
	if (needed == PRIVATE_KEY_NEEDS_PASSPHRASE)
		ok = sign(m, m->next, needed, passphrase) == PRIVATE_KEY_READ;
	else
		ok = convert(m, passphrase) &&
		    sign(m, m->next, PRIVATE_KEY_NEEDS_KEYGEN, "") ==
			PRIVATE_KEY_READ;
	if (passphrase != NULL)
		explicit_bzero(passphrase, strlen(passphrase));
	return ok;
}

/* Has the private key sign. False after a message. */
static bool
sign_proofs(struct making *m)
{
	enum private_key_end end;
	const int fd = open_key(m);

	if (fd == -1)
		return false;
	m->next = memfd_create("key", MFD_CLOEXEC);
	end = m->next != -1 ? sign(m, fd, 0, "") : PRIVATE_KEY_REFUSED;
	if (m->next == -1)
		cli_error("%s: %s", m->private_key, strerror(errno));
	close(fd);
	return end == PRIVATE_KEY_READ ||
	    (end != PRIVATE_KEY_REFUSED && sign_with_next(m, end));
}

/* --- the files ---------------------------------------------------------- */

/* Says which key it is, and what a proof means. */
static void
warn(const struct making *m)
{
	cli_error("%s: %s %u %s", m->private_key, kv_keytype_name(m->type),
	    m->bits, m->fingerprint);
	cli_error("A proof says that this key is compromised, and is signed by "
		  "it. Once published,");
	cli_error("it cannot be taken back: filters and lists take it, and "
		  "servers that use them");
	cli_error("refuse the key for ever. It does not show the private half. "
		  "Put a new key in");
	cli_error("the place of this one first; until then, show the proofs to "
		  "nobody.");
}

/* Always false, after a message. */
static bool
refuse_existing(const char *path)
{
	return cli_error(
	    "%s: exists; --force replaces it, --output NAME chooses another "
	    "name",
	    path);
}

/* Whether nothing is in the way. False after a message. */
static bool
may_write(const struct making *m)
{
	struct stat st;

	for (size_t i = 0; i < OUTPUTS; i++) {
		const char *path = m->output[i].path;

		if (!m->force && m->output[i].text != NULL &&
		    lstat(path, &st) == 0)
			return refuse_existing(path);
	}
	return true;
}

static bool
write_output(const struct output *o, bool force)
{
	static struct replace r;
	bool ok = replace_open(&r, o->path);

	r.owner_only = true;
	r.change = CHANGE_JUDGED;
	ok = ok && (force || r.old == -1 || refuse_existing(o->path)) &&
	    replace_begin(&r) &&
	    replace_write_text(&r, o->text, strlen(o->text)) &&
	    replace_commit(&r);
	replace_close(&r);
	if (ok)
		cli_printf(stdout, "%s\n", o->path);
	return ok;
}

/* False after a message. */
static bool
make_proofs(struct making *m)
{
	if (!set_names(m) || !sign_proofs(m))
		return false;
	warn(m);
	if (!may_write(m))
		return false;
	/* Who may see a proof is for its maker to say. */
	umask(077);
	for (size_t i = 0; i < OUTPUTS; i++) {
		if (m->output[i].text == NULL)
			cli_error("no %s: there is none for keys of type %s",
			    m->output[i].form, kv_keytype_name(m->type));
		else if (!write_output(&m->output[i], m->force))
			return false;
	}
	return cli_stdout_ok();
}

static int
run_make(const struct cli_command *cmd, int argc, char **argv)
{
	static struct making m;
	const struct cli_option options[] = {
		{ .name = "force", .flag = &m.force },
		{ .name = "output", .text = &m.name },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);
	bool ok;

	if (status != -1)
		return status;
	if (argc - optind != 1)
		return cli_wrong_usage(cmd, "give one file with a private key");
	m.private_key = argv[optind];
	m.next = -1;
	ok = make_proofs(&m);
	if (m.next != -1)
		close(m.next);
	for (size_t i = 0; i < OUTPUTS; i++)
		free(m.output[i].text);
	return ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command cli_proof_make = {
	.name = "proof make",
	.synopsis = "[--output NAME] [--force] PRIVATE-KEY|-",
	.help = CLI_PROOF_MAKE_HELP,
	.details = "  --output NAME    write NAME.json and NAME.pem instead\n"
		   "  --force          replace files that exist\n",
	.run = run_make,
};
