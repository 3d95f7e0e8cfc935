/* SPDX-License-Identifier: ISC */
/* keyveto why: says in words why a key is refused. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounts/named.h"
#include "base/room.h"
#include "command.h"
#include "sets/filter_facts.h"
#include "keys/input.h"
#include "weak/weak.h"
#include "working/weak.h"
#include "published/lookup.h"
#include "reading/chosen.h"
#include "tasks/list.h"
#include "upkeep/own_list.h"
#include "ways/asks.h"

#define DATE_BYTES 64
/* A line of a file. */
struct spot {
	char *path;
	uint64_t line;
};

/* One run of why. */
struct asking {
	const struct judging *judging;
	/* The keyveto.conf of logins; NULL: options stand in its place. */
	const char *consulted;
	const char *unconsulted; /* a list that no login consults; or NULL */
	const struct asks *asks; /* asked about that; NULL: not yet */
	int64_t now;
	struct named_keys named;
	/* What was found. */
	uint64_t keys, clean, unjudged;
	struct spot *spot; /* where the key of the fingerprint is, each once */
	size_t n_spots;
};

/* Where a path of LIST.lookup lies. */
struct place {
	const char *repository; /* "OWNER/NAME BRANCH/FOLDER", or "" */
	size_t n;
};

/* A text for a name. The last one of a list has no name. */
struct named_text {
	const char *name, *text;
};

/* The sources of badkeys' list: how the private halves became known. */
static const struct named_text leaks[] = {
	{ "debianssl",
	    "it was made by the OpenSSL of Debian from 2006 to 2008, which "
	    "could make only 32,767 keys of each type and size "
	    "(CVE-2008-0166)" },
	{ "keypair",
	    "it was made by the JavaScript library keypair, which made the "
	    "same keys again (CVE-2021-41117)" },
	{ "ransomware", "its private half was published with ransomware" },
	{ "documentation", "its private half stands in documentation" },
	{ "firmware", "its private half is part of the firmware of devices" },
	{ "firmwares", "its private half is part of the firmware of devices" },
	{ "localhostcert",
	    "its private half came with software that brings a certificate "
	    "for localhost" },
	{ "localroot",
	    "its private half came with software that installs a root "
	    "certificate" },
	{ "misc", "its private half was published" },
	{ "softwaretests",
	    "its private half is part of the tests of software" },
	{ "testvectors", "its private half is a published test vector" },
	{ "rfc", "its private half stands in an RFC" },
	{ "web", "its private half was found on a web server" },
	{ "git", "its private half was found in a public git repository" },
	{ "forti",
	    "its private half was in the configurations of Fortinet devices "
	    "that were leaked" },
	{ "pkg", "its private half is part of a software package" },
	{ "new", "its private half was found lately" },
	{ NULL, NULL },
};

/*
 * The sources of the built-in list, as kv_nosecret.h and weak_class_name name
 * them: what such keys are, and why they need no secret, in lines.
 */
static const struct named_text built_in[] = {
	{ "rsa-exponent",
	    "Its exponent is 0, 1 or even, and no program that makes keys "
	    "chooses such a one.\nWith an exponent of 1 the padded hash is the "
	    "signature, so anybody has it." },
	{ "rsa-factor",
	    "A small prime divides its modulus, so some divisions tell the "
	    "other factor.\nIf that is a prime, anybody computes the private "
	    "half from the public one." },
	{ "ed25519-order",
	    "Its point has an order of 8 or less: multiplied by any number, it "
	    "is one of eight\npoints at most. So anybody finds a signature "
	    "that fits, after some tries." },
	{ "ecdsa-generator",
	    "Its point is the generator of the curve, or the generator times a "
	    "number of up to\n8, or the negative of that. The number is the "
	    "private half, so everybody has it." },
	{ "dsa-group",
	    "Its y or its g is 0, 1 or p - 1, and powers of these have only "
	    "these values.\nSo anybody finds a signature that fits, after some "
	    "tries." },
	{ "rsa-prime",
	    "Its modulus is a prime, not the product of two.\nThe private "
	    "exponent follows from the modulus alone, so anybody computes "
	    "it." },
	{ "rsa-square",
	    "Its modulus is a power of one number, such as a prime times "
	    "itself.\nA root tells the number, so anybody computes the "
	    "private half." },
	{ "rsa-fermat",
	    "Its two primes are close to each other, or nearly in a ratio of "
	    "small numbers.\nThe square root of the modulus then leads to "
	    "them in some steps (CVE-2022-26320 was\nsuch a generator)." },
	{ "rsa-roca",
	    "It was made by a chip or a library of Infineon that chooses "
	    "primes of one form\n(CVE-2017-15361, ROCA). Such a modulus can "
	    "be factored, at a cost that depends on\nits size." },
	{ "rsa-small-d",
	    "Its private exponent is so small that it follows from the "
	    "public key.\nWiener's method computes it at once." },
	{ "rsa-shared-prime",
	    "An older keyveto put it into this list, since another public key "
	    "of this machine has\na factor in common with it. Whoever publishes "
	    "a multiple of a modulus brings that\nabout, too, so it may be "
	    "sound: keyveto allow lets it in." },
	{ NULL, NULL },
};

