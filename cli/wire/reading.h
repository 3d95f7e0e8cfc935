/* SPDX-License-Identifier: ISC */
/*
 * wire/reading: what a command (the front) and keyveto-reader say to each
 * other.
 *
 * The front sends packets over a SOCK_SEQPACKET socket, which is descriptor 0
 * of the reader. Each packet is some whole records, and the descriptors that
 * they hand over, in their order. The reader answers with a stream of records
 * over a pipe, its descriptor 1, in the order of the input. The reader may be
 * in somebody else's hands: the front checks each answer as hostile.
 */
#ifndef CLI_WIRE_READING_H
#define CLI_WIRE_READING_H

/* It changes with the records. The two programs are of one build. */
#define READING_VERSION 10

/* The most bytes and descriptors of a packet. */
#define READING_PACKET_BYTES (64 * 1024)
#define READING_PACKET_FDS 64

/* What the front sends, first to last. */
enum reading_order {
	/*
	 * version, flags, total (bytes, for progress), the path of the
	 * configuration or ""
	 */
	READING_SETUP = 1,
	READING_FILTER,	   /* the path of a filter that an option names */
	READING_BLOCKLIST, /* the same of an exact list */
	/*
	 * path, an enum kv_err, why: what opening a file of the administrator's
	 * gave, in the order in which kv_judge_open_with asks. One descriptor
	 * if it was opened.
	 */
	READING_OPENED,
	READING_JUDGE, /* all these files were sent */
	/* struct input_file; one descriptor: a file to read */
	READING_FILE,
	/* path, reason: what could not be opened, at this place of the input */
	READING_PROBLEM,
	READING_END,
	/*
	 * When keys are used, for READING_JUDGED; one descriptor: a file of
	 * authorized_keys, of which each line is read as sshd reads it. Only with
	 * READING_KEYS.
	 */
	READING_LINES,
	/*
	 * an enum reading_log, when the log was modified (seconds); one
	 * descriptor: the log. Only with READING_LOGS.
	 */
	READING_LOG,
	/* when it is used, reading_add_key. Only with READING_ASKED. */
	READING_JUDGE_KEY,
};

/* Of READING_SETUP. */
enum reading_flags {
	READING_JSON = 1,
	READING_ALL = 2,   /* clean keys are findings, too */
	READING_QUIET = 4, /* keys are only counted */
	READING_WEAK = 8,  /* RSA keys that anybody factors are looked for */
	/* There is no judge: each key is a READING_KEY, not a READING_FOUND. */
	READING_KEYS = 32,
	READING_PLAIN = 64, /* as plain of struct input_sink */
	READING_WARY = 128, /* the same of wary */
	/*
	 * Besides READING_KEYS: times without a zone are local ones of the TZ
	 * (tzset(3)) that stands in the place of the configuration.
	 */
	READING_LOGS = 256,
	/* Keys come by READING_JUDGE_KEY; READING_VERDICT answers each. */
	READING_ASKED = 512,
	/* Besides READING_KEYS: there is a judge, which judges keys of lines. */
	READING_JUDGED = 1024,
};

/* Of READING_LOG. */
enum reading_log {
	READING_LOG_LOGINS = 1,
	/* The last log once more: the years of its lines are known now. */
	READING_LOG_AGAIN,
	READING_LOG_KEYS, /* that guard and module logged */
};

/* What the reader answers. */
enum reading_answer {
	READING_HELLO = 1, /* version, the walls that stand (wall/wall.h) */
	READING_FOUND,	   /* finding_send */
	READING_FOUND_PROBLEM,
	READING_NOTE,
	READING_PROGRESS, /* what, things (0, 1), done, total */
	READING_WAITING,  /* nothing comes before more is written to a stream */
	/* the totals of struct report in order, whether all was tested */
	READING_TOTALS,
	READING_KEY,	     /* reading_send_key */
	READING_OPENED_FILE, /* path: its keys follow */
	READING_READ,	     /* a part of it was read */
	/* with READING_KEYS or READING_ASKED instead of READING_TOTALS */
	READING_KEYS_END,
	/* The lines of the oldest READING_LINES without its end (reading/lines). */
	READING_LINE_KEY,
	READING_LINE_UNKNOWN, /* a key of a type that keyveto does not know */
	READING_LINE_PROBLEM,
	READING_LINES_END, /* no more of this file */
	/* What is in the log (reading/log_records). */
	READING_LOGIN,
	READING_LOGIN_OUTCOME,
	READING_LOG_KEY,
	READING_LOG_SINCE,
	READING_LOG_END, /* no more of this log */
	/* Of a reader with a judge, before all else: reading/facts. */
	READING_FACTS,
	READING_VERDICT, /* finding_add_verdict */
};

#endif
