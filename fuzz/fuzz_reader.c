/* SPDX-License-Identifier: ISC */
/*
 * What keyveto-reader says, which may be in somebody else's hands: whatever it
 * is, keys and records are whole, a reader that says what it never says is a
 * problem, and no key has a better verdict for it than one that was sent. The
 * first byte says which command listens, and how the reader ends.
 */
#include <sys/mman.h>
#include <sys/socket.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "logs/log_reading.h"
#include "reading/judging.h"
#include "reading/keys.h"

enum listener { KEYS, LOG, JUDGE, WALLS, LISTENERS };
/* What is read at once: less than record_fill has room for. */
#define PIECE_BYTES 4096
#define RUDE 0x08
#define RESETS 0x10
#define CONFIGURED 0x20
#define KILLED 0x40
#define STAYS 0x80

static struct kv_span answers;
static int other_end = -1;
static unsigned int how;

/*
 * Each record is read alone, so that each question is answered by the next one.
 * What does not fit into the socket is not said.
 */
static void
say(int fd, const uint8_t *p, size_t len)
{
	struct kv_bytes rest = { p, len }, payload;
	uint8_t tag;
	bool bad;

	while (rest.left > 0) {
		const uint8_t *from = rest.p;
		size_t n = rest.left;

		if (record_cut(&rest, &tag, &payload, &bad))
			n = (size_t)(rest.p - from);
		else
			rest.left = 0;
		while (n > 0) {
			const size_t piece = n < PIECE_BYTES ? n : PIECE_BYTES;

			if (send(fd, from, piece, MSG_DONTWAIT) == -1)
				return;
			from += piece;
			n -= piece;
		}
	}
}

/* The program that wall_start starts is the input. */
bool
wall_start(struct wall_process *w, const char *name, bool prints,
    uint64_t file_bytes, char why[static WALL_WHY_BYTES])
{
	struct record_out hello = { .fd = -1 };
	int orders[2], said[2];

	(void)why;
	FUZZ_CHECK(strcmp(name, "keyveto-reader") == 0 && !prints);
	FUZZ_CHECK(file_bytes == 0);
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, orders) == 0);
	w->orders = orders[0];
	other_end = orders[1];
	w->errors = -1;
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, said) == 0);
	w->answers = said[0];
	record_send(&hello, READING_HELLO, R_VALUE(READING_VERSION),
	    R_VALUE(WALL_ALL));
	if ((how & RUDE) == 0)
		say(said[1], hello.buf, hello.len);
	say(said[1], answers.p, answers.len);
	/* Who closes a socket with something unread resets it. */
	if ((how & RESETS) != 0)
		FUZZ_CHECK(send(said[0], "", 1, 0) == 1);
	close(said[1]);
	/* It does not take what it is asked. */
	if ((how & STAYS) != 0)
		shutdown(other_end, SHUT_RDWR);
	record_out_free(&hello);
	return true;
}

bool
wall_wait(struct wall_process *w, int *statusp)
{
	wall_kill(w);
	*statusp = (how & KILLED) != 0 ? SIGKILL : 0;
	return (how & STAYS) == 0;
}

void
wall_kill(struct wall_process *w)
{
	close(w->orders);
	close(w->answers);
	close(other_end);
}

void
wall_warn(const char *program, unsigned int missing)
{
	(void)program;
	FUZZ_CHECK(missing == 0);
}

static void
on_key(const struct input_key *key, void *arg)
{
	(void)arg;
	FUZZ_CHECK(key->key.type != KV_KEY_NONE || key->spki.len > 0);
	FUZZ_CHECK(key->part == KV_PART_KEY || key->part == KV_PART_CA);
}

static void
on_problem(const struct input_problem *problem, void *arg)
{
	unsigned int *problems = arg;

	FUZZ_CHECK(problem->path != NULL && problem->reason != NULL);
	++*problems;
}

static void
on_file(const char *path, void *arg)
{
	(void)arg;
	FUZZ_CHECK(path != NULL);
}

static void
listen_for_keys(int fd)
{
	unsigned int problems = 0;
	const struct input_sink sink = { .key = on_key,
		.problem = on_problem,
		.file = on_file,
		.arg = &problems };

	if ((how & KILLED) != 0)
		reading_keys("/dev/null", &sink);
	else
		reading_keys_fd(fd, "fuzz", &sink);
	/* It did not say that this was all. */
	FUZZ_CHECK(answers.len > 0 || problems > 0);
}