/* The text for a name; NULL for a name that is not known here. */
static const char *
find_text(const struct named_text *t, const char *name)
{
	while (t->name != NULL && strcmp(t->name, name) != 0)
		t++;
	return t->text;
}

static void
print_line(const char *label, const char *text)
{
	cli_printf(stdout, "  %-13s%s\n", label, text);
}

/* Prints text as a part of a URL: other bytes than these become %XX. */
static void
print_url(const void *text, size_t len)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/+,:@=";
	const unsigned char *p = text;

	for (size_t i = 0; i < len; i++) {
		if (p[i] != '\0' && strchr(plain, p[i]) != NULL)
			putchar(p[i]);
		else
			printf("%%%02X", p[i]);
	}
}

/* Whether a browser would leave the folder: text has a part "." or "..". */
static bool
leads_out(const void *text, size_t len)
{
	const char *p = text, *end = p + len;

	while (p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		size_t n = (size_t)((slash != NULL ? slash : end) - p);

		if ((n == 1 || n == 2) && memcmp(p, "..", n) == 0)
			return true;
		p += n + 1;
	}
	return false;
}

static void
print_path(struct kv_span path, void *arg)
{
	struct place *place = arg;
	const char *repository = place->repository;
	const char *folder = strchr(repository, ' ');

	printf("  %-13s", place->n++ == 0 ? "private half" : "");
	if (folder != NULL && !leads_out(path.p, path.len) &&
	    !leads_out(repository, (size_t)(folder - repository)) &&
	    !leads_out(folder + 1, strlen(folder + 1))) {
		fputs("https://github.com/", stdout);
		print_url(repository, (size_t)(folder - repository));
		fputs("/blob/", stdout);
		print_url(folder + 1, strlen(folder + 1));
		putchar('/');
		print_url(path.p, path.len);
	} else {
		/* No link: people open what looks like one. */
		cli_print_safe(stdout, path.p, path.len);
		if (folder != NULL)
			cli_printf(stdout, " in %s", repository);
	}
	putchar('\n');
}

/* Prints where the private half lies, as LIST.lookup says. */
static void
print_places(struct asking *a, const struct kv_list *l,
    const struct input_key *key, const char *words)
{
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	struct place place = { .repository = words };
	char file[PATH_MAX], why[WALL_WHY_BYTES];
	size_t n = input_hashes(key, hash);
	int fd = -1, len;

	len = snprintf(file, sizeof(file), "%s" LOOKUP_SUFFIX, l->path);
	errno = ENAMETOOLONG;
	if (len > 0 && (size_t)len < sizeof(file))
		fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1) {
		if (errno != ENOENT) {
			cli_error("%s: %s", file, strerror(errno));
			a->named.problems++;
		}
		/* Only a publisher's list has repositories. */
		print_line("private half",
		    errno == ENOENT && *words != '\0' ?
			"not known here; keyveto update --lookup fetches where "
			"it lies" :
			"not known here");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (tasks_lookup(fd, &hash[i], print_path, &place, why))
			continue;
		cli_error("%s: %s; get it again with keyveto update --lookup",
		    file, why);
		a->named.problems++;
	}
	close(fd);
	if (place.n == 0)
		print_line("private half", "the list does not say where");
}

