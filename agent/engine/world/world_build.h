#ifndef AGENT_ENGINE_WORLD_WORLD_BUILD_H
#define AGENT_ENGINE_WORLD_WORLD_BUILD_H

#include "agent/engine/world/world.h"

/* Shared by world.c and world_build.c. */

/* The check is asked at the address of the record whose condition it is in. */
bool world_is_local(const struct spec_check *c);

#endif
