# SPDX-License-Identifier: ISC
"""How long tests wait for what is bound to happen."""

# Seconds. Only a hang takes as long, on a slow machine with other things to do, too.
PATIENCE = 120