/* Sets words to what stands behind the name of a source; "" if nothing does. */
static void
read_words(const struct kv_judge *judge, const struct kv_list *l, uint8_t id,
    char words[static KV_SOURCES_MAX_BYTES])
{
	char *path = NULL;
	int fd = -1;

	*words = '\0';
	if (asprintf(&path, "%s" KV_SOURCES_SUFFIX, l->path) == -1)
		return;
	if ((fd = judging_find_file(judge, path)) != -1)
		tasks_source(path, fd, id, words);
	free(path);
}

/* Prints what the list says of the key: source id, when, why and where. */
static void
explain_list(struct asking *a, size_t i, uint8_t id,
    const struct input_key *key)
{
	const struct kv_judge *judge = &a->judging->judge;
	const struct kv_list *l = &judge->list[i];
	const struct facts_date *made = &a->judging->date[i];
	char name[KV_SOURCE_NAME_BYTES], words[KV_SOURCES_MAX_BYTES];
	char date[DATE_BYTES] = "";
	const char *leak, *sentences;

	judging_name_source(judge, i, id, name);
	read_words(judge, l, id, words);
	leak = find_text(leaks, name);
	sentences = find_text(built_in, name);
	if (made->known && made->seconds >= 0)
		(void)filter_facts_format_time((uint64_t)made->seconds, date,
		    sizeof(date));
	print_line("exact list", l->path);
	if (date[0] != '\0')
		printf("  %-13s%.10s\n", "list made", date);
	print_line("source", name);
	if (leak != NULL)
		print_line("leak", leak);
	if (sentences != NULL)
		puts(sentences);
	print_places(a, l, key, words);
}

static void
explain_filter(const struct kv_filter *f)
{
	char date[DATE_BYTES];

	print_line("filter", f->path);
	printf("  %-13s%" PRIu32, "revision", f->pkbf.header.revision);
	if (filter_facts_format_time(f->pkbf.header.time, date, sizeof(date)))
		printf(" of %.10s", date);
	putchar('\n');
}

/* Prints a sentence of what a login makes of a key, as far as sshd asks keyveto. */
static void
print_login(struct asking *a, const char *sentence)
{
	if (a->asks == NULL)
		a->asks = asks_sshd(a->consulted);
	if (*a->asks->where == '\0')
		printf("A login with it %s\n", sentence);
	else
		printf("%c%sa login with it %s\n",
		    toupper((unsigned char)*a->asks->where), a->asks->where + 1,
		    sentence);
	asks_print_note(a->asks);
}

/* Whether nothing lists the key but a list that no login consults. */
static bool
has_only_unconsulted(const struct asking *a, const struct kv_decision *d)
{
	return a->unconsulted != NULL && d->list != NULL && d->hits == 0 &&
	    (d->list_hits & (d->list_hits - 1)) == 0 &&
	    strcmp(d->list->path, a->unconsulted) == 0;
}

/* Says what a login makes of the decision. */
static void
print_action(struct asking *a, const struct kv_decision *d)
{
	if (d->verdict == KV_VERDICT_ALLOWED) {
		fputs("AllowKey in keyveto.conf lets it in all the same",
		    stdout);
		if (d->reason[0] != '\0')
			cli_printf(stdout, ": %s", d->reason);
		putchar('\n');
	} else if (has_only_unconsulted(a, d))
		puts("No login consults that list.");
	else if (d->action == KV_ACTION_DENY)
		print_login(a, "is refused.");
	else if (d->verdict == KV_VERDICT_ERROR)
		print_login(a,
		    "is let in all the same, by OnError in keyveto.conf.");
	else
		print_login(a,
		    "is logged, and let in for now: keyveto.conf only warns.");
}

static bool
is_composite(const struct input_key *key)
{
	return key->key.type == KV_KEY_MLDSA44_ED25519 ||
	    key->key.type == KV_KEY_MLDSA44_ED25519_OLD;
}

