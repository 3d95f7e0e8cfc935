/* SPDX-License-Identifier: ISC */
/*
 * The law: what kv_judge_offered decides, whatever the rest says. Everything below
 * kv_verdict.c may answer anything here, each time anew: files, lists, clock,
 * memory, the key and the configuration. What is noted of the answers is what the
 * law is about.
 *
 * source lib/kv_verdict.c
 * shrink lib/kv_config.h: KV_CONFIG_MAX_FILTERS 64 -> KV_CONFIG_MAX_FILTERS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_BLOCKLISTS 64 -> KV_CONFIG_MAX_BLOCKLISTS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_PATTERNS 256 -> KV_CONFIG_MAX_PATTERNS 2
 * shrink lib/kv_config.h: KV_CONFIG_WHY_BYTES 1024 -> KV_CONFIG_WHY_BYTES 8
 * shrink lib/kv_verdict.h: KV_REASON_BYTES 1024 -> KV_REASON_BYTES 8
 * shrink lib/kv_trusted.h: KV_TRUSTED_WHY_BYTES 512 -> KV_TRUSTED_WHY_BYTES 8
 * shrink lib/kv_spki.h: KV_SPKI_MAX_BYTES (4 * KV_MPINT_MAX_WIRE_BYTES + 64) -> KV_SPKI_MAX_BYTES 8
 * proof  law --unwind 5: FILTERS filters, LISTS lists and ALLOWED AllowKey and DenyKey lines or fewer, keys and certificates of every type
 * proof  takes_only --unwind 5: the same; a key that no list knows is let in
 * proof  open_judge --unwind 5: any answer to any open
 */
#define FILTERS 2
#define LISTS 2
#define ALLOWED 2

#include "kv_verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "kv_base64.h"
#include "kv_nosecret.h"
#include "kv_spki.h"
#include "prove.h"

#define NOW 20000

/* What the answers about one part of the offered key were. */
struct noted {
	bool filter_hit, list_hit, filter_failed, list_failed;
	bool allowed, denied; /* by a line that counts today */
	bool sought;	      /* among the DenyKey lines */
	bool asked, built_in; /* whether it needs no secret, and that it does */
};

static struct kv_judge j;
static struct kv_decision d;
static struct kv_sshkey key;
static struct kv_key_line allowed[ALLOWED], denied[ALLOWED];
/* Of the key, of the CA, and of a blob of an unknown type. */
static struct noted noted[3], *current = &noted[2];
static enum kv_err decoded, parsed;
static size_t blob_len;
static int64_t now;
static struct kv_keyname known;
static bool is_known;

/* The part that key points to: the decision asks about one after the other. */
static void
ask_about(const struct kv_pubkey *k)
{
	PROVE(k == &key.key || k == &key.ca, "a part of what was offered");
	PROVE(k->type != KV_KEY_NONE, "a part that is there");
	current = &noted[k == &key.ca];
}

enum kv_err
kv_base64_decode(const char *text, size_t len, uint8_t *out, size_t cap,
    size_t *lenp)
{
	decoded = nondet_bool() ? KV_OK :
	    nondet_bool()	? KV_ERR_BASE64 :
				  KV_ERR_NO_SPACE;
	*lenp = blob_len = decoded == KV_OK ? any_size_up_to(cap) : 0;
	return decoded;
}

static void
any_pubkey(struct kv_pubkey *k)
{
	k->type = (enum kv_keytype)any_size_up_to(KV_KEY_MLDSA44_ED25519_OLD);
}

enum kv_err
kv_sshkey_parse(const uint8_t *blob, size_t len, struct kv_sshkey *out)
{
	parsed = nondet_bool() ? KV_OK :
				 (enum kv_err)any_size_up_to(KV_ERR_CONFIG);
	*out = (struct kv_sshkey){ .is_cert = nondet_bool() };
	any_pubkey(&out->key);
	any_pubkey(&out->ca);
	/* kv_sshkey:parse and its other proofs show this. */
	GIVEN(parsed != KV_OK || out->key.type != KV_KEY_NONE);
	GIVEN(out->is_cert || out->ca.type == KV_KEY_NONE);
	GIVEN(parsed != KV_OK || out->is_cert == (out->ca.type != KV_KEY_NONE));
	return parsed;
}

const struct kv_keyname *
kv_keyname_find(struct kv_span name)
{
	return is_known ? &known : NULL;
}

