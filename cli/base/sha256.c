/* SPDX-License-Identifier: ISC */
#include "base/sha256.h"

#include <string.h>

#include "command.h"

static bool
report_no_sha(void)
{
	cli_error("OpenSSL cannot make a SHA-256");
	return false;
}

/* The thread: hashes one block after the other. */
static void *
hash_blocks(void *arg)
{
	struct delta_sha *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		bool ok;

		while (!s->busy && !s->over)
			pthread_cond_wait(&s->changed, &s->lock);
		if (!s->busy)
			break;
		pthread_mutex_unlock(&s->lock);
		ok = EVP_DigestUpdate(s->ctx, s->block, s->len) == 1;
		pthread_mutex_lock(&s->lock);
		s->failed = s->failed || !ok;
		s->busy = false;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

bool
delta_sha_begin(struct delta_sha *s, bool threaded)
{
	memset(s, 0, sizeof(*s));
	s->ctx = EVP_MD_CTX_new();
	if (s->ctx == NULL ||
	    EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL) != 1)
		return report_no_sha();
	if (!threaded)
		return true;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->threaded = pthread_create(&s->thread, NULL, hash_blocks, s) == 0;
	if (!s->threaded) {
		pthread_cond_destroy(&s->changed);
		pthread_mutex_destroy(&s->lock);
	}
	return true;
}

/* Takes the lock once the thread has nothing to do. */
static void
lock_idle(struct delta_sha *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
}

bool
delta_sha_add(struct delta_sha *s, const void *p, size_t len)
{
	if (!s->threaded)
		return EVP_DigestUpdate(s->ctx, p, len) == 1 || report_no_sha();
	lock_idle(s);
	s->block = p;
	s->len = len;
	s->busy = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return true;
}

/* Ends the thread, if there is one. */
static void
end_thread(struct delta_sha *s)
{
	if (!s->threaded)
		return;
	lock_idle(s);
	s->over = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	s->threaded = false;
}

bool
delta_sha_end(struct delta_sha *s, uint8_t digest[static DELTA_SHA256_BYTES])
{
	end_thread(s);
	return (!s->failed && EVP_DigestFinal_ex(s->ctx, digest, NULL) == 1) ||
	    report_no_sha();
}

void
delta_sha_free(struct delta_sha *s)
{
	end_thread(s);
	EVP_MD_CTX_free(s->ctx);
	s->ctx = NULL;
}
