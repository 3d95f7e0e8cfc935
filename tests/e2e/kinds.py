# SPDX-License-Identifier: ISC
"""Which kind of list the fixture bench makes of listed keys."""

import pytest

FILTER, EXACT_LIST = "a filter", "an exact list"

# For a test that must hold with either kind.
with_either_kind = pytest.mark.parametrize("bench", (FILTER, EXACT_LIST), indirect=True)