const char *
kv_keytype_name(enum kv_keytype type)
{
	return "ssh-rsa";
}

/* A key that needs no secret is in a list that can always be read. */
const char *
kv_nosecret_source(const struct kv_pubkey *k)
{
	ask_about(k);
	current->asked = true;
	current->built_in = nondet_bool();
	current->list_hit = current->list_hit || current->built_in;
	return current->built_in ? "a source" : NULL;
}

size_t
kv_spki_count(const struct kv_pubkey *k)
{
	size_t n = any_size_up_to(3);

	ask_about(k);
	/* A key without an SPKI cannot be looked up in filters. */
	if (n == 0)
		current->filter_failed = true;
	return n;
}

enum kv_err
kv_spki_encode(const struct kv_pubkey *k, size_t index, uint8_t *out,
    size_t cap, size_t *lenp)
{
	ask_about(k);
	*lenp = 0;
	if (nondet_bool()) {
		current->filter_failed = true;
		return KV_ERR_NO_SPACE;
	}
	return KV_OK;
}

struct kv_pkbf_hash
kv_pkbf_hash(const uint8_t *spki, size_t len)
{
	return (struct kv_pkbf_hash){ nondet_u64(), nondet_u64() };
}

enum kv_err
kv_pkbf_lookup(const struct kv_pkbf *f, const struct kv_pkbf_hash *h,
    bool *listedp)
{
	*listedp = false;
	if (nondet_bool()) {
		current->filter_failed = true;
		errno = nondet_int();
		return nondet_bool() ? KV_ERR_SYSTEM : KV_ERR_FILTER_SIZE;
	}
	*listedp = nondet_bool();
	current->filter_hit = current->filter_hit || *listedp;
	return KV_OK;
}

size_t
kv_blocklist_hash_count(const struct kv_pubkey *k)
{
	ask_about(k);
	return nondet_bool() ? 1 : 2;
}

void
kv_blocklist_hash_key(const struct kv_pubkey *k, size_t index,
    struct kv_blocklist_hash *h)
{
	ask_about(k);
}

enum kv_err
kv_blocklist_lookup(const struct kv_blocklist *l,
    const struct kv_blocklist_hash *h, bool *listedp, uint8_t *idp)
{
	*listedp = false;
	if (nondet_bool()) {
		current->list_failed = true;
		errno = nondet_int();
		return nondet_bool() ? KV_ERR_SYSTEM : KV_ERR_LIST_ORDER;
	}
	*listedp = nondet_bool();
	*idp = nondet_byte();
	current->list_hit = current->list_hit || *listedp;
	return KV_OK;
}

void
kv_sources_name(int fd, uint8_t id, char name[static KV_SOURCE_NAME_BYTES])
{
	name[any_size_up_to(KV_SOURCE_NAME_BYTES - 1)] = '\0';
}

void
kv_fingerprint_digest(const struct kv_pubkey *k,
    uint8_t digest[static KV_SHA256_BYTES])
{
	ask_about(k);
	digest[0] = k == &key.ca;
}

size_t
kv_fingerprint_kin_count(const struct kv_pubkey *k)
{
	ask_about(k);
	return any_size_up_to(2);
}

void
kv_fingerprint_kin(const struct kv_pubkey *k, size_t index,
    uint8_t digest[static KV_SHA256_BYTES])
{
	ask_about(k);
	digest[0] = k == &key.ca;
}

void
kv_fingerprint_digest_blob(const uint8_t *blob, size_t len,
    uint8_t digest[static KV_SHA256_BYTES])
{
	current = &noted[2];
	digest[0] = 2;
}

void
kv_fingerprint_format(const uint8_t digest[static KV_SHA256_BYTES],
    char text[static KV_FINGERPRINT_BYTES])
{
	text[0] = 'S';
	text[1] = '\0';
}

/* Which line counts is shown by kv_config:find_allowed. */
const struct kv_key_line *
kv_config_find_allowed(const struct kv_config *c,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t today)
{
	PROVE(c == &j.config && today == now, "this configuration, this time");
	PROVE(digest[0] == current - noted, "the digest of this part");
	if (c->allowed.n == 0 || nondet_bool())
		return NULL;
	current->allowed = true;
	return &c->allowed.v[any_size_up_to(c->allowed.n - 1)];
}

