/* SPDX-License-Identifier: ISC */
#include "accounts/files.h"

#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounts/openers.h"
#include "base/io.h"
#include "host/system_file.h"
#include "reading/judging.h"
#include "reading/keys.h"
#include "reading/lines.h"
#include "reading/talk.h"
#include "wall/orders.h"

#define OPENERS_MAX 16
/* How many files are under way to the reader, and what may wait for them. */
#define FILES_MAX (2 * READING_PACKET_FDS)
#define STEPS_MAX 4096
/* Descriptors of the process besides those. */
#define OTHERS_MAX 96

#define INVALID_DATA "the process that opened its files sent invalid data"
#define TOO_LONG \
	"reading its files took too long (--timeout); if a file system that " \
	"it has mounted itself gives no answer: umount -l PLACE"

/*
 * A step of the audit, which is made when all before it are made. Openers run
 * ahead of the reader, and the reader of this process.
 */
struct step {
	enum opener_tag tag;
	size_t account; /* its place */
	char *path;
	char *reason; /* OPENER_PROBLEM */
	/* OPENER_FILE. It is open here until it is read: the reader may end. */
	int fd;
	bool sent;
	struct step *next;
};

/* A process that opens files. */
struct source {
	struct child child;
	struct orders in;
	int error; /* errno, if there is no child */
};

struct run {
	const struct audit_readers *a;
	struct report *r;
	bool (*done)(const struct audit_found *found, void *arg);
	void *arg;
	bool ok; /* done never returned false, and there is memory */
	struct step *head, **tail;
	size_t n_steps, n_files, files_max;
	/* Of the head's account. */
	bool begun;
	struct audit_found found;
	int64_t deadline; /* 0: nobody waits for its files */
	struct talk talk;
	bool talks, has_facts;
	/* By whose files the reader judges the keys; NULL: it does not. */
	const struct kv_judge *judge;
	char *broken; /* why there is no reader at all; NULL */
};

/* --- what a key means for its account ------------------------------------- */

/* Reports a key of a line, with what the reader says of it. */
static void
report_one_key(struct run *run, const struct input_key *key,
    const struct finding *found)
{
	struct kv_decision d;

	if (run->judge == NULL) {
		report_key(run->r, key);
		return;
	}
	judging_decide(run->judge, found, &key->key, &d);
	report_decided(run->r, key, &d);
}

/* Reports a key of a file; ca is that of a certificate. */
static void
report_line_key(struct run *run, const struct step *file,
    const struct reading_line *line)
{
	struct report *r = run->r;
	struct audit_found *found = &run->found;
	const struct report before = *r;
	struct input_key key = {
		.path = file->path,
		.line = line->number,
		.account = r->account,
		.part = line->is_ca ? KV_PART_CA : KV_PART_KEY,
		.comment = line->comment,
		.key = line->key,
		.type = kv_keytype_name(line->key.type),
		.bits = kv_pubkey_bits(&line->key),
	};

	report_one_key(run, &key, &line->key_found);
	if (line->ca.type != KV_KEY_NONE) {
		key.part = KV_PART_CA;
		key.key = line->ca;
		key.type = kv_keytype_name(line->ca.type);
		key.bits = kv_pubkey_bits(&line->ca);
		report_one_key(run, &key, &line->ca_found);
		/* One of its keys alone lets nobody in. */
		r->usable = before.usable + (r->usable - before.usable == 2);
	}
	found->has_ca |= line->is_ca;
	*(r->refused > before.refused ? &found->refused :
					&found->let_in) = true;
}

static void
report_unknown_type(struct run *run, const struct step *file,
    const struct reading_line *line)
{
	struct report *r = run->r;
	const struct input_problem p = {
		.path = file->path,
		.line = line->number,
		.unknown_type = true,
		.type = line->type,
		.reason = kv_strerror(KV_ERR_TYPE_UNKNOWN),
	};
	struct audit_found *found = &run->found;
	const uint64_t refused = r->refused;

	report_problem(r, &p);
	*(r->refused > refused ? &found->refused : &found->let_in) = true;
}

/* --- the steps ------------------------------------------------------------ */

static void
remove_head(struct run *run)
{
	struct step *s = run->head;

	run->head = s->next;
	if (run->head == NULL)
		run->tail = &run->head;
	run->n_steps--;
	if (s->tag == OPENER_FILE) {
		run->n_files--;
		close(s->fd);
	}
	free(s->path);
	free(s->reason);
	free(s);
}

