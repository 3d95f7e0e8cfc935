/* SPDX-License-Identifier: ISC */
#include "reading/walls.h"

#include <stdio.h>

#include "reading/talk.h"

static void
note_walls(struct talk *t, unsigned int missing)
{
	unsigned int *walls = t->arg;

	*walls = WALL_ALL & ~missing;
}

static bool
receive_end(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	t->ended = true;
	return tag == READING_KEYS_END && b.left == 0;
}

bool
reading_find_walls(unsigned int *wallsp, char why[static WALL_WHY_BYTES])
{
	struct talk t = {
		.answer = receive_end,
		.walls = note_walls,
		.arg = wallsp,
	};

	*wallsp = 0;
	talk_start(&t);
	talk_send_setup(&t, READING_KEYS);
	if (talk_end(&t))
		return true;
	snprintf(why, WALL_WHY_BYTES, "%s", t.why);
	return false;
}