const struct kv_key_line *
kv_config_find_denied(const struct kv_config *c,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t today)
{
	PROVE(c == &j.config && today == now, "this configuration, this time");
	PROVE(digest[0] == current - noted, "the digest of this part");
	current->sought = true;
	if (c->denied.n == 0 || nondet_bool())
		return NULL;
	current->denied = true;
	return &c->denied.v[any_size_up_to(c->denied.n - 1)];
}

const char *
kv_strerror(enum kv_err err)
{
	return "an error";
}

char *
strerror(int error)
{
	return "an error";
}

/*
 * Texts are cut to their first character here. All that is decided by a text is
 * whether there is any.
 */
int
snprintf(char *to, size_t cap, const char *format, ...)
{
	char first = format[0];
	va_list ap;

	PROVE(cap > 1, "room for a text");
	if (format[0] == '%' && format[1] == 's') {
		va_start(ap, format);
		first = *va_arg(ap, const char *);
		va_end(ap);
		if (first == '\0')
			first = format[2];
	}
	to[0] = first;
	to[1] = '\0';
	return nondet_int();
}

static enum kv_action
any_action(enum kv_action lets_in)
{
	return nondet_bool() ? KV_ACTION_DENY : lets_in;
}

static void
any_config(struct kv_config *c)
{
	kv_config_defaults(c);
	c->on_hit = any_action(KV_ACTION_WARN);
	c->on_probable = any_action(KV_ACTION_WARN);
	c->on_error = any_action(KV_ACTION_ALLOW);
	c->on_unsupported = any_action(KV_ACTION_ALLOW);
	for (size_t i = 0; i < FILTERS; i++)
		c->filter[i] = "/f";
	for (size_t i = 0; i < LISTS; i++)
		c->blocklist[i] = "/l";
	c->allowed = (struct kv_key_lines){ allowed, any_size_up_to(ALLOWED) };
	c->denied = (struct kv_key_lines){ denied, any_size_up_to(ALLOWED) };
	for (size_t i = 0; i < ALLOWED; i++) {
		allowed[i].reason = nondet_bool() ? "" : "reason";
		denied[i].reason = nondet_bool() ? "" : "reason";
	}
}

void
kv_config_defaults(struct kv_config *c)
{
}

/* An open judge. Any of its files may not be open. */
static void
any_judge(void)
{
	any_config(&j.config);
	j.broken[0] = nondet_bool() ? '?' : '\0';
	j.broken[1] = '\0';
	j.n_filters = any_size_up_to(FILTERS);
	j.n_lists = any_size_up_to(LISTS);
	j.filter = calloc(FILTERS, sizeof(*j.filter));
	j.list = calloc(LISTS, sizeof(*j.list));
	GIVEN(j.filter != NULL && j.list != NULL);
	for (size_t i = 0; i < FILTERS; i++)
		j.filter[i] = (struct kv_filter){ .path = "/f",
			.pkbf.fd = nondet_bool() ? -1 : 7 };
	for (size_t i = 0; i < LISTS; i++)
		j.list[i] = (struct kv_list){ .path = "/l",
			.blocklist.fd = nondet_bool() ? -1 : 8,
			.sources = nondet_bool() ? -1 : 9 };
}

static void
judge(void)
{
	static uint8_t blob[4];
	struct kv_span type = { (const uint8_t *)"ssh-rsa", any_size_up_to(7) };

	any_judge();
	is_known = nondet_bool();
	known.type = (enum kv_keytype)any_size_up_to(
	    KV_KEY_MLDSA44_ED25519_OLD);
	known.is_cert = nondet_bool();
	now = nondet_i64();
	kv_judge_offered(&j, type, type, blob, sizeof(blob), now, &key, &d);
	/* A file that is not open is a lookup that failed. */
	for (size_t i = 0; i < 2; i++) {
		for (size_t f = 0; f < j.n_filters; f++)
			if (j.filter[f].pkbf.fd == -1)
				noted[i].filter_failed = true;
		for (size_t l = 0; l < j.n_lists; l++)
			if (j.list[l].blocklist.fd == -1)
				noted[i].list_failed = true;
	}
}

static bool
broken(void)
{
	return j.broken[0] != '\0';
}

/* Whether what was offered is a whole key of the type that sshd gave. */
static bool
is_whole(void)
{
	return decoded == KV_OK && blob_len > 0 &&
	    (!is_known ||
		(parsed == KV_OK && key.key.type == known.type &&
		    key.is_cert == known.is_cert));
}

