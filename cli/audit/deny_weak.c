/* SPDX-License-Identifier: ISC */
#include "audit/deny_weak.h"

#include <inttypes.h>
#include <unistd.h>

#include "command.h"
#include "sets/list_names.h"

static struct list_writer writer;

void
deny_weak_add(const struct input_key *key, enum weak_class class, void *arg)
{
	struct deny_weak *d = arg;
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	const size_t n = input_hashes(key, hash);

	for (size_t i = 0; i < n; i++)
		d->failed |= !list_batch_add(&d->batch, &hash[i],
		    (uint8_t) class);
}

/*
 * Names all sources, also those of an earlier run that was cut short. The names
 * come after the keys: a list that the brake keeps as it is gets none.
 */
static bool
name_classes(void)
{
	bool ok = true;

	for (int class = WEAK_NONE + 1; ok && class < WEAK_CLASSES; class ++)
		ok = list_names_set(DENY_WEAK_PATH, (uint8_t) class,
		    weak_class_name((enum weak_class) class), true);
	return ok;
}

/* Sets *addedp to the number of keys that were not there. */
static bool
write_list(struct deny_weak *d, bool yes, uint64_t *addedp)
{
	bool ok = list_writer_open(&writer, DENY_WEAK_PATH);

	writer.file.via = "audit";
	writer.file.yes = yes;
	ok = ok && list_writer_keep_old(&writer) &&
	    list_batch_write(&d->batch, &writer);
	*addedp = ok ? d->batch.added : 0;
	if (*addedp > 0)
		ok = list_writer_commit(&writer);
	replace_close(&writer.file);
	return ok;
}

bool
deny_weak_write(struct deny_weak *d, const struct kv_config *config,
    const char *config_path, bool yes)
{
	uint64_t added;

	if (d->failed)
		return false;
	if (d->batch.n == 0)
		return access(DENY_WEAK_PATH, F_OK) != 0 || name_classes();
	if (!write_list(d, yes, &added) || !name_classes())
		return false;
	if (added > 0)
		cli_error(DENY_WEAK_PATH ": %" PRIu64 " %s added", added,
		    cli_plural(added, "key", "keys"));
	if (!list_is_consulted(config, DENY_WEAK_PATH))
		list_advise_line(config, config_path, DENY_WEAK_PATH);
	else if (added > 0 && config->on_hit == KV_ACTION_DENY)
		cli_error("note: logins with %s are refused from now on",
		    cli_plural(added, "it", "them"));
	else if (added > 0)
		cli_error("note: logins with %s are still only logged, by "
			  "OnHit",
		    cli_plural(added, "it", "them"));
	return true;
}

void
deny_weak_free(struct deny_weak *d)
{
	list_batch_free(&d->batch);
}