static void
begin_account(struct run *run)
{
	const struct audit_readers *a = run->a;
	const size_t place = run->head->account;

	run->found = (struct audit_found){
		.account = &a->accounts->v[place],
		.before = *run->r,
	};
	run->r->account = run->found.account->name;
	run->begun = true;
	run->deadline = 0;
}

static void
close_account(struct run *run)
{
	struct audit_found *found = &run->found;

	run->r->account = NULL;
	found->after = *run->r;
	run->ok = run->ok && run->done(found, run->arg);
	run->begun = false;
}

/* Makes all steps up to the next file. */
static void
make_steps(struct run *run)
{
	while (run->ok && run->head != NULL) {
		const struct step *s = run->head;

		if (!run->begun)
			begin_account(run);
		if (s->tag == OPENER_FILE)
			break;
		run->found.links += s->tag == OPENER_NOTHING;
		if (s->tag == OPENER_PROBLEM || s->tag == OPENER_NOTHING)
			report_problem_at(run->r, s->path, 0,
			    s->tag == OPENER_PROBLEM ?
				s->reason :
				"symbolic link to nothing");
		else if (s->tag == OPENER_NOTE && !run->r->quiet)
			cli_error("note: %s: sshd does not use this file; its "
				  "keys are audited all the same",
			    s->path);
		else if (s->tag == OPENER_UNASKED)
			run->a->on_unasked(s->path, run->a->unasked_arg);
		else if (s->tag == OPENER_END)
			close_account(run);
		remove_head(run);
	}
}

/* --- the conversation with the reader ------------------------------------- */

/* Is talk's answer. */
static bool
receive_answer(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	static struct reading_line line;
	struct run *run = t->arg;
	const struct step *s = run->head;

	if (run->judge != NULL && !run->has_facts) {
		run->has_facts = true;
		return tag == READING_FACTS &&
		    judging_receive_facts(run->judge, b);
	}
	if (tag == READING_KEYS_END) {
		t->ended = true;
		return run->n_files == 0 && b.left == 0;
	}
	if (s == NULL || s->tag != OPENER_FILE || !s->sent || !run->ok)
		return false;
	if (tag == READING_LINES_END) {
		run->r->files++;
		remove_head(run);
		make_steps(run);
		return b.left == 0;
	}
	if (!reading_receive_line(tag, b, run->judge, &line))
		return false;
	if (tag == READING_LINE_KEY)
		report_line_key(run, s, &line);
	else if (tag == READING_LINE_UNKNOWN)
		report_unknown_type(run, s, &line);
	else
		report_problem_at(run->r, s->path, line.number, line.reason);
	return true;
}

static void
send_file(struct run *run, struct step *s)
{
	const int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);

	s->sent = false;
	/* A reader before this one may have read it. */
	(void)lseek(s->fd, 0, SEEK_SET);
	if (fd == -1)
		return;
	talk_begin(&run->talk, READING_LINES, 0, fd);
	record_add_number(&run->talk.packet, (uint64_t)run->r->now);
	record_end(&run->talk.packet);
	/* No answer before this one is about it. */
	s->sent = true;
}

/* Starts a reader, and hands it the files that none has read. */
static void
start_reader(struct run *run)
{
	run->talk = (struct talk){
		.answer = receive_answer,
		.quiet = run->r->quiet,
		.arg = run,
	};
	run->talks = true;
	run->has_facts = false;
	talk_start(&run->talk);
	if (run->judge != NULL)
		judging_hand_over(run->judge, &run->talk);
	else
		talk_send_setup(&run->talk, READING_KEYS);
	for (struct step *s = run->head; s != NULL; s = s->next)
		if (s->tag == OPENER_FILE)
			send_file(run, s);
}

/* The head's file was not read, nor will those of its account be. */
static void
abandon_account(struct run *run, const char *reason)
{
	const size_t account = run->head->account;

	report_problem_at(run->r, run->found.account->name, 0, reason);
	run->r->files++;
	while (run->head != NULL && run->head->account == account) {
		if (run->head->tag == OPENER_END)
			break;
		remove_head(run);
	}
	make_steps(run);
}

/* The reader failed when it had read all files. */
static void
report_reader(struct run *run, const char *why)
{
	run->r->broken_off = true;
	report_problem_at(run->r, "the files of accounts", 0, why);
}

/*
 * The reader has ended, or does not answer in time. It says what it has read of
 * a file before it reads the next one: so it was reading the head's.
 */