/*
 * The law, for one part of the offered key. It may be let in only if
 *  - a DenyKey line names it: by OnHit, and if it may be let in without it;
 *  - else, a list has it: by OnHit, or an AllowKey line;
 *  - else, a filter has it: by OnProbable (and, if a list did not answer, which
 *    might have it: by OnHit or OnError), or an AllowKey line;
 *  - else, a lookup failed: by OnError, or an AllowKey line.
 */
static bool
may_pass(const struct noted *n)
{
	const struct kv_config *c = &j.config;

	if (n->denied && c->on_hit == KV_ACTION_DENY)
		return false;
	if (n->allowed)
		return true;
	if (n->list_hit)
		return c->on_hit != KV_ACTION_DENY;
	if (n->filter_hit && !n->list_failed)
		return c->on_probable != KV_ACTION_DENY;
	if (n->filter_hit)
		return c->on_probable != KV_ACTION_DENY &&
		    (c->on_hit != KV_ACTION_DENY ||
			c->on_error != KV_ACTION_DENY);
	if (n->filter_failed || n->list_failed ||
	    (j.n_filters == 0 && j.n_lists == 0))
		return c->on_error != KV_ACTION_DENY;
	return true;
}

static bool
is_listed(const struct noted *n)
{
	return n->list_hit || n->filter_hit;
}

/*
 * "OnHit warn" lets in what a list or filter has, even if the rest of the offered
 * key is in error: weight() says so, and keyveto.conf(5).
 */
static bool
is_warned(const struct noted *n, const struct kv_pubkey *k)
{
	return k->type != KV_KEY_NONE && !n->allowed && is_listed(n) &&
	    j.config.on_hit != KV_ACTION_DENY;
}

static bool
any_warned(void)
{
	return is_warned(&noted[0], &key.key) || is_warned(&noted[1], &key.ca);
}

static bool
passes(void)
{
	return d.action != KV_ACTION_DENY;
}

void
law(void)
{
	bool has_key, has_ca;

	judge();
	has_key = key.key.type != KV_KEY_NONE;
	has_ca = key.ca.type != KV_KEY_NONE;
	if (!passes())
		return;
	PROVE(decoded != KV_ERR_NO_SPACE, "never a key that is too long");
	PROVE(!broken() || j.config.on_error != KV_ACTION_DENY,
	    "without a configuration only OnError lets in");
	if (broken()) {
		if (decoded != KV_OK || blob_len == 0)
			return;
		for (size_t i = 0; i < 2; i++) {
			PROVE(!noted[i].built_in && !noted[i].denied,
			    "and no key that needs no secret, or is denied");
			PROVE(!(i == 0 ? has_key : has_ca) || noted[i].asked ||
				noted[i].allowed ||
				j.config.on_hit != KV_ACTION_DENY,
			    "unless OnHit or AllowKey says otherwise");
		}
		return;
	}
	PROVE(is_whole() || j.config.on_error != KV_ACTION_DENY || any_warned(),
	    "only OnError lets in what is not a whole key");
	PROVE(decoded == KV_OK || j.config.on_error != KV_ACTION_DENY,
	    "only OnError lets in what is not base64");
	if (decoded != KV_OK || blob_len == 0)
		return;
	PROVE(is_known || noted[2].allowed || any_warned() ||
		j.config.on_unsupported != KV_ACTION_DENY,
	    "only OnUnsupported lets in an unknown type");
	PROVE(!noted[2].denied || j.config.on_hit != KV_ACTION_DENY,
	    "and no DenyKey line names it");
	PROVE(j.config.denied.n == 0 || j.config.on_hit != KV_ACTION_DENY ||
		is_known || noted[2].sought,
	    "is an unknown type denied?");
	for (size_t i = 0; i < 2; i++)
		PROVE(j.config.denied.n == 0 ||
			j.config.on_hit != KV_ACTION_DENY || noted[i].sought ||
			!(i == 0 ? has_key : has_ca),
		    "is the part denied?");
	PROVE(!has_key || noted[0].asked, "does the key need a secret?");
	PROVE(!has_ca || noted[1].asked, "does the CA need one?");
	PROVE(!has_key || may_pass(&noted[0]) || any_warned(),
	    "the key may pass");
	PROVE(!has_ca || may_pass(&noted[1]) || any_warned(),
	    "the CA may pass");
	/* And of listed parts, without any exception: */
	PROVE(!has_key || !is_listed(&noted[0]) || may_pass(&noted[0]),
	    "no listed key gets in");
	PROVE(!has_ca || !is_listed(&noted[1]) || may_pass(&noted[1]),
	    "no listed CA gets in");
}

