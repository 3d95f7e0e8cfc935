/* SPDX-License-Identifier: ISC */
/* keyveto deny: adds, changes or removes DenyKey lines of keyveto.conf. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "host/memory.h"
#include "key_lines/key_lines.h"
#include "working/working.h"
#include "ways/asks.h"

#define FINGERPRINT "SHA256:"
#define LOG_FINGERPRINT "key_fp=" FINGERPRINT
#define INPUT_BYTES ((size_t)64 * 1024 * 1024)

/*
 * The fingerprints of a text (a list of them, a log, what ssh-keygen -l prints), as
 * keyveto-worker finds them. A line with a key has none: its owner wrote the
 * comment. But in a line of JSON, other strings may be fingerprints.
 */
struct fingerprints {
	struct key_lines *q; /* gets each */
	uint64_t n;
	uint64_t key_line;    /* the number of the first with a key; 0: none */
	uint64_t others;      /* lines without one, that are no comment */
	uint64_t first_other; /* the number of the first; 0: there is none */
	uint64_t bad_line;    /* has "SHA256:" before something else; 0: none */
	bool full;	      /* no more are taken, after a message */
	bool done;
	int error;
};

static bool
receive(struct kv_bytes b, void *arg)
{
	struct fingerprints *f = arg;
	struct kv_span digest;

	if (f->done || f->full || kv_bytes_get_string(&b, &digest) != KV_OK)
		return false;
	if (digest.len == KV_SHA256_BYTES && b.left == 0) {
		f->n++;
		f->full = !key_lines_add(f->q, digest.p);
		return !f->full;
	}
	f->done = digest.len == 0 &&
	    record_get_all(&b, R_NUMBER(f->error, INT_MAX), R_ANY(f->key_line),
		R_ANY(f->bad_line), R_ANY(f->others), R_ANY(f->first_other));
	return f->done;
}

/* Reads fd to its end. False after a message about shown. */
static bool
find_fingerprints(const char *shown, int fd, struct fingerprints *f)
{
	const struct working_task t = {
		.name = "fingerprints",
		.fd = { fd },
		.n_fds = 1,
		.result = receive,
		.has_parts = true,
		.arg = f,
		.done = &f->done,
	};
	char why[WALL_WHY_BYTES];

	if (!working_do(&t, why))
		return !f->full && cli_error("%s: %s", shown, why);
	if (f->error != 0)
		return cli_error("%s: %s", shown, strerror(f->error));
	if (f->bad_line != 0)
		return cli_error_at(shown, f->bad_line,
		    "not SHA256: and 43 characters: type ssh-keygen -l -E "
		    "sha256 -f KEY.pub");
	return true;
}

/* Moves what comes out of the pipe into a file, without reading it. */
static bool
keep_pipe(int pipe, int file)
{
	size_t left = INPUT_BYTES;
	ssize_t n;

	do {
		n = splice(pipe, NULL, file, NULL, left, 0);
		left -= n > 0 ? (size_t)n : 0;
	} while ((n > 0 && left > 0) || (n == -1 && errno == EINTR));
	if (n == 0)
		return lseek(file, 0, SEEK_SET) == 0;
	if (n > 0)
		errno = EFBIG;
	return false;
}

/* What comes out of a pipe, as a file; it closes the pipe. -1 after a message. */
static int
open_pipe(const char *shown, int pipe)
{
	int fd = memory_file("input");

	/* Whoever writes into it may not have begun. */
	if (fd == -1 ||
	    fcntl(pipe, F_SETFL, fcntl(pipe, F_GETFL) & ~O_NONBLOCK) == -1 ||
	    !keep_pipe(pipe, fd)) {
		cli_failed(shown, "cannot be read; give a file");
		io_close(fd);
		fd = -1;
	}
	close(pipe);
	return fd;
}

/* Opens the file, or what stands for standard input. -1 after a message. */
static int
open_file(const char *path)
{
	struct stat st;
	int fd = strcmp(path, "-") == 0 ?
	    fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) :
	    open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1 || fstat(fd, &st) == -1) {
		cli_failed(path, "cannot be opened");
		io_close(fd);
		return -1;
	}
	if (S_ISFIFO(st.st_mode))
		return open_pipe(path, fd);
	if (S_ISREG(st.st_mode))
		return fd;
	cli_error("%s: neither a file nor a pipe", path);
	close(fd);
	return -1;
}

/*
 * Adds what a file has: fingerprints, or else keys, but not both. A text in which
 * only some lines have a fingerprint is a log or a table. False after a message.
 */
static bool
add_fd(struct key_lines *q, const char *shown, int fd)
{
	struct fingerprints f = { .q = q };

	if (!find_fingerprints(shown, fd, &f))
		return false;
	if (f.n > 0 && f.key_line > 0)
		return cli_error("%s:%" PRIu64
				 ": a key, and the file has other "
				 "fingerprints: put them into files of their "
				 "own",
		    shown, f.key_line);
	if (f.n > 0) {
		if (f.others > 0)
			cli_error("note: %s:%" PRIu64
				  ": no fingerprint in this "
				  "line%s",
			    shown, f.first_other,
			    f.others > 1 ? " and in others" : "");
		return true;
	}
	if (lseek(fd, 0, SEEK_SET) == -1)
		return cli_failed(shown, "cannot be read");
	if (!key_lines_add_file(q, shown, fd))
		return false;
	if (q->n > 0)
		return true;
	return cli_error("%s: no SSH key and no fingerprint in it", shown);
}