static void
explain_built_in(const struct input_key *key, const struct kv_decision *d)
{
	const char *sentences = find_text(built_in, d->source);

	if (is_composite(key))
		puts("Its Ed25519 half needs no secret. Only its ML-DSA half "
		     "keeps others out.");
	else
		puts("It needs no secret: anybody can sign with it.");
	print_line("exact list", d->list->path);
	print_line("source", d->source);
	if (sentences != NULL)
		puts(sentences);
	puts("No program makes such a key, so somebody did on purpose, or a "
	     "device is broken.\nFind out who put it there and when, and who "
	     "came in with it: keyveto audit --logins.");
}

static void
explain_denied(const struct input_key *key, const struct kv_decision *d)
{
	printf("A DenyKey line of keyveto.conf names it%s.\nkeyveto deny "
	       "--remove with the fingerprint in that line takes it out.\n",
	    key->key.type == KV_KEY_RSA ?
		", or its modulus with another exponent" :
		"");
	if (d->reason[0] != '\0')
		print_line("reason", d->reason);
}

/* Says why anybody computes the private half. Logins do not test for it. */
static void
explain_weak(const struct input_key *key, enum weak_class class)
{
	input_print_key(stdout, key);
	puts("Anybody computes its private half from the public one.");
	print_line("exact list", kv_built_in.path);
	print_line("source", weak_class_name(class));
	puts(find_text(built_in, weak_class_name(class)));
	puts(
	    "No list has this key, and a login does not test for it, so a "
	    "login with it is let in.\nkeyveto deny refuses it. Make a new key "
	    "with ssh-keygen, put its public half in the\nplace of this one, "
	    "and remove this one wherever it is accepted.");
}

static void
explain_listed(struct asking *a, const struct input_key *key,
    const struct kv_decision *d)
{
	const struct kv_judge *j = &a->judging->judge;

	if (d->list == &kv_denied)
		explain_denied(key, d);
	else if (d->list == &kv_built_in)
		explain_built_in(key, d);
	else if (d->list != NULL)
		puts("Its private half is known to others, who can log in with "
		     "it.");
	else
		puts("It is probably compromised: a filter lists it. A filter "
		     "also lists a small\nshare of other keys, which keyveto "
		     "filter info shows.");
	for (size_t i = 0; i < j->n_lists; i++) {
		if (d->list_hits >> i & 1)
			explain_list(a, i, d->source_id[i], key);
	}
	for (size_t i = 0; i < j->n_filters; i++) {
		if (d->hits >> i & 1)
			explain_filter(&j->filter[i]);
	}
	print_action(a, d);
	puts("Make a new key with ssh-keygen, put its public half in the place "
	     "of this one, and\nremove this one wherever it is accepted.");
}

/* Accounts may share a file, so a place can come several times. */
static void
note_spot(struct asking *a, const struct input_key *key)
{
	char *path;

	for (size_t i = 0; i < a->n_spots; i++) {
		if (a->spot[i].line == key->line &&
		    strcmp(a->spot[i].path, key->path) == 0)
			return;
	}
	if (room_for_one(&a->spot, a->n_spots, sizeof(*a->spot)) &&
	    (path = strdup(key->path)) != NULL)
		a->spot[a->n_spots++] = (struct spot){ path, key->line };
}

/* Prints the places of the key but the first, which was printed with it. */
static void
print_other_spots(const struct asking *a)
{
	if (a->n_spots > 1)
		puts("The same key is also in:");
	for (size_t i = 1; i < a->n_spots; i++)
		cli_printf(stdout, "  %s:%" PRIu64 "\n", a->spot[i].path,
		    a->spot[i].line);
}

