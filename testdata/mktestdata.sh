#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Made testdata/demo, once: run it again only to replace the keys. The private
# key in there is published with this program, so it is compromised for good;
# demo.pkbf lists it, next to the two example keys of the publisher of the
# format, whose private halves are public too.
set -eu
cd "$(dirname "$0")/demo"
rm -f compromised compromised.pub clean.pub demo.pkbf

ssh-keygen -q -t ed25519 -N '' -C 'leaked@example.org' -f compromised
ssh-keygen -q -t ed25519 -N '' -C 'alice@example.org' -f clean
/usr/bin/python3 ../../tests/oracle/pkbf.py create demo.pkbf \
	--hashes 10 --length 12 --time 1555799917 --revision 1 \
	compromised.pub publisher-examples.pub

{
	echo '# Keys of a person who kept them all'
	cat clean.pub
	printf 'from="192.0.2.0/24",no-agent-forwarding '
	cat compromised.pub
	sed -n 1p publisher-examples.pub
} >home/.ssh/authorized_keys
rm -f clean clean.pub