static bool
on_record(uint8_t tag, struct kv_bytes payload, void *arg)
{
	struct reading_login login;
	struct log_decision d;

	(void)arg;
	if (tag == READING_LOGIN)
		return reading_receive_login(payload, &login);
	if (tag == READING_LOGIN_OUTCOME)
		return reading_receive_outcome(payload, &login);
	return tag == READING_LOG_KEY && reading_receive_log_key(payload, &d);
}

static void
listen_for_log(int fd)
{
	/* A moment that has passed, or none. */
	struct log_reading l = { .record = on_record,
		.deadline = (how & KILLED) != 0 ? 1 : 0 };
	char why[LOG_WHY_BYTES] = "";

	if (!log_reading_read(&l, READING_LOG_LOGINS, fd, why))
		FUZZ_CHECK(why[0] != '\0');
	else
		FUZZ_CHECK(l.done && l.since >= 0);
	if (!log_reading_end(&l, why))
		FUZZ_CHECK(why[0] != '\0');
}

/*
 * The configuration, filters and lists are pipes without a word: the reader says
 * what they are. A list may not be there.
 */
static enum kv_err
open_file(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	int ends[2];

	(void)arg;
	*fdp = -1;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "not there");
	if (strcmp(path, "/l") == 0 && (how & STAYS) != 0)
		return KV_ERR_SYSTEM;
	why[0] = '\0';
	FUZZ_CHECK(pipe(ends) == 0 && write(ends[1], "\n", 1) == 1);
	close(ends[1]);
	*fdp = ends[0];
	return KV_OK;
}

static void
listen_for_verdict(void)
{
	static const uint8_t public[32] = { 1, 2, 3 };
	static const char *const filter[] = { "/f" }, *const list[] = { "/l" };
	const struct kv_paths paths = { filter, 1, list, 1 };
	struct input_key key = {
		.path = "fuzz",
		.key = { .type = KV_KEY_ED25519 },
		.type = "ssh-ed25519",
	};
	struct kv_decision d = { .verdict = KV_VERDICT_CLEAN };
	char why[WALL_WHY_BYTES], name[KV_SOURCE_NAME_BYTES];
	struct judging j;

	key.key.field[0] = (struct kv_span){ public, sizeof(public) };
	if ((how & CONFIGURED) != 0)
		judging_open(&j, "/c", NULL, open_file, NULL);
	else
		judging_open(&j, NULL, &paths, open_file, NULL);
	if ((how & KILLED) != 0)
		(void)judging_receive_facts(&j.judge,
		    (struct kv_bytes){ answers.p, answers.len });
	for (int i = 0; i < 2; i++) {
		judging_key(&j.judge, &key, 0, &d);
		/* Of what was not said there is no good verdict. */
		if (answers.len == 0)
			FUZZ_CHECK(d.verdict == KV_VERDICT_ERROR &&
			    d.action == KV_ACTION_DENY);
		if (j.judge.n_lists > 0) {
			judging_name_source(&j.judge, 0, d.source_id[0], name);
			FUZZ_CHECK(name[0] != '\0');
		}
	}
	FUZZ_CHECK(judging_close(&j, why) == (why[0] == '\0'));
}

static void
listen_for_walls(void)
{
	char why[WALL_WHY_BYTES] = "";
	unsigned int walls;

	FUZZ_CHECK(reading_find_walls(&walls, why) == (why[0] == '\0'));
	FUZZ_CHECK(walls <= WALL_ALL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (size == 0)
		return 0;
	answers = (struct kv_span){ data + 1, size - 1 };
	how = data[0];
	FUZZ_CHECK((fd = memfd_create("fuzz", MFD_CLOEXEC)) != -1);
	switch ((enum listener)(how % LISTENERS)) {
	case KEYS:
		listen_for_keys(fd);
		break;
	case LOG:
		listen_for_log(fd);
		break;
	case WALLS:
		listen_for_walls();
		break;
	default:
		listen_for_verdict();
		break;
	}
	close(fd);
	return 0;
}