static void
explain_key(const struct input_key *key, void *arg)
{
	struct asking *a = arg;
	struct kv_decision d;
	enum weak_class class;
	char why[WEAK_WHY_BYTES];
	bool weak;

	if (a->named.by_fingerprint) {
		note_spot(a, key);
		/* A fingerprint stands for one key. */
		if (a->keys > 0)
			return;
	}
	a->keys++;
	judging_key(&a->judging->judge, key, a->now, &d);
	if (d.verdict == KV_VERDICT_ERROR) {
		cli_error_at(key->path, key->line, d.reason);
		a->unjudged++;
	}
	if (d.verdict == KV_VERDICT_CLEAN &&
	    !weak_test_alone(key, working_weak, &class, why)) {
		cli_error_at(key->path, key->line, why);
		a->unjudged++;
		return;
	}
	weak = d.verdict == KV_VERDICT_CLEAN && class != WEAK_NONE;
	if (!weak &&
	    (d.verdict == KV_VERDICT_CLEAN ||
		d.verdict == KV_VERDICT_UNSUPPORTED)) {
		a->clean++;
		if (a->named.by_fingerprint)
			input_print_key(stdout, key);
		return;
	}
	if (a->keys - a->clean > 1)
		putchar('\n');
	if (weak) {
		explain_weak(key, class);
		return;
	}
	input_print_key(stdout, key);
	if (d.hits != 0 || d.list != NULL)
		explain_listed(a, key, &d);
	else {
		puts("Not every filter and list gave an answer.");
		print_action(a, &d);
	}
}

/* Says what was found besides listed keys. Returns the exit status. */
static int
conclude(const struct asking *a, const char *asked)
{
	if (a->keys == 0 && a->named.by_fingerprint)
		cli_error("%s: no key with this fingerprint was found%s; lists "
			  "do not have fingerprints, so name the file that has "
			  "the key, or give the key itself",
		    asked,
		    a->named.problems > 0 ? " in the files that can be read" :
					    "");
	else if (a->keys == 0 && a->named.problems == 0)
		cli_error("%s: no key in it", asked);
	else if (a->keys == 1 && a->clean == 1)
		puts("No filter and no list has this key: keyveto does not "
		     "refuse it.");
	else if (a->clean > 0)
		printf("%s%" PRIu64 " %s in no filter and no list.\n",
		    a->keys > a->clean ? "\n" : "", a->clean,
		    cli_plural(a->clean, "other key is", "keys are"));
	print_other_spots(a);
	if (!cli_stdout_ok() || a->keys == 0)
		return CLI_UNCHECKED;
	if (a->unjudged > 0)
		return CLI_UNCHECKED;
	/* With a fingerprint, other files are no matter once it was found. */
	return a->named.problems > 0 && !a->named.by_fingerprint ?
	    CLI_UNCHECKED :
	    0;
}

static int
run_why(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct cli_option none = { .name = NULL };
	struct cli_judge_options o = { .config = NULL };
	struct asking a = { .now = time(NULL) };
	struct judging judging;
	int status = cli_read_options(cmd, argc, argv, &none, &o);
	bool partly;

	if (status != -1)
		return status;
	if (optind == argc)
		return cli_wrong_usage(cmd,
		    "give a key, its fingerprint, or a file");
	if (o.n_filters + o.n_blocklists == 0)
		a.consulted = o.config != NULL ? o.config : KV_CONFIG_PATH;
	if (!own_list_add(&o, 0) ||
	    !chosen_open_partly(&judging, &o, NULL, &partly))
		return CLI_UNCHECKED;
	a.unconsulted = o.unconsulted;
	a.judging = &judging;
	a.named = (struct named_keys){ .judge = &judging.judge,
		.key = explain_key,
		.arg = &a };
	status = named_keys_read(&a.named, argv + optind) ?
	    conclude(&a, argv[optind]) :
	    CLI_UNCHECKED;
	for (size_t i = 0; i < a.n_spots; i++)
		free(a.spot[i].path);
	free(a.spot);
	return chosen_close(&judging) ? status : CLI_UNCHECKED;
}

const struct cli_command cli_why = {
	.name = "why",
	.synopsis = "[--config FILE] [--filter FILE]... [--blocklist FILE]... "
		    "KEY | FILE[:LINE]... | FINGERPRINT [FILE|DIRECTORY]...",
	.help = "Say in words why a key is refused",
	.details = CLI_JUDGE_HELP,
	.run = run_why,
};
