#ifndef AGENT_BASE_CORE_H
#define AGENT_BASE_CORE_H

/* No core dump of this process holds a secret: none is written, neither as a
 * file nor (Linux) to a program that core_pattern(5) names, which the limit
 * alone does not keep from it. Other users' processes cannot look into this
 * one either. Children that exec are not concerned. source: core(5),
 * PR_SET_DUMPABLE in prctl(2) */
void core_forbid(void);

#endif