static void
replace_reader(struct run *run)
{
	const bool late = run->talk.why[0] == '\0';
	const bool greeted = run->talk.greeted;
	char why[WALL_WHY_BYTES];

	if (late)
		snprintf(run->talk.why, sizeof(run->talk.why),
		    "the reader of files did not answer");
	(void)talk_end(&run->talk);
	run->talks = false;
	snprintf(why, sizeof(why), "%s", run->talk.why);
	if (!greeted && (run->broken = strdup(why)) == NULL)
		run->ok = false;
	if (!run->ok || !greeted)
		return;
	if (run->n_files == 0)
		report_reader(run, why);
	else
		abandon_account(run, late ? TOO_LONG : why);
	if (run->ok && run->n_files > 0)
		start_reader(run);
}

/* Has files read until at most so many are left. */
static void
read_files(struct run *run, size_t most)
{
	while (run->ok && run->n_files > most) {
		if (run->broken != NULL) {
			abandon_account(run, run->broken);
			continue;
		}
		if (run->deadline == 0)
			run->deadline = io_deadline(run->a->timeout);
		if (!run->head->sent)
			abandon_account(run, strerror(EMFILE));
		else if (!talk_wait(&run->talk, run->deadline))
			replace_reader(run);
	}
	/* Until the next call, nobody waits. */
	run->deadline = 0;
}

/* Adds a step, whose strings and descriptor it then has. */
static void
add_step(struct run *run, const struct step *model)
{
	struct step *s = malloc(sizeof(*s));

	if (s == NULL) {
		run->ok = false;
		free(model->path);
		free(model->reason);
		if (model->tag == OPENER_FILE)
			close(model->fd);
		return;
	}
	*s = *model;
	*run->tail = s;
	run->tail = &s->next;
	run->n_steps++;
	if (s->tag == OPENER_FILE) {
		run->n_files++;
		if (!run->talks && run->broken == NULL)
			start_reader(run);
		else if (run->broken == NULL)
			send_file(run, s);
	}
	make_steps(run);
	if (run->n_files >= run->files_max || run->n_steps >= STEPS_MAX)
		read_files(run, run->files_max / 2);
}

/* --- what the openers say ------------------------------------------------- */

static bool
parse_record(struct run *run, uint8_t tag, struct kv_bytes *b,
    struct orders *in, size_t account)
{
	struct step s = { .tag = (enum opener_tag)tag, .account = account };
	bool ok = (s.path = record_copy_text(b)) != NULL;

	if (tag == OPENER_FILE)
		ok = ok && (s.fd = orders_next_descriptor(in)) != -1;
	else if (tag == OPENER_PROBLEM)
		ok = ok && (s.reason = record_copy_text(b)) != NULL;
	else
		ok = ok && tag >= OPENER_NOTHING && tag <= OPENER_END &&
		    (tag != OPENER_UNASKED || run->a->asks != NULL);
	if (ok)
		add_step(run, &s);
	else {
		free(s.path);
		free(s.reason);
	}
	return ok;
}

/*
 * Reads what an opener says of an account. Returns NULL at its end, else what
 * went wrong.
 */
static const char *
read_account(struct run *run, struct source *source, size_t account)
{
	const int64_t deadline = io_deadline(run->a->timeout);
	struct kv_bytes b;
	uint8_t tag;

	do {
		if (source->in.rest.left == 0 &&
		    !io_wait(source->child.fd, deadline))
			return TOO_LONG;
		if (!orders_next(&source->in, &tag, &b))
			return "the process that read its files was killed";
		if (!parse_record(run, tag, &b, &source->in, account))
			return INVALID_DATA;
	} while (run->ok && tag != OPENER_END);
	return NULL;
}

static void
kill_source(struct source *source)
{
	int fd;

	while ((fd = orders_next_descriptor(&source->in)) != -1)
		close(fd);
	if (source->child.pid != -1)
		child_kill(&source->child);
}

static void
start_source(struct source *source, const struct audit_readers *a, size_t n,
    size_t place)
{
	source->error = openers_start(a, &source->child, n, place) ? 0 : errno;
	source->in.socket = source->child.fd;
	source->in.rest.left = 0;
}

static void
add_account(struct run *run, struct source *source, size_t account)
{
	const char *reason = source->child.pid == -1 ?
	    strerror(source->error) :
	    read_account(run, source, account);
	struct step problem = { .tag = OPENER_PROBLEM, .account = account };
	const struct step end = { .tag = OPENER_END, .account = account };

	if (reason == NULL)
		return;
	/* Another one goes on with the next account. */
	kill_source(source);
	problem.path = strdup(run->a->accounts->v[account].name);
	problem.reason = strdup(reason);
	run->ok = run->ok && problem.path != NULL && problem.reason != NULL;
	add_step(run, &problem);
	add_step(run, &end);
}