/* keyveto only takes away: a key that nothing is known of gets in. */
void
takes_only(void)
{
	bool hit = false, failed = false;

	judge();
	GIVEN(!broken() && is_whole() && is_known);
	GIVEN(j.n_filters + j.n_lists > 0);
	for (size_t i = 0; i < 2; i++) {
		const struct kv_pubkey *k = i == 0 ? &key.key : &key.ca;

		if (k->type == KV_KEY_NONE)
			continue;
		hit = hit || noted[i].filter_hit || noted[i].list_hit ||
		    noted[i].denied;
		failed = failed || noted[i].filter_failed ||
		    noted[i].list_failed;
	}
	PROVE(hit || failed ||
		(d.verdict == KV_VERDICT_CLEAN && d.action == KV_ACTION_ALLOW),
	    "clean, and let in");
	PROVE(d.verdict != KV_VERDICT_CLEAN || (!hit && !failed),
	    "never clean otherwise");
	PROVE(d.verdict != KV_VERDICT_LISTED || hit, "listed by a list");
}

static int opened, closed;
static bool config_failed;

static enum kv_err
any_open(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	*fdp = -1;
	why[0] = why[1] = '\0';
	if (nondet_bool()) {
		why[0] = '?'; /* a sentence, as the header says */
		config_failed = config_failed || path[1] == 'c';
		return KV_ERR_INSECURE;
	}
	*fdp = 7 + opened++;
	return KV_OK;
}

int
close(int fd)
{
	PROVE(fd >= 7 && fd < 7 + opened, "a descriptor that was opened");
	closed++;
	errno = nondet_int();
	return nondet_bool() ? 0 : -1;
}

enum kv_err
kv_config_read(int fd, const char *path, struct kv_config *c,
    char why[static KV_CONFIG_WHY_BYTES])
{
	enum kv_err r = nondet_bool() ? KV_OK : KV_ERR_CONFIG;

	any_config(c);
	c->n_filters = any_size_up_to(FILTERS);
	c->n_blocklists = any_size_up_to(LISTS);
	why[0] = why[1] = '\0';
	if (r != KV_OK)
		why[0] = nondet_char();
	config_failed = config_failed || r != KV_OK;
	return r;
}

void
kv_config_free(struct kv_config *c)
{
}

enum kv_err
kv_pkbf_open_fd(int fd, struct kv_pkbf *f)
{
	if (nondet_bool())
		return nondet_bool() ? KV_ERR_SYSTEM : KV_ERR_FILTER_MARKER;
	f->fd = fd;
	return KV_OK;
}

void
kv_pkbf_close(struct kv_pkbf *f)
{
	if (f->fd != -1)
		(void)close(f->fd);
}

enum kv_err
kv_blocklist_open_fd(int fd, struct kv_blocklist *l)
{
	if (nondet_bool())
		return nondet_bool() ? KV_ERR_SYSTEM : KV_ERR_LIST_SIZE;
	l->fd = fd;
	return KV_OK;
}

void
kv_blocklist_close(struct kv_blocklist *l)
{
	if (l->fd != -1)
		(void)close(l->fd);
}

enum kv_err
kv_trusted_open(const char *path, uid_t owner, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	return any_open(path, fdp, why, NULL);
}

void
open_judge(void)
{
	bool have_config = nondet_bool();

	kv_judge_open_with(&j, have_config ? "/c" : NULL, NULL, any_open, NULL);
	PROVE(!config_failed || broken(), "no key is judged without it");
	PROVE(j.n_filters <= FILTERS && j.n_lists <= LISTS, "no more");
	PROVE(broken() ||
		(j.n_filters == j.config.n_filters &&
		    j.n_lists == j.config.n_blocklists),
	    "every filter and list");
	for (size_t i = 0; i < j.n_filters; i++)
		PROVE(j.filter[i].pkbf.fd >= -1, "open, or not");
	for (size_t i = 0; i < j.n_lists; i++)
		PROVE(j.list[i].blocklist.fd >= -1 && j.list[i].sources >= -1,
		    "open, or not");
	kv_judge_close(&j);
	PROVE(opened == closed, "every descriptor is closed once");
}
