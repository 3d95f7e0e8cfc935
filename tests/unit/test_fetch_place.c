/* SPDX-License-Identifier: ISC */
#include "net/fetch.h"
#include "network/url.h"

#include "testlib.h"

/* In the place of net/network: keyveto-network answers so. */
bool
network_find_place(const char *base, const char *text, const char *suffix,
    bool other_hosts, struct network_place *place)
{
	if (base[0] == '\0')
		url_parse(text, suffix, place);
	else
		url_resolve(base, text, other_hosts, place);
	return true;
}

/* Where text in the file at base leads; "" if it leads nowhere. */
static void
leads(const char *base, const char *text, bool other_hosts, const char *want)
{
	struct fetch_place from, to;

	assert_true(fetch_place_parse(base, "", &from));
	if (fetch_place_resolve(&from, text, other_hosts, &to))
		assert_string_equal(to.where, want);
	else
		assert_string_equal("", want);
	fetch_place_free(&to);
	fetch_place_free(&from);
}

#define BASE "https://a.example/v0/m.json"

TEST_CASE(a_name_on_the_same_server_is_followed)
{
	leads(BASE, "l.xz", false, "https://a.example/v0/l.xz");
	leads(BASE, "../x/l.xz?q", false, "https://a.example/x/l.xz?q");
	leads(BASE, "https://A.example:443/l.xz", false,
	    "https://A.example:443/l.xz");
	leads("https://u:p@a.example/v0/m.json?token", "l.xz", false,
	    "https://u:p@a.example/v0/l.xz");
	leads("https://u%40:p@a.example/v0/m.json", "https://a.example/l.xz",
	    false, "https://u%40:p@a.example/l.xz");
	leads("https://u:p@a.example/v0/m.json", "https://v@a.example/l.xz",
	    false, "https://v@a.example/l.xz");
}

TEST_CASE(another_server_means_the_file_beside_the_manifest)
{
	leads(BASE, "https://b.example/x/l.xz?q#f", false,
	    "https://a.example/v0/l.xz");
	leads(BASE, "https://a.example:8443/l.xz", false,
	    "https://a.example/v0/l.xz");
	leads(BASE, "http://a.example/l.xz", false,
	    "https://a.example/v0/l.xz");
	leads(BASE, "https://a.example@b.example/l.xz", false,
	    "https://a.example/v0/l.xz");
	leads(BASE, "https://b.example/", false, "");
	leads(BASE, "https://b.example/.x", false, "");
	leads(BASE, "https://b.example/a%2fb", false, "");
}

TEST_CASE(other_hosts_are_followed_over_https_only)
{
	leads(BASE, "https://b.example/x/l.xz", true,
	    "https://b.example/x/l.xz");
	leads("https://u:p@a.example/v0/m.json", "https://b.example/l.xz", true,
	    "https://b.example/l.xz");
	leads(BASE, "http://b.example/x/l.xz", true,
	    "https://a.example/v0/l.xz");
	leads(BASE, "file:///etc/l.xz", true, "https://a.example/v0/l.xz");
	leads(BASE, "ftp://b.example/l.xz", true, "https://a.example/v0/l.xz");
}

TEST_CASE(a_folder_leads_nowhere_else)
{
	leads("/m/m.json", "https://b.example/x/l.xz", true, "/m/l.xz");
	leads("/m/m.json", "../../etc/shadow", false, "/m/shadow");
	leads("/m/m.json", "/etc/shadow", true, "/m/shadow");
	leads("/m/m.json", "file:///etc/shadow", true, "/m/shadow");
	leads("m.json", "l.xz", false, "l.xz");
	leads("/m/m.json", "..", false, "");
	leads("/m/m.json", "", false, "");
	leads("/m/m.json", "a b", false, "");
}

/* Text is the path, with a suffix, or "" if it is none. */
static void
path_of(const char *text, const char *suffix, const char *want)
{
	struct fetch_place p;

	if (fetch_place_parse(text, suffix, &p)) {
		assert_false(p.is_url);
		assert_string_equal(p.where, want);
		assert_string_equal(p.shown, want);
	} else {
		assert_string_equal("", want);
	}
	fetch_place_free(&p);
}

/* curl -o /dev/null file:... was asked for each of them. */
TEST_CASE(a_file_url_is_a_path)
{
	path_of("file:///mnt/usb/index", ".sig", "/mnt/usb/index.sig");
	path_of("FILE:///a%20b%2fc", "", "/a b/c");
	path_of("file:/a", "", "/a");
	path_of("file://localhost/a", "", "/a");
	path_of("file://127.0.0.1/a", "", "/a");
	path_of("file:///a?b#c", "", "/a");
	path_of("file:///a%3fb%", "", "/a?b%");
	path_of("file://host/a", "", "");
	path_of("file:a", "", "");
	path_of("file:", "", "");
	path_of("file:///a%0ab", "", "");
	path_of("file:///a%00b", "", "");
	path_of("a b", ".sig", "a b.sig");
}

TEST_CASE(other_schemes_are_no_places)
{
	static const char *const none[] = { "http://a.example/f",
		"ftp://a.example/f", "x://y", "https://", "https://a b/f",
		"https://a.example:99999/f" };
	struct fetch_place p;

	for (size_t i = 0; i < COUNT(none); i++) {
		assert_false(fetch_place_parse(none[i], "", &p));
		fetch_place_free(&p);
	}
	assert_true(fetch_url_is_one("https://a.example/f"));
	assert_true(fetch_url_is_one("ftp://a.example/f"));
	assert_false(fetch_url_is_one("https://"));
	assert_true(fetch_place_parse("https://u:p@a.example/f?t", ".sig", &p));
	assert_string_equal(p.where, "https://u:p@a.example/f.sig?t");
	assert_string_equal(p.shown, "https://a.example/f.sig");
	fetch_place_free(&p);
}