/* How many openers run at a time. */
static size_t
count_openers(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors >= OPENERS_MAX ? OPENERS_MAX :
	    processors > 2		 ? (size_t)processors + 1 :
					   3;
}

/* Each file under way needs a descriptor here, and one in its packet. */
static size_t
count_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1 ||
	    limit.rlim_cur < OTHERS_MAX + 4)
		return 1;
	return limit.rlim_cur - OTHERS_MAX >= (rlim_t)2 * FILES_MAX ?
	    FILES_MAX :
	    (size_t)(limit.rlim_cur - OTHERS_MAX) / 2;
}

/* Ends the reader, which has read all files if run->ok. */
static void
stop_reader(struct run *run)
{
	if (!run->talks)
		return;
	if (!run->ok)
		snprintf(run->talk.why, sizeof(run->talk.why), "stopped");
	if (!talk_end(&run->talk) && run->ok)
		report_reader(run, run->talk.why);
}

static void
free_run(struct run *run)
{
	while (run->head != NULL)
		remove_head(run);
	run->r->account = NULL;
	free(run->broken);
}

/*
 * Several openers run at a time; each blocks when its socket is full. So
 * findings come in the order of the accounts, and are not stored.
 */
bool
audit_accounts(struct report *r, const struct audit_readers *a,
    bool (*done)(const struct audit_found *found, void *arg), void *arg)
{
	const size_t n = a->accounts->n, openers = count_openers();
	struct source *source = calloc(openers, sizeof(*source));
	struct run run = {
		.a = a,
		.r = r,
		.done = done,
		.arg = arg,
		.ok = source != NULL,
		.judge = r->on_key == NULL && r->decide == judging_key ?
		    r->judge :
		    NULL,
		.files_max = count_files(),
	};

	run.tail = &run.head;
	for (size_t i = 0; run.ok && i < openers; i++)
		source[i].child.pid = -1;
	for (size_t i = 0; run.ok && i < n; i++) {
		for (size_t j = i; j < n && j - i < openers; j++)
			if (source[j % openers].child.pid == -1)
				start_source(&source[j % openers], a, openers,
				    j);
		add_account(&run, &source[i % openers], i);
	}
	read_files(&run, 0);
	stop_reader(&run);
	/* Those that have no more accounts end. */
	for (size_t i = 0; source != NULL && i < openers; i++) {
		if (run.ok && source[i].child.pid != -1)
			(void)child_wait(&source[i].child);
		else
			kill_source(&source[i]);
	}
	free_run(&run);
	free(source);
	return run.ok;
}

static void
on_key(const struct input_key *key, void *report)
{
	report_key(report, key);
}

static void
on_problem(const struct input_problem *problem, void *report)
{
	report_problem(report, problem);
}

static void
on_file(const char *path, void *report)
{
	struct report *r = report;

	(void)path;
	r->files++;
}

struct input_sink
audit_sink(struct report *r)
{
	return (struct input_sink){
		.key = on_key,
		.problem = on_problem,
		.file = on_file,
		.arg = r,
		.plain = true,
	};
}

static void
on_ca_key(const struct input_key *key, void *arg)
{
	struct input_key ca = *key;

	ca.part = KV_PART_CA;
	report_key(arg, &ca);
}

static void
audit_user_ca(struct report *r, const char *path, bool absent_is_problem)
{
	struct input_sink sink = audit_sink(r);
	int fd;

	sink.key = on_ca_key;
	/* Written in a block by origin; what sshd -T prints is absolute. */
	if (*path != '/') {
		report_problem_at(r, path, 0,
		    "TrustedUserCAKeys is no absolute path: what sshd finds "
		    "there is not looked at; write it as one");
		return;
	}
	/* sshd finds nothing there, and trusts nobody. */
	if (system_file_is_masked(path))
		return;
	if ((fd = system_file_open(path, O_RDONLY)) != -1) {
		reading_keys_fd(fd, path, &sink);
		close(fd);
	} else if ((errno != ENOENT && errno != ENOTDIR) || absent_is_problem) {
		report_problem_at(r, path, 0, strerror(errno));
	}
}

void
audit_user_cas(struct report *r, const struct audit_policies *policies,
    bool absent_is_problem)
{
	struct texts done = { .n = 0 };

	for (size_t i = 0; i < policies->n; i++) {
		const struct texts *cas = &policies->v[i]->user_cas;

		for (size_t k = 0; k < cas->n; k++) {
			if (texts_has(&done, cas->v[k]))
				continue;
			(void)texts_add(&done, cas->v[k]);
			audit_user_ca(r, cas->v[k], absent_is_problem);
		}
	}
	texts_free(&done);
}
