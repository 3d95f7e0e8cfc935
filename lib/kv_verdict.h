/* SPDX-License-Identifier: ISC */
/*
 * kv_verdict: decides whether a key is let in. The guard, the PAM module and
 * the keyveto command all call it, and nothing else decides.
 */
#ifndef KV_VERDICT_H
#define KV_VERDICT_H

#include "kv_blocklist.h"
#include "kv_config.h"
#include "kv_pkbf.h"
#include "kv_sources.h"
#include "kv_trusted.h"

#define KV_REASON_BYTES 1024

/* What is known of a key. The zero value means that no verdict was reached. */
enum kv_verdict {
	KV_VERDICT_ERROR = 0,
	KV_VERDICT_LISTED,
	KV_VERDICT_ALLOWED,	/* AllowKey */
	KV_VERDICT_UNSUPPORTED, /* a type without a known SPKI */
	KV_VERDICT_CLEAN,
};

/* Which key of a certificate the verdict is about. */
enum kv_part {
	KV_PART_KEY = 0,
	KV_PART_CA, /* the CA that signed the certificate */
};

struct kv_filter {
	const char *path;		/* in the config, or the caller's */
	struct kv_pkbf pkbf;		/* fd is -1 if it is not open */
	char why[KV_TRUSTED_WHY_BYTES]; /* and why it is not */
};

/* An exact list, and the file with the names of its sources. */
struct kv_list {
	const char *path;		/* in the config, or the caller's */
	struct kv_blocklist blocklist;	/* fd is -1 if it is not open */
	int sources;			/* a descriptor, or -1 */
	char why[KV_TRUSTED_WHY_BYTES]; /* why the list is not open */
};

/*
 * The list of the keys that need no secret (kv_nosecret), which is no file. It
 * is in no judge's lists, and none can be without it.
 */
extern const struct kv_list kv_built_in;

/*
 * The keys of DenyKey lines, as a list: its path in decisions is
 * "keyveto.conf". It is in no judge's lists.
 */
extern const struct kv_list kv_denied;

/* The paths of filters and lists, at most KV_CONFIG_MAX_FILTERS and so on. */
struct kv_paths {
	const char *const *filter;
	size_t n_filters;
	const char *const *blocklist;
	size_t n_blocklists;
};

/* A configuration, its open filters and its open lists. */
struct kv_judge {
	struct kv_config config;
	/* Why no key can be judged; "" if keys can be judged. */
	char broken[KV_REASON_BYTES];
	struct kv_filter *filter;
	size_t n_filters;
	struct kv_list *list;
	size_t n_lists;
};

/*
 * A verdict, and what the configuration makes of it. A caller lets a key in
 * only if action is not KV_ACTION_DENY.
 */
struct kv_decision {
	enum kv_verdict verdict;
	enum kv_action action;
	enum kv_part part;
	char key_type[KV_KEYTYPE_NAME_BYTES];	/* raw: may hold any byte */
	char fingerprint[KV_FINGERPRINT_BYTES]; /* "" if there is none */
	const struct kv_filter *filter; /* the first that lists it, or NULL */
	uint64_t hits;			/* bit i: judge->filter[i] lists it */
	/*
	 * The same of the lists. A hit of a list is certain; a key that only
	 * filters list is listed probably, and OnProbable holds for it.
	 * list is kv_denied, before all others, for a key that a DenyKey line
	 * names, and kv_built_in for a key that needs no secret. They have no
	 * bit in list_hits.
	 */
	const struct kv_list *list;
	uint64_t list_hits;
	uint8_t source_id[KV_CONFIG_MAX_BLOCKLISTS]; /* in each such list */
	char source[KV_SOURCE_NAME_BYTES]; /* in list; "" without one */
	/* Why there is no verdict; for AllowKey and DenyKey their reason. */
	char reason[KV_REASON_BYTES];
};

/*
 * Opens path read-only and sets *fdp, which the caller closes. On an error *fdp
 * is -1 and why holds a sentence.
 */
typedef enum kv_err (*kv_open_fn)(const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES], void *arg);

/*
 * Reads the configuration at config_path and opens its filters, by the rules of
 * kv_trusted_open with owner. An error is not reported here: it becomes part of
 * the verdict on each key. Always call kv_judge_close.
 */
void kv_judge_open(struct kv_judge *j, const char *config_path, uid_t owner);

/*
 * Does the same for the command, which opens files with a function of its own.
 * If config_path is NULL, the defaults hold. If paths is not NULL, they replace
 * those of the configuration; their strings must live as long as j.
 */
void kv_judge_open_with(struct kv_judge *j, const char *config_path,
    const struct kv_paths *paths, kv_open_fn open, void *arg);
void kv_judge_close(struct kv_judge *j);

/*
 * Judges one plain key at time now (seconds since 1970). A clean key gets no
 * fingerprint, because it takes time. A key that needs no secret is listed even
 * if no filter and no list can be read; and if the configuration is broken, as
 * long as OnHit is KV_ACTION_DENY and no AllowKey line names it. So is a key that
 * a DenyKey line names, whatever AllowKey says.
 */
void kv_judge_pubkey(const struct kv_judge *j, const struct kv_pubkey *key,
    int64_t now, struct kv_decision *d);

/*
 * Judges a key of which only the SPKI is known: a type without an SSH form. hash
 * is what exact lists have of it, or NULL for a type that they do not have:
 * without a filter such a key is KV_VERDICT_UNSUPPORTED. There is no
 * fingerprint, and AllowKey and DenyKey do not apply.
 */
void kv_judge_spki(const struct kv_judge *j, const uint8_t *spki, size_t len,
    const struct kv_blocklist_hash *hash, struct kv_decision *d);

/*
 * Judges an offered key or certificate: the key inside and the CA. type is the
 * name that sshd gave it (%t, SSH_AUTH_INFO_0), text its base64. blob is the
 * caller's memory for the decoded key, of cap bytes: KV_BLOB_MAX_BYTES suffice
 * for any key that sshd accepts. If the key does not fit, the action is
 * KV_ACTION_DENY, whatever OnError says. If the parts have different verdicts,
 * the worst for the key counts: listed, then error, unsupported, allowed,
 * clean. Of two listed parts a refused one counts before one that is let in,
 * then one in an exact list before one in a filter.
 *
 * key is set to what was judged, as kv_sshkey_parse leaves it, and points into
 * blob. If text is not base64 or does not fit, key is all zeroes.
 */
void kv_judge_offered(const struct kv_judge *j, struct kv_span type,
    struct kv_span text, uint8_t *blob, size_t cap, int64_t now,
    struct kv_sshkey *key, struct kv_decision *d);

const char *kv_verdict_name(enum kv_verdict verdict);
const char *kv_action_name(enum kv_action action);
const char *kv_part_name(enum kv_part part);

#endif
