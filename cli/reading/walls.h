/* SPDX-License-Identifier: ISC */
/* reading/walls: which walls stand around keyveto-reader on this system? */
#ifndef CLI_READING_WALLS_H
#define CLI_READING_WALLS_H

#include "wall/wall.h"

/*
 * Starts the reader, which reads nothing, and sets *wallsp to the walls (enum
 * wall) that stand around it. False with a sentence.
 */
bool reading_find_walls(unsigned int *wallsp, char why[static WALL_WHY_BYTES]);

#endif