/* Adds the key of a text, its type and its base64. False after a message. */
static bool
add_text(struct key_lines *q, const char *type, const char *blob)
{
	const int fd = memory_file("key");
	bool ok = fd != -1 && dprintf(fd, "%s %s\n", type, blob) > 0 &&
	    lseek(fd, 0, SEEK_SET) == 0;

	if (!ok)
		cli_failed("the key", "cannot be read");
	ok = ok && key_lines_add_file(q, "the key", fd);
	if (ok && q->n == 0)
		ok = cli_error("the key: no SSH key in it");
	io_close(fd);
	return ok;
}

/*
 * Adds what the first words name, of which *np are used: a fingerprint, a key,
 * or a file. False after a message.
 */
static bool
add_named(struct key_lines *q, char **word, int n, int *np)
{
	int fd;
	bool ok;

	*np = 1;
	if (strncmp(word[0], LOG_FINGERPRINT, strlen(LOG_FINGERPRINT)) == 0)
		return key_lines_add_fingerprint(q,
		    word[0] + strlen(LOG_FINGERPRINT) - strlen(FINGERPRINT));
	if (strncmp(word[0], FINGERPRINT, strlen(FINGERPRINT)) == 0)
		return key_lines_add_fingerprint(q, word[0]);
	if (strncmp(word[0], "MD5:", 4) == 0)
		return cli_error("%s: keyveto.conf takes SHA256 fingerprints: "
				 "type ssh-keygen -l -E sha256 -f KEY.pub",
		    word[0]);
	if (strstr(word[0], " AAAA") != NULL)
		return add_text(q, word[0], "");
	if (n > 1 && strncmp(word[1], "AAAA", 4) == 0) {
		*np = 2;
		return add_text(q, word[0], word[1]);
	}
	fd = open_file(word[0]);
	ok = fd != -1 && add_fd(q, word[0], fd);
	io_close(fd);
	return ok;
}

static void
print_done(const struct key_lines *q)
{
	const bool later = key_lines_begin_later(q);
	const size_t n = q->same ? q->n : q->n - q->stay;
	const struct asks *asks;
	char keys[KV_FINGERPRINT_BYTES + 32];

	if (q->n == 1)
		snprintf(keys, sizeof(keys), "%s is", q->key[0].fingerprint);
	else
		snprintf(keys, sizeof(keys), "%zu %s", n,
		    cli_plural(n, "key is", "keys are"));
	if (q->same) {
		printf("%s named already: the lines are there\n", keys);
		return;
	}
	key_lines_print_before(q);
	asks = asks_sshd(q->config);
	if (q->remove) {
		printf("%s%s judged as any other key%s\n", asks->where, keys,
		    asks->when);
		asks_print_note(asks);
		return;
	}
	printf("%s%s %s", asks->where, keys,
	    q->warns ? "only logged, by OnHit warn" : "refused");
	if (later)
		printf(" from %s on (UTC)", q->date);
	else
		fputs(asks->when, stdout);
	putchar('\n');
	asks_print_note(asks);
	key_lines_print_undo(q,
	    q->n == 1	    ? q->key[0].fingerprint :
		q->stay > 0 ? "(a file of only these keys)" :
			      "(the same file)");
	puts("open sessions stay open: keyveto audit --logins finds them");
}

/* Whether the arguments after the options go together. False after a message. */
static bool
check_arguments(const struct key_lines *q, int n)
{
	int64_t since;

	if (n == 0)
		return cli_error("deny needs a fingerprint, a key, or a file "
				 "of keys or fingerprints");
	if (q->remove && (q->date != NULL || q->yes))
		return cli_error(
		    "--remove takes keys, and neither --since nor --yes");
	return q->date == NULL || kv_config_read_date(q->date, &since) ||
	    cli_error("--since takes a date, YYYY-MM-DD, not %s", q->date);
}

/* Reads them. False after a message. */
static bool
read_arguments(struct key_lines *q, int n, char **word)
{
	int used;

	if (!add_named(q, word, n, &used))
		return false;
	if (q->remove && n > used)
		return cli_error("--remove takes no reason");
	return key_lines_set_reason(q, word + used, n - used);
}

static int
run_deny(const struct cli_command *cmd, int argc, char **argv)
{
	struct key_lines q = { .config = KV_CONFIG_PATH, .denies = true };
	const struct cli_option options[] = {
		{ .name = "since", .text = &q.date },
		{ .name = "remove", .flag = &q.remove },
		{ .name = "yes", .flag = &q.yes },
		{ .name = "config", .text = &q.config },
		{ .name = NULL },
	};
	int status = cli_read_options(cmd, argc, argv, options, NULL);

	if (status != -1)
		return status;
	status = CLI_UNCHECKED;
	if (!check_arguments(&q, argc - optind))
		status = cli_usage_error(cmd);
	else if (read_arguments(&q, argc - optind, argv + optind) &&
	    key_lines_apply(&q)) {
		print_done(&q);
		status = cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	key_lines_free(&q);
	return status;
}

const struct cli_command cli_deny = {
	.name = "deny",
	.section = 8,
	.synopsis = "[--since DATE] [--yes] [--remove] [--config FILE] "
		    "KEY [REASON...]",
	.help = "Refuse a key although no list has it",
	.details = "  --since DATE     from that day on, YYYY-MM-DD (UTC)\n"
		   "  --remove         take the lines of the keys out again\n"
		   "  --yes            although it may lock out root or an "
		   "administrator\n"
		   "  --config FILE    change FILE (default " KV_CONFIG_PATH
		   ")\n",
	.run = run_deny,
};
