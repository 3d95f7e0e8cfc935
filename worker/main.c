/* SPDX-License-Identifier: ISC */
/*
 * keyveto-worker: runs a command that reads what others wrote, or does a task
 * with such files, for the keyveto command, which starts it. It prints into
 * pipes, and asks keyveto for each file (wire/working.h). Before it asks for the
 * first, or does the task, it gives up all else.
 */
#include <openssl/crypto.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "command.h"
#include "base/progress.h"
#include "tasks.h"

/* It may have half of the memory, and this much in any case. */
#define MEMORY_BYTES ((uint64_t)1024 * 1024 * 1024)

static const struct cli_command *const commands[] = {
	&cli_filter,
	&cli_list,
	&cli_proof,
};

#define COUNT (sizeof(commands) / sizeof(commands[0]))

/* What reading alone does not need: it writes, and asks. */
static const int calls[] = {
	SCMP_SYS(ftruncate),
	SCMP_SYS(ftruncate64),
	SCMP_SYS(memfd_create),
	SCMP_SYS(pwrite64),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(sync_file_range2),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* What the front sent first. */
struct start {
	struct task_work task;
	char **argv;
	int argc;
	bool terminal, out_terminal;
};

static void
add_word(struct start *s, const char *text)
{
	const size_t n = (size_t)s->argc;
	char **v = realloc(s->argv, (n + 2) * sizeof(*v));

	if (v == NULL || (v[n] = strdup(text)) == NULL)
		ask_failed();
	v[n + 1] = NULL;
	s->argv = v;
	s->argc++;
}

static void
keep_task(struct start *s, struct kv_bytes b)
{
	static char name[64];
	uint8_t *args;

	if (!record_get_text(&b, name, sizeof(name)) ||
	    (args = malloc(b.left + 1)) == NULL)
		ask_failed();
	memcpy(args, b.p, b.left);
	s->task.name = name;
	s->task.args = (struct kv_bytes){ args, b.left };
	while (s->task.n_fds < WORKING_TASK_FDS &&
	    (s->task.fd[s->task.n_fds] = ask_next_descriptor()) != -1)
		s->task.n_fds++;
}

static bool
receive_start_record(struct start *s, uint8_t tag, struct kv_bytes b)
{
	static char text[WORKING_TEXT_BYTES];
	uint64_t version;

	if (tag == WORKING_START) {
		if (!record_get(&b, R_ANY(version), R_FLAG(s->terminal),
			R_FLAG(s->out_terminal)) ||
		    version != WORKING_VERSION)
			ask_failed();
		return false;
	}
	if (tag == WORKING_TASK) {
		keep_task(s, b);
		return true;
	}
	if (!record_get_text(&b, text, sizeof(text)))
		ask_failed();
	if (tag == WORKING_WORD)
		add_word(s, text);
	else if (tag != WORKING_VARIABLE || putenv(strdup(text)) != 0)
		ask_failed();
	return true;
}

static void
receive_start(struct start *s)
{
	struct kv_bytes b;
	uint8_t tag;

	do
		tag = ask_receive(&b, NULL);
	while (receive_start_record(s, tag, b));
}

static void
send_progress(const char *what, bool things, uint64_t done, uint64_t total)
{
	struct record_out *o = ask_begin(WORKING_PROGRESS);

	record_add(o, R_STRING(what), R_FLAG(things), R_ANY(done),
	    R_ANY(total));
	ask_tell();
}

static void
send_hello(unsigned int walls)
{
	struct record_out *o = ask_begin(WORKING_HELLO);

	record_add(o, R_VALUE(WORKING_VERSION), R_VALUE(walls));
	ask_tell();
}

static uint64_t
find_memory(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES);
	const uint64_t half = pages > 0 ?
	    (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2 :
	    0;

	return half > MEMORY_BYTES ? half : MEMORY_BYTES;
}

int
main(void)
{
	struct start s = { 0 };
	const struct wall_kept kept = {
		.memory = find_memory(),
		.writes = true,
		.call = calls,
		.n_calls = sizeof(calls) / sizeof(calls[0]),
	};

	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	/* Beyond the limit, write(2) shall fail with EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	receive_start(&s);
	if (s.out_terminal)
		setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	tzset();
	/* Its configuration may name code to load. */
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	send_hello(task_enter(&s.task, &kept));
	if (s.terminal)
		progress_tell(send_progress);
	if (s.task.name != NULL)
		return task_do(&s.task) ? 0 : CLI_UNCHECKED;
	for (size_t i = 0; s.argc > 0 && i < COUNT; i++)
		if (strcmp(commands[i]->name, s.argv[0]) == 0)
			return commands[i]->run(commands[i], s.argc, s.argv);
	ask_failed();
}
