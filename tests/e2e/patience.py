# SPDX-License-Identifier: ISC
"""How long tests wait for an event that must come."""

# Seconds. Only a hang takes this long, even on a slow and busy machine.
PATIENCE = 120
